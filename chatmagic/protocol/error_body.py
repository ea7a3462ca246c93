"""Error bodies in any of the shapes that servers give them (facts 8, 9)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from chatmagic import _json
from chatmagic._json import whole_number
from chatmagic.protocol.wire import first_choice

_EXPLANATIONS: Final = ("message", "detail", "error_description", "title")
"""Fields of an explanation; the last three as FastAPI, OAuth (RFC 6749) and RFC 9457 have them."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Body of an error response (facts 8, 9), or the nearest thing to one.

    Args:
        error: short error name.
        message: explanation for people.
        limit: the credit limit, on the rate-limit error.
        used: credits used, on the rate-limit error.
        reset_at: when the limit resets, as it was written.
        status: the HTTP status that the body itself names (compatible servers).
        code: the error's code, where it is a word (compatible servers).
    """

    error: str | None = None
    message: str | None = None
    limit: int | None = None
    used: int | None = None
    reset_at: str | None = None
    status: int | None = None
    code: str | None = None

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Read an error in any of the shapes that servers give it; ``None`` is no error.

        Beside the documented shape: ``error`` as an object or a list, ``errors``,
        ``detail``, ``error_description``, ``title``, a bare ``message`` (each as text, or as an
        object or a list that holds it), and a list around any of them.
        """
        if isinstance(value, list):
            errors = (cls.from_json(item) for item in value if isinstance(item, Mapping))
            return next((error for error in errors if error is not None), None)
        if not isinstance(value, Mapping):
            return None
        named = inner = value.get("error") or value.get("errors") or None
        if named is None and value.get("object") != "error" and _looks_like_a_reply(value):
            return None
        if isinstance(inner, list):
            inner = next((item for item in inner if isinstance(item, Mapping | str)), None)
        outer = inner if isinstance(inner, Mapping) else value
        code, reset = _json.text(outer.get("code")), outer.get("resetAt")
        name = _json.text(inner) or _json.text(outer.get("type")) or code
        words = (_words(part.get(field)) for part in (outer, value) for field in _EXPLANATIONS)
        message = next(filter(None, words), None)
        if name is None and message is None:
            return None if named is None else cls(error=_as_written(named))
        return cls(
            error=name,
            message=message,
            limit=whole_number(outer.get("limit")),
            used=whole_number(outer.get("used")),
            reset_at=str(reset) if isinstance(reset, str | int) else None,
            status=_status(outer.get("code")) or _status(outer.get("status")),
            code=code,
        )

    @classmethod
    def in_reply(cls, value: object) -> Self | None:
        """Read an error that stands where a reply was promised; ``None`` is no error.

        Only its ``error`` field tells it, or that of its choice, or the figures of the
        rate-limit error: any other field of a reply or a chunk is not shown, and may be
        called anything.
        """
        if isinstance(value, list) and value:
            value = value[0]
        if not isinstance(value, dict):
            return None
        choice = first_choice(value.get("choices"))
        if choice.get("error") and not value.get("error"):
            value = {"error": choice["error"]}
        named = value.get("error") or value.get("object") == "error"
        if not named and "choices" in value and not value.get("errors"):
            return None
        error = cls.from_json(value)
        named = named or ("choices" not in value and value.get("errors"))
        return error if named or (error is not None and error.is_rate_limit) else None

    @property
    def is_rate_limit(self) -> bool:
        """Whether this is the documented rate-limit error, which only its body tells (fact 9)."""
        return self.limit is not None and self.used is not None

    def to_json(self) -> dict[str, Any]:
        """Return the body as the interface writes it."""
        return _json.known(
            error=self.error,
            message=self.message,
            limit=self.limit,
            used=self.used,
            resetAt=self.reset_at,
        )


def _status(value: object) -> int | None:
    number = whole_number(value)
    return number if number is not None and 400 <= number <= 599 else None  # noqa: PLR2004 - HTTP's


def _looks_like_a_reply(value: Mapping[str, Any]) -> bool:
    return "choices" in value or not any(
        _words(value.get(name)) for name in ("message", "detail", "title")
    )


def _words(value: object, depth: int = 3) -> str | None:
    """Read an explanation: a text, or the first one in a list or an object such as FastAPI's."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, Mapping) and depth:
        inner = (
            _words(value.get(name), depth - 1) for name in ("msg", "message", "detail", "error")
        )
        return next(filter(None, inner), None)
    return _json.text(value)


def _as_written(value: object) -> str:
    """Return what stands for an error and has no words of its own."""
    try:
        return "error" if isinstance(value, bool) else json.dumps(value)
    except RecursionError:
        return "error"
