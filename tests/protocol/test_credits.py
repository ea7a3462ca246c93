"""Facts of headers and error bodies: credits, requests left, dates and waits; their words."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from cases import each_case
from hypothesis import example, given
from hypothesis import strategies as st

from chatmagic.archive.interaction import KEPT_HEADERS
from chatmagic.models import Credits
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.credits import RequestLimit, level, words
from chatmagic.protocol.error_body import ErrorBody

NOW = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)
RESET = datetime(2026, 1, 2, tzinfo=UTC)
NIGHT = datetime(2026, 1, 1, 23, tzinfo=UTC)
DATE = "Thu, 01 Jan 2026 09:29:58 GMT"
WRITTEN = datetime(2026, 1, 1, 9, 29, 58, tzinfo=UTC)
GOOD = {
    "X-RateLimit-Limit": "100",
    "X-RateLimit-Remaining": "87",
    "X-RateLimit-Reset": "2026-01-02T00:00:00Z",
    "Date": DATE,
}


def figures(
    limit: int | None = 100,
    remaining: int | None = 87,
    used: int | None = None,
    resets_at: datetime | None = RESET,
    seen_at: datetime = NOW,
) -> Credits:
    """Give credits in which all but some fields are ordinary."""
    return Credits(limit, remaining, used, resets_at, seen_at)


def spending(spent: float | None, budget: float | None = None) -> Credits:
    """Give what a gateway has told, and no credits."""
    return Credits(None, None, None, None, WRITTEN, spent=spent, budget=budget)


Headers = dict[str, str] | list[tuple[str, str]]


def pairs_of(headers: Headers) -> list[tuple[str, str]]:
    """Give headers as they come: in pairs."""
    return list(headers.items()) if isinstance(headers, dict) else headers


def from_headers(headers: Headers, now: datetime, body: ErrorBody | None = None) -> Credits | None:
    """Give the credits that a response names."""
    return crediting.from_headers(pairs_of(headers), now, body)


def test_the_headers_are_read() -> None:
    """The three headers and the response's own date make the figures."""
    credits = Credits(100, 87, 13, RESET, WRITTEN)
    facts = crediting.reply_facts([*GOOD.items()], NOW)
    assert facts == {"credits": credits, "date": WRITTEN}


@each_case(
    ("text", "limit"),
    [
        ("100", 100),
        ("0", 0),
        ("1000000000000000", 10**15),
        ("1000000000000001", None),
        ("-1", None),
        ("1.5", None),
        ("1,000", None),
        ("100;w=60", None),
        ("\u0661", None),
        ("", None),
        ("100, 100", 100),
        ("100, 200", None),
        ("100, many", None),
    ],
)
def test_a_figure_is_a_plain_number_or_unknown(text: str, limit: int | None) -> None:
    """Garbage, negative and absurd figures are unknown; so are contradicting ones."""
    seen = from_headers({"X-RateLimit-Limit": text, "X-RateLimit-Remaining": "1"}, NOW)
    assert seen is not None
    assert (seen.limit, seen.remaining) == (limit, 1)
    assert seen.used == (limit - 1 if limit else None)


@each_case(
    ("text", "resets_at"),
    [
        ("2026-01-02T00:00:00Z", RESET),
        ("2026-01-02T01:00:00+01:00", RESET),
        ("2026-01-02T00:00:00Z, 2026-01-02T00:00:00.0Z", RESET),
        ("2020-01-01T00:00:00Z", datetime(2020, 1, 1, tzinfo=UTC)),
        ("1767312000", RESET),
        ("1767312000000", RESET),
        ("1767312000500", RESET + timedelta(milliseconds=500)),
        ("1767312000.0", None),
        ("-1767312000", None),
        ("60", None),
        ("17673120000000", None),
        ("6m0s", None),
        ("tomorrow", None),
        ("2026-01-02", None),
        ("Fri, 02 Jan 2026 00:00:00 GMT", None),
    ],
)
def test_a_reset_is_iso_or_an_epoch_within_reach(text: str, resets_at: datetime | None) -> None:
    """ISO 8601, or seconds or milliseconds since the epoch within a year; else unknown."""
    seen = from_headers({**GOOD, "X-RateLimit-Reset": text}, NOW)
    assert seen is not None
    told = seen.resets_at or seen.lapsed_at
    assert told == resets_at
    assert told is None or told.tzinfo == UTC


@each_case("scale", [1, 1000])
@each_case(("days", "read"), [(365, True), (-365, True), (366, False), (-366, False)])
def test_an_epoch_is_measured_from_the_response(scale: int, days: int, read: bool) -> None:
    """The year counts from the response's own date, and from now only without one."""
    old = datetime(2016, 1, 1, tzinfo=UTC)
    reset = old + timedelta(days=days)
    headers = {"X-RateLimit-Reset": str(int(reset.timestamp()) * scale)}
    dated = from_headers({**headers, "Date": "Fri, 01 Jan 2016 00:00:00 GMT"}, NOW)
    undated = from_headers(headers, old)
    for seen in (dated, undated):
        assert (seen and (seen.resets_at or seen.lapsed_at)) == (reset if read else None)


