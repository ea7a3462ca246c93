"""Rows: tables, lists, iterables and parts of collections, and what came of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from libraries import library

from chatmagic.errors import InputError
from chatmagic.session.map.job_file import RowReply
from chatmagic.session.map.rows import Rows, refuse_taken, with_replies

COLUMNS = {"n": [1, 2], "t": ["a", "b"]}
OF_TABLE = [
    {"it": {"n": 1, "t": "a"}, "n": 1, "t": "a"},
    {"it": {"n": 2, "t": "b"}, "n": 2, "t": "b"},
]


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_table(name: str) -> None:
    """Each row has its columns by name, and all of them as ``it``."""
    rows = Rows(library(name).DataFrame(COLUMNS))
    assert rows.count == 2
    assert list(rows) == list(rows) == OF_TABLE


def test_a_column_of_any_name() -> None:
    """A name is a text in a template; one that is called it counts before the row."""
    rows = Rows(library("pandas").DataFrame({0: ["a"], "two words": ["b"], "it": ["c"]}))
    assert list(rows) == [{"it": "c", "0": "a", "two words": "b"}]


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_column_by_itself(name: str) -> None:
    """Its values are rows."""
    rows = Rows(library(name).Series(["a", "b"]))
    assert rows.count == 2
    assert list(rows) == [{"it": "a"}, {"it": "b"}]


def test_lists_and_iterables() -> None:
    """A mapping has names of its own; of an iterator the length is not known."""
    assert list(Rows(["a", 1, None])) == [{"it": "a"}, {"it": 1}, {"it": None}]
    assert list(Rows([{"x": 1}])) == [{"it": {"x": 1}, "x": 1}]
    assert Rows(("a",)).count == Rows(range(1)).count == Rows({"a"}).count == 1
    assert Rows(iter("ab")).count is None
    assert list(Rows(iter("ab"))) == [{"it": "a"}, {"it": "b"}]
    assert Rows([]).count == 0


@pytest.mark.parametrize("source", ["text", b"bytes", {"a": 1}, 7, None])
def test_what_is_no_collection_of_rows(source: Any) -> None:
    """A text would be asked letter by letter."""
    with pytest.raises(
        InputError, match=r"list or another iterable, not \w+\. Nothing was sent"
    ) as caught:
        Rows(source)
    assert caught.value.hint == (
        'The template comes first: chatmagic.map("Classify: {{ it }}", rows).'
    )


def test_parts_are_read_one_at_a_time() -> None:
    """A part that was not needed yet is not computed."""
    computed: list[int] = []
    pandas = library("pandas")

    class Part:
        def __init__(self, number: int) -> None:
            self.number = number

        def compute(self) -> Any:
            computed.append(self.number)
            return pandas.DataFrame({"n": [self.number, self.number]})

    class Collection:
        def to_delayed(self) -> list[Part]:
            return [Part(1), Part(2)]

    for source in (Collection(), [Part(1), Part(2)]):
        computed.clear()
        rows = Rows(source)
        assert rows.count is None
        some = iter(rows)
        assert [next(some)["n"], next(some)["n"], computed] == [1, 1, [1]]
        assert [row["n"] for row in some] == [2, 2]


def test_parts_of_polars() -> None:
    """A lazy table in batches, and a table in parts."""
    polars = library("polars")
    table = polars.DataFrame(COLUMNS)
    assert Rows(table.lazy()).count is None
    assert list(Rows(table.lazy())) == OF_TABLE
    assert Rows(table.partition_by("n")).count is None
    assert list(Rows(table.partition_by("n", maintain_order=True))) == OF_TABLE


KEY = "ab" * 32
REPLIES = [RowReply(row=0, key=KEY, text="[1]", value=[1]), RowReply(row=1, key=KEY, error="No.")]


@pytest.mark.parametrize("parsed", [False, True])
def test_a_table_of_pandas(*, parsed: bool) -> None:
    """The index and the columns stay, and the user's own table is as before."""
    table = library("pandas").DataFrame({"t": ["a", "b"]}, index=[7, 5])
    made = with_replies(table, REPLIES, parsed=parsed)
    assert list(made.index) == [7, 5]
    assert list(made.columns) == ["t", "reply", *(["value"] if parsed else []), "error"]
    assert list(made["reply"].dropna()) == ["[1]"]
    assert list(made["error"].dropna()) == ["No."]
    assert not parsed or list(made["value"]) == [[1], None]
    assert list(table.columns) == ["t"]


def test_a_table_of_polars() -> None:
    """Also with values of a user's own class."""
    table = library("polars").DataFrame({"t": ["a", "b"]})
    made = with_replies(table, REPLIES, parsed=True)
    assert made.to_dict(as_series=False) == {
        "t": ["a", "b"],
        "reply": ["[1]", None],
        "value": [[1], None],
        "error": [None, "No."],
    }
    instance = RowReply(row=0, key=KEY, text="{}", value=str)
    assert with_replies(table, [instance] * 2, parsed=True)["value"].to_list() == [str, str]


def test_fields_of_values_are_columns() -> None:
    """Of mappings and of instances; a row without a value has none."""
    values = [{"n": 1, "extra": 2}, SimpleNamespace(n=3), None]
    replies = [RowReply(row=0, key=KEY, text="{}", value=value) for value in values]
    table = library("pandas").DataFrame({"t": ["a", "b", "c"]})
    made = with_replies(table, replies, parsed=True, fields=["n"])
    assert list(made.columns) == ["t", "reply", "n", "error"]
    assert [*made["n"].dropna()] == [1, 3]


@pytest.mark.parametrize("name", ["reply", "error"])
def test_a_column_that_is_there_is_not_replaced(name: str) -> None:
    """Before anything is sent."""
    table = library("pandas").DataFrame({name: ["a"]})
    with pytest.raises(InputError, match=rf"have a column {name} already.* Nothing was sent"):
        refuse_taken(table, parsed=False)
    with pytest.raises(InputError, match="have a column n already"):
        refuse_taken(library("pandas").DataFrame({"n": ["a"]}), parsed=True, fields=["n"])
    refuse_taken([{name: "a"}], parsed=False)
    refuse_taken(library("pandas").DataFrame({"value": ["a"]}), parsed=False)
