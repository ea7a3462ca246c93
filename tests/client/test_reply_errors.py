"""Errors in the middle of a reply: each limit of its size, and JSON that is not read."""

from __future__ import annotations

import json

import pytest
from loopback import (
    DONE,
    EVENTS,
    Server,
    answer,
    event,
    head,
    playing,
    pouring,
    stream,
)
from served import ASK, KEY, Played, ask, ask_played, failure

from chatmagic.client.client import Client
from chatmagic.errors import CutOffError, NotUnderstoodError, RateLimitError

ENDLESS = json.dumps({"choices": [{"message": {"content": "x" * 200_000}}]}).encode()[:-40]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (event("x" * 700) * 2 + DONE, EVENTS),
        (event("x" * 700, finish_reason="stop") * 2, EVENTS),
        (b'data: {"choices":[{"delta":{"content":"' + b"x" * 200_000, EVENTS),
        (b"data: " + ENDLESS + b"\n", EVENTS),
        (ENDLESS, {"Content-Type": "application/json"}),
        (ENDLESS + b'"}}]}', {"Content-Type": "application/json"}),
        (b'{"choices": [{"message": {"content": "' + b"x" * 1_025 + b'"}}]}', {}),
    ],
    ids=["events", "after its end", "a line", "whole", "cut JSON", "large JSON", "JSON"],
)
def test_a_reply_ends_at_the_largest_text(body: bytes, fields: dict[str, str]) -> None:
    """Its text up to there is kept, marked as cut off, and one line says how to read more."""
    fields = {**fields, "Connection": "close"}
    with (
        Server(pouring(head(headers=fields) + body)) as server,
        Client(server.url, KEY, limits={"text": 1_000}) as client,
        pytest.raises(CutOffError, match="1,000 bytes, the largest text") as caught,
        client.stream(ASK) as fragments,
    ):
        for _ in fragments:
            pass
    assert caught.value.reply is not None
    assert caught.value.reply.state == "cut off"
    assert caught.value.reply.text == "x" * 1_000
    assert caught.value.hint is not None
    assert "kept" in caught.value.hint
    assert 'Client(limits={"text": 2000})' in caught.value.hint


@pytest.mark.parametrize("field", ["reasoning", "refusal", "content"])
def test_each_text_of_a_reply_counts(field: str) -> None:
    """In bytes of UTF-8."""
    one = f'data: {{"choices": [{{"delta": {{"{field}": "éé"}}}}]}}\n'.encode()
    with (
        Server(playing(stream(one * 9))) as server,
        Client(server.url, KEY, limits={"text": 10}) as client,
        client.stream(ASK) as fragments,
    ):
        with pytest.raises(CutOffError, match="10 bytes"):
            list(fragments)
        reply = fragments.reply
    assert reply.text + (reply.reasoning or "") + (reply.refusal or "") == "é" * 5


def test_the_line_names_the_limit_that_was_reached() -> None:
    """Of an event, or of a whole answer in JSON, whose text is not the largest one."""
    padded = json.dumps({"choices": [{"message": {"content": "Hi"}}], "x": "x" * 90_000}).encode()
    for body, words in (
        (b"data: " + padded, "71,536 bytes, the largest event of a stream"),
        (padded, "77,536 bytes, the largest whole answer in JSON"),
    ):
        with (
            Client(transport=Played(200, body), limits={"text": 8_000}) as client,
            pytest.raises(CutOffError, match=words) as caught,
        ):
            ask(client, streaming=True)
        assert 'Client(limits={"text": 16000})' in str(caught.value.hint)
        assert caught.value.reply is not None
        assert caught.value.reply.text == "Hi"


@pytest.mark.parametrize("kind", ["json", "sse"])
def test_json_of_very_many_values_is_not_parsed(kind: str) -> None:
    """A few bytes each would take a hundred each."""
    value = b'{"choices": [' + b"{}," * 600_000 + b"{}]}"
    raw = stream(b"data: ", value, b"\n\n") if kind == "sse" else answer(value)
    assert "could not be read" in str(failure(raw))


@pytest.mark.parametrize("end", [b"", DONE])
def test_a_stream_of_an_error_that_has_a_code_is_an_error(end: bytes) -> None:
    """As of services that stream an object with a code, in place of a chunk."""
    limited = {"choices": None, "base_resp": {"status_code": 1, "status_msg": "rate limit"}}
    body = b"data: " + json.dumps(limited).encode() + b"\n\n" + end
    with pytest.raises(RateLimitError, match='the limit is reached: "rate limit"'):
        ask_played(Played(200, body))


@pytest.mark.parametrize(
    ("event", "is_json"), [(b'data: {"a": 1}', True), (b"event: x\ndata: a", False)]
)
def test_a_stream_without_a_chunk_says_whether_it_is_json(event: bytes, is_json: bool) -> None:
    """A service that has answered others may stream any JSON for a content that it refuses."""
    with pytest.raises(NotUnderstoodError, match="not the chat service's") as caught:
        ask_played(Played(200, event + b"\n\n" + DONE))
    assert caught.value.holds_json is is_json
