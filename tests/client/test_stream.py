"""One ask as a stream: what it hands on, and how it ends, whatever ends it."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest
from loopback import (
    EVENTS,
    Peer,
    chunked,
    event,
    head,
    wait_for,
)
from row_service import RowService
from served import ASK, ask, served

import chatmagic
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    ChatInterrupted,
    RequestTimeoutError,
)
from chatmagic.protocol.request import Request


def endless(gone: threading.Event) -> Callable[[Peer], None]:
    """Make the script that begins a reply and waits until the client goes."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Transfer-Encoding": "chunked"}), chunked(event("Hel")))
        if peer.gone():
            gone.set()

    return script


@pytest.mark.parametrize("leave", [None, KeyboardInterrupt, RuntimeError])
def test_leaving_early_closes_the_connection(leave: type[BaseException] | None) -> None:
    """The server sees the close at once; what came is there, marked."""
    gone = threading.Event()
    with served(endless(gone)) as (client, _):
        replying = client.stream(ASK)
        try:
            with replying:
                for _ in replying:
                    if leave is not None:
                        raise leave
                    break
        except (KeyboardInterrupt, RuntimeError) as error:
            assert type(error) is leave  # noqa: PT017 - the same test without an exception
        wait_for(gone)
    assert (replying.reply.text, replying.reply.state) == ("Hel", "interrupted")


def test_a_stop_from_another_thread_is_an_interrupt_with_the_partial_reply() -> None:
    """A person who waits for the reply is told at once, with what came."""
    gone = threading.Event()
    halt = Halt()

    def ask(client: Client) -> None:
        with client.send(Request(tuple(ASK)), halt) as replying:
            for _ in replying:
                threading.Thread(target=halt.stop).start()

    with served(endless(gone)) as (client, _), pytest.raises(ChatInterrupted) as caught:
        ask(client)
    wait_for(gone)
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.state) == ("Hel", "interrupted")
    assert not isinstance(caught.value, Exception)


def test_silence_carries_the_partial_reply() -> None:
    """A time-out of ours names itself and brings what came."""
    gone = threading.Event()
    with served(endless(gone), timeout=Timeout(silence=0.1)) as (client, _):
        with pytest.raises(RequestTimeoutError, match="silence") as caught:
            ask(client, streaming=True)
        wait_for(gone)
    assert caught.value.which == "silence"
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.state) == ("Hel", "cut off")


def test_the_end_mark_ends_the_reply_at_once() -> None:
    """The reply is complete at the mark, without a line end and while the server stays."""
    gone: list[bool] = []

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Transfer-Encoding": "chunked"}))
        peer.send(chunked(event("Hello"), b"data: [DONE]"))
        gone.append(peer.gone())

    with served(script) as (client, _):
        assert ask(client, streaming=True).state == "complete"
    assert gone == [True]


def test_a_stream_that_has_ended_is_freed_at_once() -> None:
    """It refers to itself no more: a map has one for each row, and the collector costs CPU."""
    with chatmagic.Client(transport=RowService()) as client:
        replying = client.send(Request(tuple(ASK), stream=False))
        with replying:
            for _ in replying:
                pass
    freed = weakref.ref(replying)
    gc.disable()
    try:
        del replying
        assert freed() is None
    finally:
        gc.enable()
