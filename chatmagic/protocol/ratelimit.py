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
from typing import Final, NamedTuple

from chatmagic._json import whole_number
from chatmagic.protocol import credits as crediting

_DAY: Final = timedelta(days=1)
_HIGHEST: Final = 10**12
_LONGEST: Final = 366 * 86_400
_SECONDS_IN: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AMOUNT: Final = r"(\d{1,9}(?:\.\d{1,9})?)"
_NUMBER: Final = re.compile(_AMOUNT, re.ASCII)
_PART: Final = re.compile(rf"{_AMOUNT}(ms|[dhms])", re.ASCII)
_PAIR: Final = re.compile(r"\b(limit|remaining|reset)\s*=\s*(\d{1,15})(?![\d.])", re.ASCII)
# The items of a list, and the name and parameters of one (RFC 9651, 3.1).
_ITEM: Final = re.compile(r'(?:"[^"]*"|[^",])+')
_PARAMETER: Final = re.compile(r'(?:"[^"]*"|[^";])+')


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


class _Figures(NamedTuple):
    limit: int | None = None
    remaining: int | None = None
    seconds: float | None = None


def from_headers(headers: crediting.Headers, now: datetime) -> RequestLimit | None:
    """Return the request limit that the headers of a response name.

    Args:
        headers: names, in any case, and values; a name may occur several times.
        now: the time, aware; counts where the response has no valid ``Date``.

    Returns:
        What is known; ``None`` if no figure is.
    """
    pairs = crediting.header_pairs(headers)
    fields: dict[str, str] = {}
    for name, value in pairs:
        before = fields.get(name.lower())
        fields[name.lower()] = value.strip() if before is None else f"{before}, {value}"
    seen_at = crediting.date(pairs) or now.astimezone(UTC)
    for limit, remaining, seconds in (_as_openai(fields), _as_the_draft(fields)):
        if limit is not None or remaining is not None:
            return RequestLimit(limit, remaining, _after(seen_at, seconds), seen_at)
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


def _after(seen_at: datetime, seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else seen_at + timedelta(seconds=math.ceil(seconds))
    except OverflowError:
        return None


def _as_openai(fields: dict[str, str]) -> _Figures:
    return _Figures(
        _figure(fields.get("x-ratelimit-limit-requests")),
        _figure(fields.get("x-ratelimit-remaining-requests")),
        _duration(fields.get("x-ratelimit-reset-requests", "")),
    )


def _as_the_draft(fields: dict[str, str]) -> _Figures:
    value = fields.get("ratelimit", "")
    if pairs := dict(_PAIR.findall(value)):
        return _figures(pairs.get("limit"), pairs.get("remaining"), pairs.get("reset"))
    if value:
        return _tightest(value, fields.get("ratelimit-policy", ""))
    # A version let the limit be followed by its policies: 100, 100;w=60.
    limit = re.split("[,;]", fields.get("ratelimit-limit", ""), maxsplit=1)[0]
    return _figures(limit, fields.get("ratelimit-remaining"), fields.get("ratelimit-reset"))


def _tightest(value: str, policies: str) -> _Figures:
    """Return the figures of the item with the fewest requests left; other units are left out."""
    quotas = dict(_items(policies))
    tightest = _Figures()
    for name, parameters in _items(value):
        quota = quotas.get(name, {})
        figures = _figures(quota.get("q"), parameters.get("r"), parameters.get("t"))
        if quota.get("qu", "requests") != "requests" or figures.remaining is None:
            continue
        if tightest.remaining is None or figures.remaining < tightest.remaining:
            tightest = figures
    return tightest


def _items(value: str) -> list[tuple[str, dict[str, str]]]:
    """Return the items of a list: their names and parameters."""
    items = []
    for item in _ITEM.findall(value):
        name, *parameters = _PARAMETER.findall(item) or [""]
        split = (parameter.partition("=") for parameter in parameters)
        items.append((name.strip(), {key.strip(): text.strip(' "') for key, _, text in split}))
    return items


def _figures(limit: str | None, remaining: str | None, seconds: str | None) -> _Figures:
    return _Figures(_figure(limit), _figure(remaining), _duration(seconds or ""))


def _figure(text: str | None) -> int | None:
    number = whole_number(text)
    return number if number is not None and number <= _HIGHEST else None


def _duration(text: str) -> float | None:
    """Read ``6m0s``, ``12ms`` or a number of seconds; a time beyond a year is none."""
    parts = _PART.findall(text)
    if parts and "".join(map("".join, parts)) == text:
        seconds = sum(float(amount) * _SECONDS_IN[unit] for amount, unit in parts)
    elif _NUMBER.fullmatch(text):
        seconds = float(text)
    else:
        return None
    return seconds if seconds <= _LONGEST else None
