"""Cells that ask: the question of a cell's source, and the source for a question.

:mod:`chatmagic.jupyter.input_transformers` takes the form of a cell from here, with each cell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from chatmagic.conversation import options
from chatmagic.conversation.options import COMMENT
from chatmagic.conversation.request_facts import correction
from chatmagic.errors import InputError
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

# What stands above a cell magic breaks the cell; a tool's comment is refused with a hint instead.
_ABOVE: Final = r"\s*$|\s*#\s*NBVAL_|\s*#\|"
# Compiled with the first cell that is read.
CELL: Final = r"%%chat(?P<fix>_fix)?(?:[ \t]+(?P<line>.*))?[ \t]*$"
_MENTIONED: Final = r"\b(?:chat|ask)\b"
_ONE_LINE: Final = (
    r"(?:[^\W\d]\w*[ \t]*=[ \t]*)?%chat(?P<fix>_fix(?!\S))?(?:[ \t]+(?P<line>\S.*)|(?<=_fix))"
)


class Question(NamedTuple):
    """Prompt of a cell, and whether its reply is shown.

    Args:
        prompt: as typed.
        quiet: whether its reply is not shown.
    """

    prompt: str
    quiet: bool


def question_of(source: str) -> Question | None:
    """Return the one question of a ``%%chat`` cell, or of a cell that is one line of ``%chat``.

    Args:
        source: the cell's source.

    Returns:
        ``None`` where it asks otherwise, or asks nothing, or cannot be told.
    """
    if "\r" in source:
        return None
    lines = f"{source}\n".splitlines(keepends=True)
    first = first_line(lines)
    whole = None if first is None else re.match(CELL, lines[first].rstrip("\n"))
    if first is not None and whole is not None:
        comments = [line for line in lines[:first] if line.strip()]
        return _asked(whole, "".join([*comments, *lines[first + 1 :]]))
    words = source.strip()
    line = re.fullmatch(_ONE_LINE, words)
    # A line that ends in a backslash goes on, and %chat? asks for help.
    if line is None or words.endswith("\\") or line["line"] in {"?", "??"}:
        return None
    return _asked(line, "")


def first_line(lines: Sequence[str]) -> int | None:
    """Return the number of a cell's first line but for what may stand above a magic, if any.

    Args:
        lines: the cell's lines.
    """
    return next((number for number, line in enumerate(lines) if not re.match(_ABOVE, line)), None)


def questions_of(source: str) -> tuple[Question, ...]:
    """Return the questions of a cell in which each is a line of ``%chat``, as in a loop.

    Args:
        source: the cell's source.

    Returns:
        None of them where the cell may ask otherwise, or that cannot be told.
    """
    questions = []
    for line in source.split("\n"):
        asked = question_of(line) if re.match(rf"\s*{_ONE_LINE}", line) else None
        if asked is not None:
            questions.append(asked)
        elif re.search(_MENTIONED, line):
            return ()
    return tuple(questions)


def source_for(prompt: str, *options: str, has_values: bool = False) -> str:
    """Return the source of the cell that asks a prompt.

    Args:
        prompt: as typed.
        options: of the cell, as typed.
        has_values: whether its ``{{ }}`` are expressions, to be evaluated again.
    """
    is_raw = not has_values and ("{{" in prompt or re.match(COMMENT, prompt) is not None)
    first = " ".join(["%%chat", *options, *(["--raw"] if is_raw else [])])
    # A cell's last line end is not part of its prompt.
    end = "\n" if prompt.endswith("\n") else ""
    return f"{first}\n{prompt}{end}"


def _asked(magic: re.Match[str], body: str) -> Question | None:
    try:
        asked = options.parse_line(magic["line"] or "")
    except InputError:
        return None
    if asked.dry:
        return None
    make = asked.question if magic["fix"] is None else correction
    prompt = make(asked.prompt, body.rstrip("\n"))
    return Question(without_lone_surrogates(prompt), asked.quiet) if prompt.strip() else None
