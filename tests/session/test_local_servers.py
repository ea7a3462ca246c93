"""Servers that run on this machine, and are found there."""

from __future__ import annotations

import pytest
from environments import GivenEnvironment
from loopback import Server, document, playing
from served import closed

from chatmagic.client.endpoint import Server as Known
from chatmagic.errors import BudgetError
from chatmagic.session import local_servers
from chatmagic.session.features import new_ledger
from chatmagic.session.session import Session


def test_what_is_known_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each address, and none of another host."""
    names = {"a": "http://127.0.0.1:1", "b": "http://127.0.0.1:1", "c": "https://c.example"}
    servers = {name: Known(name, address) for name, address in names.items()}
    monkeypatch.setattr(local_servers, "known_servers", lambda: servers)
    assert [server.name for server in local_servers.known()] == ["a"]


def test_those_that_list_models_are_found() -> None:
    """Each gets one GET without a key; nothing, or something else, may be at a port."""
    models = document({"data": [{"id": "m1"}, {"id": "m2"}]})
    with Server(playing(models)) as good, Server(playing(document({}))) as other:
        servers = [Known("gone", closed()), Known("odd", other.origin), Known("a", good.origin)]
        session = Session()
        before = len(session.ledger)
        running = [*local_servers.running_servers(servers, session, None)]
        assert running == [(servers[2], ("m1", "m2"))]
        assert [asked.target for asked in good.asked] == ["/v1/models"]
        assert "authorization" not in good.asked[0].headers
        assert len(session.ledger) == before + 2


def test_a_budget_that_is_used_up_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and nothing is sent."""
    environment = GivenEnvironment(settings={"budget": "0 turns"})
    monkeypatch.setattr(Session, "ledger", new_ledger(lambda: environment))
    with Server(playing()) as server:
        session = Session(environment=environment)
        with pytest.raises(BudgetError):
            [*local_servers.running_servers([Known("a", server.origin)], session, None)]
        assert server.asked == []
