"""A request that is too long is sent once more, shorter, where that is set."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from asking import Seen
from environments import GivenEnvironment
from short_service import ShortService

from chatmagic.archive import output
from chatmagic.cassette.cassette import CassetteSetup
from chatmagic.cassette.mode import CassetteConfig
from chatmagic.client.client import Client
from chatmagic.conversation.record import Record
from chatmagic.errors import BudgetError, RequestRejectedError, TooLongError
from chatmagic.session.events import Ask
from chatmagic.session.ledger import Ledger
from chatmagic.session.session import Session
from chatmagic.session.state import SessionState

if TYPE_CHECKING:
    from pathlib import Path

    from chatmagic.cassette.mode import Mode


def test_a_conversation_that_is_too_long_is_sent_once_more_where_set() -> None:
    """Without its oldest turns; the reply and the record say so, and the turn is not stale."""
    service = ShortService(24)
    session = Session(Client(transport=service))
    for letter in "abc":
        session.ask(letter * 4)
    with pytest.raises(TooLongError, match="too long for the service"):
        session.ask("dddd")
    assert service.prompts[3:] == ["aaaa bbbb cccc dddd"]
    seen = Seen()
    answer = session.run(Ask("dddd", fit=True), seen)
    assert service.prompts[4:] == ["aaaa bbbb cccc dddd", "cccc dddd"]
    assert (answer.reply.text, answer.reply.left_out) == ("dddd", 2)
    line = "The conversation was too long for the service: sent without the oldest 2 turns."
    assert output.state_lines(answer.reply) == [line]
    assert answer.record.to_json()["left_out"] == 2
    assert answer.record.to_json()["parameters"] == {"last": 1}
    assert Record.from_json(answer.record.to_json()) == answer.record
    assert seen.names == ["began", "ended"]
    assert len(session.conversation) == 4
    assert session.conversation.stale_turns() == ()


def test_what_is_still_too_long_is_not_sent_a_third_time() -> None:
    """The conversation is as before; without a turn to leave out it is sent once."""
    service = ShortService(15)
    session = Session(Client(transport=service))
    session.ask("aaaa", fit=True)
    with pytest.raises(TooLongError) as caught:
        session.ask("b" * 16, fit=True)
    assert service.prompts[1:] == [f"aaaa {'b' * 16}", "b" * 16]
    assert str(caught.value.hint).startswith("Sent once more without the oldest 1 turn. Send less")
    with pytest.raises(TooLongError) as caught:
        session.ask("b" * 16, fit=True, last=0)
    assert len(service.bodies) == 4
    assert "Sent once more" not in str(caught.value)
    assert len(session.conversation) == 1


def test_one_that_the_budget_has_no_room_for_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is said does not hide that it was sent once."""
    environment = GivenEnvironment(budget=lambda: "2 turns")
    monkeypatch.setattr(SessionState, "ledger", Ledger(lambda: environment))
    service = ShortService(15)
    session = Session(Client(transport=service))
    session.ask("aaaa")
    with pytest.raises(BudgetError) as caught:
        session.ask("b" * 14, fit=True)
    assert len(service.bodies) == 2
    assert caught.value.message == (
        "The budget of 2 turns is not enough: 2 used or reserved, and this may take 1 turn. The "
        "request was sent once, and was too long; it was not sent again."
    )
    assert len(session.conversation) == 1


def test_another_refusal_is_not_sent_again() -> None:
    """Only one that the service gives for the length."""
    service = ShortService(24)
    session = Session(Client(transport=service))
    session.ask("aaaa")
    service.refusal = {"error": {"message": "no such field"}}
    with pytest.raises(RequestRejectedError):
        session.ask("b" * 30, fit=True)
    assert len(service.bodies) == 2


def test_what_was_sent_shorter_replays_strictly(tmp_path: Path) -> None:
    """Both requests are recorded, and replayed in the same order."""
    service = ShortService(10)
    texts: list[list[tuple[str, int | None]]] = []
    modes: tuple[Mode, ...] = ("record", "record", "replay")
    for mode in modes:
        setup = CassetteSetup(CassetteConfig(tmp_path / "c.jsonl", mode))
        session = Session(
            Client(transport=service), environment=GivenEnvironment(cassette=partial(_same, setup))
        )
        replies = [session.ask(letter * 4, fit=True) for letter in "abc"]
        texts.append([(reply.text, reply.left_out) for reply in replies])
        assert session.conversation.stale_turns() == ()
    assert texts == [[("aaaa", None), ("bbbb", 1), ("cccc", 2)]] * 3
    sent = ["aaaa", "aaaa bbbb", "bbbb", "aaaa bbbb cccc", "cccc"]
    # A recorded error is asked for again while recording.
    assert service.prompts == [*sent, "aaaa bbbb", "aaaa bbbb cccc"]


def _same(setup: CassetteSetup) -> CassetteSetup:
    return setup
