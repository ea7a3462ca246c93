"""Time from which to ask again after a refusal, in every form in which services write it.

The interface shows one form, the time of the reset (fact 11). The others are those of compatible
servers and of the gateways in front of them: ``Retry-After`` (RFC 9110, section 10.2.3), the
``RateLimit`` fields (draft-ietf-httpapi-ratelimit-headers, 3 to 10), the headers
``x-ratelimit-reset-…`` of OpenAI, Groq, Cerebras and Anthropic, ``retry-after-ms`` of Azure,
``retryDelay`` of Google, ``X-RateLimit-Reset`` in the body of OpenRouter, and sentences such as
"Please try again in 1.2s".
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Final, Self

from chatmagic import _json
from chatmagic.protocol.credits import JOINT, Headers, date, header_value, http_date
from chatmagic.protocol.nested_errors import object_in_text

Field = tuple[str, str]
"""Field of a body that may tell a time: its name in small letters and digits, and its value."""

MOST_VALUES: Final = 500
"""Largest number of values of a body that are searched."""
LONGEST_VALUE: Final = 100
"""Largest number of characters of a value, or of a header, that tells a time."""
LONGEST_WORDS: Final = 4_000
"""Largest number of characters of an explanation that is searched."""
_SECOND: Final = timedelta(seconds=1)
_YEAR: Final = timedelta(days=365)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PER_SECOND: Final = (1, 10**3, 10**6, 10**9)
"""Units of a time since 1970, from seconds to nanoseconds; only one of them is near a date."""
_NUMBER: Final = r"(?a)\d{1,20}(?:\.\d{1,20})?"

_MILLISECONDS: Final = r"(?:ms|millis|milliseconds?)"
_SECONDS_OF_UNIT: Final[Mapping[str, float]] = {
    r"[uµ]s|microseconds?": 0.000_001,
    r"ms|millis|milliseconds?|Millisekunden?|millisecondes?|milisegundos?|millisecondi|毫秒": 0.001,
    r"s|secs?|seconds?|Sek\.?|Sekunden?|secondes?|segundos?|second[io]|秒[钟鐘]?|초": 1.0,
    r"m|mins?|minutes?|Minuten?|minut[io]s?|minuto|分[钟鐘]?|분": 60.0,
    r"h|hrs?|hours?|Stunden?|heures?|horas?|or[ae]|小[时時]|時間|시간": 3_600.0,
    r"d|days?|Tage?n?|jours?|d[ií]as?|giorn[io]|天": 86_400.0,
}
"""Seconds of each unit, by the pattern of its words in the languages of services."""
_UNIT: Final = rf"(?:{'|'.join(_SECONDS_OF_UNIT)})(?![a-z])"
_AMOUNT: Final = r"\d{1,7}(?:\.\d{1,9})?"
_CLOCK: Final = r"(\d{1,4}):(\d\d):(\d\d(?:\.\d{1,9})?)(?!:)"
"""Hours, minutes and seconds, as in the messages of Azure."""
_DURATION: Final = (
    rf"(?:{_CLOCK}|(?:P(?:0D)?T)?{_AMOUNT}\s?{_UNIT}"
    rf"(?:(?:,?\s(?:and|und|et|y|e)\s|,\s?|\s)?{_AMOUNT}\s?{_UNIT}){{0,4}})"
)
"""Duration as services write it; with ``PT`` it is one of ISO 8601."""
_YEAR_OF_DATE: Final = r"(?P<year>\d{4})"
_MONTH: Final = r"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY: Final = r"(?P<day>[0-2]\d|3[01])"
_TIME: Final = r"(?P<time>[0-2]\d:[0-5]\d:[0-5]\d)"
_ZONE: Final = r"(?P<zone>[+-]\d{4})"
_DATES: Final = (
    rf"(?a)[A-Z][a-z]{{2}} {_MONTH} {_DAY} {_YEAR_OF_DATE} {_TIME} GMT{_ZONE}",
    rf"(?a)[A-Z][a-z]{{2}}, {_DAY} {_MONTH} {_YEAR_OF_DATE} {_TIME} {_ZONE}",
    rf"(?a){_YEAR_OF_DATE}-{_MONTH}-{_DAY} {_TIME}{_ZONE}",
)
"""Dates with a zone as JavaScript, PHP (RFC 5322) and WSO2 write them."""
_MINUTES: Final = r"(?a)(\d{1,3}):(\d\d(?:\.\d{1,9})?)"
"""Minutes and seconds, as the value of a header or a field."""
_IN_FRONT_OF_VALUE: Final = (
    r"(?ai)^(?:(?:wait|try again|retry|in|after|for|about|approximately|at|until)\s+|[+~<>=]\s*)+"
)
"""Words and signs that may stand in front of a value."""
_LOCAL: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?"
"""Time without its zone."""
_ISO: Final = rf"{_LOCAL}(?:\s?(?:Z|UTC)|\s?[+-]\d\d:?\d\d)?"
_EPOCH_SECONDS: Final = r"\d{10}(?:\d{3})?(?!\d)"
"""Seconds or milliseconds since 1970."""
_HTTP_DATE: Final = r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"

_IN_FRONT: Final = (
    r"(?:x|next|min|api|amzn?|goog|grpc|cf|ms|rate|limit|throttle|quota|request|error|suggested|required"
    r"|seconds?|secs?|time|to|until|before){0,4}"
)
_RETRY_NAME: Final = (
    rf"{_IN_FRONT}(?:retry(?:(?:able)?(?:after|delay|wait|time|in|at))?|try(?:again)?(?:in|after|at)"
    r"|reset(?:after|s?in)|wait(?:for|time|until)?|estimated(?:in|at|time|wait)?|ttl|sleep(?:for)?"
    r"|(?:backoff|cooldown|pause|delay|penalty)(?:in|after|at|time|for|until)?|msbeforenext|limitnext"
    r"|(?:available|allowed|blocked|unblocked|locked|banned|throttled|suspended|limited)"
    r"(?:in|at|for|until)|unblock(?:in|at)|expires?(?:in|at|after)|(?:remaining|left)(?:time|in)"
    r"|(?:time|seconds|secs|ms)(?:remaining|left)|eta|until|retrypushback"
    r"|next(?:at|in)|next(?:request|attempt|allowed|access|window|slot|try)(?:at|in|time)?|window(?:ends?|expires?)(?:at|in)?"
    r"|(?:ends|refills?|renews?|unlocks?|lifts?|lifted|resumes?)(?:at|in|after))"
    rf"(?:{_MILLISECONDS}|s|secs?|seconds?|minutes?)?"
)
"""Names of headers and fields that tell a wait, whatever was refused."""
_RESET_NAME: Final = (
    r"[a-z0-9]{0,40}(?<!p)resets?(?!count|duration|every|interval|period|policy|url|window)"
    r"[a-z0-9]{0,40}"
)
"""Names of headers and fields that tell the end of a limit's window, and not its length."""
_WORDS: Final = (
    r"(?ai)\b(?:again|retry|retrying|retried|wait|waiting|resets?|available|expires?|replenished"
    r"|refreshed|renewed|lifted|unlocks?|unblocked|allowed|blocked|throttled|cool[ -]?down"
    r"|back[ -]?off|sleep|pause|delay|back|next (?:request|attempt))"
    r"(?:\s(?:your|the|this)\s(?:request|call|operation)s?)?"
    r"(?:[\s:,-]{1,3}(?:in|after|for|at|until|on|of|about|approximately|another|within|least)\b)"
    rf"{{0,3}}[\s:~=]{{0,3}}(?P<when>(?-i:{_ISO}|{_HTTP_DATE})|{_DURATION}|{_EPOCH_SECONDS})"
)
_BARE_WORDS: Final = (
    r"(?ai)\b(?:(?:retry|again)[ _-]?(?:after|in|delay)(?:[ _-]?(?:in )?seconds)?(?=[\s:={(\"'])"
    r"|(?:retry|wait)(?=\s?[:=])|reached(?=\|))[\s:={(\"'|]{1,9}(?:seconds:\s)?"
    r"(?P<when>\d{1,13}(?:\.\d{1,9})?)\b(?![,:]\d)"
)
"""A number without its unit, which only these words announce; "reached|1767259805" of Claude."""
_OF_DAY: Final = r"(?i)\b(?:at|until|on)\W*\Z"
"""Words before a clock that is a time of day, of some zone, and no duration."""
_WORDS_BEHIND: Final = (
    rf"(?ai)(?P<when>{_DURATION})(?:\s(?:remaining|left|until|before|to wait|from now|later"
    r"|cool[ -]?down|(?:and|then) (?:re)?try)\b|\s?(?:[之以]?[后後]|후|お待ち))"
)
"""A duration in front of the words that announce it."""
_ANNOUNCED: Final = (
    r"(?ai)(?:\b(?:in|after|for|another|nach|warten Sie|dans|attendez|en|espere|em|aguarde|tra|fra)"
    r"\s"
    r"(?:(?:about|approximately|around|the next|another|etwa|ca\.|environ|unos|cerca de|circa)\s"
    rf"|~\s?)?|等待\s?)(?P<when>{_DURATION})"
)
"""A duration in a sentence of other words, or of another language."""
_AT_THE_END: Final = rf"(?ai)(?:(?<!\d)[:;(]|[,:;]\s)\s?(?P<when>{_DURATION})\)?[.!]?\Z"
"""A duration alone at the end, as in "rate limited, 5s"."""
_NOT_ANNOUNCED: Final = (
    r"(?ai)\d\s?(?:[a-z]{1,20}\s){0,2}(?:calls?|credits?|images?|messages?|prompts?|queries"
    r"|requests?|times|tokens?|units?|Anfragen|Aufrufe|requêtes|appels|solicitudes|peticiones"
    r"|llamadas|requisições|chamadas|richieste|chiamate|次|リクエスト)[^.!?;\n]{0,80}\Z"
    r"|\b(?:limit|quota|window|period|interval|timed? ?out|timeout|took|elapsed|failed|ended"
    r"|gave up|Zeitüberschreitung|expiré|agotado|esgotado|scaduto)\W*\Z"
)
"""Words before such a duration of a limit, or of something that has ended."""
_LONGEST_ANNOUNCED: Final = timedelta(hours=1)
_NUMBER_WORDS: Final = {
    "a": "1",
    "an": "1",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "ten": "10",
    "fifteen": "15",
    "twenty": "20",
    "thirty": "30",
    "sixty": "60",
}
_NUMBER_WORD: Final = (
    rf"(?i)\b(?:{'|'.join(_NUMBER_WORDS)})\b(?=\s(?:milli)?(?:second|minute|hour|day)s?\b)"
)
_LIMIT_ITEM: Final = (
    r"(?ai)(?:^|[;,\s])(?P<name>remaining|reset|r|t)=(?P<value>\d{1,13}(?:\.\d{1,9})?)"
)


