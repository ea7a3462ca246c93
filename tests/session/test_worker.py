"""Work in a thread for which another one waits, and what a stop of it keeps."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from asking import Seen, prompts, stop
from served import Played
from short_service import ShortService

from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatInterrupted
from chatmagic.protocol import sse
from chatmagic.protocol.chunk import Chunk
from chatmagic.session.ask import Ask
from chatmagic.session.events import Event, Fragment
from chatmagic.session.session import Session


def test_what_a_callback_asks_waits_for_the_reply(session: Session) -> None:
    """It is called in the thread that waits; the reply comes to its end without it."""
    inner: list[str] = []

    def ask(text: str) -> None:
        if text == "word":
            inner.append(session.ask("echo:inner").text)

    assert session.ask("echo:outer word", on_fragment=ask).text == "outer word"
    assert inner == ["inner"]
    assert prompts(session) == ["echo:outer word", "echo:inner"]


def streamed(*words: str) -> bytes:
    """Give a stream in one piece."""
    return b"".join(sse.encode_event(Chunk(word).to_json()) for word in words) + sse.encode_done()


def test_a_stop_counts_where_a_transport_does_not_look() -> None:
    """At the next fragment, though all of the reply has come in one piece."""
    service = Played(200, streamed("one ", "two ", "three"))
    session, halt = Session(Client(transport=service)), Halt()

    def follow(event: Event) -> None:
        if isinstance(event, Fragment) and event.text == "two ":
            halt.stop()

    session.followers.add(follow)
    with pytest.raises(ChatInterrupted, match="after 2 words"):
        session.run(Ask("Hello?"), Seen(), halt)
    (turn,) = session.conversation
    assert (turn.reply.text, turn.state) == ("one two ", "interrupted")


def test_what_is_stopped_as_it_begins_is_not_sent() -> None:
    """The request waits until the view has said that it begins."""
    service = ShortService(100)
    session = Session(Client(transport=service))

    class Stopped(Seen):
        def began(self, notes: Sequence[str]) -> None:
            super().began(notes)
            stop()

    view = Stopped()
    with pytest.raises(ChatInterrupted, match="as it was"):
        session.run(Ask("Hello?"), view)
    assert view.names == ["began", "failed"]
    assert service.bodies == []
    assert session.ledger.under_way == ()