@each_case("dated", [True, False])
@each_case(
    ("before", "lapsed"),
    [
        (timedelta(seconds=0), False),
        (timedelta(seconds=1), True),
        (timedelta(days=364), True),
        (timedelta(days=366), None),
    ],
)
def test_a_reset_in_the_past_is_said(dated: bool, before: timedelta, lapsed: bool | None) -> None:
    """It tells nothing of the next one; without a ``Date`` only what is far off is past."""
    told = WRITTEN - before
    headers = {**GOOD, "X-RateLimit-Reset": told.isoformat()}
    body = ErrorBody(limit=100, used=13, reset_at=told.isoformat())
    if not dated:
        del headers["Date"]
    for credits in (
        from_headers(headers, WRITTEN),
        from_headers(headers, WRITTEN, ErrorBody()),
        from_headers({"Date": DATE} if dated else {}, WRITTEN, body),
    ):
        assert credits is not None
        passed = lapsed is None or (dated and lapsed)
        assert (credits.resets_at, credits.lapsed_at) == ((None, told) if passed else (told, None))
        said = f"reset unknown (the time reported, {told:%Y-%m-%d %H:%M} UTC, had passed)"
        assert words(credits).endswith(said) == passed
        assert Credits.from_json(credits.to_json()) == credits


@each_case(
    ("text", "when"),
    [
        (DATE, WRITTEN),
        ("Thursday, 01-Jan-26 09:29:58 GMT", WRITTEN),
        ("Thu Jan  1 09:29:58 2026", WRITTEN),
        (f"{DATE}, {DATE}", WRITTEN),
        (f"{DATE}, Thu, 01 Jan 2026 09:30:00 GMT", None),
        ("Thu, 01 Jan 2026 09:29:58 GMT+0100 (CET)", None),
        ("Thu, 01 Jan 2026 09:29:58", None),
        ("Thu, 01 Jan 2026 09:29:61 GMT", None),
        ("Thu, 01 Jan 99999 09:29:58 GMT", None),
        (f"Thu, 01 Jan {'9' * 30} 09:29:58 GMT", None),
        ("2026-01-01T09:29:58Z", None),
        ("Today at 9 GMT", None),
        ("", None),
    ],
)
def test_the_date_of_a_response(text: str, when: datetime | None) -> None:
    """The three forms of an HTTP date are read; figures without one are of now."""
    assert crediting.date([("date", text)]) == when
    seen = from_headers({**GOOD, "Date": text}, NOW.astimezone(timezone(timedelta(hours=9))))
    assert seen is not None
    assert seen.seen_at == (when or NOW)
    assert seen.seen_at.tzinfo == UTC


@each_case(
    ("body", "expected"),
    [
        (ErrorBody("e"), Credits(100, 87, 13, RESET, WRITTEN)),
        (ErrorBody("e", "m", 50, 60, "2026-01-01T23:00:00Z"), Credits(50, 0, 60, NIGHT, WRITTEN)),
        (ErrorBody(reset_at="1767308400"), Credits(100, 87, 13, NIGHT, WRITTEN)),
        (ErrorBody(limit=90), Credits(90, 87, 3, RESET, WRITTEN)),
        (ErrorBody(limit=80), Credits(80, 87, None, RESET, WRITTEN)),
        (ErrorBody(used=40), Credits(100, 60, 40, RESET, WRITTEN)),
        (ErrorBody(limit=10**16, used=10**16), Credits(100, 87, 13, RESET, WRITTEN)),
        (ErrorBody(reset_at="later"), Credits(100, 87, 13, RESET, WRITTEN)),
        (ErrorBody(limit=0, used=0), Credits(0, 0, 0, RESET, WRITTEN)),
    ],
)
def test_what_an_error_leaves_out_the_headers_say(body: ErrorBody, expected: Credits) -> None:
    """Each field that the body does not tell is taken from the headers."""
    assert from_headers(GOOD, NOW, body) == expected
    assert from_headers({}, NOW, ErrorBody(used=3)) == Credits(None, None, 3, None, NOW)


@pytest.mark.parametrize(
    ("spend", "budget", "read"),
    [
        ("0.0123", "5.0", spending(0.0123, 5)),
        ("2.34e-05", "", spending(2.34e-05)),
        ("None", "0", spending(None, 0)),
        ("-1", "nan", None),
        ("1e999", "many", None),
    ],
)
def test_what_a_gateway_counts_as_spent(spend: str, budget: str, read: Credits | None) -> None:
    """An amount with a fraction, or unknown; one of the two may be there alone."""
    headers = {"x-litellm-key-spend": spend, "X-LiteLLM-Key-Max-Budget": budget, "Date": DATE}
    assert from_headers(headers, NOW) == read
    assert {name.lower() for name in headers} <= {*KEPT_HEADERS}


