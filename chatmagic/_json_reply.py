"""The JSON value of a reply: the whole reply, or its only block of JSON.

If a reply is no JSON, the error names the line and the column.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

from chatmagic.safe_text import fences

DEEPEST: Final = 100
"""Largest number of nested lists and objects."""
INDENT: Final = 2
_LONGEST_NUMBER: Final = 4300
"""Largest number of characters of a whole number: as many as Python reads by default."""

_HALF: Final = "[\ud800-\udfff]"


class NotJSONError(ValueError):
    """Text that is no JSON.

    Args:
        reason: the mistake, in words.
        text: the whole text.
        position: index of the mistake in the text; ``None`` if it is unknown.
    """

    def __init__(self, reason: str, text: str = "", position: int | None = None) -> None:
        """Keep the mistake and its place."""
        super().__init__(reason)
        self.reason = reason
        self.text = text
        self.position = position

    # Counting lines reads the text from its start: of many blocks only one mistake is shown.
    @property
    def line(self) -> int:
        """Line of the mistake, from 1; 0 if it is unknown."""
        return 0 if self.position is None else self.text.count("\n", 0, self.position) + 1

    @property
    def column(self) -> int:
        """Column of the mistake in its line, from 1; 0 if it is unknown."""
        return (
            0 if self.position is None else self.position - self.text.rfind("\n", 0, self.position)
        )

    def __str__(self) -> str:
        """Return the mistake, with its line and column."""
        if self.position is None:
            return self.reason
        return f"line {self.line:,}, column {self.column:,}: {self.reason}"


def parse(text: str) -> Any:
    """Return the JSON value of a reply.

    Args:
        text: the reply, exactly; text around its only block of JSON is ignored.

    Raises:
        NotJSONError: the reply has no JSON value, or more than one.
    """
    try:
        return _value(text, 0, len(text))
    except NotJSONError as error:
        problem = error
    values: list[Any] = []
    blocks = list(fences(text))
    for opened, closed in blocks:
        try:
            values.append(_value(text, opened.end(), closed.start() if closed else len(text)))
        except NotJSONError as error:
            # In a reply with one block, the mistake is in that block.
            problem = error if len(blocks) == 1 else problem
    if len(values) == 1:
        return values[0]
    if values:
        raise NotJSONError(f"it has {len(values):,} blocks of JSON instead of one")
    raise problem


def indented(value: Any) -> str:
    """Return a JSON value as readable text, its fields in their order.

    Args:
        value: the value.
    """
    text = json.dumps(value, ensure_ascii=False, indent=INDENT)
    # A lone surrogate stays an escape, because no message and no file can hold it.
    return re.sub(_HALF, lambda match: f"\\u{ord(match[0]):04x}", text)


def _value(text: str, start: int, end: int) -> Any:
    """Return the only JSON value between two places of a text."""
    start = end - len(text[start:end].lstrip())
    try:
        value = _DECODER.decode(text[start:end].rstrip())
    except json.JSONDecodeError as error:
        raise NotJSONError(error.msg, text, start + error.pos) from None
    except RecursionError:
        raise NotJSONError(_TOO_DEEP) from None
    except ValueError as error:
        raise NotJSONError(str(error)) from None
    if _is_deeper(value, DEEPEST):
        raise NotJSONError(_TOO_DEEP)
    return value


def _is_deeper(value: Any, most: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(_is_deeper(item, most - 1) for item in inner)


def _constant(word: str) -> NoReturn:
    raise ValueError(f"JSON has no {word}")


def _whole(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError("a number is too large")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


_TOO_DEEP: Final = f"it is nested more than {DEEPEST} deep"
# Raw line ends inside a string are allowed: models write them, and their meaning is clear.
_DECODER: Final = json.JSONDecoder(
    strict=False, parse_constant=_constant, parse_float=_finite, parse_int=_whole
)
