"""The check of a value by a JSON schema, and where it fails."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chatmagic.conversation.schema_check import check

INTEGER = {"type": "integer"}
POINT = {
    "type": "object",
    "properties": {"x": INTEGER, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["x"],
}
TREE = {"$defs": {"T": {"properties": {"kids": {"items": {"$ref": "#/$defs/T"}}}}}}
NODE = {**TREE, "$ref": "#/$defs/T"}


@pytest.mark.parametrize(
    ("document", "value"),
    [
        ({}, object()),
        (INTEGER, 1),
        (INTEGER, 1.0),
        ({"type": "number"}, 1),
        ({"type": "boolean"}, True),
        ({"type": ["string", "null"]}, None),
        ({"enum": ["a", 1]}, 1),
        (POINT, {"x": 1, "tags": ["a"], "more": ...}),
        ({"properties": {"a": INTEGER}}, "no object"),
        ({"type": "array", "prefixItems": [INTEGER], "items": {"type": "string"}}, [1, "a"]),
        ({"type": "array", "uniqueItems": True}, [1, 2]),
        ({"minimum": 1, "maxLength": 2, "pattern": "^a"}, "ab"),
        ({"anyOf": [INTEGER, True]}, "a"),
        (NODE, {"kids": [{"kids": []}]}),
    ],
)
def test_a_value_of_the_form_passes(document: Any, value: Any) -> None:
    """What a schema does not speak of is left alone."""
    check(document, value)


@pytest.mark.parametrize(
    ("document", "value", "problem"),
    [
        (INTEGER, 1.5, "expected integer, not 1.5"),
        (INTEGER, True, "expected integer, not true"),
        ({"type": "boolean"}, 1, "expected boolean, not 1"),
        ({"enum": [1, "a"]}, True, 'expected one of 1, "a", not true'),
        ({"const": "a"}, "b", 'expected "a", not "b"'),
        (POINT, [], "expected object, not []"),
        (POINT, {}, 'the field "x" is missing'),
        (POINT, {"x": 1, "tags": ["a", 2]}, "tags[1]: expected string, not 2"),
        ({"additionalProperties": False}, {"a": 1}, 'there is no field "a"'),
        ({"additionalProperties": INTEGER}, {"a": "b"}, 'a: expected integer, not "b"'),
        ({"prefixItems": [INTEGER, True]}, [1], "expected a list of 2 items, not [1]"),
        ({"uniqueItems": True}, [1, 1], "expected a list without repeated items, not [1, 1]"),
        ({"minimum": 0}, -1, "expected at least 0, not -1"),
        ({"exclusiveMinimum": 0}, 0, "expected more than 0, not 0"),
        ({"maximum": 1}, 2, "expected at most 1, not 2"),
        ({"exclusiveMaximum": 1}, 1, "expected less than 1, not 1"),
        ({"minLength": 2}, "a", 'expected at least 2 characters, not "a"'),
        ({"maxLength": 0}, "a", 'expected at most 0 characters, not "a"'),
        ({"minItems": 1}, [], "expected at least 1 items, not []"),
        ({"maxItems": 0}, [1], "expected at most 0 items, not [1]"),
        ({"pattern": "^a"}, "b", 'expected a text that matches ^a, not "b"'),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "a", 'expected integer or null, not "a"'),
        ({"anyOf": [POINT, {"type": "null"}]}, {"x": "a"}, 'x: expected integer, not "a"'),
        # Alternatives that hold themselves are told apart before each is followed all the way.
        (
            {"properties": {"left": {"type": "array", "items": INTEGER}, "kind": {"const": "add"}}},
            {"left": ["a"], "kind": "mul"},
            'kind: expected "add", not "mul"',
        ),
        (NODE, {"kids": [{"kids": [{"kids": [1, {"kids": 2}]}]}]}, None),
    ],
)
def test_a_value_of_another_form_says_where(document: Any, value: Any, problem: str | None) -> None:
    """By the path to it, and by what is expected there."""
    if problem is None:
        check(document, value)
        return
    with pytest.raises(ValueError, match=rf"\A{re.escape(problem)}\Z"):
        check(document, value)


def test_a_schema_without_an_end_ends() -> None:
    """Alternatives may refer to themselves, which no value of JSON can follow."""
    document = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}
    with pytest.raises(ValueError, match="the schema refers to itself without an end"):
        check(document, 1)
