"""What was meant by a command or an option that was mistyped."""

from __future__ import annotations

import difflib
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMANDS: Final = (
    "chat",
    "chat_history",
    "chat_undo",
    "chat_redo",
    "chat_reset",
    "chat_credits",
    "chat_panel",
    "chat_save",
    "chat_load",
    "chat_connect",
    "chat_login",
    "chat_cassette",
)
"""The family of magics in this release, by name."""

_FILE: Final = r"['\"]?\S+\.(?:jsonl?|ipynb|md)['\"]?"
_TAKEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "chat_history": r"all|\d+",
        "chat_credits": r"--live",
        "chat_save": rf"{_FILE}|--force",
        "chat_load": rf"{_FILE}|--force",
        "chat_connect": r"emulator|https?://\S+|--model[ =]\S+",
        "chat_login": r"--forget",
        "chat_cassette": rf"{_FILE}|--[a-z-]+|emulator|superseded|\d+",
    }
)
"""What may follow a command's name, in lower case, where anything may."""
_ALIKE: Final = 0.8
"""How alike a misspelt name has to be: ``--temprature`` is, ``--system`` is not ``--stream``."""


def mistaken_command(prompt: str) -> str | None:
    """Find the magic that was meant by a prompt that is only a command.

    ``%chat undo`` and ``%chat load talk.json`` would be sent and paid for, so such a prompt
    is refused first. A sentence never is.

    Args:
        prompt: the whole prompt, as typed.

    Returns:
        The magic's name, such as ``chat_undo``; ``None`` for any other prompt.
    """
    words = prompt.casefold().lstrip("%").rstrip("?!. ").split()
    commands = COMMANDS[1:]
    for length in (1, 2):
        name = "_".join(words[:length]).replace("-", "_")
        for command in (name, f"chat_{name}"):
            if command in commands and _is_taken(command, words[length:]):
                return command
    name = "_".join(words).replace("-", "_")
    if len(words) > 1 or not name.startswith("chat_"):
        return None
    return next(iter(difflib.get_close_matches(name, commands, 1, _ALIKE)), None)


def near(typed: str, flags: Sequence[str]) -> str | None:
    """Find the option that was meant: one that begins so, holds that word, or is misspelt.

    Args:
        typed: what was typed, in lower case.
        flags: the options there are.
    """
    name = typed.removeprefix("--")
    long = {flag.removeprefix("--"): flag for flag in flags if flag.startswith("--")}
    begun = [flag for flag in flags if flag.startswith(typed)]
    held = [flag for word, flag in long.items() if name in word.split("-")]
    alike = [long[word] for word in difflib.get_close_matches(name, long, 1, _ALIKE)]
    return next(iter([*begun, *held, *alike]), None)


def _is_taken(command: str, words: Sequence[str]) -> bool:
    """Tell whether a command takes all these words: as options or a file's name, say."""
    takes = _TAKEN.get(command, r"(?!)")
    return re.fullmatch(rf"(?:(?:{takes})(?: |\Z))*", " ".join(words)) is not None