_MILLISECOND: Final = 0.001
_HAS_UNIT: Final = r"seconds?|secs?|retryafter$|^ratelimitreset$"
"""Names whose plain numbers are seconds: by themselves, RFC 9110, or the draft of RateLimit."""
SHORTEST_DOUBT: Final = 60.0
"""Seconds above which a number without a unit may be milliseconds instead."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the values of an answer are read.

    Args:
        written: the time at which the answer was written.
        in_milliseconds: whether a long time that is a number without a unit is one of
            milliseconds, as MuleSoft has it in ``x-ratelimit-reset``.
    """

    written: datetime
    in_milliseconds: bool

    @classmethod
    def of(cls, headers: Headers, now: datetime, *, in_milliseconds: bool) -> Self:
        """Return the reading of an answer that arrived at a time."""
        return cls(date(headers) or now.astimezone(UTC), in_milliseconds)


def retry_after(
    headers: Headers,
    now: datetime,
    fields: Iterable[Field] = (),
    words: str = "",
    *,
    in_milliseconds: bool = False,
) -> datetime | None:
    """Return the time from which to ask again that an answer names, by this machine's clock.

    Groq and Google cut the fraction of a second off, but for the explanation, so that one counts.

    Args:
        headers: names, in any case, and values; a name may occur several times.
        now: the time of the response's arrival, aware, from which a wait is counted.
        fields: the fields of the body, of :func:`time_fields`.
        words: the body's explanation for people.
        in_milliseconds: whether numbers of more than a minute whose unit is not known are
            milliseconds; else they are seconds.

    Returns:
        The time, with plain seconds rounded up; ``None`` if nothing names one, or only one that is
        malformed, past by the answer's own ``Date``, or more than a year away.
    """
    names = dict.fromkeys(name.lower() for name, _ in headers)
    named = [name for name in names if re.fullmatch(_RETRY_NAME, _folded(name))]
    # Milliseconds are the more exact value of the same wait.
    named.sort(key=lambda name: not name.endswith("ms"))
    reading = _Reading.of(headers, now, in_milliseconds=in_milliseconds)
    waits = [_header(headers, name, reading) for name in named]
    waits += [_wait(value, reading, name) for name, value in fields if _is_retry(name)]
    in_words = _in_words(words[:LONGEST_WORDS], reading)
    until = _first([*waits, in_words], now)
    exact = _first([in_words], now)
    is_cut = until is not None and exact is not None and timedelta() < exact - until < _SECOND
    return exact if is_cut else until


