"""What the answers told a client of its credits, counted once an ask."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from loopback import (
    Peer,
    document,
    playing,
    stream,
)
from served import ASK, HELLO, LIMIT, WHOLE, left, served

from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.errors import (
    RateLimitError,
    RequestRejectedError,
    ServiceError,
)
from chatmagic.models import Credits

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_an_answer_without_figures_keeps_the_last_ones() -> None:
    """It takes nothing that could be told, and neither does the answer after it."""
    tracker = CreditTracker()
    seen = [Credits(100, remaining, None, None, NOON) for remaining in (87, 85, 80)]
    states = []
    for credits in (seen[0], seen[1], None, seen[2], seen[2]):
        tracker.enter(credits, tracker.state)
        states.append(tracker.state)
    assert [state.credits for state in states] == [seen[0], seen[1], seen[1], seen[2], seen[2]]
    assert [state.took for state in states] == [None, 2, None, None, 0]


def test_an_answer_entered_again_takes_the_place_of_what_it_said() -> None:
    """What it took is counted from the answer before, and a state that was read stays as it was."""
    tracker = CreditTracker()
    tracker.enter(Credits(100, 30, None, None, NOON), tracker.state)
    before = tracker.state
    tracker.enter(Credits(100, 10, None, None, NOON), before)
    read = tracker.state
    tracker.enter(Credits(100, 0, None, None, NOON), before)
    assert (read.took, tracker.state.took) == (20, 30)


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
        assert (client.credits, client.took) == (None, None)
        reply = client.complete(ASK)
        assert reply.credits is client.credits
        assert reply.credits is not None
        assert (reply.credits.remaining, reply.credits.used, client.took) == (90, 10, None)
        assert reply.credits.seen_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
        with pytest.raises(RequestRejectedError) as caught:
            client.complete(ASK)
        assert caught.value.credits is client.credits
        assert client.credits is not None
        assert (client.credits.remaining, client.took) == (80, 10)
        assert client.complete(ASK).credits is None
        assert (client.credits.remaining, client.took) == (80, None)
        with client.stream(ASK) as replying:
            assert client.credits.remaining == 70
            list(replying)
        assert client.took is None


def test_a_rate_limit_as_a_success_is_counted_once() -> None:
    """Figures in the body take the place of the same answer's headers in the ledger."""
    script = playing(document(WHOLE, headers=left(30)), document(LIMIT, headers=left(10)))
    with served(script) as (client, _):
        client.complete(ASK)
        with pytest.raises(RateLimitError):
            client.complete(ASK)
        assert client.credits is not None
        assert (client.credits.remaining, client.took) == (0, 30)


def test_after_an_ask_without_an_answer_nobody_knows_what_the_next_one_took() -> None:
    """A request that was sent may have cost something, so the next fall is not one turn's."""
    answers = iter((90, None, 70))

    def script(peer: Peer) -> None:
        remaining = next(answers)
        if peer.request() and remaining is not None:
            peer.send(document(WHOLE, headers=left(remaining)))

    with served(script) as (client, server):
        client.complete(ASK)
        server.wait_closed()
        with pytest.raises(ServiceError, match="without an answer"):
            client.complete(ASK)
        client.complete(ASK)
        assert client.credits is not None
        assert (client.credits.remaining, client.took) == (70, None)


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
        document(WHOLE, headers={"RateLimit": '"a";r=93', "RateLimit-Policy": '"a";q=100'}),
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
