"""An ask: what it says and shows before it is sent, and one that is too long for the service."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import pytest
from asking import Seen
from environments import GivenEnvironment
from short_service import ShortService

from chatmagic.archive import output
from chatmagic.cassette.cassette import CassetteConfig, CassetteSetup
from chatmagic.client.client import Client
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.record import Record
from chatmagic.conversation.request_facts import Part, TokenRate
from chatmagic.errors import (
    BudgetError,
    ConnectError,
    InputError,
    RequestRejectedError,
    TooLongError,
)
from chatmagic.session.events import Ask
from chatmagic.session.ledger import Ledger
from chatmagic.session.session import Session
from chatmagic.session.state import SessionState

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator

    from chatmagic.cassette.cassette import Mode


def test_turns_of_the_panel_are_said_to_be_sent(session: Session) -> None:
    """Run All will not ask them, so the cell that sends them says so."""
    session.run(Ask("echo:one", entry="panel"), Seen())
    seen = Seen()
    session.run(Ask("echo:two", owner="a"), seen)
    assert ("began", ["with 1 turn from the panel"]) in seen.told


def test_a_command_within_a_prompt_is_said_to_be_text(session: Session, emulator: Emulator) -> None:
    """Two cells that a page has merged ask one question; it is sent as it was typed."""
    seen, ask = Seen(), Ask("one\n\n%%chat\ntwo", entry="cell")
    session.run(ask, seen)
    said = "a line with %%chat is sent as text; split the cell if it is to run by itself"
    assert ("began", [said]) in seen.told
    assert emulator.requests[-1].body["messages"][-1]["content"] == ask.prompt


def test_what_went_into_the_prompt_is_said(session: Session) -> None:
    """In the words of the asker's, before a command within the prompt."""
    seen = Seen()
    session.run(Ask("one\n%chat_undo", entry="cell", notes=("df: 3 rows",)), seen)
    assert seen.told[0][1][0] == "df: 3 rows"


def test_several_turns_set_aside_are_counted(session: Session) -> None:
    """An ask without history leaves the conversation alone, and sets nothing aside."""
    for name in "ab":
        session.run(Ask(f"echo:{name}", owner=name), Seen())
    session.environment = GivenEnvironment(layout=lambda _: Layout((), (), frozenset("ab")))
    alone, seen = Seen(), Seen()
    session.run(Ask("echo:alone", history=False), alone)
    assert ("began", []) in alone.told
    session.run(Ask("echo:next"), seen)
    assert ("began", ["set aside 2 turns of cells gone from the page"]) in seen.told


def _same(setup: CassetteSetup) -> CassetteSetup:
    return setup


def test_a_preview_leaves_all_as_it_is(session: Session, emulator: Emulator) -> None:
    """Also where the question itself would set turns aside."""
    for name in "ab":
        session.run(Ask(f"echo:{name}", owner=name), Seen())
    session.environment = GivenEnvironment(layout=lambda _: Layout((), (), frozenset("b")))
    seen = session.preview(Ask("echo:next", last=3))
    assert seen.parts == (Part("turn 1 (prompt and reply)", 7), Part("the prompt", 9))
    assert [turn.prompt for turn in session.conversation] == ["echo:a", "echo:b"]
    assert len(emulator.requests) == 2
    session.run(Ask("echo:next", last=3), Seen())
    assert emulator.requests[2].body == seen.request.to_json()


def test_a_preview_tells_what_goes_along_and_how(session: Session) -> None:
    """Headers by their names, turns that are left out, and what tokens are estimated by."""
    session.ask("echo:one")
    session.ask("echo:two")
    service = replace(session.environment.service(), extra_headers={"X-Team": "blue"})
    session.environment = GivenEnvironment(service=lambda: service)
    seen = session.preview(Ask("echo:three", last=1))
    assert seen.notes == ("the last 1 of 2 turns go along",)
    assert seen.extra_headers == ("X-Team",)
    assert isinstance(seen.rate, TokenRate)
    assert seen.rate.characters == len("echo:oneoneecho:two")
    assert "blue" not in repr(seen)


def test_a_preview_needs_no_service_in_a_replay_alone(session: Session, tmp_path: Path) -> None:
    """While recording one is needed, as for the question; an empty prompt is none."""

    def none() -> NoReturn:
        raise ConnectError("Not connected yet.")

    modes: tuple[Mode, ...] = ("record", "replay")
    for mode in modes:
        setup = CassetteSetup(CassetteConfig(tmp_path / "c.jsonl", mode))
        session.environment = GivenEnvironment(service=none, cassette=partial(_same, setup))
        if mode == "record":
            with pytest.raises(ConnectError):
                session.preview(Ask("echo:one"))
        else:
            seen = session.preview(Ask("echo:one"))
            assert (seen.endpoint, seen.cassette) == (None, setup.config)
    with pytest.raises(InputError):
        session.preview(Ask(" "))


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