def limit_reset(
    headers: Headers,
    now: datetime,
    fields: Iterable[Field] = (),
    *,
    is_failure: bool = False,
    in_milliseconds: bool = False,
) -> datetime | None:
    """Return the time at which a limit ends that a refusal for it names, by this machine's clock.

    Of several limits the exhausted ones count, and of these the last one to end. If no figure shows
    which are exhausted, the first one to end counts.

    Args:
        headers: as for :func:`retry_after`.
        now: as for :func:`retry_after`.
        fields: as for :func:`retry_after`.
        is_failure: whether the answer is a failure and not a refusal for a limit, so that only an
            exhausted limit can be its reason.
        in_milliseconds: as for :func:`retry_after`.

    Returns:
        As for :func:`retry_after`.
    """
    reading = _Reading.of(headers, now, in_milliseconds=in_milliseconds)
    waits = [_wait(value, reading, name) for name, value in fields if not _is_retry(name)]
    exhausted: list[timedelta | None] = []
    others: list[timedelta | None] = []
    for name in dict.fromkeys(name.lower() for name, _ in headers):
        folded = _folded(name)
        if folded == "ratelimit":
            text = next(value for key, value in headers if key.lower() == name)
            limits = list(_limits(text[: LONGEST_VALUE * 10], reading))
        elif re.fullmatch(_RESET_NAME, folded) and not _is_retry(folded):
            limits = _resets(headers, name, reading)
        else:
            continue
        for left, wait in limits:
            (exhausted if left == 0 else others).append(wait)
    last = max(_positive(exhausted), default=None)
    if is_failure:
        return _first([last], now)
    return _first([*waits, last, min(_positive(others), default=None)], now)


