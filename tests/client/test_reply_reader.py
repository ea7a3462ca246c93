"""Reading of a reply: when a stream has ended, and what is no reply."""

from __future__ import annotations

import threading

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
from served import Played, ask, ask_played, failure, served

from chatmagic.client import reply_reader
from chatmagic.client.endpoint import Timeout
from chatmagic.models import Usage

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
    monkeypatch.setattr(reply_reader, "GRACE_SECONDS", 0.1)
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
    monkeypatch.setattr(reply_reader, "GRACE_SECONDS", 0.0)
    comments = [b": on\n\n"] * 3
    pieces = [event("Hel"), *comments, event("lo"), *comments, event("", finish_reason="stop")]
    assert ask_played(Played(200, *pieces, DONE)).text == "Hello"


def test_silence_after_a_finish_reason_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits no longer than a moment gets no error for a reply that is there."""
    monkeypatch.setattr(reply_reader, "GRACE_SECONDS", 0.1)

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
