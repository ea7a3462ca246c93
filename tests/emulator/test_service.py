"""What the emulator answers, over every row of the interface."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cases import each_case

from chatmagic._json import timestamp
from chatmagic.emulator.service import (
    HttpRequest,
    HttpResponse,
    Settings,
    Used,
    keys_given,
    respond,
)
from chatmagic.protocol.api_key import Secret
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.request import Request

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 1, 2, tzinfo=UTC)
KEY = "a-key"
PLAIN = Settings()
ASKED = [{"role": "user", "content": "echo:one two three"}]
JSON = {"content-type": "application/json"}


def call(
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
    path: str = "/v1/chat/completions",
    query: str = "",
) -> HttpRequest:
    """Give a request; without headers it is one that is accepted."""
    data = body if isinstance(body, bytes) else json.dumps(body or {"messages": ASKED}).encode()
    given = {**JSON, "authorization": f"Bearer {KEY}"} if headers is None else headers
    return HttpRequest(method, path, query, given, data)


def ask(
    call: HttpRequest, settings: Settings = PLAIN, used: Used | None = None
) -> tuple[HttpResponse, Any]:
    """Give the answer and its body's JSON."""
    given, _ = respond(call, used or {}, settings, NOW)
    return given, body_of(given)


def body_of(given: HttpResponse) -> Any:
    """Give the JSON of a response's body."""
    return json.loads(b"".join(filter(None, given.pieces)))


def events(**fields: Any) -> list[bytes]:
    """Give the events of a stream."""
    given, _ = respond(call({"messages": ASKED, "stream": True, **fields}), {}, PLAIN, NOW)
    assert (given.status, given.headers["Content-Type"]) == (200, "text/event-stream")
    assert "Content-Length" not in given.headers
    return [piece for piece in given.pieces if piece]


def used(count: int) -> Used:
    """Give the credits that were used today."""
    return {(Secret(KEY), NOW.date()): count}


def test_a_json_reply_is_the_interface_s() -> None:
    """Model, choices and usage stand where the interface puts them."""
    given, body = ask(call())
    assert given.status == 200
    assert given.headers["Content-Type"] == "application/json"
    (choice,) = body["choices"]
    assert choice.pop("index") == 0
    assert choice == {
        "message": {"role": "assistant", "content": "one two three"},
        "finish_reason": "stop",
    }
    assert body["model"] == "emulator"
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}


def test_a_stream_is_the_interface_s() -> None:
    """Each event is a chunk with a fragment, the last one says why and how much, then the end."""
    *chunks, end = events()
    assert end == b"data: [DONE]\n\n"
    assert all(chunk.startswith(b"data: {") and chunk.endswith(b"}\n\n") for chunk in chunks)
    read = [Chunk.from_json(json.loads(chunk.removeprefix(b"data: "))) for chunk in chunks]
    assert [chunk.content for chunk in read] == ["one ", "two ", "three"]
    assert [chunk.finish_reason for chunk in read] == [None, None, "stop"]
    assert [chunk.usage is None for chunk in read] == [True, True, False]
    assert {chunk.model for chunk in read} == {"emulator"}


def test_an_empty_reply_is_a_stream_too() -> None:
    """Without a single fragment there is still a chunk that says why it ended."""
    chunk, _ = events(messages=[{"role": "user", "content": "echo:"}])
    choice = json.loads(chunk.removeprefix(b"data: "))["choices"][0]
    assert choice == {"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}


def chunks(**fields: Any) -> list[Any]:
    """Give the chunks of a stream, without the end mark."""
    return [json.loads(piece.removeprefix(b"data: ")) for piece in events(**fields)[:-1]]


def test_an_answer_has_the_further_fields_that_clients_read() -> None:
    """A whole one and each chunk; equal requests have equal ids, and others have others."""
    bodies = [ask(call())[1], ask(call())[1], ask(call({"messages": ASKED, "max_tokens": 9}))[1]]
    assert bodies[0] == bodies[1]
    assert bodies[0]["id"].startswith("chatcmpl-")
    assert bodies[0]["id"] != bodies[2]["id"]
    assert bodies[0]["object"] == "chat.completion"
    assert bodies[0]["created"] == int(NOW.timestamp())
    streamed = chunks()
    assert len({chunk["id"] for chunk in streamed}) == 1
    assert {chunk["object"] for chunk in streamed} == {"chat.completion.chunk"}
    assert {chunk["created"] for chunk in streamed} == {int(NOW.timestamp())}


def test_the_usage_comes_once_more_where_it_is_asked_for() -> None:
    """In a chunk without choices, as the last one."""
    *earlier, last = chunks(stream_options={"include_usage": True})
    assert [chunk["choices"] for chunk in earlier] == [chunk["choices"] for chunk in chunks()]
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    for options in ({"include_usage": False}, {}, None, True):
        assert chunks(stream_options=options)[-1]["choices"] != []


def test_a_content_may_be_parts() -> None:
    """Of which the texts count."""
    parts = [{"type": "text", "text": "echo:one "}, {"type": "image_url"}, "two"]
    body = ask(call({"messages": [{"role": "user", "content": parts}]}))[1]
    assert body["choices"][0]["message"]["content"] == "one two"


def test_a_limit_has_two_names() -> None:
    """The interface's counts before the other."""
    both = {"max_tokens": 1, "max_completion_tokens": 2}
    for fields, text in (({"max_completion_tokens": 2}, "one two "), (both, "one ")):
        body = ask(call({"messages": ASKED, **fields}))[1]
        assert body["choices"][0]["message"]["content"] == text
    assert ask(call({"messages": ASKED, "max_completion_tokens": 0}))[0].status == 400


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ({"type": "json_object"}, {"question": "Who?"}),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "integer"}}}, 1),
        ({"type": "json_schema", "json_schema": {"schema": {"enum": ["a", "b"]}}}, "a"),
        ({"type": "json_schema", "json_schema": {"schema": ["wrong"]}}, {}),
        ({"type": "json_schema"}, {"question": "Who?"}),
        ({"type": "text"}, None),
        ("json", None),
    ],
)
def test_a_response_format_gets_json(asked: Any, value: Any) -> None:
    """By the schema, if there is one; ``text`` and what is none change nothing."""
    body = {"messages": [{"role": "user", "content": "Who?"}], "response_format": asked}
    text = ask(call(body))[1]["choices"][0]["message"]["content"]
    if value is None:
        assert text.startswith("You asked: `Who?`")
        return
    found = json.loads(text)
    if isinstance(found, dict) and found:
        assert "emulator" in found.pop("from")
    assert found == value


