"""The body of an answer: its largest size, its silences, and the beginning that an error needs."""

from __future__ import annotations

import contextlib
import json
import threading

import pytest
from loopback import (
    EVENTS,
    PATIENCE,
    Peer,
    Server,
    event,
    head,
    pouring,
    stream,
    wait_for,
)
from served import ASK, HELLO, KEY, WHOLE, Played, ask, ask_played, served

from chatmagic.client import body as body_module
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Timeout
from chatmagic.errors import (
    ChatError,
    CutOffError,
    RequestTimeoutError,
)
from chatmagic.protocol.answer_text import BODY_BYTES


@pytest.mark.parametrize(
    ("status", "words"),
    [("500 Oops", "xxx…"), ("302 Moved", "redirects to https://new.example.org")],
)
def test_an_error_body_is_not_read_beyond_a_bound(status: str, words: str) -> None:
    """An error that goes on for long is left, and its connection closed."""
    gone = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(status, {"Connection": "close", "Location": "https://new.example.org/"}))
        with contextlib.suppress(ConnectionError):
            for _ in range(1_000):
                peer.send(b"x" * BODY_BYTES)
            pytest.fail("all of it was taken")
        gone.set()

    with served(script) as (client, _):
        with pytest.raises(ChatError, match=words):
            client.complete(ASK)
        wait_for(gone)


@pytest.mark.parametrize("status", ["401 No", "200 OK"])
def test_an_error_body_that_drips_is_left(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes a byte at a time, for ever, is cut when its time is up."""
    monkeypatch.setattr(body_module, "BODY_SECONDS", 0.05)
    drip = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(status, {"Content-Type": "text/html", "Connection": "close"}), b"<p>no")
        peer.repeat(b".", 0.01)
        drip.set()

    with served(script) as (client, _):
        with pytest.raises(ChatError, match="no") as caught:
            client.complete(ASK)
        assert caught.value.status == int(status[:3])
        wait_for(drip)


def test_white_space_before_a_reply_is_a_sign_of_life() -> None:
    """There may be any amount of it, and it is not kept."""
    spaces = [b" \n" * 20_000] * 20
    assert ask_played(Played(200, *spaces, json.dumps(WHOLE).encode())).text == "Hello"
    assert ask_played(Played(200, *spaces, *HELLO)).text == "Hello"


@pytest.mark.parametrize("body", [b": c\n" * 3_000, b"data: {}\n" * 3_000, b"data:ab\n" * 3_000])
def test_a_body_ends_at_the_largest_size(body: bytes) -> None:
    """Whatever it holds: comments, events that say nothing, or lines of no event."""
    with (
        Server(pouring(stream(b"event: a\n", body, body))) as server,
        Client(server.url, KEY, limits={"text": 10**6, "body": 20_000}) as client,
        pytest.raises(CutOffError, match="20,000 bytes, the largest body"),
        client.stream(ASK) as fragments,
    ):
        for _ in fragments:
            pass


@pytest.mark.parametrize("byte", [b":", b"\n", b" "])
def test_each_piece_has_a_least_size(byte: bytes) -> None:
    """It has its work, so that bytes that come one by one end earlier."""
    with (
        Client(transport=Played(200, *[byte] * 9_000), limits={"body": 20_000}) as client,
        pytest.raises(CutOffError, match="20,000 bytes, the largest body"),
    ):
        ask(client, streaming=True)


@pytest.mark.parametrize("blank", [b": c\n", b"\n", b"event: ping\n", b"data: {}\n\n"])
def test_comments_do_not_end_a_silence(blank: bytes) -> None:
    """Nor do blank lines, or names of events that do not come."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Connection": "close"}), event("Hel"))
        peer.repeat(blank, every=0.01)

    waits = Timeout(PATIENCE, PATIENCE, 0.15)
    with (
        Server(script) as server,
        Client(server.url, KEY, timeout=waits) as client,
        pytest.raises(RequestTimeoutError, match="The reply stopped") as caught,
        client.stream(ASK) as fragments,
    ):
        for _ in fragments:
            pass
    assert caught.value.which == "silence"
    assert caught.value.reply is not None
    assert caught.value.reply.text == "Hel"
