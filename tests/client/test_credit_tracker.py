"""What the answers told a client of its credits, counted once an ask."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from loopback import (
    document,
    playing,
    stream,
)
from served import ASK, HELLO, LIMIT, WHOLE, left, served

from chatmagic.errors import (
    RateLimitError,
    RequestRejectedError,
)

REQUESTS = {"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "93"}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_credits_come_with_every_answer() -> None:
    """Headers count on success and on errors; an answer without them changes nothing."""
    script = playing(
        document(WHOLE, headers=left(90)),
        document({"error": "bad"}, "400 Bad", headers=left(80)),
        document(WHOLE),
        stream(*HELLO, headers=left(70)),
        document(LIMIT),
    )
    with served(script) as (client, _):
        reply = client.complete(ASK)
        assert reply.credits is client.credits
        assert reply.credits is not None
        assert (reply.credits.remaining, reply.credits.used) == (90, 10)
        assert reply.credits.seen_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
        with pytest.raises(RequestRejectedError) as caught:
            client.complete(ASK)
        assert caught.value.credits is client.credits
        assert client.credits is not None
        assert client.credits.remaining == 80
        assert client.complete(ASK).credits is None
        assert client.credits.remaining == 80
        with client.stream(ASK) as replying:
            assert client.credits.remaining == 70
            list(replying)


def test_figures_in_a_body_count_before_those_of_the_headers() -> None:
    """Of a rate limit that comes as a success."""
    script = playing(document(WHOLE, headers=left(30)), document(LIMIT, headers=left(10)))
    with served(script) as (client, _):
        client.complete(ASK)
        with pytest.raises(RateLimitError):
            client.complete(ASK)
        assert client.credits is not None
        assert client.credits.remaining == 0


def test_when_the_credits_came_is_known() -> None:
    """By the clock here, for the answer that told them; one without figures changes nothing."""
    script = playing(
        document(WHOLE, headers=left(90)),
        document(WHOLE),
        document(LIMIT, headers=left(10)),
    )
    with served(script) as (client, _):
        assert (client.credits, client.credit_tracker.state.received_at) == (None, None)
        before = datetime.now(UTC)
        client.complete(ASK)
        first = client.credit_tracker.state.received_at
        assert first is not None
        assert before <= first <= datetime.now(UTC)
        client.complete(ASK)
        assert client.credit_tracker.state.received_at == first
        with pytest.raises(RateLimitError):
            client.complete(ASK)
        assert client.credit_tracker.state.received_at is not None
        assert client.credit_tracker.state.received_at > first


def test_requests_left_come_with_every_answer_and_are_no_credits() -> None:
    """As the latest answer that told has them, errors too."""
    script = playing(
        document(WHOLE),
        document(WHOLE, headers=REQUESTS),
        document(WHOLE),
        document({"error": "bad"}, "429 Slow", headers={"x-ratelimit-remaining-requests": "0"}),
    )
    seen = []
    with served(script) as (client, _):
        for _ in range(4):
            with contextlib.suppress(RateLimitError):
                client.complete(ASK)
            told = client.credit_tracker.state.requests
            seen.append(told and (told.limit, told.remaining))
        assert client.credits is None
    assert seen == [None, (100, 93), (100, 93), (None, 0)]


@pytest.mark.parametrize("usage", [b"", b'data: {"choices":[],"usage":{"total_tokens":9}}\n\n'])
def test_a_stream_without_tokens_is_known(usage: bytes) -> None:
    """Most servers tell them only where they are asked for; a whole answer has its own."""
    script = playing(stream(*HELLO[:2], usage, HELLO[2]), document({"choices": WHOLE["choices"]}))
    with served(script) as (client, _):
        assert not client.credit_tracker.state.lacks_usage
        with client.stream(ASK) as replying:
            list(replying)
        assert client.credit_tracker.state.lacks_usage is not bool(usage)
        client.complete(ASK)
        assert not client.credit_tracker.state.lacks_usage
