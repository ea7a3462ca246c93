"""Texts in front of a question: a cell and its output, an error and its cell, the reply's form.

A cell and an error stand in fences that nothing in them can close. They say nothing of this
kernel, such as a cell's number, so that a notebook that runs again sends the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from chatmagic.conversation.request_facts import Format, Value
from chatmagic.text import fence, without_memory_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmagic.conversation.schema_text import Schema
    from chatmagic.conversation.turn import Turn

MOST: Final = 100_000
"""How many characters of a cell's output, or of an error, go along at most."""

# Control sequences of a terminal (ECMA-48): colours, cursor movements, titles.
_CONTROL: Final = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])"


def cell_text(source: str, output: str = "", size: int | None = None, trace: str = "") -> str:
    """Return a cell with its output as the model reads it.

    Args:
        source: what the cell says.
        output: its output as text, or as much of it as goes along; empty for none.
        size: how many characters the output had; ``None`` where it is all there.
        trace: the error that the cell raised, as text; empty for none.
    """
    parts = [f"A cell of this notebook:\n\n{_fenced(shortened(source), 'python')}"]
    shown = as_shown(output).strip("\n")
    if size and not output:
        parts.append(f"Its output of {size:,} characters is left out.")
    if shown.strip():
        is_whole = size is None or size <= len(output)
        words = "" if is_whole else f" (the first {len(output):,} of {size:,} characters)"
        parts.append(f"Its output{words}:\n\n{_fenced(shown)}")
    if trace:
        parts.append(f"The error that it raised:\n\n{_fenced(shortened(as_shown(trace)))}")
    return "\n\n".join(parts)


def error_text(source: str, trace: str) -> str:
    """Return an error with the cell that raised it as the model reads it.

    Args:
        source: what the cell says.
        trace: the error with its traceback, as text.
    """
    cell = _fenced(shortened(source), "python")
    return (
        f"A cell of this notebook that raised an error:\n\n{cell}\n\n"
        f"The error:\n\n{_fenced(shortened(as_shown(trace)))}"
    )


def shortened(text: str, most: int = MOST) -> str:
    """Return a text that says how much of it was left out, where it is longer than that.

    Args:
        text: the text.
        most: how many of its characters are left at most.
    """
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[the first {most:,} of {len(text):,} characters]"


def as_shown(text: str) -> str:
    """Return printed text as it is left to see: without colours, nor what was written over.

    Nor are addresses of objects left, so that a cell that runs again shows the same.

    Args:
        text: as it was printed.
    """
    lines = re.sub(_CONTROL, "", text).split("\n")
    shown = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    return without_memory_addresses(shown)


def _fenced(text: str, language: str = "") -> str:
    """Return a text in a fence that is longer than any in it."""
    marks, end = fence(text), "" if text.endswith("\n") else "\n"
    return f"{marks}{language}\n{text}{end}{marks}"


_WORDS: Final[Mapping[Format, str]] = {
    "markdown": "Reply in prose again, as Markdown; the form of the earlier reply holds no longer.",
    "text": "Reply in plain text, without Markdown.",
    "code": "Reply with code alone, in one fenced code block that names its language.",
    "json": "Reply with one JSON value alone, without a code fence and without other words.",
}


def words_on_form(format: Format, schema: Schema | None, sent: Sequence[Turn]) -> Value | None:
    """Return the words on the form of the reply that go in front of a question.

    Args:
        format: the form.
        schema: the schema of a reply in JSON; ``None`` for any JSON.
        sent: the turns that the request carries, oldest first.

    Returns:
        ``None`` where nothing needs to be said: prose is what a model gives by itself, unless
        its latest reply had another form.
    """
    if format == "markdown" and (not sent or sent[-1].format == "markdown"):
        return None
    if schema is None:
        return Value.of(format, _WORDS[format], "format")
    words = f"{_WORDS[format]} It is of the type {schema.name}:\n\n{schema.text}"
    return Value.of(f"{format} {schema.name}", words, "format")


def with_known_text(value: Value) -> Value:
    """Return a value with its text where that is known without being kept: our own words.

    Args:
        value: as a record keeps it.
    """
    ours = [Value.of(format, words, "format") for format, words in _WORDS.items()]
    return next((known for known in ours if known.bare == value), value)


def nearest_with_schema(above: Sequence[Turn]) -> Turn | None:
    """Return the nearest turn that was asked with a schema; ``None`` where there is none.

    Args:
        above: the turns above a question, oldest first.
    """
    return next((turn for turn in reversed(above) if turn.schema is not None), None)
