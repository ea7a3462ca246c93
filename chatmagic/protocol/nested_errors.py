"""Innermost cause of an error that gateways pass on, with the provider's name before it. Pure.

A gateway such as OpenRouter answers "Provider returned error", and has the provider's own answer as
text in ``metadata.raw``. Others put the answer into the message, as JSON or as Python writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_INNER: Final = ("raw", "innererror", "inner_error", "cause", "error", "body", "response")
"""Fields of an error, or of its ``metadata``, that hold the answer of another service."""
_TEXTS: Final = ("message", "msg", "detail", "error_description", "error")
_PROVIDERS: Final = ("provider_name", "provider")
_DEPTH: Final = 8
_LONGEST: Final = 20_000
"""Largest number of characters of a text that is read as another error."""
# A message within a text that is no JSON, as Python writes it.
_WRITTEN: Final = r"""['"]message['"]: ?(?:'((?:[^'\\]|\\.)+)'|"((?:[^"\\]|\\.)+)")"""


def innermost_cause(error: Mapping[str, Any], message: str | None) -> str | None:
    """Return the message of the innermost error, with the name of its provider before it.

    Args:
        error: the JSON object of an error.
        message: its own message; ``None`` without one.
    """
    causes = filter(None, map(_cause, _inner_values(error)))
    if (cause := next(causes, None)) is not None:
        return _after(_provider(error), cause)
    if message is None:
        return None
    cause_in_text, around = _in_text(message)
    return message if cause_in_text is None else _after(around, cause_in_text)


def _cause(value: object, depth: int = _DEPTH) -> str | None:
    """Return the message of the innermost error in a value; ``None`` without one."""
    if isinstance(value, str):
        found = _in_text(value, depth)[0]
        return found or value.strip() or None
    if not isinstance(value, Mapping) or not depth:
        return None
    inner = (_cause(item, depth - 1) for item in _inner_values(value))
    texts = (_cause(value.get(name), depth - 1) for name in _TEXTS)
    found = next(filter(None, inner), None) or next(filter(None, texts), None)
    return found and _after(_provider(value), found)


def _inner_values(error: Mapping[str, Any]) -> Iterator[object]:
    """Yield the values of an error that may hold the answer of another service."""
    metadata = error.get("metadata")
    for place in (metadata, error):
        if isinstance(place, Mapping):
            for name in _INNER:
                # A text there is the short name of this very error.
                if name != "error" or isinstance(place.get(name), Mapping):
                    yield place.get(name)


def object_in_text(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object that a text holds; ``None`` for none, or in a long text.

    Args:
        text: an explanation, or the answer of another service.
    """
    start = text.find("{")
    if start < 0 or len(text) > _LONGEST:
        return None
    try:
        value: Mapping[str, Any] = json.JSONDecoder(strict=False).raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
    return value


def _in_text(text: str, depth: int = _DEPTH) -> tuple[str | None, str]:
    """Return the message of an error that a text holds, and the text before it."""
    before, brace, rest = text.partition("{")
    if not brace or not depth or len(text) > _LONGEST:
        return None, ""
    value = object_in_text(text)
    if value is not None:
        message = _cause(value, depth - 1)
    else:
        written = re.search(_WRITTEN, rest)
        message = None if written is None else written[1] or written[2]
    return message or None, before.strip(" \n\t-:([")


def _provider(error: Mapping[str, Any]) -> str:
    """Return the name of the provider of an error; empty without one."""
    metadata = error.get("metadata")
    places = [place for place in (metadata, error) if isinstance(place, Mapping)]
    names = (place.get(name) for place in places for name in _PROVIDERS)
    return next((name.strip() for name in names if isinstance(name, str)), "")


def _after(before: str, message: str) -> str:
    return f"{before}: {message}" if before else message
