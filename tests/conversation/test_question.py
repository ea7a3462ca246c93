"""What is asked: values that were put in, parameters, and the prompt as typed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from cases import each_case

from chatmagic._json import fields_from_json
from chatmagic.conversation.question import (
    A_MODEL,
    Parameters,
    RequestFacts,
    Schema,
    Value,
    ValueKind,
    is_model_name,
    model_name,
    parts_of,
    unquoted,
)
from chatmagic.models import Message

ASKED = RequestFacts("p 1", max_tokens=5, last=0)


def test_a_schema_is_told_whole() -> None:
    """As it stands; two schemas are compared by their text, not by what reads a value."""
    document = {"type": "object", "not": {"required": ["ß"]}}
    schema = Schema("Thing", document, int)
    words = "Thing: a value of this JSON schema\n\n{\n  "
    assert schema.text.startswith(words)
    assert '"ß"' in schema.text
    assert json.loads(schema.text.partition("\n\n")[2]) == document
    assert schema == Schema("Thing", document, float)


def test_a_value_holds_no_lone_surrogates() -> None:
    """They are marked as they are in the request, else no output could hold the record."""
    value = Value.of_text("a\ud83d", "b\udc00")
    assert (value.expression, value.text) == ("a\ufffd", "b\ufffd")


@pytest.mark.parametrize("kind", [None, "cell", "error"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_value_both_ways(kept: bool, kind: ValueKind | None) -> None:
    """With its text or without; other fields are ignored, and an expression has no kind."""
    value = Value.of_text("x", "1", kind, kind and "a cell's hash")
    value = value if kept else value.bare
    assert Value.from_json({**json.loads(json.dumps(value.to_json())), "more": 1}) == value
    assert ("text" in value.to_json()) == kept
    assert ("kind" in value.to_json()) == (kind is not None)


def test_a_value_has_a_name_for_people() -> None:
    """An expression is known by its braces, what goes in front by its kind."""
    values = [
        Value.of_text("df", ""),
        Value.of_text("load", "", "cell"),
        Value.of_text("", "", "error"),
    ]
    assert [value.name for value in values] == ["df", "cell load", "error"]
    assert [value.as_typed for value in values] == ["{{ df }}", "cell load", "error"]


@pytest.mark.parametrize(
    ("name", "item"),
    [("text", "2"), ("size", None), ("size", 2), ("size", -1), ("sha256", "?"), ("kind", "?")],
)
def test_a_damaged_value_is_refused(name: str, item: object) -> None:
    """Each field has its own kind of value, and the text is what the digest says."""
    with pytest.raises(ValueError, match="its"):
        Value.from_json({**Value.of_text("x", "1").to_json(), name: item})
    with pytest.raises(ValueError, match="JSON object"):
        Value.from_json([])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"max_tokens": 9, "temperature": 0.5}, {"max_tokens": 9, "temperature": 0.5}),
        ({"temperature": 0, "last": 0}, {"temperature": 0, "last": 0}),
        ({"stream": True, "history": True}, {}),
        ({"stream": False, "history": False}, {"stream": False, "history": False}),
    ],
)
def test_what_was_set_is_kept_and_read_again(given: dict[str, Any], kept: dict[str, Any]) -> None:
    """A default leaves nothing in the record; a zero is no default."""
    made = Parameters(**given)
    assert made.parameters == kept
    assert Parameters(**fields_from_json(Parameters, json.loads(json.dumps(kept)))) == made
    assert ASKED.parameters == {"max_tokens": 5, "last": 0}


@each_case(
    "told",
    [
        *(None, [], "last"),
        *({"max_tokens": wrong} for wrong in (True, 1.5, "x", "9" * 401)),
        *({"temperature": wrong} for wrong in (float("inf"), float("nan"), 10**400, "1")),
        *({"history": "yes"}, {"stream": 1}, {"last": -1}),
    ],
)
def test_parameters_that_make_no_sense_are_refused(told: object) -> None:
    """Each has its own kind of value."""
    with pytest.raises(ValueError, match=r"its|JSON object"):
        fields_from_json(Parameters, told)


def test_a_parameter_may_be_missing() -> None:
    """A null is as good as none, and what has no meaning here is left out."""
    assert fields_from_json(Parameters, {"last": None, "top_p": 1}) == {}


@each_case("value", ["", " ", "a\nb", "a\u202eb", "\ud800", "m" * 301, None, 5])
def test_what_is_no_name_of_a_model(value: object) -> None:
    """No line of visible characters, or too long; a name may have spaces."""
    assert not is_model_name(value)
    with pytest.raises(ValueError, match=A_MODEL):
        model_name(value)
    assert model_name(" Llama 3 (8B)") == " Llama 3 (8B)"
    assert (model_name("m" * 300), unquoted(" '\"a'b\"")) == ("m" * 300, "a'b")


def test_the_prompt_as_typed() -> None:
    """With its expressions where it had some; those whose values are gone are named."""
    assert ASKED.as_typed == "p 1"
    assert ASKED.missing == ()
    kept, gone = Value.of_text("x", "1"), Value.of_text("y", "2").bare
    filled = replace(ASKED, typed="p {{ x }}", values=(kept, gone))
    assert filled.as_typed == "p {{ x }}"
    assert [value.name for value in filled.missing] == ["y"]


def test_the_request_that_is_sent() -> None:
    """It carries the messages before the prompt, and what else the body is to say."""
    before = Message("user", "first"), Message("assistant", "1")
    request = ASKED.request(before, {"model": "m"})
    assert request.messages == (*before, Message("user", "p 1"))
    assert request.to_json()["max_tokens"] == 5
    assert request.extra == {"model": "m"}
    assert "last" not in request.to_json()
    other = replace(ASKED, model="n").request(before, {"model": "m", "seed": 1})
    assert other.extra == {"model": "n", "seed": 1}


def test_the_parts_stand_in_the_order_in_which_they_are_sent() -> None:
    """Instructions, turns, what was put in front and in, and the rest of the prompt."""
    values = (Value.of_text("load", "x" * 10, "cell"), Value.of_text("df", "y" * 7))
    asked = RequestFacts("x" * 10 + "\n\nWhy " + "y" * 7, typed="Why {{ df }}", values=values)
    instructions = Value.of_text("", "Be short.", "instructions")
    assert parts_of([(1, 30), (0, 40)], instructions, asked) == [
        ("instructions", 9),
        ("turn 1 (prompt and reply)", 30),
        ("a turn that is not live any more (prompt and reply)", 40),
        ("cell load", 10),
        ("{{ df }}", 7),
        ("the rest of the prompt", 6),
    ]
    assert parts_of([], None, RequestFacts("Why?")) == [("the prompt", 4)]


def test_many_turns_are_one_part() -> None:
    """But for the newest twenty."""
    parts = parts_of([(place, place) for place in range(1, 24)], None, RequestFacts("Why?"))
    assert parts[0] == ("3 earlier turns (prompts and replies)", 6)
    assert [size for _, size in parts[1:]] == [*range(4, 24), 4]