@each_case(
    ("credits", "told", "said"),
    [
        (None, "unknown", ""),
        (spending(0.0123, 5), "unknown", "spent 0.0123 of 5.00 (the gateway's figure)"),
        (spending(1234.5), "unknown", "spent 1,234.50 (the gateway's figure)"),
        (spending(2e-8), "unknown", "spent 0.00000002 (the gateway's figure)"),
        (spending(None, 0.5), "unknown", "a budget of 0.5 (the gateway's figure)"),
        (
            replace(figures(resets_at=None), spent=0),
            "ok",
            "87 of 100 credits left · reset unknown · spent 0 (the gateway's figure)",
        ),
        (figures(), "ok", "87 of 100 credits left · resets 2026-01-02 00:00 UTC"),
        (figures(resets_at=None), "ok", "87 of 100 credits left · reset unknown"),
        (figures(remaining=20), "ok", "20 of 100 credits left · resets 2026-01-02 00:00 UTC"),
        (figures(remaining=19), "low", "credits low: 19 of 100 left · resets 2026-01-02 00:00 UTC"),
        (figures(remaining=0), "empty", "0 of 100 credits left · resets 2026-01-02 00:00 UTC"),
        (figures(None, 0), "empty", "0 credits left · resets 2026-01-02 00:00 UTC"),
        (figures(10_000, None, 10_000, None), "empty", "0 of 10,000 credits left · reset unknown"),
        (
            figures(100, None, 99, None),
            "unknown",
            "unknown how many of 100 credits are left · reset unknown",
        ),
        (
            figures(None, 1_200, None, None),
            "unknown",
            "1,200 credits left, limit unknown · reset unknown",
        ),
        (figures(None, 1, None, None), "unknown", "1 credit left, limit unknown · reset unknown"),
        (figures(None, None), "unknown", "credits unknown · resets 2026-01-02 00:00 UTC"),
        (figures(None, None, 3, None), "unknown", "credits unknown · reset unknown"),
        (
            Credits(None, None, None, None, NOW, RESET),
            "unknown",
            "credits unknown · reset unknown (the time reported, 2026-01-02 00:00 UTC, had passed)",
        ),
    ],
)
def test_how_things_stand(credits: Credits | None, told: str, said: str) -> None:
    """The level and the words for it, unknown figures said to be unknown."""
    assert level(credits) == told
    assert words(credits) == said


WILD = st.sampled_from(
    ["100", "87", "-1", "1e9", DATE, "2026-01-02T00:00:00Z", "1767312000", "1767312000000", ",", ""]
) | st.text(max_size=30)
NAMES = st.sampled_from([*GOOD, *map(str.lower, GOOD), "Retry-After"])
FIGURES = st.none() | st.integers(0, 10**17)


