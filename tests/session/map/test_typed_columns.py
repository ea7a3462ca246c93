"""Columns of a mapper's result: one type each, whatever came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cases import each_case
from libraries import library

from chatmagic.session import forms
from chatmagic.session.map.repeats import together
from chatmagic.session.map.reply_columns import Columns
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.typed_columns import TypedColumns

KEY = "ab" * 32
SCHEMA = {
    "$defs": {"Mood": {"enum": ["glad", "sad"], "type": "string"}, "Tags": {"type": "array"}},
    "properties": {
        "name": {"type": "string"},
        "age": {"type": ["integer", "null"]},
        "score": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "alive": {"type": "boolean"},
        "mood": {"$ref": "#/$defs/Mood"},
        "tags": {"$ref": "#/$defs/Tags"},
        "any": {},
        "lost": {"$ref": "#/$defs/None"},
        "one": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
}
KINDS = {
    "reply": "str",
    "name": "str",
    "age": "Int64",
    "score": "Float64",
    "alive": "boolean",
    "mood": "str",
    "tags": "str",
    "any": "str",
    "lost": "str",
    "one": "str",
    "error": "str",
}
VALUE = {
    "name": "A",
    "age": 3.0,
    "score": 1,
    "alive": True,
    "mood": "glad",
    "tags": [1, "é"],
    "any": {"x": 1},
    "one": 7,
}


def typed(*, columns: bool = True, repeats: int = 1) -> TypedColumns:
    """Give the columns of a schema."""
    fields = tuple(SCHEMA["properties"]) if columns else ()
    return TypedColumns(Columns(None, True, fields, repeats), forms.schema_of(SCHEMA, "S"))


def reply(value: Any, error: str | None = None) -> RowReply:
    """Give a row's reply with its value."""
    return RowReply(row=0, key=KEY, text="{}", value=value, error=error)


def test_the_types_of_a_schema() -> None:
    """References and missing values are followed; anything else is a text of JSON."""
    held = typed().of([reply(VALUE), reply(None, "No.")])
    assert {name: kind for name, (kind, _) in held.items()} == KINDS
    first = {name: values[0] for name, (_, values) in held.items()}
    assert first == {
        "reply": "{}",
        "name": "A",
        "age": 3,
        "score": 1.0,
        "alive": True,
        "mood": "glad",
        "tags": '[1, "é"]',
        "any": '{"x": 1}',
        "lost": None,
        "one": "7",
        "error": None,
    }
    assert {values[1] for name, (_, values) in held.items() if name not in {"reply", "error"}} == {
        None
    }


def test_whole_values_are_texts() -> None:
    """Of instances and enumerations, too."""

    class Mood(Enum):
        GLAD = "glad"

    @dataclass
    class Person:
        name: str
        mood: Mood

    pydantic = library("pydantic")
    model = pydantic.create_model("M", n=(int, 1))()
    values = [Person("A", Mood.GLAD), Mood.GLAD, model, {"b": 1, "a": 2}, "text"]
    kind, made = typed(columns=False).of([reply(value) for value in values])["value"]
    assert (kind, made) == (
        "str",
        ['{"mood": "glad", "name": "A"}', "glad", '{"n": 1}', '{"a": 2, "b": 1}', "text"],
    )


def test_a_number_that_no_column_holds_is_missing() -> None:
    """It is in the text of the reply; a paid row is not lost for it."""
    assert typed().of([reply({"age": 2**63})])["age"] == ("Int64", [None])


@each_case("rows", [0, 2])
@each_case("name", ["pandas", "polars", "pyarrow", "columns"])
def test_tables(name: str, rows: int) -> None:
    """Also without any row; each has its library's own types, and the index stays."""
    replies = together([reply(VALUE), reply({**VALUE, "age": None})] * rows, 2)
    columns = {"t": [str(number) for number in range(rows)]}
    tables: dict[str, Callable[[], Any]] = {
        "pandas": lambda: library("pandas").DataFrame(columns, index=range(5, 5 + rows)),
        "polars": lambda: library("polars").DataFrame(columns),
        "pyarrow": lambda: library("pyarrow").table(columns),
        "columns": lambda: columns,
    }
    made = typed(repeats=2).added_to(tables[name](), replies)
    names = [*[*KINDS][:-1], "agree", "replies", "error"]
    if name == "columns":
        assert [*made] == ["t", *names]
        assert made["score"] == [None] * rows  # a tie
        return
    found = [str(kind) for kind in (made.schema.types if name == "pyarrow" else made.dtypes)]
    expected = {
        "pandas": ["str", "Int64", "Float64", "boolean", "object"],
        "polars": ["String", "Int64", "Float64", "Boolean", "List(String)"],
        "pyarrow": ["string", "int64", "double", "bool", "list<item: string>"],
    }[name]
    kinds = dict(zip(["str", "Int64", "Float64", "boolean", "list"], expected, strict=True))
    assert found[1:] == [
        kinds[KINDS.get(each, {"agree": "Float64", "replies": "list"}.get(each, "str"))]
        for each in names
    ]
    assert len(made) == rows
    if name == "pandas":
        assert list(made.index) == [*range(5, 5 + rows)]
