"""A cassette's two transports: what is answered from it, and what is kept of an answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import DONE, EVENTS, Peer, answer, document, event, head, once, stream, wait_for
from loopback import Server as Loopback

from chatmagic import Client
from chatmagic.archive.interaction import KEPT_HEADERS, Interaction
from chatmagic.cassette import transports
from chatmagic.cassette.transports import RecordingTransport, ReplayTransport
from chatmagic.client.halt import Halt
from chatmagic.client.stream import ReplyStream
from chatmagic.errors import ChatError, ChatInterrupted, RateLimitError
from chatmagic.models import Message, Reply, Usage
from chatmagic.protocol.request import Request

KEY = "sk-playback-81c4aa07"
HELLO = Request((Message("user", "hello"),))
ASKED = Interaction.asked(HELLO)
CREDITS = {
    "X-RateLimit-Limit": "100",
    "X-RateLimit-Remaining": "97",
    "X-RateLimit-Reset": "2026-01-02T00:00:00Z",
    "Date": "Thu, 01 Jan 2026 12:00:00 GMT",
}
LEAKY = {"Set-Cookie": "id=1", "Server": "secret-host/1", "X-Request-Id": "abc"}


def recorded(script: Any, request: Request = HELLO) -> tuple[Interaction | None, ChatError | None]:
    """Record one exchange with a server that plays a script."""
    kept: list[Interaction | None] = []
    with Loopback(script) as server, Client(server.origin, KEY) as client:
        made: list[ReplyStream] = []

        def keep(heard: RecordingTransport) -> None:
            keys = client.endpoint.known_keys
            asked = Interaction.asked(request)
            kept.append(transports.recorded(asked, heard, replace(made[0].reply, took=1), keys))

        made.append(client.send(request, None, lambda inner: RecordingTransport(inner, keep)))
        try:
            with made[0]:
                for _ in made[0]:
                    pass
        except ChatError as error:
            return (kept or [None])[0], error
    assert len(kept) == 1
    return kept[0], None


def again(one: Interaction, request: Request = HELLO) -> Reply:
    """Replay it, through a client that could reach nobody."""
    with Client("http://127.0.0.1:9", auth="none") as client:
        made = client.send(request, None, lambda _: ReplayTransport(one))
        with made:
            for _ in made:
                pass
        return made.reply


@pytest.mark.parametrize("streaming", [True, False])
def test_a_reply_is_recorded_and_comes_again(streaming: bool) -> None:
    """With its facts, its credits and its date, and none of the other headers."""
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    chunks = [event("one\r\n\u2028two", model="x"), event("", finish_reason="stop")]
    whole = {
        "model": "small",
        "choices": [{"message": {"content": "one\r\n\u2028two"}, "finish_reason": "stop"}],
        "usage": usage,
    }
    sent = (
        stream(*chunks, DONE, headers={**CREDITS, **LEAKY})
        if streaming
        else document(whole, headers={**CREDITS, **LEAKY})
    )
    request = replace(HELLO, stream=streaming)
    one, error = recorded(once(sent), request)
    assert error is None
    assert one is not None
    assert one.text == "one\r\n\u2028two"
    assert {name.lower() for name, _ in one.headers} <= set(KEPT_HEADERS)
    assert "secret-host" not in repr(one)
    reply = again(one, request)
    assert (reply.text, reply.finish_reason, reply.origin) == (one.text, "stop", "replay")
    assert reply.credits is not None
    assert (reply.credits.remaining, reply.credits.seen_at) == (
        97,
        datetime(2026, 1, 1, 12, tzinfo=UTC),
    )
    assert reply.date == reply.credits.seen_at
    if not streaming:
        assert (reply.model, reply.usage) == ("small", Usage(1, 2, 3))


def test_a_reply_that_came_whole_is_recorded_though_its_connection_broke() -> None:
    """It was paid for, and the next run is not to pay for it again."""
    whole = json.dumps({"choices": [{"message": {"content": "Hi"}}]}).encode()
    sent = head(headers={"Content-Length": "500"}) + whole
    one, error = recorded(once(sent), replace(HELLO, stream=False))
    assert error is None
    assert one is not None
    assert one.text == "Hi"


TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("\n\r\u2028\x85"), max_size=40)


@given(TEXT, st.booleans(), st.none() | TEXT.filter(bool))
def test_any_reply_comes_again_exactly(text: str, streaming: bool, refusal: str | None) -> None:
    """Streamed or in one piece, with lines of any kind."""
    one = replace(ASKED, text=text, refusal=refusal, finish_reason="length", usage=Usage(1))
    reply = again(one, replace(HELLO, stream=streaming))
    assert (reply.text, reply.refusal, reply.state) == (text, refusal, "complete")
    assert (reply.finish_reason, reply.usage) == ("length", Usage(1))


def test_each_fragment_is_handed_on_at_once() -> None:
    """Recording waits for nothing: the first is there before the second one is sent."""
    arrived = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=EVENTS), event("one "))
        wait_for(arrived)
        peer.send(event("two"), DONE)

    heard: list[RecordingTransport] = []
    with Loopback(script) as server, Client(server.origin, KEY) as client:
        made = client.send(HELLO, None, lambda inner: RecordingTransport(inner, heard.append))
        with made:
            for _ in made:
                arrived.set()
    assert made.reply.text == "one two"
    assert len(heard) == 1


ERROR = {
    "error": "rate_limit_exceeded",
    "message": "Done.",
    "limit": 9,
    "used": 9,
    "resetAt": "2026-01-02T00:00:00Z",
}


@pytest.mark.parametrize("status", ["429 Too Many", "403 No", "200 OK"])
def test_an_error_that_the_service_answered_comes_again(status: str) -> None:
    """The same class, line, status and credits, whatever its status."""
    one, error = recorded(once(document(ERROR, status, {**CREDITS, "Retry-After": "90"})))
    assert isinstance(error, RateLimitError)
    assert one is not None
    assert (one.text, one.error) == (None, ERROR)
    with pytest.raises(RateLimitError) as caught:
        again(one)
    assert str(caught.value) == str(error)
    assert caught.value.status == error.status
    assert caught.value.credits == error.credits


def test_an_answer_without_a_date_gets_the_time_it_came() -> None:
    """So its credits have a time in replay, too; a header that comes twice is kept as one."""
    sent = document({"choices": [{"message": {"content": "hi"}}]}, headers={"Date": "yesterday"})
    twice = b"HTTP/1.1 200 OK\r\nX-RateLimit-Limit: 9\r\nX-RateLimit-Limit: 9"
    one, _ = recorded(once(sent.replace(b"HTTP/1.1 200 OK", twice)))
    assert one is not None
    assert ("X-RateLimit-Limit", "9") in one.headers
    reply = again(one)
    assert reply.date is not None
    assert datetime.now(UTC) - reply.date < timedelta(minutes=5)
    assert reply.credits is not None
    assert (reply.credits.limit, reply.credits.seen_at) == (9, reply.date)


@pytest.mark.parametrize(
    "sent",
    [
        stream(event("one")),
        stream(event("one"), b'data: {"error": "broken"}\n\n'),
        head(headers={**EVENTS, "Content-Length": "500"}) + event("one"),
        answer(b"<html>no</html>", "502 Bad", {"Content-Type": "text/html"}),
        answer(b'["no"]', "500 Bad", {"Content-Type": "application/json"}),
        answer(b"x" * 70_000, "500 Bad"),
    ],
    ids=["no end", "an error inside", "cut", "a page", "no object", "long"],
)
def test_nothing_else_is_kept(sent: bytes) -> None:
    """Neither a part of a reply nor what is no answer of the interface."""
    one, error = recorded(once(sent))
    assert error is not None
    assert one is None


def test_the_key_is_in_nothing_that_is_kept() -> None:
    """It is taken out of an error, of a reply and of the headers that are kept."""
    leak = {"error": "invalid_api_key", "message": f"Incorrect key: {KEY}"}
    one, _ = recorded(once(document(leak, "401 No")))
    assert one is not None
    assert KEY not in repr(one)
    assert "[key removed]" in json.dumps(one.error)
    raw = stream(event(f"Your key is {KEY}"), DONE)
    raw = raw.replace(b"\r\n", f"\r\nX-RateLimit-Reset: {KEY}\r\n".encode(), 1)
    one, error = recorded(once(raw))
    assert error is None
    assert one is not None
    assert one.text == "Your key is [key removed]"
    assert ("X-RateLimit-Reset", "[key removed]") in one.headers
    assert KEY not in repr(one)


def test_a_replay_can_be_stopped() -> None:
    """As any reply can."""
    halt = Halt()
    with Client("http://127.0.0.1:9", auth="none") as client:
        made = client.send(HELLO, halt, lambda _: ReplayTransport(replace(ASKED, text="one\ntwo")))

        def read() -> Iterator[str]:
            with made:
                yield from made

        reading = read()
        assert next(reading) == "one\n"
        halt.stop()
        with pytest.raises(ChatInterrupted):
            next(reading)
    assert (made.reply.text, made.reply.state) == ("one\n", "interrupted")
