"""Lenient decoder of the JSON that services send, and what JSON that is cut still tells."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import Final

from chatmagic import _json


def _whole(digits: str) -> float:
    """Return a whole number; infinity, which is no figure, if Python reads no number so long."""
    return int(digits) if len(digits) <= _json.MOST_DIGITS else math.inf


# Raw control characters inside a string are accepted: the text matters more than the standard.
JSON_DECODER: Final = json.JSONDecoder(strict=False, parse_int=_whole)
"""Decoder of JSON; raises :exc:`ValueError` and :exc:`RecursionError`."""


_LONGEST_WORD: Final = len("-Infinity")


def json_is_cut(error: Exception) -> bool:
    """Return whether JSON probably could not be read because it ends too early.

    Args:
        error: the error of :data:`JSON_DECODER`.
    """
    if not isinstance(error, json.JSONDecodeError):
        return False
    # Where a word, a number or an escape is cut, the mistake is near the end.
    rest = error.doc[error.pos :].rstrip()
    is_end = len(rest) < _LONGEST_WORD and not rest.endswith(("]", "}"))
    return is_end or error.msg.startswith("Unterminated")


_CONTENT: Final = re.compile(r'"content"\s*:\s*"')


_LONGEST_ESCAPE: Final = len(r"\u0000")


def content_begun(text: str) -> str:
    """Return the beginning of the first content in JSON that is cut; empty without one.

    Args:
        text: the JSON, cut anywhere.
    """
    if (match := _CONTENT.search(text)) is None:
        return ""
    # The cut may be within an escape.
    for end in (len(text), text.rfind("\\", len(text) - _LONGEST_ESCAPE)):
        with suppress(ValueError):
            content: str = JSON_DECODER.raw_decode(f'{text[:end]}"', match.end() - 1)[0]
            return content
    return ""