def time_fields(value: object) -> tuple[Field, ...]:
    """Return the fields of a body that may tell a time, by their names.

    A gateway passes the answer of another service on as a text, whose fields count, too.

    Args:
        value: parsed JSON, searched to a limit.
    """
    fields: list[Field] = []
    waiting = deque([value])
    for _ in range(MOST_VALUES):
        if not waiting:
            break
        item = waiting.popleft()
        held: Iterable[object] = ()
        if isinstance(item, Mapping):
            fields += _fields_of_object(item)
            held = item.values()
        elif isinstance(item, list):
            held = item
        parsed = (object_in_text(inner) if isinstance(inner, str) else inner for inner in held)
        waiting += [inner for inner in parsed if isinstance(inner, Mapping | list)]
    return tuple(fields)


def _fields_of_object(item: Mapping[Any, Any]) -> Iterator[Field]:
    """Yield the fields of one object that may tell a time, and those of the objects in it."""
    for name, inner in item.items():
        folded = _folded(str(name)[:LONGEST_VALUE])
        yield from _time_fields(folded, inner)
        if isinstance(inner, Mapping):
            for part, held in inner.items():
                yield from _time_fields(_of_part(folded, str(part)), held)


def _time_fields(name: str, value: object) -> list[Field]:
    """Return a field as a list, if it may tell a time; else an empty list."""
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    is_named = re.fullmatch(f"{_RETRY_NAME}|{_RESET_NAME}", name) is not None
    return [(name, str(value)[:LONGEST_VALUE])] if is_text and is_named else []


