"""Types of a JSON schema: what they refer to, and what they list."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chatmagic.conversation import json_schema


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (False, "a type in it is no JSON object"),
        ({"$ref": "#/$defs/b"}, "it refers to #/$defs/b, which it does not hold"),
        ({"$ref": "#/$defs/a/b/c"}, "it refers to #/$defs/a/b/c, which it does not hold"),
        ({"$ref": "https://x.example"}, "it refers to https://x.example, outside of itself"),
        ({"$ref": "#/$defs/loop"}, "#/$defs/loop refers to itself alone"),
        ({"allOf": [{}, {}]}, "it has allOf with several types, which is not checked here"),
        ({"allOf": [True]}, "it has allOf with several types, which is not checked here"),
    ],
)
def test_what_refers_to_nothing_is_refused(node: Any, problem: str) -> None:
    """And what is no type."""
    document = {"$defs": {"a": {"b": 1}, "loop": {"$ref": "#/$defs/loop"}}}
    with pytest.raises(ValueError, match=rf"\A{re.escape(problem)}\Z"):
        json_schema.whole(document, node)


def test_a_reference_is_followed() -> None:
    """What stands beside it holds, too, and an escaped name is read."""
    document = {"$defs": {"a/b": {"type": "string", "title": "x"}}}
    assert json_schema.whole(document, {"$ref": "#/$defs/a~1b", "title": "y"}) == {
        "type": "string",
        "title": "y",
    }
    assert json_schema.whole(document, {"allOf": [{"$ref": "#/$defs/a~1b"}], "title": "y"}) == {
        "type": "string",
        "title": "y",
    }
    assert json_schema.whole(document, True) is True
    assert json_schema.unwrapped(True) is True


def test_the_alternatives_of_a_type() -> None:
    """Several JSON types are alternatives; a decimal's text has no pattern."""
    assert json_schema.alternatives({"type": ["string", "null"], "minLength": 1}) == [
        {"type": "string", "minLength": 1},
        {"type": "null", "minLength": 1},
    ]
    decimal = [{"type": "number"}, {"type": "string", "pattern": "x"}, True]
    assert json_schema.alternatives({"anyOf": decimal}) == [
        {"type": "number"},
        {"type": "string"},
        True,
    ]
    assert json_schema.alternatives({"oneOf": [{"type": "string", "pattern": "x"}]}) == [
        {"type": "string", "pattern": "x"}
    ]
    assert json_schema.alternatives({"type": "string"}) == []


def test_the_choices_of_a_type() -> None:
    """A constant is the only choice."""
    assert json_schema.choices({"const": None, "enum": [1]}) == [None]
    assert json_schema.choices({"enum": [1, "a"]}) == [1, "a"]
    assert json_schema.choices({}) is None


def test_a_wrong_limit_is_refused() -> None:
    """A limit is a number, and a pattern a regular expression."""
    for limit in ("1", True, None):
        with pytest.raises(ValueError, match="its minimum is no number"):
            list(json_schema.limits_of({"minimum": limit}))
    with pytest.raises(ValueError, match="its pattern is no regular expression"):
        json_schema.pattern({"pattern": "("})


def test_schemas_are_compared_by_their_text() -> None:
    """Not by what reads a value."""
    assert json_schema.Schema("a", "b", int) == json_schema.Schema("a", "b", float)
