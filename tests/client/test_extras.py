"""What a request has beside the interface's own: checked before anything is sent."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from loopback import Server, document, playing

from chatmagic.client.client import Client
from chatmagic.client.extras import fields, headers
from chatmagic.errors import InputError
from chatmagic.models import Message

KEY = "sk-test-4f9c1e77-do-not-show"
NO_HEADER = "a name or a value that no header can have"
ASK = [Message("user", "Hello?")]
WHOLE = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}


@pytest.mark.parametrize(
    ("extra_body", "model", "sent"),
    [
        (None, None, {}),
        ({"seed": 1}, None, {"seed": 1}),
        ({"seed": 1}, "small", {"seed": 1, "model": "small"}),
        ({"model": "small"}, "small", {"model": "small"}),
        ({"model": "small"}, None, {"model": "small"}),
    ],
)
def test_a_model_is_a_field(extra_body: object, model: object, sent: dict[str, Any]) -> None:
    """Named in either of two places, or in both alike."""
    assert fields(extra_body, model) == sent


def test_token_counts_are_asked_for() -> None:
    """Unless the fields say otherwise."""
    assert fields(None, "a", stream_usage=True) == {
        "stream_options": {"include_usage": True},
        "model": "a",
    }
    given = {"stream_options": {"include_usage": False}}
    assert fields(given, stream_usage=True) == given


@pytest.mark.parametrize(
    ("extra_body", "model", "words"),
    [
        ({"model": "a"}, "b", "^extra_body names another model than the one that is set"),
        ([], None, "^extra_body is a mapping .* not list"),
        ({}, "", "^A model is named by a text"),
        ({}, " ", "^A model is named by a text"),
        ({}, 5, "^A model is named by a text"),
    ],
)
def test_what_is_no_field(extra_body: object, model: object, words: str) -> None:
    """Two models are refused, as nobody could tell which was meant."""
    with pytest.raises(InputError, match=words):
        fields(extra_body, model)


def test_headers_that_gateways_want() -> None:
    """They are given as they are; nothing is none."""
    given = {"X-Team": "a b", "HTTP-Referer": "https://a.example", "User-Agent": "x"}
    assert headers(given) == given
    assert headers(None) == headers({}) == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("X-Team: sk-private", "is a mapping of names to texts"),
        ({"": "a"}, NO_HEADER),
        ({5: "a"}, NO_HEADER),
        ({"X-Team\r\nHost": "a"}, NO_HEADER),
        ({"X Team": "a"}, NO_HEADER),
        ({"Authorization": "sk-private"}, "cannot set Authorization, which the connection sets"),
        ({"x-api-key": "sk-private"}, "cannot set x-api-key, which the connection sets"),
        ({"Cookie": "sk-private"}, "cannot set Cookie, which the connection sets"),
        ({"Content-Type": "text/plain"}, "cannot set Content-Type, which the connection sets"),
        ({"content-length": "1"}, "which the connection sets"),
        ({"HOST": "a"}, "which the connection sets"),
        ({"Accept-Encoding": "gzip"}, "which the connection sets"),
        ({"Transfer-Encoding": "chunked"}, "which the connection sets"),
        ({"X-Team": "sk-private\r\nCookie: a"}, NO_HEADER),
        ({"X-Team": "sk-private\x00"}, NO_HEADER),
        ({"X-Team": "\u00e9"}, NO_HEADER),
        ({"X-Team": ""}, NO_HEADER),
        ({"X-Team": " a"}, NO_HEADER),
        ({"X-Team": 5}, NO_HEADER),
        ({"X-Team": None}, NO_HEADER),
        ({"X-Team": "a", "x-team": "b"}, NO_HEADER),
    ],
)
def test_headers_that_are_refused(given: object, words: str) -> None:
    """A secret's, the connection's own, and what no header can carry; no value is repeated."""
    with pytest.raises(InputError, match=words) as caught:
        headers(given)
    assert "private" not in f"{caught.value!r}{caught.value}"


def test_a_client_sends_them() -> None:
    """The model in the body, the headers beside its own; a reply and an error hold none."""
    with (
        Server(playing(document(WHOLE))) as server,
        Client(
            server.origin,
            KEY,
            model="small",
            extra_body={"seed": 1},
            extra_headers={"X-Team": "blue-team", "user-agent": "mine"},
        ) as client,
    ):
        reply = client.complete(ASK)
        (asked,) = server.asked
        assert asked.body["model"] == "small"
        assert asked.body["seed"] == 1
        assert asked.headers["x-team"] == "blue-team"
        assert asked.headers["user-agent"] == "mine"
        assert asked.headers["content-type"] == "application/json"
        assert b"blue-team" not in pickle.dumps(reply)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": ""}, "A model is named by"),
        ({"model": "a", "extra_body": {"model": "b"}}, "names another model"),
        ({"extra_headers": {"X-Team": f"x-{KEY}"}}, "holds your API key"),
        ({"extra_headers": {"api-key": "x"}}, "which the connection sets"),
    ],
)
def test_a_client_refuses_what_cannot_be_sent(given: dict[str, Any], words: str) -> None:
    """As it is made, before there is anything to send."""
    with pytest.raises(InputError, match=words):
        Client("https://chat.invalid", KEY, **given)
