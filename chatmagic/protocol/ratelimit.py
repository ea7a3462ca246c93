"""Request limits: how many requests a server takes in its window, by its headers; no credits.

Two families are read. One is ``x-ratelimit-limit-requests`` and its sisters, as OpenAI sends
them; the other is draft-ietf-httpapi-ratelimit-headers in the forms that its versions gave
it: ``RateLimit: "default";r=93;t=30`` beside ``RateLimit-Policy: "default";q=100`` (from 08
on), ``RateLimit: limit=100, remaining=93, reset=30`` (07), and ``RateLimit-Limit``,
``RateLimit-Remaining`` and ``RateLimit-Reset`` before.

Pure. What is absent or malformed is unknown, never 0, and never an exception.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from chatmagic._json import whole_number
from chatmagic.protocol import credits as crediting

_DAY: Final = timedelta(days=1)
_HIGHEST: Final = 10**12
_LONGEST: Final = 366 * 86_400
_SECONDS_IN: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AMOUNT: Final = r"(\d{1,9}(?:\.\d{1,9})?)"
_PART: Final = rf"(?a){_AMOUNT}(ms|[dhms])"
_PAIR: Final = r"(?a)\b(limit|remaining|reset|[qrt])\s*=\s*(\d{1,15})(?![\d.])"
# Name and parameters of an item of a list (RFC 9651, 3.1); no parameter that counts is quoted.
_ITEM: Final = r'("[^"]*"|[^",;\s]+)\s*((?:;[^,]*)?)'


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """Requests that a server takes in its current window; ``None`` is unknown.

    Args:
        limit: requests in the whole window.
        remaining: requests left in it.
        ends_at: when the window ends, aware, in UTC.
        seen_at: the time these figures are of, aware, in UTC.
    """

    limit: int | None
    remaining: int | None
    ends_at: datetime | None
    seen_at: datetime


def from_headers(headers: crediting.Headers, now: datetime) -> RequestLimit | None:
    """Return the request limit that the headers of a response name.

    Args:
        headers: names, in any case, and values; a name may occur several times.
        now: the time, aware; counts where the response has no valid ``Date``.

    Returns:
        What is known; ``None`` if no figure is.
    """
    fields: dict[str, str] = {}
    for name, value in headers:
        before = fields.get(name.lower())
        fields[name.lower()] = value.strip() if before is None else f"{before}, {value}"
    seen_at = crediting.date(headers) or now.astimezone(UTC)
    for texts in (_as_openai(fields), _as_the_draft(fields)):
        limit, remaining = map(_figure, texts[:2])
        seconds = _seconds(texts[2])
        ends_at = None if seconds is None else seen_at + timedelta(seconds=seconds)
        if limit is not None or remaining is not None:
            return RequestLimit(limit, remaining, ends_at, seen_at)
    return None


def words(window: RequestLimit) -> str:
    """Return how many requests are left, without the time of the window's end."""
    limit, remaining = window.limit, window.remaining
    if remaining is None:
        return f"{limit:,} requests in a window, unknown how many are left"
    of_limit = "" if limit is None else f" of {limit:,}"
    unit = "request" if (remaining if limit is None else limit) == 1 else "requests"
    return f"{remaining:,}{of_limit} {unit} left in this window"


def line(window: RequestLimit, now: datetime) -> str:
    """Return how many requests are left and until when, in UTC.

    Args:
        window: the figures of a response.
        now: the time by the service's clock, aware.
    """
    ends_at = window.ends_at
    if ends_at is None:
        return f"{words(window)}."
    if ends_at <= now:
        return "Requests left unknown: the window that was reported has ended."
    form = "%H:%M:%S" if ends_at - window.seen_at < _DAY else "%Y-%m-%d %H:%M"
    return f"{words(window)}, until {ends_at:{form}} UTC."


def _as_openai(fields: dict[str, str]) -> list[str]:
    """Return the texts of limit, remaining and reset; what is absent is empty."""
    return [
        fields.get(f"x-ratelimit-{name}-requests", "") for name in ("limit", "remaining", "reset")
    ]


def _as_the_draft(fields: dict[str, str]) -> list[str]:
    """Return the texts of limit, remaining and reset; of several items the first counts."""
    value = fields.get("ratelimit", "")
    if not value:
        # A version let the limit be followed by its policies: 100, 100;w=60.
        limit = re.split("[,;]", fields.get("ratelimit-limit", ""), maxsplit=1)[0]
        return [limit, fields.get("ratelimit-remaining", ""), fields.get("ratelimit-reset", "")]
    pairs = dict(re.findall(_PAIR, value))
    if "r" in pairs:
        name, parameters = re.findall(_ITEM, value)[0]
        policy = dict(re.findall(_ITEM, fields.get("ratelimit-policy", ""))).get(name, "")
        if "qu=" in policy and 'qu="requests"' not in policy:
            return ["", "", ""]
        pairs = dict(re.findall(_PAIR, policy + parameters))
    names = (("limit", "q"), ("remaining", "r"), ("reset", "t"))
    return [pairs.get(name) or pairs.get(short, "") for name, short in names]


def _figure(text: str) -> int | None:
    number = whole_number(text)
    return number if number is not None and number <= _HIGHEST else None


def _seconds(text: str) -> int | None:
    """Read ``6m0s``, ``12ms`` or a number of seconds, rounded up; beyond a year it is none."""
    text = text if text.endswith(("d", "h", "m", "s")) else f"{text}s"
    parts = re.findall(_PART, text)
    if not parts or "".join(map("".join, parts)) != text:
        return None
    seconds = math.ceil(sum(float(amount) * _SECONDS_IN[unit] for amount, unit in parts))
    return seconds if seconds <= _LONGEST else None
