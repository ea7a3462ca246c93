"""The credits and the requests left, from the answers so far."""

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
        assert (client.credits, client.credit_tracker.received_at) == (None, None)
        began = datetime.now(UTC)
        reply = client.complete(ASK)
        first = client.credit_tracker.received_at
        assert first is not None
        assert began <= first <= datetime.now(UTC)
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
            told = client.credit_tracker.requests
            seen.append(told and (told.limit, told.remaining))
        assert client.credits is None
    assert seen == [None, (100, 93), (100, 93), (None, 0)]
