"""The list of models as a session asks for it: under its lock, its ledger and its budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from loopback import Server, document, playing
from served import left

from chatmagic import _startup
from chatmagic.client.client import Client
from chatmagic.errors import BudgetError, NotRecordedError, NotUnderstoodError
from chatmagic.session.budget import Budget
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator

LIST: dict[str, Any] = {"data": [{"id": "small"}]}
REPLY: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}


def test_it_is_in_the_ledger_and_no_question() -> None:
    """What its headers tell is entered; an estimate of what a question takes is not moved by it."""
    answers = [
        document(REPLY, headers=left(90)),
        document(REPLY, headers=left(80)),
        document(LIST, headers=left(79)),
        document(LIST),
    ]
    with Server(playing(*answers)) as server, Client(server.origin, "k") as client:
        session = Session(client)
        session.ask("a", stream=False)
        session.ask("b", stream=False)
        assert session.models()[0].names == ("small",)
        assert session.models()[1] is None
        rows = [(row.entry, row.took) for row in session.ledger]
        assert rows == [("python", None), ("python", 10), ("models", 1), ("models", None)]
        assert session.ledger.meter(server.origin).costs == [10]
        # Of the first question's cost the budgets learn by the second.
        budgets = [Budget.parse(text, "it") for text in ("50", "50 turns")]
        assert [session.ledger.used(budget) for budget in budgets] == [21, 4]
        assert len(session.conversation) == 2


def test_a_budget_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As any request; nothing was sent then."""
    monkeypatch.setattr(_startup, "BUDGET", "1 turn")
    with Server(playing(document(LIST))) as server, Client(server.origin, "k") as client:
        session = Session(client)
        session.models()
        with pytest.raises(BudgetError, match="Nothing was sent"):
            session.models()
        assert len(server.asked) == 1


def test_a_refused_list_took_nothing(session: Session, emulator: Emulator) -> None:
    """The interface has no such path, and nor has the emulator."""
    with pytest.raises(NotUnderstoodError, match="lists no models"):
        session.models()
    assert [(each.method, each.path) for each in emulator.requests] == [("GET", "/v1/models")]
    assert [row.error for row in session.ledger] == ["NotUnderstoodError"]
    assert session.ask("echo:a").text == "a"


def test_a_replay_never_sends(
    session: Session, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cassette holds no list, so there is none."""
    tape = tmp_path / "tape.jsonl"
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tape))
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    session.ask("echo:a")
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    with pytest.raises(NotRecordedError, match=r"tape\.jsonl is replayed here.*Nothing was sent"):
        session.models()
    assert len(emulator.requests) == 1