def _of_part(name: str, part: str) -> str:
    """Return the name of a part of a value: a duration of Protocol Buffers or Rust is an object.

    In others a name is in two parts, as in ``{"retry": {"after": 3}}``.
    """
    folded = _folded(part[:LONGEST_VALUE])
    return name if folded == "value" else f"{name}{folded}"


def _first(waits: Iterable[timedelta | None], now: datetime) -> datetime | None:
    """Return the time after the first wait; one of no length counts only without another."""
    known = [wait for wait in waits if wait is not None and timedelta() <= wait <= _YEAR]
    wait = next(iter([*_positive(known), *known]), None)
    return None if wait is None else now.astimezone(UTC) + wait


def _positive(waits: Iterable[timedelta | None]) -> list[timedelta]:
    return [wait for wait in waits if wait is not None and wait > timedelta()]


def _folded(name: str) -> str:
    """Return a name without its case and its punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _is_retry(name: str) -> bool:
    return re.fullmatch(_RETRY_NAME, name) is not None


def _header(headers: Headers, name: str, reading: _Reading) -> timedelta | None:
    """Return the wait that a header names; ``None`` if its values differ."""
    return header_value(headers, name, partial(_wait, reading=reading, name=_folded(name)))


def _resets(
    headers: Headers, name: str, reading: _Reading
) -> list[tuple[float | None, timedelta | None]]:
    """Return what is left of each limit that a header names, and the wait for its end.

    A header of several limits has a value for each, and so has the header of what is left.
    """
    values = _values(headers, name)
    left = _values(headers, name.replace("reset", "remaining"))
    known = [_number(text) for text in left] if len(left) == len(values) else [None] * len(values)
    if len(values) > 1 and len(left) == 1:
        known = [_number(left[0])] * len(values)
    waits = [_wait(text, reading, _folded(name)) for text in values]
    return list(zip(known, waits, strict=True))


def _values(headers: Headers, name: str) -> list[str]:
    """Return the different values of a header, with those that a comma joins."""
    texts = [value for key, value in headers if key.lower() == name]
    return [
        *dict.fromkeys(text for value in texts for text in re.split(JOINT, value.strip()) if text)
    ]


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(_NUMBER, text) else None


def _wait(text: str, reading: _Reading, name: str) -> timedelta | None:
    """Return the wait that a value names.

    Args:
        text: a number, a duration or a time.
        reading: how values are read.
        name: the folded name of the value, which may name the unit of a number.
    """
    text, _, _ = text.partition(";")  # parameters, as of a jitter or a window
    text = re.sub(_IN_FRONT_OF_VALUE, "", text.strip(' "')[:LONGEST_VALUE])
    number = _number(text)
    if number is None:
        if minutes := re.fullmatch(_MINUTES, text):
            return timedelta(minutes=int(minutes[1]), seconds=float(minutes[2]))
        if re.fullmatch(f"(?ai){_DURATION}", text):
            return _duration(text)
        until = _json.timestamp(text.upper().replace(" UTC", "Z")) or http_date(text)
        until = until or _date_with_zone(text)
        return None if until is None else until - reading.written
    unit = 1.0
    if re.search(f"{_MILLISECONDS}$|{_MILLISECONDS}(?:beforenext|remaining|left)$", name):
        unit = _MILLISECOND
    elif re.search("minutes?$", name) and _is_retry(name):
        unit = 60.0
    elif reading.in_milliseconds and _may_be_milliseconds(text, number, name):
        unit = _MILLISECOND
    if number * unit <= _YEAR.total_seconds():
        return timedelta(seconds=number * unit if unit < 1 else math.ceil(number * unit))
    for per_second in _PER_SECOND:
        since = number / per_second - (reading.written - _EPOCH).total_seconds()
        if abs(since) <= _YEAR.total_seconds():
            return timedelta(seconds=since)
    return None


def _may_be_milliseconds(text: str, number: float, name: str) -> bool:
    """Return whether a long time has no unit; one with a fraction has it, and so has a date."""
    is_long = SHORTEST_DOUBT < number <= _YEAR.total_seconds()
    return is_long and "." not in text and name != "" and re.search(_HAS_UNIT, name) is None


def _date_with_zone(text: str) -> datetime | None:
    """Return the time of a date of :data:`_DATES`; ``None`` for any other text."""
    for pattern in _DATES:
        if date := re.match(pattern, text):
            parts = (date[name] for name in ("day", "month", "year", "time", "zone"))
            with contextlib.suppress(ValueError):  # no such day
                return parsedate_to_datetime(" ".join(parts))
    return None


def _duration(text: str) -> timedelta:
    """Return a duration such as ``6m0s``, ``120ms`` or ``1 minute and 5 seconds``."""
    if clock := re.fullmatch(f"(?a){_CLOCK}", text):
        hours, minutes, seconds = map(float, clock.groups())
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)
    parts = re.findall(rf"(?ai)({_AMOUNT})\s?({_UNIT})", text)
    return timedelta(seconds=sum(float(amount) * _seconds_of(unit) for amount, unit in parts))


def _seconds_of(unit: str) -> float:
    """Return the seconds of a unit of time."""
    units = _SECONDS_OF_UNIT.items()
    return next(seconds for words, seconds in units if re.fullmatch(f"(?ai){words}", unit))


def _in_words(words: str, reading: _Reading) -> timedelta | None:
    """Return the wait that a sentence names."""
    words = re.sub(_NUMBER_WORD, lambda match: _NUMBER_WORDS[match[0].lower()], words)
    for pattern in (_WORDS, _BARE_WORDS, _WORDS_BEHIND):
        if match := re.search(pattern, words):
            when = match["when"]
            is_of_day = re.fullmatch(f"(?a){_CLOCK}", when) and re.search(
                _OF_DAY, words[: match.start("when")]
            )
            wait = None if is_of_day else _wait(when, reading, "")
            return wait if _is_near(wait) or not re.fullmatch(_LOCAL, when) else None
    for match in [*re.finditer(_ANNOUNCED, words), *re.finditer(_AT_THE_END, words)]:
        before = words[max(match.start() - LONGEST_VALUE, 0) : match.start()]
        wait = _wait(match["when"], reading, "")
        if _is_near(wait) and re.search(_NOT_ANNOUNCED, before) is None:
            return wait
    return None


def _is_near(wait: timedelta | None) -> bool:
    """Return whether a wait is short enough to be one, though its words leave a doubt.

    A time without a zone may be of any: if it is within the hour, it is of UTC.
    """
    return wait is not None and wait <= _LONGEST_ANNOUNCED


def _limits(text: str, reading: _Reading) -> Iterator[tuple[float | None, timedelta | None]]:
    """Return what is left of each limit of a ``RateLimit`` field, and the wait for its end.

    Drafts 3 to 7 name one limit (``limit=9, remaining=0, reset=5``), later ones a list of them
    (``"burst";r=0;t=5, "day";r=90;t=9000``).
    """
    is_list = re.search(r"(?i)\breset=", text) is None
    for limit in text.split(",") if is_list else [text]:
        items = {item["name"].lower(): item["value"] for item in re.finditer(_LIMIT_ITEM, limit)}
        left = items.get("remaining", items.get("r"))
        seconds = items.get("reset", items.get("t"))
        if seconds is not None:
            yield None if left is None else float(left), _wait(seconds, reading, "ratelimitreset")
