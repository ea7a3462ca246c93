"""One ask as a stream: what it hands on, and how it ends, whatever ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from loopback import (
    DONE,
    EVENTS,
    PATIENCE,
    Peer,
    answer,
    chunked,
    event,
    head,
    once,
    stream,
    wait_for,
)
from served import ASK, Played, ask, ask_played, failure, served

from chatmagic.client import stream as stream_module
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    ChatInterrupted,
    RequestTimeoutError,
)
from chatmagic.models import Usage
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


HELD = {
    "chunked": {"Transfer-Encoding": "chunked"},
    "until it closes": {"Connection": "close"},
    "of a length": {"Content-Length": "5000"},
}


@pytest.mark.parametrize("framing", HELD)
@pytest.mark.parametrize("patience", [PATIENCE, None])
def test_after_a_finish_reason_a_stream_is_not_waited_for_without_end(
    framing: str, patience: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else comes in time is taken; comments are no sign that more will come."""
    monkeypatch.setattr(stream_module, "GRACE_SECONDS", 0.1)
    gone = threading.Event()
    usage = b'data: {"choices":[],"usage":{"total_tokens":9}}\n\n'

    def script(peer: Peer) -> None:
        framed = chunked if framing == "chunked" else bytes
        peer.request()
        peer.send(head(headers={**EVENTS, **HELD[framing]}))
        peer.send(framed(event("Hello", finish_reason="stop")), framed(b": on\n\n"), framed(usage))
        peer.repeat(framed(b": still here\n\n"), 0.01)
        gone.set()

    with served(script, timeout=Timeout(PATIENCE, PATIENCE, patience)) as (client, _):
        reply = ask(client, streaming=True)
        wait_for(gone)
    assert (reply.text, reply.state, reply.finish_reason) == ("Hello", "complete", "stop")
    assert reply.usage == Usage(total_tokens=9)


def test_before_a_finish_reason_a_stream_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments keep it alive, however long the next event takes."""
    monkeypatch.setattr(stream_module, "GRACE_SECONDS", 0.0)
    comments = [b": on\n\n"] * 3
    pieces = [event("Hel"), *comments, event("lo"), *comments, event("", finish_reason="stop")]
    assert ask_played(Played(200, *pieces, DONE)).text == "Hello"


def test_silence_after_a_finish_reason_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits no longer than a moment gets no error for a reply that is there."""
    monkeypatch.setattr(stream_module, "GRACE_SECONDS", 0.1)

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Connection": "close"}))
        peer.send(event("Hello", finish_reason="stop"))
        assert peer.gone()

    with served(script, timeout=Timeout(PATIENCE, PATIENCE, 0.05)) as (client, _):
        assert ask(client, streaming=True).state == "complete"


EMPTY = {
    "nothing": answer(b"", headers=EVENTS),
    "blanks": answer(b"\n\n", headers=EVENTS),
    "an end mark": stream(DONE),
    "comments": stream(b": on\n\n"),
    "a cut": head(headers={**EVENTS, "Transfer-Encoding": "chunked"}),
    "no JSON": answer(b""),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_an_empty_answer_names_a_full_context_as_a_cause(kind: str) -> None:
    """Some servers say no more when a long conversation fills the model's context."""
    hint = str(failure(once(EMPTY[kind])).hint)
    assert "Ask again to try once more" in hint
    assert "may fill the model's context: send less of it: last=N, or a new Session." in hint
