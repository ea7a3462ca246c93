"""How many requests are left, from the headers that servers send of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.cassette.file import KEPT_HEADERS
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import ratelimit
from chatmagic.protocol.ratelimit import RequestLimit

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DATE = "Sun, 01 Mar 2026 11:00:00 GMT"
LIMIT, REMAINING, RESET = (
    f"x-ratelimit-{name}-requests" for name in ("limit", "remaining", "reset")
)
POLICY = {"RateLimit-Policy": '"default";q=100;w=60'}


def read(headers: dict[str, str]) -> tuple[int | None, int | None, float | None] | None:
    """Give the figures, and the seconds until the window ends."""
    told = ratelimit.from_headers(headers.items(), NOW)
    if told is None:
        return None
    assert told.seen_at == NOW
    ends = None if told.ends_at is None else (told.ends_at - NOW).total_seconds()
    return told.limit, told.remaining, ends


@pytest.mark.parametrize(
    ("headers", "figures"),
    [
        ({LIMIT: "100", REMAINING: "93", RESET: "6m0s"}, (100, 93, 360)),
        ({LIMIT.title(): "60", REMAINING.upper(): "0", RESET: "1s"}, (60, 0, 1)),
        ({LIMIT: "60", REMAINING: "59", RESET: "12ms"}, (60, 59, 1)),
        ({LIMIT: "60", REMAINING: "59", RESET: "1d2h3m59.56s"}, (60, 59, 93_840)),
        ({LIMIT: "60", REMAINING: "59", RESET: "7.66"}, (60, 59, 8)),
        ({LIMIT: "60", REMAINING: "59", RESET: "soon"}, (60, 59, None)),
        ({LIMIT: "60", REMAINING: "59", RESET: "6m later"}, (60, 59, None)),
        ({LIMIT: "60", REMAINING: "59", RESET: "1795305600"}, (60, 59, None)),
        ({LIMIT: "60", REMAINING: "59", RESET: "367d"}, (60, 59, None)),
        ({LIMIT: "60"}, (60, None, None)),
        ({REMAINING: "5", LIMIT: "many"}, (None, 5, None)),
        ({LIMIT: "-1", REMAINING: "-1", RESET: "0"}, None),
        ({LIMIT: "1" * 17, REMAINING: "1" * 4_000}, None),
        ({RESET: "1s"}, None),
        ({"x-ratelimit-limit-tokens": "9", "x-ratelimit-remaining-tokens": "8"}, None),
        ({"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "60"}, None),
        ({}, None),
    ],
)
def test_the_headers_of_openai(
    headers: dict[str, str], figures: tuple[int | None, int | None, float | None] | None
) -> None:
    """Requests and their window's end, as a duration; tokens and credits are something else."""
    assert read(headers) == figures


@pytest.mark.parametrize(
    ("headers", "figures"),
    [
        ({"RateLimit": '"default";r=93;t=30', **POLICY}, (100, 93, 30)),
        ({"ratelimit": ' "default" ; r=93 ; t=30 ', **POLICY}, (100, 93, 30)),
        ({"RateLimit": '"default";r=93;pk=:dHJp:', **POLICY}, (100, 93, None)),
        ({"RateLimit": '"default";r=93;t=30'}, (None, 93, 30)),
        ({"RateLimit": "default;r=0;t=30", "RateLimit-Policy": "default;q=9"}, (9, 0, 30)),
        ({"RateLimit": '"other";r=93', **POLICY}, (None, 93, None)),
        ({"RateLimit": '"minute";r=7;t=30,"day";r=700;t=9000'}, (None, 7, 30)),
        (
            {
                "RateLimit": '"day, all";r=700;t=9000,"minute";r=7;t=30',
                "RateLimit-Policy": '"minute";q=60;w=60,"day, all";q=1000;w=86400;qu="requests"',
            },
            (1000, 700, 9000),
        ),
        ({"RateLimit": '"b";r=9', "RateLimit-Policy": '"b";q=9;qu="content-bytes"'}, None),
        ({"RateLimit": '"default";r=some;t=30', **POLICY}, None),
        ({"RateLimit": '"default";r=-1', **POLICY}, None),
        ({"RateLimit": '"default', **POLICY}, None),
        ({"RateLimit": ";;,,", **POLICY}, None),
        ({"RateLimit": "limit=100, remaining=93, reset=30", **POLICY}, (100, 93, 30)),
        ({"RateLimit": "limit=100,remaining=93"}, (100, 93, None)),
        ({"RateLimit": "limit=1.5, remaining=x"}, None),
        (
            {"RateLimit-Limit": "3", "RateLimit-Remaining": "0", "RateLimit-Reset": "42"},
            (3, 0, 42),
        ),
        ({"RateLimit-Limit": "100, 100;w=60, 9;w=1", "RateLimit-Remaining": "5"}, (100, 5, None)),
        (POLICY, None),
    ],
)
def test_the_draft_standards_headers(
    headers: dict[str, str], figures: tuple[int | None, int | None, float | None] | None
) -> None:
    """In each of its versions' forms; of several windows the first."""
    assert read(headers) == figures


