"""Bodies of errors in the shapes of all servers (facts 8, 9)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from chatmagic import _json
from chatmagic._json import whole_number
from chatmagic.protocol.chunk import first_choice
from chatmagic.protocol.nested_errors import innermost_cause

_EXPLANATIONS: Final = ("message", "detail", "error_description", "title")
"""Fields of an explanation; the last three as FastAPI, OAuth (RFC 6749) and RFC 9457 have them."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Body of an error response (facts 8, 9), in the shape of any server.

    Args:
        error: short error name.
        message: explanation for people.
        limit: the credit limit, on the rate-limit error.
        used: credits used, on the rate-limit error.
        reset_at: when the limit resets, as it was written.
        status: the HTTP status that the body itself names, by its number or by the name that
            services have for it (compatible servers).
        code: the error's code, where it is a word (compatible servers).
        source: the JSON from which it was read, which may name a time to ask again.
    """

    error: str | None = None
    message: str | None = None
    limit: int | None = None
    used: int | None = None
    reset_at: str | None = None
    status: int | None = None
    code: str | None = None
    source: object = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Return the error in any of the shapes that servers give it; ``None`` for no error.

        Beside the documented shape these are ``error`` as an object or a list, ``errors``,
        ``detail``, ``error_description``, ``title``, and a bare ``message``. Each may be a text, or
        an object or a list that holds it. A list may stand around any of them.

        Args:
            value: parsed JSON.
        """
        if isinstance(value, list):
            errors = (cls.from_json(item) for item in value if isinstance(item, Mapping))
            return next((error for error in errors if error is not None), None)
        if not isinstance(value, Mapping):
            return None
        stated = value.get("error") or value.get("errors") or None
        inner = _first_error(stated)
        details = inner if isinstance(inner, Mapping) else value
        code = _json.text_or_none(details.get("code"))
        name = _json.text_or_none(inner) or _json.text_or_none(details.get("type")) or code
        message = innermost_cause(details, _explanation(details) or _explanation(value))
        is_error = stated is not None or value.get("object") == "error"
        if not is_error and (message is None or "choices" in value):
            return None
        if name is None and message is None:
            return None if stated is None else cls(error=_as_written(stated), source=value)
        reset = details.get("resetAt")
        return cls(
            error=name,
            message=message,
            limit=whole_number(details.get("limit")),
            used=whole_number(details.get("used")),
            reset_at=str(reset) if isinstance(reset, str | int) else None,
            status=_named_status(details),
            code=code,
            source=value,
        )

    @classmethod
    def in_reply(cls, value: object) -> Self | None:
        """Return the error in a value that is in place of a reply; ``None`` for no error.

        Only these show an error: a field ``error``, of the value or of its choice; ``object`` with
        the value ``error``; and, without choices, ``errors`` and the figures of the rate-limit
        error. The interface does not show the other fields, so they may mean anything.

        Args:
            value: parsed JSON.
        """
        if isinstance(value, list) and value:
            value = value[0]
        if not isinstance(value, dict):
            return None
        if value.get("error") or value.get("object") == "error":
            return cls.from_json(value)
        if "choices" in value:
            inner = first_choice(value["choices"]).get("error")
            return cls.from_json({"error": inner}) if inner else None
        error = cls.from_json(value)
        if error is None or not (value.get("errors") or error.is_rate_limit):
            return None
        return error

    @classmethod
    def with_code(cls, value: object) -> Self | None:
        """Return the error in a value without a reply, by its code beside a message.

        Some services answer with a success status and an object such as
        ``{"code": 429, "msg": "Too many requests"}``, which may stand in another one.

        Args:
            value: parsed JSON.
        """
        for item in _objects(value):
            names = {name.lower(): name for name in item}
            code = _first_value(item, [names[key] for key in _CODES if key in names])
            words = _first_value(item, [names[key] for key in _MESSAGES if key in names])
            if str(code).lower() not in _NO_ERROR and isinstance(words, str) and words:
                return cls(message=words, status=_named_status({"code": code}), source=value)
        return None

    @property
    def is_rate_limit(self) -> bool:
        """Whether this is the documented rate-limit error, known only by its body (fact 9)."""
        return self.limit is not None and self.used is not None

    def to_json(self) -> dict[str, Any]:
        """Return the body as the interface writes it."""
        return _json.known_items(
            error=self.error,
            message=self.message,
            limit=self.limit,
            used=self.used,
            resetAt=self.reset_at,
        )


