"""Long replies, long lines and endless ones: what they take, and what ends them."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from loopback import CHUNKS_END, DONE, EVENTS, Peer, Server, chunked, event, head

import chatmagic
from chatmagic.models import Message
from chatmagic.protocol import sse

MB: Final = 1_000_000
BOUND: Final = 3 * MB
STREAMED: Final = {**EVENTS, "Transfer-Encoding": "chunked"}
ASKED: Final = [Message("user", "hi")]


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    """Count memory from here on, and no more when the test has ended."""
    yield
    tracemalloc.stop()


def long_reply(size: int, fragment: int = 10_000) -> Callable[[Peer], None]:
    """Make the script that streams a reply of so many characters."""
    piece = chunked(event("x" * fragment))

    def script(peer: Peer) -> None:
        while peer.request():
            peer.send(head(headers=STREAMED))
            for _ in range(size // fragment):
                peer.send(piece)
            peer.send(chunked(event("", finish_reason="stop") + DONE), CHUNKS_END)

    return script


def by_client(client: chatmagic.Client) -> str:
    """Stream a reply, and give its text."""
    with client.stream(ASKED) as stream:
        for _ in stream:
            pass
    return stream.reply.text


def by_session(client: chatmagic.Client) -> str:
    """Ask in a session, which keeps the turn, and give the reply's text."""
    return chatmagic.Session(client).ask("hi").text


def extra(client: chatmagic.Client, ask: Callable[[chatmagic.Client], str]) -> tuple[int, int]:
    """Ask; give the reply's length, and the most memory that was taken beside its text."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    text = ask(client)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return len(text), most - before - len(text)


WIDE = {"text": 64 * MB}
"""More than these replies have."""


@pytest.mark.parametrize("ask", [by_client, by_session])
def test_a_long_reply_takes_its_text_and_little_more(
    ask: Callable[[chatmagic.Client], str],
) -> None:
    """The memory beside the text does not grow with it."""
    for size in (2 * MB, 12 * MB):
        with (
            Server(long_reply(size)) as server,
            chatmagic.Client(server.origin, "k", limits=WIDE) as client,
        ):
            length, beside = extra(client, ask)
        assert length == size
        assert beside < BOUND


def test_a_long_line_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One event of 8 MB costs one parse of it, however many pieces it comes in."""
    parsed: list[int] = []

    class Counting(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            parsed.append(len(s))
            return super().raw_decode(s, idx)

    monkeypatch.setattr(sse, "JSON_DECODER", Counting())
    size = 8 * MB
    with (
        Server(long_reply(size, fragment=size)) as server,
        chatmagic.Client(server.origin, "k", limits=WIDE) as client,
        client.stream(ASKED) as stream,
    ):
        assert [len(fragment) for fragment in stream] == [size]
    assert size < sum(parsed) < size + 1_000