def test_they_are_of_the_answers_own_time() -> None:
    """A duration counts from the answer's ``Date``; without one from the time here."""
    headers = {LIMIT: "60", REMAINING: "59", RESET: "30s"}
    told = ratelimit.from_headers({**headers, "Date": DATE}.items(), NOW)
    assert told is not None
    assert told.seen_at == NOW - timedelta(hours=1)
    assert told.ends_at == told.seen_at + timedelta(seconds=30)


def test_a_time_beyond_all_calendars_is_unknown() -> None:
    """A ``Date`` that may be the last one that there is is none."""
    headers = {REMAINING: "59", RESET: "30s", "Date": "Fri, 31 Dec 9999 23:59:59 GMT"}
    assert read(headers) == (None, 59, 30)


def test_a_field_may_come_in_parts() -> None:
    """Lists may be split over several fields (RFC 9651); a number that is said twice is none."""
    parts = [
        ("RateLimit", '"b";r=7'),
        ("ratelimit-policy", '"a";q=9'),
        ("RateLimit-Policy", '"b";q=8'),
    ]
    told = ratelimit.from_headers(parts, NOW)
    assert told is not None
    assert (told.limit, told.remaining) == (8, 7)
    assert ratelimit.from_headers([(LIMIT, "5"), (LIMIT, "9")], NOW) is None


def test_requests_are_no_credits_and_are_in_no_cassette() -> None:
    """What one family of headers says is nothing of the other's."""
    headers = {LIMIT: "60", REMAINING: "59", "RateLimit-Limit": "3", "RateLimit": '"a";r=9'}
    assert crediting.from_headers(headers.items(), NOW) is None
    assert not {name.lower() for name in headers} & set(KEPT_HEADERS)


@pytest.mark.parametrize(
    ("limit", "remaining", "words"),
    [
        (100, 93, "93 of 100 requests left in this window"),
        (10_000, 1, "1 of 10,000 requests left in this window"),
        (1, 1, "1 of 1 request left in this window"),
        (None, 1, "1 request left in this window"),
        (None, 0, "0 requests left in this window"),
        (5_000, None, "5,000 requests in a window, unknown how many are left"),
    ],
)
def test_what_is_left_in_words(limit: int | None, remaining: int | None, words: str) -> None:
    """What is unknown is said to be unknown, or not said."""
    told = RequestLimit(limit, remaining, None, NOW)
    assert ratelimit.words(told) == words
    assert ratelimit.line(told, NOW) == f"{words}."


def test_until_when_in_words() -> None:
    """A window that has ended says nothing of the next one."""
    told = RequestLimit(100, 93, NOW + timedelta(seconds=30), NOW)
    until = "93 of 100 requests left in this window, until 12:00:30 UTC."
    assert ratelimit.line(told, NOW + timedelta(seconds=29)) == until
    assert ratelimit.line(told, NOW + timedelta(seconds=30)).startswith("Requests left unknown")
    long = RequestLimit(100, 93, NOW + timedelta(days=1), NOW)
    assert ratelimit.line(long, NOW).endswith(", until 2026-03-02 12:00 UTC.")


NAMES = st.sampled_from(
    [LIMIT, REMAINING, RESET, "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "Date"]
)
VALUES = st.text(max_size=40) | st.text(';,="rqt1 09msdlimt', max_size=40)


@given(st.lists(st.tuples(NAMES, VALUES)))
def test_no_header_makes_it_fail(headers: list[tuple[str, str]]) -> None:
    """Whatever came, it is figures or nothing."""
    told = ratelimit.from_headers(headers, NOW)
    assert told is None or ratelimit.line(told, NOW)


@pytest.mark.unmeasured
@pytest.mark.parametrize("part", ['"', '";', '"a";r=1,', ";r=", "1m", "limit=", "9", " ,"])
def test_long_headers_take_no_more_than_a_moment(part: str) -> None:
    """No part is looked at from each other one: then this would take minutes."""
    value = part * 50_000
    headers = {"RateLimit": value, "RateLimit-Policy": value, RESET: value}
    ratelimit.from_headers(headers.items(), NOW)