@given(
    headers=st.lists(st.tuples(NAMES, WILD | st.tuples(WILD, WILD).map(", ".join)), max_size=8),
    now=st.datetimes(datetime(1971, 1, 1), datetime(9990, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis adds the zone
    limit=FIGURES,
    used=FIGURES,
    reset_at=st.none() | WILD,
)
@example(
    headers=[("Date", "Fri, 31 Dec 9999 23:59:59 GMT"), ("X-RateLimit-Reset", "253402400000")],
    now=NOW,
    limit=None,
    used=None,
    reset_at=None,
)
def test_no_header_raises(
    headers: list[tuple[str, str]],
    now: datetime,
    limit: int | None,
    used: int | None,
    reset_at: str | None,
) -> None:
    """Whatever the headers and the body say, there is an answer, and it can be said."""
    seen = from_headers(headers, now)
    told = from_headers(headers, now, ErrorBody(limit=limit, used=used, reset_at=reset_at))
    for credits in (seen, told):
        line = words(credits)
        assert line.isprintable()
        assert not re.search("daily|monthly|None", line)
        if credits is not None:
            assert Credits.from_json(credits.to_json()) == credits


@example(year=2026, rest="9" * 30)
@given(year=st.integers(1000, 9999), rest=st.text("0123456789:, GMTJanThu+-", max_size=30))
def test_no_date_raises(year: int, rest: str) -> None:
    """Whatever looks a little like a date is one or is none."""
    for text in (f"Thu, 01 Jan {year} {rest} GMT", f"Thu {rest} {year}", f"Thu, {rest} GMT"):
        when = crediting.date([("Date", text)])
        assert when is None or when.tzinfo == UTC


# --- Requests left ----------------------------------------------------------------------

MARCH = datetime(2026, 3, 1, 12, tzinfo=UTC)
IN_MARCH = "Sun, 01 Mar 2026 11:00:00 GMT"
LIMIT, REMAINING, ENDS = (
    f"x-ratelimit-{name}-requests" for name in ("limit", "remaining", "reset")
)


def limit_of(headers: dict[str, str]) -> tuple[int | None, int | None, float | None] | None:
    """Give the figures, and the seconds until the window ends."""
    told = crediting.request_limit(headers.items(), MARCH)
    if told is None:
        return None
    ends = None if told.ends_at is None else (told.ends_at - MARCH).total_seconds()
    return told.limit, told.remaining, ends


@each_case(
    ("headers", "figures"),
    [
        ({LIMIT: "100", REMAINING: "93", ENDS: "6m0s"}, (100, 93, 360)),
        ({LIMIT.title(): "60", REMAINING.upper(): "0", ENDS: "1s"}, (60, 0, 1)),
        ({LIMIT: "60", REMAINING: "59", ENDS: "12ms"}, (60, 59, 1)),
        ({LIMIT: "60", REMAINING: "59", ENDS: "1d2h3m59.56s"}, (60, 59, 93_840)),
        ({LIMIT: "60", REMAINING: "59", ENDS: "7.66"}, (60, 59, 8)),
        ({LIMIT: "60", REMAINING: "59", ENDS: "soon"}, (60, 59, None)),
        ({LIMIT: "60", REMAINING: "59", ENDS: "1795305600"}, (60, 59, None)),
        ({LIMIT: "60", REMAINING: "59", ENDS: "367d"}, (60, 59, None)),
        ({LIMIT: "60"}, None),
        ({REMAINING: "5", LIMIT: "many"}, (None, 5, None)),
        ({LIMIT: "-1", REMAINING: "-1", ENDS: "0"}, None),
        ({ENDS: "1s"}, None),
        ({"x-ratelimit-limit-tokens": "9", "x-ratelimit-remaining-tokens": "8"}, None),
        ({"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "60"}, None),
        ({}, None),
    ],
)
def test_the_headers_of_openai(
    headers: dict[str, str], figures: tuple[int | None, int | None, float | None] | None
) -> None:
    """Requests and their window's end, as a duration; tokens and credits are something else."""
    assert limit_of(headers) == figures


def test_they_are_of_the_answers_own_time() -> None:
    """A duration counts from the answer's ``Date``; without one from the time here."""
    headers = {LIMIT: "60", REMAINING: "59", ENDS: "30s"}
    told = crediting.request_limit({**headers, "Date": IN_MARCH}.items(), MARCH)
    assert told is not None
    assert told.ends_at == MARCH + timedelta(hours=-1, seconds=30)


def test_no_family_of_headers_says_anything_of_another() -> None:
    """Names that look alike may count something else, in other units; no cassette has them."""
    alike = ("X-Rate-Limit-Limit", "RateLimit-Limit", "X-RateLimit-Limit-Minute", "RateLimit")
    headers = {LIMIT: "60", REMAINING: "59", **dict.fromkeys(alike, "3")}
    assert crediting.from_headers(headers.items(), MARCH) is None
    assert not {name.lower() for name in headers} & set(KEPT_HEADERS)


@pytest.mark.parametrize(
    ("limit", "remaining", "words"),
    [
        (10_000, 1, "1 of 10,000 requests left in this window"),
        (1, 1, "1 of 1 request left in this window"),
        (None, 1, "1 request left in this window"),
        (None, 0, "0 requests left in this window"),
    ],
)
def test_what_is_left_in_words(limit: int | None, remaining: int, words: str) -> None:
    """What is unknown is not said; a window that has ended says nothing of the next one."""
    told = RequestLimit(limit, remaining, None)
    assert crediting.request_words(told) == words
    assert crediting.request_line(told, MARCH) == f"{words}."
    ending = replace(told, ends_at=MARCH + timedelta(seconds=30))
    until = f"{words}, until 2026-03-01 12:00:30 UTC."
    assert crediting.request_line(ending, MARCH + timedelta(seconds=29)) == until
    ended = crediting.request_line(ending, MARCH + timedelta(seconds=30))
    assert ended.startswith("Requests left unknown")


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (None, "credits unknown"),
        (figures(100, 90), "90 of 100 credits left"),
        (figures(100, 3), "credits low: 3 of 100 left"),
        (figures(100, 0), "0 of 100 credits left"),
        (figures(None, 7), "7 credits left, limit unknown"),
        (figures(100, None), "unknown how many of 100 credits are left"),
        (figures(None, None), "credits unknown"),
    ],
)
def test_the_credits_left_are_words_without_the_reset(seen: Credits | None, said: str) -> None:
    """Whatever of the figures is known."""
    assert crediting.left_words(seen) == said