def test_the_list_of_models_is_free() -> None:
    """It has the one model; a POST there, and a request without a key, are refused."""
    request = call(method="GET", path="/v1/models")
    given, after = respond(request, used(3), PLAIN, NOW)
    (model,) = body_of(given)["data"]
    assert (given.status, model["id"], model["object"]) == (200, "emulator", "model")
    assert after == used(3)
    refused, body = ask(call(path="/v1/models"))
    assert (refused.status, refused.headers["Allow"]) == (405, "GET")
    assert body["error"] == "read_only"
    assert ask(call(method="GET", path="/v1/models", headers={}))[0].status == 401


@pytest.mark.parametrize("stream", [False, True])
def test_max_tokens_is_honoured(*, stream: bool) -> None:
    """A reply that is cut short ends with `length`."""
    if stream:
        choice = json.loads(events(max_tokens=2)[-2].removeprefix(b"data: "))["choices"][0]
    else:
        choice = ask(call({"messages": ASKED, "max_tokens": 2}))[1]["choices"][0]
        assert choice["message"]["content"] == "one two "
    assert choice["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("headers", "query", "way"),
    [
        ({"authorization": "Bearer k"}, "", "bearer"),
        ({"authorization": "bearer   k"}, "", "bearer"),
        ({"x-api-key": "k"}, "", "x-api-key"),
        ({}, "api_key=k", "query"),
        ({}, "other=1&api_key=%6B", "query"),
    ],
)
def test_three_ways_of_the_key(headers: dict[str, str], query: str, way: str) -> None:
    """Each of the three ways is enough, and draws on the same account."""
    request = call(headers={**JSON, **headers}, query=query)
    assert keys_given(request) == {way: "k"}
    given, after = respond(request, {}, PLAIN, NOW)
    assert given.status == 200
    assert after == {(Secret("k"), NOW.date()): 1}


@each_case(
    ("headers", "query"),
    [
        ({}, ""),
        ({"authorization": "Bearer"}, ""),
        ({"authorization": "Basic dTpw"}, ""),
        ({"authorization": "Bearer two words"}, ""),
        ({"x-api-key": ""}, ""),
        ({"x-api-key": "invalid-key"}, ""),
        ({}, "api_key="),
        ({}, "api_key=a&api_key=b"),
    ],
)
def test_no_valid_key_is_401(headers: dict[str, str], query: str) -> None:
    """Without a valid key there is an error body, no account and nothing to pay."""
    given, after = respond(call(headers={**JSON, **headers}, query=query), {}, PLAIN, NOW)
    body = body_of(given)
    assert given.status == 401
    assert given.headers["WWW-Authenticate"] == "Bearer"
    assert (body["error"], "key" in body["message"]) == ("invalid_api_key", True)
    assert not [name for name in given.headers if name.startswith("X-RateLimit")]
    assert after == {}


def test_several_keys_are_refused() -> None:
    """Which way counts is not shown: here none does."""
    both = call(headers={**JSON, "authorization": "Bearer first", "x-api-key": "second"})
    given, body = ask(both)
    assert (given.status, body["error"]) == (400, "several_keys")


