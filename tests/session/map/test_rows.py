"""Rows: tables, lists, iterables and parts of collections, as they were given."""

from __future__ import annotations

import sqlite3
import tracemalloc
from dataclasses import dataclass
from typing import Any

import pytest
from libraries import library

from chatmagic.errors import InputError
from chatmagic.session.map.rows import Rows, are_columns, is_series, names_of

COLUMNS = {"n": [1, 2], "t": ["a", "b"]}


@dataclass
class Row:
    """A row."""

    n: int
    t: str


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
    hint = 'The template comes first: chatmagic.map("Classify: {{ it }}", rows).'
    if isinstance(source, dict):
        hint = "A dict of columns has a list for each column, all of one length."
    assert caught.value.hint == hint


def test_tables_that_are_computed_part_by_part_are_refused() -> None:
    """Of Dask and of polars; so are tables as rows."""
    pandas, polars = library("pandas"), library("polars")
    lazy = polars.DataFrame(COLUMNS).lazy()
    collection = library("dask.dataframe").from_pandas(pandas.DataFrame(COLUMNS), npartitions=2)
    for source in (lazy, collection, collection.partitions[0]):
        with pytest.raises(InputError, match=r"computed part by part\. Nothing was sent") as caught:
            Rows(source)
        assert "chatmagic.mapper" in str(caught.value.hint)
    for table in (pandas.DataFrame(COLUMNS), lazy):
        with pytest.raises(InputError, match=r"^Row 1 is a table, a \w+Frame\. Join the tables"):
            list(Rows(["a", table]))


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_table_of_pyarrow(*, is_batch: bool) -> None:
    """It is read part by part, so the first rows of many are there at once."""
    table = library("pyarrow").table(COLUMNS)
    if is_batch:
        (table,) = table.to_batches()
    rows = Rows(table)
    assert rows.count == 2
    assert list(rows) == OF_TABLE
    assert names_of(table) == ["n", "t"]
    assert not is_series(table)
    with pytest.raises(InputError, match=r"^Row 0 is a table"):
        list(Rows([table]))


def test_the_first_rows_of_a_large_table_of_pyarrow() -> None:
    """Only some of them are made objects of Python."""
    pyarrow = library("pyarrow")
    table = pyarrow.table({"n": pyarrow.array(range(10_000))})
    tracemalloc.start()
    try:
        assert next(iter(Rows(table)))["n"] == 0
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_rows_with_names_of_their_own() -> None:
    """Instances, named tuples, rows of a database and of a DataFrame; each is ``it`` as it is."""
    row = Row(1, "a")
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    (of_database,) = connection.execute("SELECT 1 AS n, 'a' AS t")
    connection.close()
    frame = library("pandas").DataFrame({"n": [1], "t": ["a"]}, dtype=object)
    model = library("pydantic").create_model("Model", n=(int, ...), t=(str, ...))
    (named,) = frame.itertuples(index=False)
    of_frame = frame.iloc[0]
    for each in (row, model(n=1, t="a"), named, of_database, of_frame):
        (read,) = Rows([each])
        assert read["it"] is each
        assert (read["n"], read["t"]) == (1, "a")
    assert list(Rows([("a", 1), Row])) == [{"it": ("a", 1)}, {"it": Row}]


def test_names_that_a_template_cannot_mean_are_refused() -> None:
    """They are those of two columns, or parts of a name."""
    pandas = library("pandas")
    levels = pandas.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    with pytest.raises(InputError, match=r"have several levels\. Nothing was sent"):
        Rows(pandas.DataFrame([[1, 2]], columns=levels))
    frame = pandas.DataFrame([[1, 2]], columns=[1, "1"])
    with pytest.raises(InputError, match=r"^The rows have two columns named 1\. Nothing was sent"):
        Rows(frame)


def test_a_mapping_of_columns() -> None:
    """Lists or arrays of one length; any other mapping is refused."""
    columns = {"n": [1, 2], "t": library("numpy").array(["a", "b"])}
    assert Rows(columns).count == 2
    assert [row["t"] for row in Rows(columns)] == ["a", "b"]
    assert names_of(columns) == ["n", "t"]
    sheets = {"first": library("pandas").DataFrame(COLUMNS)}
    for other in ({}, {"n": [1], "t": ["a", "b"]}, {"n": "ab"}, {"n": {"a": 1}}, sheets):
        assert not are_columns(other)
        with pytest.raises(InputError, match="not dict"):
            Rows(other)


def test_what_is_a_series() -> None:
    """An index of pandas is only a list of values."""
    pandas, polars = library("pandas"), library("polars")
    assert is_series(pandas.Series(["a"]))
    assert is_series(polars.Series(["a"]))
    for other in (pandas.Index(["a"]), pandas.DataFrame(COLUMNS), polars.DataFrame(COLUMNS), ["a"]):
        assert not is_series(other)
    assert names_of(["a"]) == []
