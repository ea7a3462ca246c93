"""Request fields for which a service refused a request, by the words of its answer. Pure.

Services beside the interface name a field in ``param`` (OpenAI), in ``loc`` (FastAPI), in the code,
in the message, or as a name in ``errors`` (ASP.NET). Alone in ``param`` it is refused in whatever
words, if these speak of no value. What is recognized here is sent again without the field, so a
complaint about a value (a limit that is too large) is no refusal of its field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

SCHEMA: Final = "schema"
"""Stands for a refusal of the schema in ``response_format``, and not of the field."""
ADDED: Final = ("stream_options", "response_format")
"""Fields that chatmagic adds by itself: any complaint about one is a refusal of it."""
ASKED: Final = ("max_tokens", "max_completion_tokens", "temperature", "stream")
"""Fields that a user sets, or that each request has."""

_NAMING: Final = ("param", "code", "type", "message", "msg", "detail", "error", "errors", "loc")
_NAMING_TOO: Final = ("field", "parameter", "title", "error_description", "metadata", "raw")
_DEPTH: Final = 6
_LONGEST: Final = 4_000
"""Largest number of characters of an answer's text that are looked at."""
# "_" and "-" are read as blanks: codes are words like "unsupported_parameter".
_UNSUPPORTED: Final = (
    r"(?i)\b(?:un(?:supported|known|recogni[sz]ed|expected|available|permitted|implemented)"
    r"|not (?:\w+ )?(?:supported|allowed|permitted|recogni[sz]ed|implemented|available|accepted"
    r"|valid|compatible|configurable|applicable)"
    r"|(?:does not|doesn'?t|do not|don'?t|cannot|can'?t) (?:\w+ )?(?:support|accept|allow|recogni)"
    r"|no (?:such|longer)|deprecated|extra (?:fields?|inputs?|parameters?|forbidden)"
    r"|additional propert|cannot find field|forbidden|use max completion tokens"
    r"|incompatible|replaced by|remove (?:it|the)|fixed for|only (?:1|non streaming)\b"
    r"|(?:can'?t|may not|cannot) be (?:set|changed)"
    r"|(?:must|should) be (?:false|1(?! or)|omitted|unset|removed))"
)
_VALUE: Final = (
    r"(?i)\b(?:(?:must|should) be(?! false| 1(?! or)| omitted| unset| removed| verified)"
    r"|at (?:most|least)|between|(?:max|min)imum|(?:less|greater) than"
    r"|(?:out of )?range|too (?:large|small|high|low|big|many)|exceed\w*)\b"
)
_SCHEMA: Final = r"(?i)\bschemas?\b(?! (?:is|are) (?:not|un))|\bgrammar\b"
_FORM: Final = r"(?i)\bresponse format\b|\bjson (?:mode|object|schemas?)\b|\bstructured outputs?\b"


def refused_fields(source: object) -> tuple[str, ...]:
    """Return the fields for which a request was refused; empty if the answer names none.

    Args:
        source: the JSON of an answer that refused a request.
    """
    text = " ".join(_naming_texts(source))[:_LONGEST]
    words = re.sub(r"[_-]+", " ", text)
    is_unsupported = re.search(_UNSUPPORTED, words) is not None
    refused = [name for name in ADDED if _names(text, name)]
    if re.search(_SCHEMA, text) and (refused == ["response_format"] or not refused):
        return (SCHEMA,)
    if not refused and is_unsupported and re.search(_FORM, words):
        refused = ["response_format"]
    if not re.search(_VALUE, words):
        named = text if is_unsupported else " ".join(_params(source))
        refused += [name for name in ASKED if _names(named, name)]
    return tuple(refused)


def _names(text: str, name: str) -> bool:
    """Return whether a text has a field's name as a word of its own."""
    word = r"(?:non-)?stream(?:ing)?" if name == "stream" else name
    return re.search(rf"(?i)(?<![\w-]){word}(?![\w-])", text) is not None


def _params(value: object, depth: int = _DEPTH) -> Iterator[str]:
    """Yield the texts in an answer's fields ``param``."""
    if isinstance(value, list) and depth:
        for item in value:
            yield from _params(item, depth - 1)
    elif isinstance(value, Mapping) and depth:
        if isinstance(param := value.get("param"), str):
            yield param
        yield from _params(value.get("error"), depth - 1)


def _naming_texts(value: object, depth: int = _DEPTH) -> Iterator[str]:
    """Yield the texts of an answer that may name a field; not those that repeat the request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth:
        for item in value:
            yield from _naming_texts(item, depth - 1)
    elif isinstance(value, Mapping) and depth:
        for name in (*_NAMING, *_NAMING_TOO):
            yield from _naming_texts(value.get(name), depth - 1)
        if isinstance(faults := value.get("errors"), Mapping):
            for name in faults:
                yield from (str(name), *_naming_texts(faults[name], depth - 1))
