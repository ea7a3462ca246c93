"""The client that a session asks: one for each setup, which is kept while that holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from environments import GivenEnvironment
from logged import Emulator
from shells import FIXED, KEY

import chatmagic
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.errors import (
    ConnectError,
    InputError,
)
from chatmagic.protocol.auth import Secret
from chatmagic.session.session import Session


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
