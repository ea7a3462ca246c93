"""The list of a server's models: one GET with the key, and one clear line where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Peer, Server, answer, document, playing
from served import KEY, left, served

from chatmagic.client.client import Client
from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    ConnectError,
    InputError,
    NotRecordedError,
    NotUnderstoodError,
    RequestTimeoutError,
)

LIST: dict[str, Any] = {"object": "list", "data": [{"id": "small"}, {"id": "large", "x": 1}]}


@pytest.mark.parametrize(
    ("path", "auth", "target"),
    [
        ("", "bearer", "/v1/models"),
        ("/v1/", "x-api-key", "/v1/models"),
        ("/api/v4", "none", "/api/v4/models"),
        ("/x/chat/completions?api-version=2", "bearer", "/x/models?api-version=2"),
        ("", "query", f"/v1/models?api_key={KEY}"),
    ],
)
def test_one_get_with_the_key(path: str, auth: Any, target: str) -> None:
    """It goes beside the requests, by the same key, and asks nothing else."""
    with (
        Server(playing(document(LIST))) as server,
        Client(f"{server.origin}{path}", KEY, auth=auth, extra_headers={"X-Team": "a"}) as client,
    ):
        assert client.models().names == ("small", "large")
    (asked,) = server.asked
    assert asked.raw.startswith(b"GET ")
    assert asked.target == target
    assert asked.raw.partition(b"\r\n\r\n")[2] == b""
    assert "content-type" not in asked.headers
    assert asked.headers["x-team"] == "a"
    ways = {"bearer": "authorization", "x-api-key": "x-api-key"}
    assert {name for name in ways.values() if name in asked.headers} == {
        *filter(None, [ways.get(auth)])
    }


def test_what_is_a_name() -> None:
    """Nothing of the answer is assumed but names; each stands there once, in its order."""
    data = [{"id": "b"}, {"id": 1}, "c", {"name": "d"}, {"id": ""}, {"id": "a"}, {"id": "b"}]
    with served(document({"data": data})) as (client, _):
        assert client.models().names == ("b", "a")


def test_it_tells_what_it_took() -> None:
    """By the headers of its answer, as for a question."""
    first, second = (document(LIST, headers=left(count)) for count in (9, 7))
    with served(playing(first, second)) as (client, _):
        assert client.models().took is None
        listed = client.models()
        assert listed.took == 2
        assert listed.credits is not None
        assert listed.credits.remaining == client.credits.remaining == 7  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (document({}, "404 Not Found"), NotUnderstoodError, r"lists no models \(HTTP 404\)\."),
        (document({}, "405 No"), NotUnderstoodError, r"lists no models \(HTTP 405\)\."),
        (document({"error": "no"}, "401 No"), AuthenticationError, "did not accept the key"),
        (answer(b"<html>hello"), NotUnderstoodError, "no list of models"),
        (document([1]), NotUnderstoodError, "no list of models"),
        (answer(b"[" * 100_000), NotUnderstoodError, "no list of models"),
        (
            document({}, "302 Found", {"Location": "http://other.example/v1/models"}),
            NotUnderstoodError,
            "redirects to http://other.example:80",
        ),
    ],
)
def test_no_list(given: bytes, kind: type[ChatError], words: str) -> None:
    """One line; nothing is sent twice, and no redirect is followed."""
    with served(given) as (client, server):
        with pytest.raises(kind, match=words) as caught:
            client.models()
        assert len(server.asked) == 1
    assert KEY not in str(caught.value)


def test_an_answer_that_does_not_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read up to a bound."""
    monkeypatch.setattr("chatmagic.client.model_list.LARGEST", 100)
    long = document({"data": [{"id": "x" * 200}]})
    with served(long) as (client, _), pytest.raises(NotUnderstoodError):
        client.models()


def test_an_answer_that_drips_is_left() -> None:
    """A byte now and then is no silence, so all of it has a time."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\n{")
        peer.repeat(b" ", 0.01)

    with (
        served(script, timeout={"first_byte": 0.2}) as (client, _),
        pytest.raises(RequestTimeoutError, match=r"total time-out of 0\.2 s"),
    ):
        client.models()


def test_nothing_is_sent_where_nothing_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, in a replay, or by a transport that sends questions alone."""
    with Server(playing(document(LIST))) as server:
        with (
            Client(server.origin) as client,
            pytest.raises(AuthenticationError, match="no API key"),
        ):
            client.models()
        monkeypatch.setenv("CHATMAGIC_MODE", "replay")
        with Client(server.origin, KEY) as client, pytest.raises(NotRecordedError):
            client.models()
        assert server.asked == []


def test_a_transport_of_ones_own_has_no_list() -> None:
    """It is asked for nothing that its protocol lacks."""

    class Other:
        def send(self, body: bytes, *, stream: bool, halt: object) -> Any:
            raise NotImplementedError

        def close(self) -> None:
            pass

    with Client(transport=Other()) as client, pytest.raises(InputError, match="questions alone"):
        client.models()


def test_a_port_that_is_closed() -> None:
    """As for a question: nothing was sent."""
    with Server(playing(document(LIST))) as server:
        pass
    with Client(server.origin, KEY) as client, pytest.raises(ConnectError, match="refused"):
        client.models()
