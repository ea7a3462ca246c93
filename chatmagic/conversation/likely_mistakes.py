"""Likely mistakes in a question: another tool's option, a command as a prompt, merged cells."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from chatmagic.advice import Note
from chatmagic.conversation.options import BY_FLAG
from chatmagic.errors import InputError
from chatmagic.other_tools import option_advice
from chatmagic.safe_text import one_line

_SHOWN: Final = 40
_UNSENT: Final = "Nothing was sent."
HINT: Final = "A prompt that begins with a dash goes after --; %chat? shows the options."
"""Advice on an option that is wrong."""
_TAKEN: Final = (
    r"(?:(?:--model[ =]\S+|--[a-z-]+|all|emulator|\d+|https?://\S+"
    r"|['\"]?\S+\.(?:jsonl?|ipynb|md)['\"]?)(?: |\Z))*"
)
"""Texts that may follow a command's name, in lower case: options, numbers, files, and the like."""
COMMENT: Final = r"\s*(#+\s*(?:NBVAL|PYTEST_VALIDATE)_\w*|#\|.*)"
"""A comment that is meant for a tool, at the beginning of a prompt."""
_MAGIC_LINE: Final = r"%{1,2}chat(?:_\w+)?(?!\S)"
_DIVIDES: Final = r"(?m)^[ \t]*%chat_thread[ \t]+(?!.*--delete\b)\S"
_ASKS: Final = (
    r"(?m)^[ \t]*(?:[^\n=()]+=)?[ \t]*%chat(?:_(?:fix|retry|continue)\b|[ \t]+\S)|\bask\s*\("
)
_ALIKE: Final = 0.8
"""Least likeness of a misspelt name: ``--temprature`` has it, ``--system`` not to ``--stream``."""


_DASHED: Final = r"[\u2010-\u2015\u2212]{1,2}([A-Za-z][\w-]*)"
"""Pattern of an option's word behind a dash of a text, as word processors put it for ``-``."""


def refuse_dash(prompt: str) -> None:
    """Raise an error for a prompt that begins with an option behind another dash than ``-``.

    Args:
        prompt: the prompt, behind the options.

    Raises:
        InputError: it begins so.
    """
    dashed = re.match(_DASHED, prompt)
    if dashed is None:
        return
    flag = f"-{dashed[1]}" if len(dashed[1]) == 1 else f"--{dashed[1].lower()}"
    if flag in BY_FLAG:
        raise InputError(
            f"The dash before {dashed[1]} is not that of an option. {_UNSENT}",
            hint=f"Type {flag} with the key of the minus sign. {HINT}",
        )


def unknown_option(flag: str, settings: Mapping[str, Any]) -> InputError:
    """Return the error for a flag that does not exist, with the nearest one or its setting."""
    typed = flag.casefold()
    name = typed.removeprefix("--").replace("-", "_")
    words = "."
    hint: Note | None = option_advice(flag)
    if hint is None and name in settings:
        words = f": {name} is a setting."
        hint = f"%config ChatMagics.{name} = VALUE sets it."
    elif hint is None:
        meant = _nearest(typed)
        hint = HINT
        words = "." if meant is None else f": did you mean {meant}?"
    return InputError(f"{one_line(flag, _SHOWN)} is not an option{words} {_UNSENT}", hint=hint)


