"""The list of a server's models."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Server, answer, document, playing
from served import KEY, left, served

from chatmagic.client.client import Client
from chatmagic.errors import AuthenticationError, ChatError, NotUnderstoodError

LIST: dict[str, Any] = {"object": "list", "data": [{"id": "small"}, {"id": "large", "x": 1}]}


@pytest.mark.parametrize(
    ("path", "auth", "target"),
    [
        ("", "bearer", "/v1/models"),
        ("/v1/", "x-api-key", "/v1/models"),
        ("/api/v4", "none", "/api/v4/models"),
        ("/x/chat/completions?a=2", "query", f"/x/models?a=2&api_key={KEY}"),
        ("", "query", f"/v1/models?api_key={KEY}"),
    ],
)
def test_one_get_with_the_key(path: str, auth: Any, target: str) -> None:
    """It goes beside the requests, by the same key, and asks nothing else."""
    with (
        Server(playing(document(LIST, headers=left(7)))) as server,
        Client(f"{server.origin}{path}", KEY, auth=auth, extra_headers={"X-Team": "a"}) as client,
    ):
        listed = client.models()
    assert listed.names == ("small", "large")
    assert listed.credits is not None
    assert listed.credits is client.credits
    assert listed.credits.remaining == 7
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
    monkeypatch.setattr("chatmagic.client.listed_models._LARGEST", 100)
    long = document({"data": [{"id": "x" * 200}]})
    with served(long) as (client, _), pytest.raises(NotUnderstoodError):
        client.models()
