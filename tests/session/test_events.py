"""What views and followers are told of an ask."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest
from asking import Seen
from shells import FIXED

from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import Record
from chatmagic.errors import ChatInterrupted, ServiceError
from chatmagic.models import Reply
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.events import Began, Changed, Ended, Event, Fragment, failure
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from chatmagic.emulator.server import Emulator


def test_followers_hear_of_every_ask_and_change(session: Session, emulator: Emulator) -> None:
    """What the panel shows is what every entry asked, and how it ended."""
    heard: list[Event] = []
    session.followers.add(lambda _: 1 / 0)  # one that fails is nobody else's trouble
    leave = session.followers.add(heard.append)
    ask = Ask("echo:one two", entry="panel", owner="a")
    answer = session.run(ask, Seen())
    assert heard[0] == Began(ask, (), (), Halt())
    assert "".join(event.text for event in heard if isinstance(event, Fragment)) == "one two"
    assert heard[-1] == Ended(ask, answer, None)
    emulator.settings = replace(FIXED, fault="error", fault_after=-1)
    with pytest.raises(ServiceError) as caught:
        session.run(Ask("two"), Seen())
    assert heard[-1] == Ended(Ask("two"), None, caught.value)
    session.changes.make(Conversation.undo)
    assert heard.count(Changed()) == 1
    count = len(heard)
    leave()
    session.changes.make(Conversation.redo)
    assert len(heard) == count


def test_failures_are_told_without_what_acts() -> None:
    """Whatever an error says, and wherever it was raised."""
    ours = ServiceError("bad \x1b[2J", hint="do \u202e this")
    assert failure(ours) == ("bad \u241b[2J", "do \ufffd this")
    assert failure(ValueError("x\x1b")) == ("ValueError: x\u241b", "")


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (Reply("one"), None, "Complete, 1 word."),
        (Reply("a b " * 600), None, "Complete, 1,200 words."),
        (Reply("a", state="interrupted"), ChatInterrupted("Interrupted."), "Interrupted."),
        (Reply("a b", state="cut off"), ServiceError("Lost.", hint="Again."), "Lost. Again."),
        (None, ServiceError("Nothing came."), "Nothing came."),
        (None, KeyboardInterrupt(), "KeyboardInterrupt:"),
    ],
)
def test_how_an_ask_ended(reply: Reply | None, error: BaseException | None, words: str) -> None:
    """In a sentence or two, for who listens."""
    answer = None if reply is None else Outcome(reply, cast("Record", None))
    assert Ended(Ask("why?"), answer, error).words == words
