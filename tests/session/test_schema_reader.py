"""Schemas from a namespace: what is told of them, and what is made of JSON by them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import subprocess
import sys
import typing
from typing import Any

import pytest
from libraries import library

from chatmagic.errors import InputError
from chatmagic.session.schema_reader import name_of, problem, read


class Color(enum.Enum):
    """What a thing looks like."""

    RED = "red"
    BLUE = 2


class Place(typing.TypedDict, total=False):
    """A place."""

    city: typing.Required[str]
    zip: typing.Annotated[str, "five digits"]


class Mark(typing.TypedDict):
    """A mark; who gave it may be missing."""

    points: int
    by: typing.NotRequired[str]


Id = typing.NewType("Id", int)


@dataclasses.dataclass
class Thing:
    """A thing that holds others."""

    name: str
    color: Color
    place: Place
    day: dt.date
    price: decimal.Decimal
    size: tuple[int, float]
    id: Id
    parts: list[Thing] = dataclasses.field(
        default_factory=list, metadata={"description": "what it is made of"}
    )
    tags: set[str] = dataclasses.field(default_factory=set)
    words: tuple[str, ...] = ()
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    kind: typing.Literal["a", "b"] = "a"
    more: str | int | None = None
    marks: list[Mark] | None = None
    anything: Any = None
    loose: dict = dataclasses.field(default_factory=dict)  # type: ignore[type-arg]
    plain: list = dataclasses.field(default_factory=list)  # type: ignore[type-arg]
    hidden: int = dataclasses.field(default=0, init=False)


@dataclasses.dataclass
class Bare:
    """Bare(x: int) is what Python would say by itself."""

    x: int


THING = """Thing: object with these fields. A thing that holds others.
- "name", required: string
- "color", required: one of "red", 2
- "place", required: Place
- "day", required: string (format date)
- "price", required: number or string
- "size", required: list of exactly (integer; number)
- "id", required: integer
- "parts": list of Thing. what it is made of
- "tags": list of string
- "words": list of string
- "counts": object with any names, each value integer
- "kind": one of "a", "b"
- "more": string or integer or null
- "marks": list of Mark or null
- "anything": any value
- "loose": object
- "plain": list

Place: object with these fields. A place.
- "city", required: string
- "zip": string. five digits

Mark: object with these fields. A mark; who gave it may be missing.
- "points", required: integer
- "by": string"""
JSON = {
    "name": "Ada",
    "color": "red",
    "place": {"city": "Lima", "zone": 3},
    "day": "2026-01-02",
    "price": "1.50",
    "size": [1, 2],
    "id": 7.0,
}


def test_a_dataclass_is_told_and_made() -> None:
    """With the classes in it, and with itself."""
    schema = read(Thing, "Thing")
    assert schema.text == THING
    tail = {"tags": ["x", "x"], "words": ["y"], "counts": {"z": 1.0}, "more": 3, "new": 1}
    made = schema.read(JSON | tail | {"parts": [JSON], "marks": [{"points": 1}]})
    inner = Thing(
        "Ada", Color.RED, {"city": "Lima"}, dt.date(2026, 1, 2), decimal.Decimal("1.50"),
        (1, 2.0), Id(7),
    )  # fmt: skip
    assert made == dataclasses.replace(
        inner, parts=[inner], tags={"x"}, words=("y",), counts={"z": 1}, more=3,
        marks=[{"points": 1}],
    )  # fmt: skip
    assert isinstance(made.size[1], float)
    assert isinstance(made.id, int)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": 1}, "name: expected string, not 1"),
        ({"color": "green"}, 'color: expected one of "red", 2, not "green"'),
        ({"place": {}}, 'place: the field "city" is missing'),
        ({"parts": [{"name": "x"}]}, 'parts[0]: the field "color" is missing'),
        ({"more": 1.5}, "more: expected string or integer or null, not 1.5"),
        ({"day": "soon"}, "Invalid isoformat string: 'soon'"),
    ],
)
def test_json_of_another_form_is_refused_with_where(changes: dict[str, Any], words: str) -> None:
    """By the path to the field."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - each has words of its own
        read(Thing, "Thing").read(JSON | changes)
    assert problem(caught.value) == words


def test_types_made_of_these() -> None:
    """A list, a TypedDict, a type with a name of its own."""
    assert read(list[Bare], "bares").read([{"x": 1}]) == [Bare(1)]
    assert read(Mark, "Mark").text.startswith("Mark: object with these fields")
    assert read(int | None, "n").read(None) is None
    assert read(frozenset[int], "f").read([1, 1]) == frozenset({1})
    assert read(dict[int, Bare], "d").read({"1": {"x": 1}}) == {1: Bare(1)}
    assert read(dt.time, "t").read("12:00") == dt.time(12)


