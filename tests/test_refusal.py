"""What is made of answers that are no reply."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    NotUnderstoodError,
    RateLimitError,
    RequestRejectedError,
    ServiceError,
)
from chatmagic.refusal import EXCERPT, excerpt, read_error, refusal
from chatmagic.wire import Secret

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = Secret("key-7d1f-throw-away")
LIMIT = {
    "error": "rate limit exceeded",
    "message": "daily credit limit reached",
    "limit": 1000,
    "used": 1000,
    "resetAt": "2026-03-02T00:00:00Z",
}


def told(
    status: int, body: object = b"", headers: list[tuple[str, str]] | None = None
) -> ChatError:
    """Give the error for an answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refusal(status, headers or [], raw, now=NOW, key=KEY)


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500, 302])
def test_the_rate_limit_is_known_by_its_body(status: int) -> None:
    """Its status is not shown (interface §7), so any will do."""
    error = told(status, LIMIT)
    assert isinstance(error, RateLimitError)
    assert error.status == status
    assert error.credits is not None
    assert (error.credits.limit, error.credits.used, error.credits.remaining) == (1000, 1000, 0)
    assert error.credits.resets_at == datetime(2026, 3, 2, tzinfo=UTC)
    assert str(error) == (
        "No credits left: 1,000 of 1,000 used, resets 2026-03-02 00:00 UTC: "
        f'"rate limit exceeded: daily credit limit reached" (HTTP {status}).'
    )


def test_a_rate_limit_without_a_reset_says_so() -> None:
    """A missing or garbled reset is unknown, and no exception."""
    error = told(429, {**LIMIT, "resetAt": "soon"})
    assert "reset unknown" in str(error)
    assert error.credits is not None
    assert error.credits.resets_at is None


@pytest.mark.parametrize(
    ("status", "body", "kind", "fault"),
    [
        (400, {"error": "bad"}, RequestRejectedError, "you"),
        (401, b"", AuthenticationError, "you"),
        (402, {"error": "pay"}, RateLimitError, "you"),
        (403, {"error": "invalid api key"}, AuthenticationError, "you"),
        (403, {"error": "flagged"}, RequestRejectedError, "you"),
        (404, b"Not Found", NotUnderstoodError, "service"),
        (405, b"", RequestRejectedError, "you"),
        (407, b"", ServiceError, "service"),
        (408, b"", ServiceError, "service"),
        (413, b"", RequestRejectedError, "you"),
        (422, {"detail": [{"msg": "field required"}]}, RequestRejectedError, "you"),
        (429, {"error": "slow down"}, RateLimitError, "you"),
        (500, b"", ServiceError, "service"),
        (503, {"error": "busy"}, ServiceError, "service"),
        (599, b"\xff\xfe\0", ServiceError, "service"),
        (204, b"", NotUnderstoodError, "service"),
        (304, b"", NotUnderstoodError, "service"),
        (200, b"<html><title>Sign in</title>", NotUnderstoodError, "service"),
    ],
)
def test_the_others_are_known_by_their_status(
    status: int, body: object, kind: type[ChatError], fault: str
) -> None:
    """Each says what the caller can do, in one line with the status."""
    error = told(status, body)
    assert type(error) is kind
    assert error.fault == fault
    assert error.status == status
    assert f"(HTTP {status})" in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": "name", "message": "words"}, ': "name: words" (HTTP 400)'),
        ({"error": "same", "message": "same"}, ': "same" (HTTP 400)'),
        ({"error": {"message": "nested", "type": "kind"}}, ': "kind: nested" (HTTP 400)'),
        ({"detail": "plain detail"}, ': "plain detail" (HTTP 400)'),
        ([{"error": {"message": "in a list"}}], ': "in a list" (HTTP 400)'),
        (b"\xef\xbb\xbf" + b'{"error": "marked"}', ': "marked" (HTTP 400)'),
        (b"<html><head><TITLE>Bad\n gateway</TITLE></head>x", ': "Bad gateway" (HTTP 400)'),
        (b"<html><p>no <b>title</b></html>", ': "no title" (HTTP 400)'),
        (b"plain words", ': "plain words" (HTTP 400)'),
        (b'{"half": "a docu', ': "{"half": "a docu" (HTTP 400)'),
        (b"", "refused the request (HTTP 400)."),
        (b" \r\n", "refused the request (HTTP 400)."),
        (b"\x1b[31mred\x07", ': "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}"'),
        (b"[" * 100_000, ': "[[['),
    ],
)
def test_whatever_the_body_is_its_words_are_shown(body: object, words: str) -> None:
    """Every shape gives a short excerpt on one line, without control characters."""
    error = told(400, body)
    assert words in str(error)
    assert len(error.message) < EXCERPT + 60