@each_case(
    ("request_", "status", "error"),
    [
        (call(path="/"), 404, "not_found"),
        (call(path="/v1/chat/completions/"), 404, "not_found"),
        (call(method="GET"), 405, "method_not_allowed"),
        (call(headers={"x-api-key": KEY}), 415, "unsupported_media_type"),
        (call(b""), 400, "invalid_request"),
        (call(b"{"), 400, "invalid_request"),
        (call(b"\xff\xff"), 400, "invalid_request"),
        (call(b"[" * 100_000), 400, "invalid_request"),
        (call(b"[]"), 400, "invalid_request"),
        (call({"messages": []}), 400, "invalid_request"),
        (call({"messages": [{"role": "user"}]}), 400, "invalid_request"),
        (call({"messages": ASKED, "stream": "yes"}), 400, "invalid_request"),
        (call({"messages": ASKED, "max_tokens": 0}), 400, "invalid_request"),
        (call({"messages": ASKED, "max_tokens": "x" * 999}), 400, "invalid_request"),
        (call({"messages": ASKED, "temperature": "hot"}), 400, "invalid_request"),
    ],
)
def test_what_is_refused_costs_nothing(request_: HttpRequest, status: int, error: str) -> None:
    """A refused request has the documented body, the rate-limit headers, and no price."""
    given, after = respond(request_, used(3), PLAIN, NOW)
    (piece,) = given.pieces
    assert isinstance(piece, bytes)
    body = json.loads(piece)
    assert (given.status, body["error"]) == (status, error)
    assert set(body) == {"error", "message"}
    assert len(body["message"]) <= 300
    assert given.headers["Content-Length"] == str(len(piece))
    assert given.headers["X-RateLimit-Remaining"] == "97"
    assert after == used(3)


def test_unknown_fields_and_roles_are_taken() -> None:
    """What the interface leaves open is not refused."""
    messages = [{"role": "system", "content": "be brief", "name": "x"}, *ASKED]
    given, _ = ask(call({"messages": messages, "temperature": 9, "model": "m"}))
    assert given.status == 200


def test_headers_of_every_answer() -> None:
    """Server and Date are always there, and the Date is that of the clock."""
    for request in (call(), call(headers={})):
        headers = ask(request)[0].headers
        assert headers["Server"] == "chatmagic-emulator"
        assert headers["Date"] == "Thu, 01 Jan 2026 12:00:00 GMT"


def test_credits_are_used_up_and_reset() -> None:
    """Each request takes its cost; then the documented error; after the reset all is back."""
    settings = Settings(credits=3, cost=2)
    accounts: Used = {}
    seen = []
    for _ in range(3):
        given, accounts = respond(call(), accounts, settings, NOW)
        seen.append((given.status, given.headers["X-RateLimit-Remaining"]))
    assert seen == [(200, "1"), (200, "0"), (429, "0")]
    assert given.headers["X-RateLimit-Limit"] == "3"
    assert timestamp(given.headers["X-RateLimit-Reset"]) == MIDNIGHT
    body = body_of(given)
    assert body.pop("message").startswith("The daily credit limit of 3 is reached")
    assert body == {
        "error": "rate_limit_exceeded",
        "limit": 3,
        "used": 3,
        "resetAt": "2026-01-02T00:00:00Z",
    }
    given, accounts = respond(call(), accounts, settings, MIDNIGHT)
    assert (given.status, given.headers["X-RateLimit-Remaining"]) == (200, "1")
    assert timestamp(given.headers["X-RateLimit-Reset"]) == MIDNIGHT + timedelta(days=1)


def test_each_key_is_its_own_account() -> None:
    """What one key uses is not missing from another, and the mapping handed in is not changed."""
    before = used(100)
    given, after = respond(call(headers={**JSON, "x-api-key": "other"}), before, PLAIN, NOW)
    assert given.headers["X-RateLimit-Remaining"] == "99"
    assert after == {**used(100), (Secret("other"), NOW.date()): 1}
    assert before == used(100)


def test_answers_may_be_given_from_outside() -> None:
    """A text, a failure that costs nothing, or the emulator's own; each sees its request."""
    given: list[str | int | None] = ["mine", 503, None]
    seen: list[float | None] = []

    def answer(request: Request) -> str | int | None:
        """Return the next answer."""
        seen.append(request.temperature)
        return given.pop(0)

    settings = replace(PLAIN, answer=answer)
    asked = call({"messages": ASKED, "temperature": 0.5})
    statuses = []
    costs = []
    texts = []
    for _ in range(3):
        response, after = respond(asked, {}, settings, NOW)
        statuses.append(response.status)
        costs.append(sum(after.values()))
        texts.append(body_of(response).get("choices", [{}])[0].get("message", {}).get("content"))
    assert (statuses, costs) == ([200, 503, 200], [1, 0, 1])
    assert texts[:2] == ["mine", None]
    assert texts[2] != "mine"
    assert seen == [0.5] * 3
