"""A request in and a reply out: through a client, over real sockets."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Server, document, playing
from served import ASK, HELLO, KEY, WHOLE, Played, ask, served

import chatmagic
from chatmagic.client.client import Client
from chatmagic.errors import (
    AuthenticationError,
    InputError,
    NotRecordedError,
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the environment says of an address or a key."""
    for name in ("BASE_URL", "API_KEY", "API_KEY_FILE", "AUTH"):
        monkeypatch.delenv(f"CHATMAGIC_{name}", raising=False)


def test_the_body_has_the_interfaces_fields_and_no_other() -> None:
    """Fields that were not set are not sent; nothing is added (fact 3)."""
    message = {"role": "user", "content": "Hello?"}
    with served(document(WHOLE)) as (client, server):
        client.complete(ASK)
        client.complete([message], max_tokens=5, temperature=0.5)
        with client.stream(iter(ASK)) as replying:
            list(replying)
    bodies = [asked.body for asked in server.asked]
    assert bodies == [
        {"messages": [message], "stream": False},
        {"messages": [message], "stream": False, "max_tokens": 5, "temperature": 0.5},
        {"messages": [message], "stream": True},
    ]
    for asked in server.asked:
        assert asked.raw.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
        assert asked.headers["content-type"] == "application/json"
        assert asked.headers["user-agent"] == f"chatmagic/{chatmagic.__version__}"
    assert server.asked[2].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "arguments",
    [
        {"messages": [{"role": "user"}]},
        {"messages": "Hello?"},
        {"messages": ASK, "max_tokens": "5"},
        {"messages": ASK, "temperature": float("nan")},
    ],
)
def test_what_cannot_be_sent_is_refused(arguments: dict[str, Any]) -> None:
    """Bad input is one line, and nothing is sent."""
    with served(document(WHOLE)) as (client, server):
        with pytest.raises(InputError, match="Nothing was sent"):
            client.complete(**arguments)
        with pytest.raises(InputError, match="Nothing was sent"):
            client.stream(**arguments)
        assert server.accepted == 0


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, or one of another address, is one line; a server on this machine needs none."""
    with Server(playing(document(WHOLE), document(WHOLE))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", "https://chat.example.org")
        for key in (None, KEY):
            if key is not None:
                monkeypatch.setenv("CHATMAGIC_API_KEY", key)
            client = Client("https://other.example.org")
            with pytest.raises(AuthenticationError, match=r"no API key.*Nothing was sent"):
                client.complete(ASK)
        for auth in (None, "none"):
            with Client(server.origin, auth=auth) as open_client:
                assert open_client.complete(ASK).text == "Hello"
    assert not any("authorization" in asked.headers for asked in server.asked)


def test_a_transport_of_ones_own_is_asked_in_place_of_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no address and no key, and the environment's key does not go to it."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "https://chat.example.org")
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    exchange = Played(200, *HELLO)
    with Client(transport=exchange) as client:
        assert (client.endpoint.auth, client.endpoint.key) == ("none", None)
        assert client.complete(ASK).text == "Hello"
    assert exchange.ends[0] == "ended"
    with Client("https://chat.example.org", KEY, transport=Played(200, *HELLO)) as client:
        assert client.endpoint.key is not None
        assert ask(client, streaming=True).text == "Hello"


def test_a_twin_asks_the_same_over_a_connection_of_its_own() -> None:
    """For another thread; a transport of one's own is shared."""
    with served(document(WHOLE), extra_body={"seed": 1}) as (client, server):
        twin = client.twin()
        assert twin is not None
        with twin:
            for each in (client, twin, client, twin):
                each.complete(ASK)
        assert server.accepted == 2
        assert [asked.body["seed"] for asked in server.asked] == [1] * 4
        assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    assert chatmagic.Client(transport=Played(200)).twin() is None


LIST: dict[str, Any] = {"object": "list", "data": [{"id": "small"}, {"id": "large", "x": 1}]}


def test_nothing_is_sent_where_nothing_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, in a replay, or by a transport that sends questions alone."""
    with Server(playing(document(LIST))) as server:
        with (
            Client("https://other.example.org") as client,
            pytest.raises(AuthenticationError, match="no API key"),
        ):
            client.models()
        monkeypatch.setenv("CHATMAGIC_MODE", "replay")
        with Client(server.origin, KEY) as client, pytest.raises(NotRecordedError):
            client.models()
        monkeypatch.delenv("CHATMAGIC_MODE")
        own = Client(transport=Played(200))
        with own as client, pytest.raises(InputError, match="questions alone"):
            client.models()
        assert server.asked == []
