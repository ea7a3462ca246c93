"""Facts of an answer's headers: credits, requests left and date; their figures in words.

An absent or malformed value is unknown, never 0, and never an exception. A figure holds for the
time at which its response was written. It may have changed since, as other keys of the account draw
on the same credits (facts 9, 10).

Requests left are no fact of the interface. The headers ``x-ratelimit-…-requests`` are read because
OpenAI and many compatible servers send them. The amount that a key has spent is none either. The
gateway LiteLLM counts it, in its own unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, TypeVar

from chatmagic import _json
from chatmagic.models import Credits
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.safe_text import counted

Headers: TypeAlias = Collection[tuple[str, str]]
CreditLevel = Literal["unknown", "ok", "low", "empty"]

HEADERS: Final = (
    "date",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-litellm-key-spend",
    "x-litellm-key-max-budget",
)
"""Headers of a reply's facts, which a cassette keeps; the others matter only when they arrive."""

_FIGURES: Final = frozenset(HEADERS) - {"date", "retry-after"}
"""Headers with figures of the credits."""
_Value = TypeVar("_Value")
_HIGHEST: Final = 10**15
OTHERS: Final = "others may share the credits"
"""End of a sentence on the credits of an account."""
_YEAR: Final = timedelta(days=365)
_FAR_YEAR: Final = 9_000  # so that no sum goes beyond the calendar
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# HTTP dates are in GMT and say so, except the oldest form, which ends in the year.
_HTTP_DATE: Final = r"(?a)[A-Z][a-z]+,? .+ (GMT|UTC|\d{4})"
# A proxy joins repeated headers with commas. The comma inside an HTTP date follows the
# name of a day, and no value that counts here ends in a small letter.
JOINT: Final = r"(?<=[0-9TZ])\s*,\s*"
_SPENDING: Final = r"(?a)\d{1,15}(\.\d{1,30})?(e-\d{1,2})?"
_LONGEST_WINDOW: Final = 366 * 86_400
_SECONDS_IN: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AMOUNT: Final = r"(\d{1,9}(?:\.\d{1,9})?)"
_PART: Final = rf"(?a){_AMOUNT}(ms|[dhms])"


def reply_facts(headers: Headers, now: datetime) -> dict[str, Any]:
    """Return the facts of a reply in its headers, by their names in ``models.ReplyFacts``.

    Args:
        headers: as for :func:`from_headers`.
        now: as for :func:`from_headers`.
    """
    own_date = date(headers)
    return {"credits": _credits(headers, now, own_date, None), "date": own_date}


def from_headers(headers: Headers, now: datetime, body: ErrorBody | None = None) -> Credits | None:
    """Return the credits that a response names.

    Args:
        headers: names, in any case, and values; a name may occur several times.
        now: the time, aware; counts if the response has no valid ``Date``.
        body: an error's body, whose figures count before those of the headers; only the
            rate-limit error has some (fact 9).

    Returns:
        The known figures; ``None`` if there are none.
    """
    return _credits(headers, now, date(headers), body)


def _credits(
    headers: Headers, now: datetime, own_date: datetime | None, body: ErrorBody | None
) -> Credits | None:
    """Return the credits of a response with its own date, as :func:`from_headers`."""
    if body is None and _FIGURES.isdisjoint(values_by_name(tuple(headers))):
        return None
    seen_at = own_date or now.astimezone(UTC)
    counts = _counts(headers, body)
    reset = _named_reset(headers, body, seen_at)
    spent = header_value(headers, "x-litellm-key-spend", _spending)
    budget = header_value(headers, "x-litellm-key-max-budget", _spending)
    if {counts.limit, counts.remaining, counts.used, reset, spent, budget} == {None}:
        return None
    # A reset in the past says nothing about the next one. Without a Date it is compared with this
    # machine's clock. That clock may be wrong, and a reply's line must not depend on it: hence the
    # year.
    earliest = seen_at if own_date else seen_at - _YEAR
    has_passed = reset is not None and reset < earliest
    return Credits(
        limit=counts.limit,
        remaining=counts.remaining,
        used=counts.used,
        resets_at=None if has_passed else reset,
        seen_at=seen_at,
        lapsed_at=reset if has_passed else None,
        spent=spent,
        budget=budget,
    )


@dataclass(frozen=True, slots=True)
class _Counts:
    """Numbers of credits; ``None`` is unknown.

    Args:
        limit: the credit limit.
        remaining: credits left.
        used: credits used.
    """

    limit: int | None
    remaining: int | None
    used: int | None