_CODES: Final = ("code", "status_code", "error_code")
_MESSAGES: Final = ("message", "msg", "status_msg", "error_msg")
"""Fields of a code, and of a message beside it, in small letters."""
_NO_ERROR: Final = {"none", "", "0", "200", "ok", "success"}
"""Codes of a success, or of none."""


def _objects(value: object, depth: int = 2) -> Iterator[Mapping[str, Any]]:
    """Yield a JSON object, and those in it."""
    if isinstance(value, Mapping):
        yield value
        for inner in value.values() if depth else ():
            yield from _objects(inner, depth - 1)


def _first_value(item: Mapping[str, Any], names: list[str]) -> object:
    """Return the first value of some fields that is not null; ``None`` without one."""
    return next((item[name] for name in names if item[name] is not None), None)


def _first_error(stated: object) -> object:
    """Return the first error of a list of errors; any other value as it is."""
    if not isinstance(stated, list):
        return stated
    return next((item for item in stated if isinstance(item, Mapping | str)), None)


def _explanation(error: Mapping[str, Any]) -> str | None:
    """Return the explanation of an error; ``None`` without one."""
    words = (_words(error.get(name)) for name in _EXPLANATIONS)
    return next(filter(None, words), None)


_STATUS_NAMES: Final[Mapping[str, int]] = {
    "overloaded": 529,
    "overloaded_error": 529,
    "engine_overloaded": 503,
    "server_overloaded": 503,
    "service_unavailable": 503,
    "unavailable": 503,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "too_many_requests": 429,
    "capacity_exceeded": 429,
    "throttling.ratequota": 429,
    "throttlingexception": 429,
    "insufficient_quota": 429,
}
"""Statuses by the names that Alibaba, Amazon, Anthropic, Google, Groq and OpenAI have for them."""


def _named_status(error: Mapping[str, Any]) -> int | None:
    """Return the status that an error names; a number counts before a name."""
    values = [error.get(name) for name in ("code", "status", "type")]
    names = [value.lower() for value in values if isinstance(value, str)]
    statuses = [*map(_status, values[:2]), *map(_STATUS_NAMES.get, names)]
    return next(filter(None, statuses), None)


def _status(value: object) -> int | None:
    number = whole_number(value)
    return number if number is not None and 400 <= number <= 599 else None  # noqa: PLR2004 - HTTP's


def _words(value: object, depth: int = 3) -> str | None:
    """Return an explanation: a text, or the first one in a list or an object; ``None`` for none.

    Args:
        value: any JSON value.
        depth: number of objects, one in another, that are looked into.
    """
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, Mapping) or not depth:
        return _json.text_or_none(value)
    for name in ("msg", "message", "detail", "error"):
        if words := _words(value.get(name), depth - 1):
            field = _named_field(value)
            return words if field is None else f"{field}: {words}"
    return None


def _named_field(error: Mapping[str, Any]) -> str | None:
    """Return the field that FastAPI names beside an explanation: ``["body", "messages"]``."""
    place = error.get("loc")
    if not isinstance(place, list) or len(place) < 2:  # noqa: PLR2004 - the first one is no field
        return None
    return place[-1] if isinstance(place[-1], str) else None


def _as_written(value: object) -> str:
    """Return the text of an error that has no words of its own."""
    try:
        return "error" if isinstance(value, bool) else json.dumps(value)
    except RecursionError:
        return "error"
