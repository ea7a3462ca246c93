"""The habits of addresses: what a server takes beside the interface's own fields."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from environments import GivenEnvironment
from loopback import DONE, Server, document, event, playing, stream

from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.errors import RequestRejectedError
from chatmagic.session.events import Ask, View
from chatmagic.session.session import Session

SCHEMA: dict[str, Any] = {"title": "A b", "type": "object", "properties": {"n": {}}}


def test_the_form_of_a_reply_is_named_where_a_server_takes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Beside the words, also of a map; an address that refuses it gets it no more."""
    monkeypatch.chdir(tmp_path)
    refusal = {"error": {"message": "response_format is not supported"}}
    good = {"choices": [{"message": {"content": '{"n": 1}'}}]}
    answers = [document(good)] * 4 + [document(refusal, "400 No"), document(good)]
    with Server(playing(*answers)) as server:
        endpoint = Endpoint(server.origin, "none", None, "here")
        setup = ServiceSetup(endpoint, response_format=True)
        session = Session(environment=GivenEnvironment(service=lambda: setup))
        ask = Ask("why?", format="json")
        options: dict[str, Any]
        for options in ({}, {"format": "json"}, {"schema": SCHEMA}):
            session.ask("why?", history=False, **options)
        session.map("{{ it }}", ["a"], schema=SCHEMA, yes=True)
        assert "response_format" in session.preview(ask).request.extra
        with pytest.raises(RequestRejectedError) as raised:
            session.run(ask, View())
        session.run(ask, View())
        # A row is the same with the field and without it, so it is not asked again.
        session.map("{{ it }}", ["a"], schema=SCHEMA, yes=True)
        assert "response_format" not in session.preview(ask).request.extra
    named = {"type": "json_schema", "json_schema": {"name": "A_b", "schema": SCHEMA}}
    forms = [asked.body.get("response_format") for asked in server.asked]
    assert forms == [None, {"type": "json_object"}, named, named, {"type": "json_object"}, None]
    assert "leave response_format out: ask again" in (raised.value.hint or "")


def test_a_map_leaves_out_a_form_that_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The row says so, and the next ones go without it."""
    monkeypatch.chdir(tmp_path)
    refusal = {"error": {"message": "response_format is not supported"}}
    good = {"choices": [{"message": {"content": "{}"}}]}
    with Server(playing(document(refusal, "400 No"), document(good))) as server:
        endpoint = Endpoint(server.origin, "none", None, "here")
        setup = ServiceSetup(endpoint, response_format=True)
        session = Session(environment=GivenEnvironment(service=lambda: setup))
        replies = session.map("{{ it }}", ["a", "b"], format="json", workers=1, yes=True)
    assert [reply.value for reply in replies] == [None, {}]
    assert ["response_format" in asked.body for asked in server.asked] == [True, False]


@pytest.mark.parametrize(
    ("headers", "counted", "asked_for"),
    [
        ({"x-litellm-key-spend": "0.5"}, (), [None, True, None]),
        ({"X-RateLimit-Remaining": "7"}, (), [None, None, None]),
        ({}, (b'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\n',), [None, None, None]),
    ],
)
def test_token_counts_are_asked_for_where_nothing_is_told(
    headers: dict[str, str], counted: tuple[bytes, ...], asked_for: list[bool | None]
) -> None:
    """After an answer without any figures; no more once a request was refused for it."""
    good = stream(event("Hi"), *counted, DONE, headers=headers)
    refusal = {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs"}]}
    second = document(refusal, "422 No") if asked_for[1] else good
    with Server(playing(good, second, good)) as server:
        endpoint = Endpoint(server.origin, "none", None, "here")
        session = Session(environment=GivenEnvironment(service=lambda: ServiceSetup(endpoint)))
        session.ask("one")
        with pytest.raises(RequestRejectedError) if asked_for[1] else nullcontext() as raised:
            session.ask("two")
        session.ask("three")
    options = [asked.body.get("stream_options") for asked in server.asked]
    assert options == [each and {"include_usage": True} for each in asked_for]
    if raised is not None:
        hint = "Later requests to this address leave stream_options out: ask again."
        assert raised.value.hint == hint