def _counts(headers: Headers, body: ErrorBody | None) -> _Counts:
    """Return the numbers that a response names, and the one that follows from the other two."""
    limit = header_value(headers, "x-ratelimit-limit", _figure)
    remaining = header_value(headers, "x-ratelimit-remaining", _figure)
    if body is None:
        return _Counts(limit, remaining, _difference(limit, remaining))
    if (own_limit := _bounded(body.limit)) is not None:
        limit = own_limit
    used = _bounded(body.used)
    if used is None:
        return _Counts(limit, remaining, _difference(limit, remaining))
    if limit is not None:
        remaining = max(limit - used, 0)
    return _Counts(limit, remaining, used)


def _named_reset(headers: Headers, body: ErrorBody | None, seen_at: datetime) -> datetime | None:
    """Return the time of the reset that a response names; it may have passed."""
    if body is not None and body.reset_at is not None:
        reset = _reset(body.reset_at, seen_at)
        if reset is not None:
            return reset
    return header_value(headers, "x-ratelimit-reset", lambda text: _reset(text, seen_at))


def date(headers: Headers) -> datetime | None:
    """Return the response's own ``Date``, in UTC; ``None`` without a valid one.

    Args:
        headers: as for :func:`from_headers`.
    """
    return header_value(headers, "date", http_date)


def level(credits: Credits | None) -> CreditLevel:
    """Return the level of the credits: low is less than a fifth of the limit.

    Args:
        credits: the latest figures; ``None`` is unknown.
    """
    if credits is None:
        return "unknown"
    limit = credits.limit
    remaining = credits.remaining
    used = credits.used
    if remaining == 0 or (limit is not None and used is not None and used >= limit):
        return "empty"
    if limit is None or remaining is None:
        return "unknown"
    return "low" if remaining * 5 < limit else "ok"


def has_credit_figures(credits: Credits | None) -> bool:
    """Return whether figures of credits are known, besides a gateway's spending.

    Args:
        credits: the latest figures; ``None`` is unknown.
    """
    return credits is not None and {
        credits.limit,
        credits.remaining,
        credits.used,
        credits.resets_at,
        credits.lapsed_at,
    } != {None}


def words(credits: Credits | None) -> str:
    """Return the figures in one line, for people; times are in UTC. Empty if none is known.

    Args:
        credits: the latest figures; ``None`` is unknown.
    """
    figures = [left_words(credits), reset_words(credits)] if has_credit_figures(credits) else []
    return " · ".join(filter(None, [*figures, spent_words(credits)]))


def spent_words(credits: Credits | None) -> str:
    """Return a gateway's figure of spending in words, without a unit; empty if unknown.

    Args:
        credits: the latest figures; ``None`` is unknown.
    """
    spent, budget = (None, None) if credits is None else (credits.spent, credits.budget)
    figures = [] if spent is None else [f"spent {_plain(spent)}"]
    if budget is not None:
        figures.append(f"of {_plain(budget)}" if figures else f"a budget of {_plain(budget)}")
    return f"{' '.join(figures)} (the gateway's figure)" if figures else ""


def reset_words(credits: Credits | None) -> str:
    """Return the time of the reset in words, in UTC.

    Args:
        credits: the latest figures; ``None`` is unknown.
    """
    if credits is not None and credits.resets_at is not None:
        return f"resets {credits.resets_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if credits is not None and credits.lapsed_at is not None:
        lapsed = credits.lapsed_at.astimezone(UTC)
        return f"reset unknown (the time reported, {lapsed:%Y-%m-%d %H:%M} UTC, had passed)"
    return "reset unknown"


def used_words(credits: Credits | None) -> str:
    """Return the use of the limit and the time of the reset as a sentence; empty if unknown.

    Args:
        credits: the latest figures; ``None`` is unknown.
    """
    if credits is None or credits.used is None or credits.limit is None:
        return ""
    return f"{credits.used:,} of {credits.limit:,} used, {reset_words(credits)}."


def left_words(credits: Credits | None) -> str:
    """Return the number of credits left, without the time of the reset.

    Args:
        credits: the latest figures; ``None`` is unknown.
    """
    if credits is None:
        return "credits unknown"
    limit = credits.limit
    remaining = credits.remaining
    of_limit = "" if limit is None else f" of {limit:,}"
    now = level(credits)
    if now in {"ok", "empty"}:
        return f"{remaining or 0:,}{of_limit} credits left"
    if now == "low":
        return f"credits low: {remaining:,}{of_limit} left"
    if remaining is not None:
        return f"{counted(remaining, 'credit')} left, limit unknown"
    if limit is not None:
        return f"unknown how many{of_limit} credits are left"
    return "credits unknown"