def test_the_key_is_taken_out_of_what_is_shown() -> None:
    """A service that repeats the key does not put it into a notebook."""
    key = KEY.reveal()
    for body in ({"error": key, "message": f"bad {key}!"}, key.encode(), f"<p>{key}".encode()):
        for status in (200, 400, 401, 403, 404, 413, 429, 500):
            assert "7d1f" not in str(told(status, body))
    assert "bad [key removed]!" in str(told(400, {"error": f"bad {key}!"}))
    moved = [("Location", f"https://{key}.example.org/?api_key={key}")]
    assert "7d1f" not in str(told(302, b"", moved))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("https://new.example.org:8443/v1/chat?x=secret#f", "to https://new.example.org:8443 ("),
        ("HTTP://new.example.org", "to HTTP://new.example.org ("),
        ("//new.example.org/v1", "to //new.example.org ("),
        ("https://trusted.org@new.example.org/", "to https://new.example.org ("),
        ("https://a@trusted.org@new.example.org/", "to https://new.example.org ("),
        ("https://new.example.org\\@trusted.org/", "to https://new.example.org ("),
        ("/login", "points elsewhere ("),
        ("", "points elsewhere ("),
    ],
)
def test_a_redirect_names_the_new_origin_alone(status: int, location: str, words: str) -> None:
    """Where it points is named without path, query or user name; nothing was followed."""
    error = told(status, b"moved", [("location", location)])
    assert isinstance(error, NotUnderstoodError)
    assert words in str(error)
    assert "not followed" in str(error)


def test_credits_come_from_an_errors_headers_too() -> None:
    """Headers count on every response (interface §8)."""
    fields = [("X-RateLimit-Limit", "100"), ("X-RateLimit-Remaining", "60")]
    for status in (400, 401, 429, 500):
        seen = told(status, {"error": "no"}, fields).credits
        assert seen is not None
        assert (seen.limit, seen.remaining) == (100, 60)
    assert told(500).credits is None


def test_patience_is_told_as_a_time() -> None:
    """``Retry-After`` becomes the time to ask again, from the time given here."""
    error = told(429, {"error": "slow down"}, [("Retry-After", "90")])
    assert isinstance(error, RateLimitError)
    assert error.retry_after == NOW + timedelta(seconds=90)
    assert "Ask again after 2026-03-01 12:01:30 UTC." in str(error)
    garbled = told(429, {"error": "slow down"}, [("Retry-After", "later")])
    assert isinstance(garbled, RateLimitError)
    assert garbled.retry_after is None


def test_an_excerpt_is_short_and_on_one_line() -> None:
    """Long text is cut with a mark, and white space is folded."""
    assert excerpt("a\r\n b\t c") == "a b c"
    assert excerpt("x" * 500) == "x" * (EXCERPT - 1) + "…"
    assert excerpt("x" * 500, 10) == "x" * 9 + "…"
    # A sign that turns text around is no printable character.
    assert excerpt("a\u202eb") == "a\N{REPLACEMENT CHARACTER}b"


@given(status=st.integers(200, 599), body=st.binary(max_size=200))
def test_no_body_makes_it_fail(status: int, body: bytes) -> None:
    """Whatever came, there is one line."""
    line = str(told(status, body))
    assert line.isprintable()


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda items: st.lists(items) | st.dictionaries(st.sampled_from([*LIMIT, "x"]), items),
        max_leaves=8,
    )
)
def test_no_json_makes_it_fail(value: object) -> None:
    """Documented fields of any type give one line too."""
    body = json.dumps(value).encode()
    assert str(told(400, body)).isprintable()
    assert read_error(body) is None or isinstance(told(200, body), ChatError)
