"""The form of a reply in a session: which schema is taken, and what becomes of the reply."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from asking import Seen
from environments import GivenEnvironment

from chatmagic.conversation.json_schema import Schema
from chatmagic.errors import ChatInterrupted, InputError, ReplyFormatError
from chatmagic.models import Reply
from chatmagic.session import forms
from chatmagic.session.events import Ask
from chatmagic.session.schema_reader import read

if TYPE_CHECKING:
    from logged import Emulator

    from chatmagic.session.session import Session


@dataclass
class City:
    """A city."""

    name: str


LIMA = 'echo:{"name": "Lima"}'


def newest(emulator: Emulator) -> str:
    """Give the newest message that was sent."""
    return str(emulator.requests[-1].body["messages"][-1]["content"])


def test_a_schema_gives_the_instance(session: Session, emulator: Emulator) -> None:
    """The reply has it, and its text as it came."""
    reply = session.ask(LIMA, schema=City)
    assert reply.parsed == City("Lima")
    assert reply.text == '{"name": "Lima"}'
    assert "City: object with these fields. A city." in newest(emulator)
    assert session.ask("echo:[1]", format="json", history=False).parsed == [1]
    assert session.ask("echo:[1]").parsed is None


def test_a_follow_up_takes_the_nearest_schema_also_where_its_turn_is_left_out(
    session: Session, emulator: Emulator
) -> None:
    """It is told whole again; what stands alone takes none."""
    session.ask(LIMA, schema=City)
    session.ask("echo:prose")
    assert session.ask(LIMA, format="json", last=1).parsed == City("Lima")
    assert newest(emulator).endswith(f'- "name", required: string\n\n{LIMA}')
    assert session.ask(LIMA, format="json", history=False).parsed == {"name": "Lima"}


def test_a_schema_of_a_loaded_turn_is_looked_up_by_its_name(session: Session) -> None:
    """What a file tells is the name alone."""
    session.ask(LIMA, schema=City)
    (turn,) = session.conversation
    session.change(lambda conversation: conversation.undo())
    session.change(lambda conversation: conversation.add(replace(turn, form=None)))
    with pytest.raises(InputError, match="The schema City is not known here"):
        session.ask(LIMA, format="json")
    environment = GivenEnvironment(service=session.environment.service)
    vars(environment)["named"] = {"City": City}.__getitem__
    session.environment = environment
    assert session.ask(LIMA, format="json").parsed == City("Lima")


def test_a_reply_of_another_form_is_shown_kept_and_raised(session: Session) -> None:
    """In this order: whatever fails, the text is there."""
    seen = Seen()
    with pytest.raises(ReplyFormatError) as caught:
        session.run(Ask('echo:{"name": 1}', schema="City", form=city()), seen)
    assert seen.told[-1][0] == "ended"
    (turn,) = session.conversation
    assert caught.value.reply == turn.reply
    assert caught.value.message.endswith("name: expected string, not 1.")


def test_a_schema_that_is_stopped_leaves_the_turn(session: Session) -> None:
    """The user's own code may never end; the reply was kept before it ran."""

    def stopped(_: Any) -> Any:
        raise KeyboardInterrupt

    ask = Ask(LIMA, schema="City", form=Schema("City", "City: object", stopped))
    with pytest.raises(ChatInterrupted) as caught:
        session.run(ask, Seen())
    assert caught.value.message == "Interrupted after the reply's end; it is kept."
    assert len(session.conversation) == 1


def test_a_reply_that_is_cut_short_is_not_read(session: Session) -> None:
    """What ended it is the error; a limit of tokens is named."""
    with pytest.raises(ReplyFormatError, match="It ended at its limit of tokens"):
        session.ask("echo:[1, 2, 3]", format="json", max_tokens=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no", "The reply is no JSON: line 1, column 1: Expecting value."),
        ("[]", "The reply is JSON, and not of the form City: expected object, not []."),
    ],
)
def test_an_error_says_what_and_where(text: str, message: str) -> None:
    """And where the text is, whether its turn is kept or not."""
    for kept, hint in ((True, forms.KEPT), (False, forms.NOT_A_TURN)):
        with pytest.raises(ReplyFormatError) as caught:
            forms.parsed(Reply(text), city(), kept=kept)
        assert (caught.value.message, caught.value.hint) == (message, hint)
        assert caught.value.reply == Reply(text)


def city() -> Schema:
    """Give the schema of a city."""
    return read(City, "City")
