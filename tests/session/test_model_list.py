"""The list of models: in the ledger, no question, and none in a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from logged import Emulator
from loopback import Server, document, playing
from served import left

from chatmagic.client.client import Client
from chatmagic.errors import (
    NotRecordedError,
)
from chatmagic.session.session import Session

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
        assert [*session.ledger.meter(server.origin).costs] == [10]
        # Of the first question's cost the ledger learns by the second.
        assert session.ledger.meter(server.origin).used == 21
        assert session.ledger.turns == 4
        assert len(session.conversation) == 2


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
