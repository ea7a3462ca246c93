"""The text of a schema: the same words, whatever wrote the JSON schema."""

from __future__ import annotations

import json
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
    assert schema_text.type_text(document, "Person") == PERSON


FIELDS = "X: object with these fields"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({}, "X: any value"),
        ({"type": "array", "items": {}}, "X: list"),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "X: list of string (at least 1 items)",
        ),
        ({"type": "array", "items": {"enum": [1, 2]}}, "X: list of (one of 1, 2)"),
        ({"type": "array", "uniqueItems": True}, "X: list (without repeated items)"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {}], "minItems": 2},
            "X: list of exactly (string; any value)",
        ),
        ({"type": "string", "format": "date"}, "X: string (format date)"),
        ({"type": "string", "pattern": "^a"}, "X: string (matching ^a)"),
        ({"type": "integer", "multipleOf": 2}, "X: integer"),
        (
            {"type": "object", "additionalProperties": {"enum": [1]}},
            "X: object with any names, each value 1",
        ),
        ({"type": "string", "description": "a word"}, "X: string. a word"),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, "X: null or string"),
        ({"$ref": "#/$defs/N", "$defs": {"N": {"type": "null"}}}, "X: null"),
        (
            {"$ref": "#/$defs/N", "$defs": {"N": {"properties": {"a": {"$ref": "#/$defs/N"}}}}},
            f'{FIELDS}\n- "a": X',
        ),
        ({"properties": {"a": {}}, "additionalProperties": False}, f"{FIELDS}, and no others\n- "),
        (
            {"properties": {"a": {}}, "additionalProperties": {"type": "string"}},
            f'{FIELDS}, and others, each value string\n- "a": any value',
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"type": "null"}}},
            f'{FIELDS}\n- "a": X 2\n\nX 2: null',
        ),
    ],
)
def test_each_type_has_its_words(document: dict[str, Any], text: str) -> None:
    """What it refers to has a paragraph of its own, under a name of its own."""
    assert schema_text.type_text(document, "X").startswith(text)


def test_schemas_are_compared_by_their_text() -> None:
    """Not by what reads a value."""
    assert schema_text.Schema("a", "b", int) == schema_text.Schema("a", "b", float)


def test_a_schema_that_a_person_wrote_is_told_whole() -> None:
    """As it stands, with what no words of ours would say."""
    document = {"type": "object", "not": {"required": ["ß"]}}
    text = schema_text.whole_text(document, "Thing")
    assert text.startswith("Thing: a value of this JSON schema\n\n{\n")
    assert json.loads(text.partition("\n\n")[2]) == document
    assert "ß" in text
