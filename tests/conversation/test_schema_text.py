"""The text of a schema: the same words, whatever wrote the JSON schema."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from chatmagic.conversation import schema_text

ADDRESS = {
    "description": "Where one\n   lives.",
    "properties": {"street": {"title": "Street", "type": "string"}},
    "required": ["street"],
    "title": "Address",
    "type": "object",
}
NEW = {
    "$defs": {"Address": ADDRESS, "Color": {"enum": ["red", "blue"], "type": "string"}},
    "properties": {
        "name": {"description": "the  full name", "title": "Name", "type": "string"},
        "age": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "default": None},
        "kind": {"const": "x", "title": "Kind", "type": "string"},
        "home": {"$ref": "#/$defs/Address", "description": "the first one"},
        "work": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]},
        "color": {"$ref": "#/$defs/Color", "default": "red"},
        "scores": {"additionalProperties": {"type": "number"}, "type": "object"},
        "price": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^x$"}]},
        "extra": {"additionalProperties": True, "type": "object"},
    },
    "required": ["name", "home"],
    "title": "Person",
    "type": "object",
}
"""As pydantic writes it since 2.11."""
OLD: dict[str, Any] = {
    **NEW,
    "properties": {
        **NEW["properties"],  # type: ignore[dict-item]
        "kind": {"const": "x", "enum": ["x"], "title": "Kind", "type": "string"},
        "home": {"allOf": [{"$ref": "#/$defs/Address"}], "description": "the first one"},
        "color": {"allOf": [{"$ref": "#/$defs/Color"}], "default": "red"},
        "price": {"anyOf": [{"type": "number"}, {"type": "string"}]},
        "extra": {"type": "object"},
    },
}
"""As it wrote it before."""
PERSON = """Person: object with these fields
- "name", required: string. the full name
- "age": integer (at least 0) or null
- "kind": "x"
- "home", required: Address. the first one
- "work": Address or null
- "color": Color
- "scores": object with any names, each value number
- "price": number or string
- "extra": object

Address: object with these fields. Where one lives.
- "street", required: string

Color: one of "red", "blue\""""


@pytest.mark.parametrize("document", [NEW, OLD])
def test_the_text_is_the_same_with_each_release(document: dict[str, Any]) -> None:
    """The forms in which pydantic has written a model's JSON schema give one text."""
    assert schema_text.write(document, "Person") == PERSON


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({}, "X: any value"),
        ({"title": "any"}, "X: any value"),
        ({"type": "array"}, "X: list"),
        ({"type": "array", "items": True}, "X: list"),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "X: list of string (at least 1 items)",
        ),
        ({"type": "array", "items": {"enum": [1, 2]}}, "X: list of (one of 1, 2)"),
        ({"type": "array", "uniqueItems": True}, "X: list (without repeated items)"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, True], "minItems": 2},
            "X: list of exactly (string; any value)",
        ),
        ({"type": "string", "format": "date"}, "X: string (format date)"),
        ({"type": "string", "pattern": "^a"}, "X: string (matching ^a)"),
        ({"type": ["string", "null"]}, "X: string or null"),
        (
            {"type": "object", "additionalProperties": {"enum": [1]}},
            "X: object with any names, each value 1",
        ),
        ({"type": "string", "description": "a word"}, "X: string. a word"),
        ({"$ref": "#/$defs/N", "$defs": {"N": {"type": "null"}}}, "X: null"),
        (
            {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
            'X: object with these fields, and no others\n- "a": X',
        ),
        (
            {"properties": {"a": True}, "additionalProperties": {"type": "string"}},
            'X: object with these fields, and others, each value string\n- "a": any value',
        ),
        (
            {"properties": {"a": {"properties": {"b": {"type": "null"}}}}},
            'X: object with these fields\n- "a": X.a\n\nX.a: object with these fields\n- "b": null',
        ),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/X"}},
                "$defs": {"X": {"type": "null"}},
            },
            'X: object with these fields\n- "a": X 2\n\nX 2: null',
        ),
        (
            {
                "properties": {
                    "a": {"$ref": "#/$defs/X"},
                    "b": {"$ref": "#/$defs/p/X"},
                },
                "$defs": {"X": {"type": "null"}, "p": {"X": {"type": "string"}}},
            },
            'X: object with these fields\n- "a": X 2\n- "b": X 3\n\nX 2: null\n\nX 3: string',
        ),
    ],
)
def test_each_type_has_its_words(document: dict[str, Any], text: str) -> None:
    """What is nested has a paragraph of its own."""
    assert schema_text.write(document, "X") == text


@pytest.mark.parametrize(
    "document",
    [
        {"patternProperties": {}},
        {"not": {"type": "null"}},
        {"type": "array", "items": False},
        {"type": "object", "anyOf": [{}]},
        {"allOf": [{}, {}]},
        {"properties": {"a": {"multipleOf": 2}}},
    ],
)
def test_what_has_no_words_is_told_as_json(document: dict[str, Any]) -> None:
    """A schema of the user's own is checked whole, so it is told whole."""
    head, _, body = schema_text.write(document, "X").partition("\n\n")
    assert head == "X: a value of this JSON schema"
    assert json.loads(body) == document


def test_what_another_checks_may_have_more() -> None:
    """A pydantic model checks by its own rules what its JSON schema says."""
    document = {"type": "integer", "multipleOf": 2}
    assert schema_text.write(document, "X", whole=False) == "X: integer"
    either = {"type": "object", "anyOf": [{"type": "null"}]}
    assert schema_text.write(either, "X", whole=False) == "X: null"


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("#/$defs/b", "it refers to #/$defs/b, which it does not hold"),
        ("#/$defs/a/type/c", "it refers to #/$defs/a/type/c, which it does not hold"),
        ("https://x.example", "it refers to https://x.example, outside of itself"),
        ("#/$defs/loop", "#/$defs/loop refers to itself alone"),
    ],
)
def test_what_refers_to_nothing_is_refused(reference: str, problem: str) -> None:
    """Before anything is sent."""
    types = {"a": {"type": "null"}, "loop": {"$ref": "#/$defs/loop"}}
    document = {"$defs": types, "properties": {"x": {"$ref": reference}}}
    with pytest.raises(ValueError, match=rf"\A{re.escape(problem)}\Z"):
        schema_text.write(document, "X")


def test_a_reference_is_followed() -> None:
    """What stands beside it holds, too, and an escaped name is read."""
    types = {"a/b": {"type": "string", "minLength": 2}}
    document = {"$defs": types, "$ref": "#/$defs/a~1b"}
    assert schema_text.write(document, "X") == "X: string (at least 2 characters)"


def test_a_decimal_number_is_told_alike_by_each_release() -> None:
    """As a text it has a pattern, in some."""
    either = [{"type": "number"}, {"type": "string", "pattern": "x"}, True]
    assert schema_text.write({"anyOf": either}, "X") == "X: number or string or any value"


def test_schemas_are_compared_by_their_text() -> None:
    """Not by what reads a value."""
    assert schema_text.Schema("a", "b", int) == schema_text.Schema("a", "b", float)