def test_a_typeddict_of_typing_extensions() -> None:
    """Before Python 3.12 pydantic takes no other one."""
    extensions = library("typing_extensions")
    fields = {"x": int, "y": extensions.NotRequired[str]}
    assert read(extensions.TypedDict("Point", fields), "Point").text == (
        'Point: object with these fields\n- "x", required: integer\n- "y": string'
    )


def test_a_signature_is_no_description() -> None:
    """Python writes one into a dataclass that has no words of its own."""
    assert read(Bare, "Bare").text.startswith("Bare: object with these fields\n")


def test_two_classes_of_one_name() -> None:
    """Each has its own paragraph."""
    other = dataclasses.make_dataclass("Bare", [("y", str)])
    both = dataclasses.make_dataclass("Both", [("a", Bare), ("b", other)])
    made = read(both, "Both").read({"a": {"x": 1}, "b": {"y": "z"}})
    assert (made.a.x, made.b.y) == (1, "z")


def test_a_json_schema_checks_and_gives_the_value() -> None:
    """As it is, in Python's own types."""
    schema = read({"type": "object", "properties": {"a": {"type": "integer"}}}, "S")
    assert schema.read({"a": 1}) == {"a": 1}
    with pytest.raises(ValueError, match='a: expected integer, not "b"'):
        schema.read({"a": "b"})


def test_a_pydantic_model_reads_by_its_own_rules() -> None:
    """Also within a dataclass, as an adapter, and strictly from JSON."""
    pydantic = library("pydantic")
    city = pydantic.create_model(
        "City",
        name=(str, pydantic.Field(description="in Spanish")),
        day=(dt.date | None, None),
        __config__=pydantic.ConfigDict(strict=True),
    )
    text = (
        "City: object with these fields\n"
        '- "name", required: string. in Spanish\n'
        '- "day": string (format date) or null'
    )
    schema = read(city, "City")
    assert schema.text == text
    assert schema.read({"name": "Lima", "day": "2026-01-02"}).day == dt.date(2026, 1, 2)
    with pytest.raises(pydantic.ValidationError) as caught:
        schema.read({"day": 1})
    assert problem(caught.value) == "name: Field required (1 more)"
    cities: Any = list.__class_getitem__(city)
    holder = dataclasses.make_dataclass("Holder", [("cities", cities)])
    assert read(holder, "Holder").text.endswith(text)
    assert read(holder, "Holder").read({"cities": [{"name": "Lima"}]}).cities[0].name == "Lima"
    adapter = read(pydantic.TypeAdapter(cities), "cities")
    assert adapter.text == f"cities: list of City\n\n{text}"
    assert adapter.read([{"name": "Lima"}])[0].name == "Lima"


def test_a_pydantic_model_that_holds_itself_in_a_type_made_of_it() -> None:
    """Its own JSON schema only refers to the model, which stands among its definitions."""
    pydantic = library("pydantic")
    itself: Any = list.__class_getitem__("Node")
    node = pydantic.create_model("Node", value=int, kids=(itself, []))
    nodes: Any = list.__class_getitem__(node)
    schema = read(nodes, "nodes")
    assert schema.text == (
        "nodes: list of Node\n\nNode: object with these fields\n"
        '- "value", required: integer\n- "kids": list of Node'
    )
    assert schema.read([{"value": 1, "kids": [{"value": 2}]}])[0].kids[0].value == 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (3, "3 is a type without JSON"),
        (complex, "<class 'complex'> is a type without JSON"),
        ({"type": object()}, "Object of type object is not JSON serializable"),
        ({"not": {}}, "it has not, which is not checked here"),
    ],
)
def test_what_is_no_schema_is_refused(value: object, reason: str) -> None:
    """Before anything is sent."""
    with pytest.raises(InputError) as caught:
        read(value, "x")
    assert caught.value.message == (f"x is no schema that can be used: {reason}. Nothing was sent.")


def test_a_schema_given_as_an_object_has_a_name() -> None:
    """Its own, or a plain one."""
    assert [name_of(each) for each in (Thing, {"title": "T"}, {}, 3)] == [
        "Thing",
        "T",
        "Reply",
        "Reply",
    ]


def test_an_error_that_cannot_be_told_is_named() -> None:
    """A user's own error may be anything."""

    class OddError(Exception):
        """An error whose list of errors is empty."""

        def errors(self) -> list[Any]:
            """Give none."""
            return []

    assert problem(OddError()) == "OddError"


def test_no_library_is_imported() -> None:
    """Pydantic is known by what a model has, and comes with the user's import alone."""
    code = "import sys, chatmagic.session.forms; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
