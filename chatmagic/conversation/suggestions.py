"""Suggestions for a mistyped command or option, a cell of two, and a comment of another tool."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

from chatmagic.errors import InputError
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmagic.conversation.request_facts import RequestFacts

_TAKEN: Final = (
    r"(?:(?:--model[ =]\S+|--[a-z-]+|all|emulator|\d+|https?://\S+"
    r"|['\"]?\S+\.(?:jsonl?|ipynb|md)['\"]?)(?: |\Z))*"
)
"""What may follow a command's name, in lower case: options, numbers, files, and the like."""
COMMENT: Final = r"\s*(#+\s*(?:NBVAL|PYTEST_VALIDATE)_\w*|#\|.*)"
"""A comment that is meant for a tool, at the beginning of a prompt."""
_MAGIC_LINE: Final = r"%{1,2}chat(?:_\w+)?(?!\S)"
_DIVIDES: Final = r"(?m)^[ \t]*%chat_thread[ \t]+(?!.*--delete\b)\S"
_ASKS: Final = (
    r"(?m)^[ \t]*(?:[^\n=()]+=)?[ \t]*%chat(?:_(?:fix|retry|continue)\b|[ \t]+\S)|\bask\s*\("
)
_ALIKE: Final = 0.8
"""How alike a misspelt name has to be: ``--temprature`` is, ``--system`` is not ``--stream``."""


def refuse_dividing(source: str) -> None:
    """Refuse a cell that begins a thread and asks beside it, whatever comes first.

    Args:
        source: what the cell says; the body of ``%%chat`` is text.

    Raises:
        InputError: it does both.
    """
    is_prompt = source.lstrip().startswith("%%chat")
    if is_prompt or "%chat_thread" not in source:
        return
    if all(re.search(pattern, source) for pattern in (_DIVIDES, _ASKS)):
        raise InputError(
            "A cell that begins a thread asks nothing beside it. Nothing was sent.",
            hint="Put %chat_thread into a cell of its own; or ask with --thread NAME.",
        )


def mistaken_command(prompt: str, commands: Sequence[str]) -> str | None:
    """Return the magic that was meant by a prompt which is only a command.

    ``%chat undo`` and ``%chat load talk.json`` would be sent and paid for, so such a prompt
    is refused first. A sentence never is.

    Args:
        prompt: the whole prompt, as typed.
        commands: the names of the commands that there are.

    Returns:
        The magic's name, such as ``chat_undo``; ``None`` for any other prompt.
    """
    words = prompt.casefold().lstrip("%").rstrip("?!. ").split()
    for length in (1, 2):
        name = "_".join(words[:length]).replace("-", "_")
        for command in (name, f"chat_{name}"):
            if command in commands and re.fullmatch(_TAKEN, " ".join(words[length:])):
                return command
    name = "_".join(words).replace("-", "_")
    if len(words) > 1 or not name.startswith("chat_"):
        return None
    return next(iter(_alike(name, commands)), None)


def refuse_cell_comments(body: str, instead: str = "; --raw sends it") -> None:
    """Refuse a body that begins with a comment which is meant for a tool, not for the model.

    Args:
        body: what stands under ``%%chat``.
        instead: what the hint ends with: what sends it all the same.

    Raises:
        InputError: it begins with ``# NBVAL_…`` or ``#| …``.
    """
    comment = re.match(COMMENT, body) if body.lstrip().startswith("#") else None
    if comment is not None:
        shown = one_line(comment[1])
        raise InputError(
            f"{shown} would be sent to the model. Nothing was sent.",
            hint=f"Use a cell tag instead (raises-exception, nbval-skip){instead}.",
        )


def near(typed: str, flags: Sequence[str]) -> str | None:
    """Return the option that was meant: one that begins so, holds that word, or is misspelt.

    Args:
        typed: what was typed, in lower case.
        flags: the options there are.
    """
    name = typed.removeprefix("--")
    long = {flag.removeprefix("--"): flag for flag in flags if flag.startswith("--")}
    begun = [flag for flag in flags if flag.startswith(typed)]
    held = [flag for word, flag in long.items() if name in word.split("-")]
    alike = [long[word] for word in _alike(name, long)]
    return next(iter([*begun, *held, *alike]), None)


def _alike(typed: str, words: Iterable[str]) -> list[str]:
    """Return the word that is spelt most like what was typed, if any is spelt much like it."""
    return difflib.get_close_matches(typed, list(words), 1, _ALIKE)


def merged(asked: RequestFacts) -> list[str]:
    """Return a note that a command stands within the prompt, as where a page merged two cells."""
    if asked.entry != "cell":
        return []
    lines = [line for line in asked.as_typed.splitlines() if line.startswith("%")]
    match = next((match for line in lines if (match := re.match(_MAGIC_LINE, line))), None)
    if match is None:
        return []
    return [f"a line with {match[0]} is sent as text; split the cell if it is to run by itself"]
