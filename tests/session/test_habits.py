"""The habits of addresses: what each takes, and what it gets in place of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from environments import GivenEnvironment
from loopback import DONE, Server, document, event, playing, stream

from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.endpoint import Server as Known
from chatmagic.errors import BudgetError, RequestRejectedError
from chatmagic.session.ask import Ask
from chatmagic.session.features import new_ledger
from chatmagic.session.session import Session
from chatmagic.session.views import View

SCHEMA: dict[str, Any] = {"title": "A b", "type": "object", "properties": {"n": {}}}
GOOD: dict[str, Any] = {"choices": [{"message": {"content": '{"n": 1}'}}], "usage": {}}


def refusal(message: str, **more: Any) -> bytes:
    """Return an answer that refuses a request."""
    return document({"error": {"message": message, **more}}, "400 Bad Request")


def asking(
    server: Server,
    lines: list[str],
    known: Known | None = None,
    budget: str | None = None,
    **more: Any,
) -> Session:
    """Return a session that asks a server; what is said goes into a list."""
    endpoint = Endpoint(server.origin, "none", None, "here", server=known)
    setup = ServiceSetup(endpoint, **more)
    environment = GivenEnvironment(
        service=lambda: setup,
        settings={"budget": budget},
        notify=lambda line: lines.append(str(line)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "ledger", new_ledger(lambda: environment))
        session = Session(environment=environment)
        session.ledger = Session.ledger
    return session


def fields(server: Server, *names: str) -> list[tuple[Any, ...]]:
    """Return the values of some fields of each request."""
    return [tuple(asked.body.get(name) for name in names) for asked in server.asked]


def test_json_is_asked_for_in_a_field_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Beside the words, also of a map; keys and digests are those without it."""
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []
    with Server(playing(*[document(GOOD)] * 4)) as server:
        session = asking(server, lines)
        options: dict[str, Any]
        for options in ({}, {"format": "json"}, {"schema": SCHEMA}):
            session.ask("why?", history=False, **options)
        session.map("{{ it }}", ["a"], schema=SCHEMA, yes=True)
        digests = [row.request for row in session.ledger]
        off = asking(server, lines, response_format=False)
        # The row is answered in the file, whether it is asked with the field or without.
        off.map("{{ it }}", ["a"], schema=SCHEMA, yes=True)
        assert off.preview(Ask("why?", format="json")).request.digest() == digests[1]
        assert "response_format" not in off.preview(Ask("why?", format="json")).request.extra
        assert "response_format" in session.preview(Ask("why?", format="json")).request.extra
    named = {"type": "json_schema", "json_schema": {"name": "A_b", "schema": SCHEMA}}
    forms = [form for (form,) in fields(server, "response_format")]
    assert forms == [None, {"type": "json_object"}, named, named]
    assert not any("refused" in line for line in lines)


FIELD = "The service refused response_format: sent once more without it."
LATER = "Later requests to this address do the same."