def header_value(
    headers: Headers, name: str, read: Callable[[str], _Value | None]
) -> _Value | None:
    """Return the value of one header; ``None`` if there is none, or several that differ.

    Args:
        headers: as for :func:`from_headers`.
        name: the header's name in small letters.
        read: returns the value of a text; ``None`` if it is malformed.
    """
    found = values_by_name(tuple(headers)).get(name)
    if found is None:
        return None
    texts = [text for value in found for text in _parts(value.strip()) if text]
    values = {read(text) for text in texts}
    return values.pop() if len(values) == 1 else None


def _parts(value: str) -> list[str]:
    """Return the values that a proxy has joined."""
    return re.split(JOINT, value) if "," in value else [value]


@lru_cache(16)
def values_by_name(headers: tuple[tuple[str, str], ...]) -> Mapping[str, list[str]]:
    """Return the values of headers by their names in small letters.

    Ten names are looked up in each answer.

    Args:
        headers: names, in any case, and values; a name may occur several times.
    """
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    return values


def _figure(text: str) -> int | None:
    return _bounded(_json.whole_number(text))


def _bounded(figure: int | None) -> int | None:
    return None if figure is None or figure > _HIGHEST else figure


def _spending(text: str) -> float | None:
    return float(text) if re.fullmatch(_SPENDING, text) else None


def _plain(amount: float) -> str:
    """Return an amount with two decimals, or below 1 with the first digits that count."""
    return f"{amount:,.2f}" if amount >= 1 else f"{Decimal(f'{amount:.3g}'):f}"


def _difference(high: int | None, low: int | None) -> int | None:
    return None if high is None or low is None or high < low else high - low


def _reset(text: str, seen_at: datetime) -> datetime | None:
    """Return the time of ISO 8601, or of a count since the epoch within a year from now."""
    number = _figure(text)
    if number is None:
        return _json.timestamp(text)
    for per_second in (1, 1000):
        since = number / per_second
        if abs(since - (seen_at - _EPOCH).total_seconds()) <= _YEAR.total_seconds():
            return _EPOCH + timedelta(seconds=since)
    return None


def http_date(text: str) -> datetime | None:
    """Return the time of an HTTP date (RFC 9110, section 5.6.7); ``None`` for any other text.

    Args:
        text: the value of a header.
    """
    if not re.fullmatch(_HTTP_DATE, text):
        return None
    try:
        when = parsedate_to_datetime(text).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return when if when.year < _FAR_YEAR else None


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """Requests that a server takes in its current window.

    Args:
        limit: requests in the whole window; ``None`` is unknown.
        remaining: requests left in it.
        ends_at: the end of the window, aware, in UTC; ``None`` is unknown.
    """

    limit: int | None
    remaining: int
    ends_at: datetime | None


def request_limit(headers: Headers, now: datetime) -> RequestLimit | None:
    """Return the request limit that the headers of a response name.

    Args:
        headers: names, in any case, and values; a name may occur several times.
        now: the time, aware; counts if the response has no valid ``Date``.

    Returns:
        The known figures; ``None`` if the number of requests left is unknown.
    """
    remaining = header_value(headers, "x-ratelimit-remaining-requests", _figure)
    if remaining is None:
        return None
    limit = header_value(headers, "x-ratelimit-limit-requests", _figure)
    seen_at = date(headers) or now.astimezone(UTC)
    seconds = header_value(headers, "x-ratelimit-reset-requests", _seconds)
    ends_at = None if seconds is None else seen_at + timedelta(seconds=seconds)
    return RequestLimit(limit, remaining, ends_at)


def request_words(window: RequestLimit) -> str:
    """Return the number of requests left, without the time of the window's end.

    Args:
        window: the figures of a response.
    """
    if window.limit is None:
        return f"{counted(window.remaining, 'request')} left in this window"
    return f"{window.remaining:,} of {counted(window.limit, 'request')} left in this window"


def request_line(window: RequestLimit, now: datetime) -> str:
    """Return the number of requests left and the time of the window's end, in UTC.

    Args:
        window: the figures of a response.
        now: the time by the service's clock, aware.
    """
    ends_at = window.ends_at
    if ends_at is None:
        return f"{request_words(window)}."
    if ends_at <= now:
        return "Requests left unknown: the window that was reported has ended."
    return f"{request_words(window)}, until {ends_at:%Y-%m-%d %H:%M:%S} UTC."


def _seconds(text: str) -> int | None:
    """Return the seconds of ``6m0s``, ``12ms`` or a number, rounded up; ``None`` beyond a year."""
    text = text if text.endswith(("d", "h", "m", "s")) else f"{text}s"
    parts = re.findall(_PART, text)
    if not parts or "".join(map("".join, parts)) != text:
        return None
    seconds = math.ceil(sum(float(amount) * _SECONDS_IN[unit] for amount, unit in parts))
    return seconds if seconds <= _LONGEST_WINDOW else None
