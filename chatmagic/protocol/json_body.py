"""Bodies that are JSON: one value or several, whole or cut."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final

# Raw control characters inside a string are let through: the text matters, not the letter.
# A number that is longer than Python reads is beyond every figure.
_LONG: Final = 1_000
DECODER: Final = json.JSONDecoder(
    strict=False, parse_int=lambda digits: int(digits) if len(digits) < _LONG else math.inf
)
"""Reads a value where it stands; raises :exc:`ValueError` and :exc:`RecursionError`."""
_OF_SHORT: Final = json.JSONDecoder(strict=False)


def decoder_of(text: str) -> json.JSONDecoder:
    """Return what reads a text as :data:`DECODER` does; faster where no number can be long."""
    return _OF_SHORT if len(text) < _LONG else DECODER


_WORDS: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
# Of a letter that is written out, and of a number.
_HALVES: Final = r"u[0-9a-fA-F]{0,4}|\.|[eE][+-]?"


@dataclass(frozen=True, slots=True)
class Documents:
    """Values that a body of JSON holds, and how reading it ended.

    Args:
        values: the values as far as they could be read; the items of a list that is one.
        done: whether an end mark stood after them.
        problem: why the rest could not be read, if it could not; a
            :exc:`json.JSONDecodeError` says where.
    """

    values: list[Any]
    done: bool = False
    problem: ValueError | None = None


def documents(text: str, end_marks: tuple[str, ...] = ()) -> Documents:
    """Read a body that is JSON: one value, or one after the other, as some servers stream.

    Args:
        text: the whole body, or as much of it as came.
        end_marks: what ends the values, where it stands behind one.
    """
    text = text.strip()
    values: list[Any] = []
    at, between = 0, re.compile(r"\s*")
    try:
        while at < len(text):
            if values and text.startswith(end_marks, at):
                return Documents(values, done=True)
            value, at = DECODER.raw_decode(text, at)
            values += value if isinstance(value, list) and value else [value]
            at = between.match(text, at).end()  # type: ignore[union-attr] # it always matches
    except ValueError as problem:
        return Documents(values, problem=problem)
    except RecursionError:
        return Documents(values, problem=ValueError("nested too deeply"))
    return Documents(values)


def is_cut(error: ValueError) -> bool:
    """Return whether the problem of :func:`documents` is JSON that ends too early."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    rest = error.doc[error.pos :].rstrip()
    return (
        error.msg.startswith("Unterminated")
        or any(word.startswith(rest) for word in _WORDS)
        or re.fullmatch(_HALVES, rest) is not None
    )