def test_a_refused_form_is_left_out_in_the_same_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At once and from then on, of this type; the ledger has both requests."""
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []
    answers = [refusal("response_format of type json_schema is not supported")]
    answers += [document(GOOD)] * 4
    with Server(playing(*answers)) as server:
        session = asking(server, lines)
        assert session.ask("why?", schema=SCHEMA).parsed == {"n": 1}
        rows = session.map("{{ it }}", ["a", "b"], schema=SCHEMA, workers=1, yes=True)
        session.ask("why?", format="json", history=False)
    assert [row.value for row in rows] == [{"n": 1}] * 2
    forms = [form and form["type"] for (form,) in fields(server, "response_format")]
    assert forms == ["json_schema", None, None, None, "json_object"]
    assert lines == [f"{FIELD} {LATER}"]
    errors = [row.error for row in session.ledger]
    assert errors == ["RequestRejectedError", None, None, None, None]
    assert len({row.request for row in [*session.ledger][:2]}) == 1


def test_a_refused_schema_leaves_the_field_to_other_schemas() -> None:
    """Where the schema was refused, other schemas still go along, and the same one does not."""
    lines: list[str] = []
    other = {**SCHEMA, "title": "other"}
    answers = [refusal("Invalid schema for response_format 'A_b'", param="response_format")]
    with Server(playing(*answers, *[document(GOOD)] * 3)) as server:
        session = asking(server, lines)
        for schema in (SCHEMA, other, SCHEMA):
            session.ask("why?", schema=schema, history=False)
    names = [form and form["json_schema"]["name"] for (form,) in fields(server, "response_format")]
    assert names == ["A_b", None, "other", None]
    schema_line = "The service refused the schema in response_format: sent once more without it."
    assert lines == [f"{schema_line} {LATER}"]


def test_a_root_that_is_no_object_is_sent_in_one_and_taken_out() -> None:
    """With its references; a service that ignores the field may answer without the object."""
    items = {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}
    wrapped, bare = (
        {"choices": [{"message": {"content": text}}], "usage": {}}
        for text in ('{"value": [1, 2]}', "[1, 2]")
    )
    with Server(playing(document(wrapped), document(bare))) as server:
        session = asking(server, [])
        assert session.ask("why?", schema=items, history=False).parsed == [1, 2]
        assert session.ask("why?", schema=items, history=False).parsed == [1, 2]
    (form,) = fields(server, "response_format")[0]
    assert form["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"value": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        "required": ["value"],
        "additionalProperties": False,
        "$defs": {"n": {"type": "integer"}},
    }


MAX = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
WARM = "Unsupported value: 'temperature' does not support 0.5 with this model."


def test_the_users_limit_has_another_name_where_the_first_is_refused() -> None:
    """And a temperature is left out, each time with a note; another model gets both again."""
    lines: list[str] = []
    seen = Noting()
    answers = [refusal(MAX, param="max_tokens"), refusal(WARM, param="temperature")]
    with Server(playing(*answers, *[document(GOOD)] * 3)) as server:
        session = asking(server, lines)
        first = session.ask("why?", max_tokens=9, temperature=0.5, history=False)
        session.run(Ask("again", max_tokens=8, temperature=0.5), seen)
        preview = session.preview(Ask("again", max_tokens=8, temperature=0.5)).request
        session.ask("why?", model="other", max_tokens=7, temperature=0.5, history=False)
    names = "max_tokens", "max_completion_tokens", "temperature"
    assert fields(server, *names) == [
        (9, None, 0.5),
        (None, 9, 0.5),
        (None, 9, None),
        (None, 8, None),
        (7, None, 0.5),
    ]
    assert (preview.max_tokens, preview.extra["max_completion_tokens"]) == (None, 8)
    assert first.text == '{"n": 1}'
    assert lines == [
        f"The service refused max_tokens: sent once more with max_completion_tokens. {LATER}",
        f"The service refused temperature: sent once more without it. {LATER}",
    ]
    assert seen.notes == ("sent without temperature, which this address refuses",)
    assert len(session.ledger) == 5


class Noting(View):
    """View that keeps the notes of a question."""

    notes: tuple[str, ...] = ()

    def began(self, notes: tuple[str, ...]) -> None:  # type: ignore[override]
        """Keep the notes."""
        self.notes = notes


def test_a_stream_that_is_refused_becomes_a_whole_answer() -> None:
    """Some models of some services take no stream."""
    lines: list[str] = []
    answers = [refusal("'stream' does not support true with this model.", param="stream")]
    with Server(playing(*answers, document(GOOD), document(GOOD))) as server:
        session = asking(server, lines)
        assert session.ask("why?").text == '{"n": 1}'
        session.ask("why?")
    assert [stream for (stream,) in fields(server, "stream")] == [True, False, False]
    assert lines == [f"The service refused stream: sent once more without a stream. {LATER}"]


def test_a_limit_that_has_no_name_is_never_left_out() -> None:
    """Where both names are refused, the error is the user's; nothing is sent a third time."""
    both = [refusal(f"{name} is not supported") for name in ("max_tokens", "max_completion_tokens")]
    with Server(playing(*both, *both)) as server:
        session = asking(server, [])
        with pytest.raises(RequestRejectedError, match="max_completion_tokens is not supported"):
            session.ask("why?", max_tokens=9)
    assert fields(server, "max_tokens", "max_completion_tokens") == [(9, None), (None, 9)]


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("response_format is not supported", {}),
        ("temperature is not supported", {}),
        ("top_p is not supported", {"format": "json"}),
        ("temperature must be at most 1", {"temperature": 3.0}),
    ],
)
def test_any_other_refusal_is_an_error(message: str, options: dict[str, Any]) -> None:
    """Of a field that was not sent, of an unknown one, and of a value."""
    lines: list[str] = []
    with Server(playing(refusal(message))) as server:
        session = asking(server, lines)
        with pytest.raises(RequestRejectedError):
            session.ask("why?", **options)
    assert len(server.asked) == 1
    assert lines == []


def test_a_field_of_the_users_own_is_not_changed() -> None:
    """What stands in ``extra_body`` is the user's, so its refusal is an error."""
    own = {"response_format": {"type": "json_object"}}
    with Server(playing(refusal("response_format is not supported"))) as server:
        session = asking(server, [], extra_body=own)
        with pytest.raises(RequestRejectedError):
            session.ask("why?", format="json")
    assert len(server.asked) == 1


def test_what_is_known_of_a_server_is_never_tried() -> None:
    """Its row of ``servers.toml`` says what it takes."""
    known = Known(
        "lab",
        "",
        stream_usage=True,
        response_format=False,
        limit_field="max_completion_tokens",
        refuses=("temperature", "stream_options"),
    )
    with Server(playing(document(GOOD))) as server:
        session = asking(server, [], known)
        session.ask("why?", format="json", max_tokens=9, temperature=0.5)
    names = "max_tokens", "max_completion_tokens", "temperature", "response_format"
    assert fields(server, *names, "stream_options") == [(None, 9, None, None, None)]


def test_a_budget_may_refuse_the_second_request() -> None:
    """Then the first answer is the question's error."""
    with Server(playing(refusal("response_format is not supported"))) as server:
        session = asking(server, [], budget="1 turn")
        with pytest.raises(RequestRejectedError):
            session.ask("why?", format="json")
        with pytest.raises(BudgetError):
            session.ask("why?", format="json")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("headers", "counted", "asked_for"),
    [
        ({"x-litellm-key-spend": "0.5"}, (), [None, True, None, None]),
        ({"X-RateLimit-Remaining": "7"}, (), [None, None, None]),
        ({}, (b'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\n',), [None, None, None]),
    ],
)
def test_token_counts_are_asked_for_where_nothing_is_told(
    headers: dict[str, str], counted: tuple[bytes, ...], asked_for: list[bool | None]
) -> None:
    """After an answer without any figures; no more once a request was refused for it."""
    good = stream(event("Hi"), *counted, DONE, headers=headers)
    refused = {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs"}]}
    second = [document(refused, "422 No")] if asked_for[1] else []
    lines: list[str] = []
    with Server(playing(good, *second, good, good)) as server:
        session = asking(server, lines)
        replies = [session.ask(word) for word in ("one", "two", "three")]
    assert [reply.text for reply in replies] == ["Hi"] * 3
    options = [asked.body.get("stream_options") for asked in server.asked]
    assert options == [each and {"include_usage": True} for each in asked_for]
    line = f"The service refused stream_options: sent once more without it. {LATER}"
    assert lines == ([line] if second else [])