def refuse_thread_and_ask(source: str) -> None:
    """Raise an error for a cell that begins a thread and also asks, in any order.

    Args:
        source: source of the cell; the body of ``%%chat`` is text.

    Raises:
        InputError: the cell does both.
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
    """Return the magic that a prompt means if it is only a command.

    ``%chat undo`` and ``%chat load talk.json`` would be sent and paid for, so such a prompt
    is refused first. A sentence never is.

    Args:
        prompt: the whole prompt, as typed.
        commands: the names of all commands.

    Returns:
        The magic's name, such as ``chat_undo``; ``None`` for any other prompt.
    """
    words = prompt.casefold().lstrip("%").rstrip("?!. ").split()
    for length in (1, 2):
        name = "_".join(words[:length]).replace("-", "_")
        for command in (name, f"chat_{name}"):
            if command in commands and re.fullmatch(_TAKEN, " ".join(words[length:])):
                return command
    return None


_MODEL_NAME: Final = (
    # A provider before a name, as other magics write it; else a known family with a version.
    r"(?i)(?:openai|openai-chat|anthropic|anthropic-chat|ollama|bedrock|bedrock-chat|vertexai|gemini"
    r"|azure-chat-openai|groq|openrouter|mistralai|mistral|cohere|together|together_ai|nvidia-chat"
    r"|gpt4all|huggingface_hub|hf|deepseek|xai|google|meta-llama|qwen)[:/][\w.:/-]*\w"
    r"|(?:gpt|chatgpt|claude|gemini|gemma|llama|codellama|mistral|mixtral|codestral|qwen|qwq|deepseek"
    r"|phi|command|grok|kimi|glm|granite|nova|olmo|smollm)-?[\w.:-]*\d[\w.:-]*"
    r"|(?:claude|gemini|mistral|deepseek|grok|gpt)-[\w.:-]*\w|o[1-9](?:-[\w.:-]+)?"
)


def named_model(typed: str, known: Collection[str]) -> str | None:
    """Return the model that a line names where the prompt stands; ``None`` for any other prompt.

    ``%%chat gpt-4o`` above a question would send the name, and pay for it. Options may follow it.

    Args:
        typed: the prompt on the line.
        known: the names of models that the server has listed.
    """
    first, *rest = typed.split() or [""]
    if rest and not rest[0].startswith("-"):
        return None
    return first if first in known or re.fullmatch(_MODEL_NAME, first) else None


def is_only_help(line: str, body: str | None) -> bool:
    """Return whether a question is only the word ``help``, which asks for the help.

    Args:
        line: the line after the magic's name.
        body: the text below it; ``None`` without a body.
    """
    return line.casefold().strip(" \t?!.") == "help" and not (body or "").strip()


def refuse_cell_comments(body: str, instead: str = "; --raw sends it") -> None:
    """Raise an error for a body that begins with a comment for a tool, not for the model.

    Args:
        body: the text below ``%%chat``.
        instead: the end of the hint: how to send it in spite of that.

    Raises:
        InputError: the body begins with ``# NBVAL_…`` or ``#| …``.
    """
    comment = re.match(COMMENT, body) if body.lstrip().startswith("#") else None
    if comment is not None:
        shown = one_line(comment[1])
        raise InputError(
            f"{shown} would be sent to the model. Nothing was sent.",
            hint=f"Use a cell tag instead (raises-exception, nbval-skip){instead}.",
        )


def _nearest(typed: str) -> str | None:
    """Return the likely flag: with this beginning, or with a similar spelling."""
    begun = (flag for flag in BY_FLAG if flag.startswith(typed))
    alike = difflib.get_close_matches(typed, BY_FLAG, 1, _ALIKE)
    return next(chain(begun, alike), None)


def merged_command(prompt: str) -> str:
    """Return a command that begins a line of the prompt, such as after a merge of two cells.

    Args:
        prompt: the prompt as typed.

    Returns:
        The command's name; empty if there is none.
    """
    for line in prompt.splitlines():
        command = re.match(_MAGIC_LINE, line)
        if command is not None:
            return command[0]
    return ""


def merged_cell_notes(prompt: str) -> list[str]:
    """Return a note on a command within the prompt.

    Args:
        prompt: the prompt as typed.
    """
    name = merged_command(prompt)
    if not name:
        return []
    return [f"a line with {name} is sent as text; split the cell if it is to run by itself"]


def placeholder_notes(placeholder: str | None) -> list[str]:
    """Return a note on a variable in the form of another template language, which is sent as typed.

    Args:
        placeholder: the variable as typed, ``{name}`` or ``$name``; ``None`` for none.
    """
    if placeholder is None:
        return []
    name = placeholder.strip("{}$")
    return [f"{placeholder} is sent as typed; {{{{ {name} }}}} puts the value in"]
