"""One ask at a time: a second one waits, is told for what, and can be stopped."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from asking import PATIENCE, Seen, prompts, stop

from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import ChatInterrupted, InputError
from chatmagic.session.events import Ask

if TYPE_CHECKING:
    from logged import Emulator

    from chatmagic.session.session import Session


def test_one_at_a_time(session: Session, emulator: Emulator) -> None:
    """A second thread waits, is told which thread has it, and then carries the first one's turn."""
    inside, go_on = threading.Event(), threading.Event()

    def hold(_: str) -> None:
        inside.set()
        assert go_on.wait(PATIENCE)

    first = threading.Thread(
        target=session.run, args=(Ask("echo:first", asker="cell [3]"), Seen(at_fragment=hold))
    )
    second = Seen(at_wait=go_on.set)
    first.start()
    assert inside.wait(PATIENCE)
    session.run(Ask("echo:second"), second)
    first.join(PATIENCE)
    assert second.told[0] == ("waiting", "cell [3]")
    assert second.names == ["waiting", "began", "ended"]
    assert prompts(session) == ["echo:first", "echo:second"]
    assert len(emulator.requests[1].body["messages"]) == 3


def test_waiting_can_be_interrupted(session: Session, emulator: Emulator) -> None:
    """Who is stopped while waiting has sent nothing, and the first goes on undisturbed."""
    inside, go_on = threading.Event(), threading.Event()

    def hold(_: str) -> None:
        inside.set()
        assert go_on.wait(PATIENCE)

    first = threading.Thread(target=session.run, args=(Ask("echo:a"), Seen(at_fragment=hold)))
    first.start()
    assert inside.wait(PATIENCE)
    second = Seen(at_wait=stop)
    with pytest.raises(ChatInterrupted):
        session.run(Ask("echo:second"), second)
    go_on.set()
    first.join(PATIENCE)
    assert second.names == ["waiting", "failed"]
    assert prompts(session) == ["echo:a"]
    assert len(emulator.requests) == 1
    assert session.ask("echo:third").text == "third"


def test_asking_from_a_listener_is_refused(session: Session, emulator: Emulator) -> None:
    """An ask within an ask would wait for itself."""
    with pytest.raises(InputError, match="still streaming"):
        session.ask("echo:outer word", on_fragment=lambda _: session.ask("echo:inner"))
    assert len(emulator.requests) == 1
    assert session.ask("echo:next").text == "next"


def test_a_change_waits_for_its_turn(session: Session) -> None:
    """Undo, redo and reset stand behind the same lock as the asks."""
    session.ask("echo:one")
    assert session.change(Conversation.undo) is not None
    assert len(session.conversation) == 0
    with pytest.raises(InputError, match="still streaming"):
        session.ask("echo:two", on_fragment=lambda _: session.change(Conversation.redo))


def test_an_ask_that_waits_can_be_stopped(session: Session, emulator: Emulator) -> None:
    """Its halt ends the wait; it is never sent, and the one under way goes on."""
    halt = Halt()
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            session.run(Ask("echo:second"), Seen(at_wait=halt.stop), halt)
        except KeyboardInterrupt as error:
            ended.append(error)

    def second(_: str) -> None:
        if not ended:
            waiter = threading.Thread(target=wait)
            waiter.start()
            waiter.join(PATIENCE)

    assert session.run(Ask("echo:first"), Seen(at_fragment=second)).reply.text == "first"
    assert "before the reply began" in str(ended[0])
    assert len(emulator.requests) == 1
    assert prompts(session) == ["echo:first"]
