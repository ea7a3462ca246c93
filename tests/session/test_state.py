"""What the asks of a session share: its clients, and the list of models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from environments import GivenEnvironment
from logged import Emulator
from loopback import Server, document, playing
from served import left
from shells import FIXED, KEY

import chatmagic
from chatmagic import _startup
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.errors import (
    BudgetError,
    ConnectError,
    InputError,
    NotRecordedError,
    NotUnderstoodError,
)
from chatmagic.protocol.auth import Secret
from chatmagic.session.budget import Budget
from chatmagic.session.environment import PlainPython
from chatmagic.session.session import Session
from chatmagic.session.state import SessionState

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_session_knows_nothing_and_runs_in_plain_python() -> None:
    """Each has a conversation and a lock of its own."""
    first, second = SessionState(), SessionState()
    assert len(first.conversation) == 0
    assert (first.took, first.token_rate, first.clients.latest) == (None, None, None)
    assert isinstance(first.environment, PlainPython)
    assert first.lock.is_free()
    assert second.lock.is_free()


def test_a_new_setup_makes_a_new_client(session: Session, emulator: Emulator) -> None:
    """Another address or key does; other fields and time-outs keep connection and ledger."""
    held: dict[str, Any] = {"url": emulator.url, "extra": {}, "key": KEY, "timeout": None}
    session.environment = GivenEnvironment(
        service=lambda: ServiceSetup(
            Endpoint(held["url"], "bearer", Secret(held["key"]), "test", "test"),
            timeout=held["timeout"],
            extra_body=dict(held["extra"]),
        )
    )
    session.ask("echo:a")
    session.ask("echo:b")
    assert len({received.port for received in emulator.requests}) == 1
    held["extra"] = {"model": "small"}
    session.ask("echo:c")
    assert emulator.requests[-1].body["model"] == "small"
    assert "model" not in emulator.requests[0].body
    held["timeout"] = 5
    session.ask("echo:d")
    figures = session.credits
    assert figures is not None
    assert (session.took, figures.remaining) == (1, 96)
    assert len({received.port for received in emulator.requests}) == 1
    held["timeout"] = "long"
    with pytest.raises(InputError, match="time-out"):
        session.ask("echo:e")
    held.update(timeout=5, key=f"{KEY}-other")
    refreshed = session.ask("echo:e")
    assert refreshed.credits == session.credits
    assert len({received.port for received in emulator.requests}) == 2
    with Emulator(replace(FIXED, credits=7)) as other:
        held["url"] = other.url
        session.ask("echo:f")
        assert len(other.requests[0].body["messages"]) == 11
        assert session.credits is not None
        assert session.credits.limit == 7
        assert session.endpoint is not None
        assert session.endpoint.base_url == other.url


def test_a_given_client_is_kept(session: Session, emulator: Emulator) -> None:
    """A session over a client asks with that client whatever the environment says."""
    with chatmagic.Client(emulator.url, KEY, auth="x-api-key") as client:
        own = Session(client)
        assert own.ask("echo:a").text == "a"
        assert own.credits == client.credits
    assert emulator.requests[0].ways == ("x-api-key",)
    assert len(session.conversation) == 0


def test_the_environment_is_read_at_each_ask(
    session: Session, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was set after the start counts, and what is unset is told in two lines."""
    monkeypatch.delenv("CHATMAGIC_BASE_URL")
    with pytest.raises(ConnectError) as caught:
        session.ask("echo:a")
    assert "CHATMAGIC_BASE_URL" in caught.value.message
    assert caught.value.hint is not None
    monkeypatch.setenv("CHATMAGIC_BASE_URL", f"{emulator.url}/v1")
    monkeypatch.setenv("CHATMAGIC_AUTH", "query")
    assert session.ask("echo:b").text == "b"
    assert emulator.requests[0].ways == ("query",)


def test_a_new_connection_forgets_the_old_ones_credits(session: Session) -> None:
    """What another account had left is not shown for this one."""
    session.ask("echo:one")
    before = session.credits
    session.disconnect()
    assert before is not None
    assert (session.credits, session.took) == (None, None)


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
