"""Results of a map: a table, a Series, columns, or a list, as the rows were given."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace

import pytest
from libraries import library

from chatmagic.errors import InputError
from chatmagic.session.map.reply_columns import Columns
from chatmagic.session.map.results import Replies, with_replies
from chatmagic.session.map.row_reply import RowReply

KEY = "ab" * 32
REPLIES = [RowReply(row=0, key=KEY, text="[1]", value=[1]), RowReply(row=1, key=KEY, error="No.")]


@pytest.mark.parametrize("parsed", [False, True])
def test_a_table_of_pandas(*, parsed: bool) -> None:
    """The index and the columns stay, and the user's own table is as before."""
    table = library("pandas").DataFrame({"t": ["a", "b"]}, index=[7, 5])
    made = with_replies(table, REPLIES, Columns(is_parsed=parsed))
    assert list(made.index) == [7, 5]
    assert list(made.columns) == ["t", "reply", *(["value"] if parsed else []), "error"]
    assert list(made["reply"].dropna()) == ["[1]"]
    assert list(made["error"].dropna()) == ["No."]
    assert not parsed or list(made["value"]) == [[1], None]
    assert list(table.columns) == ["t"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (([1], None), ["[1]", None]),
        ((SimpleNamespace(n=1), "b"), ["namespace(n=1)", "b"]),
        ((None, None), [None, None]),
        ((date(2026, 1, 1), {"n": 1}), ["2026-01-01", '{"n": 1}']),
    ],
)
def test_a_column_of_polars_or_pyarrow_has_one_type(
    values: tuple[object, object], texts: list[str | None]
) -> None:
    """Whatever the values are: of a class, mixed, or none at all."""
    polars, pyarrow = library("polars"), library("pyarrow")
    given = {"t": ["a", "b"]}
    replies = [RowReply(row=0, key=KEY, text="{}", value=value) for value in values]
    made = with_replies(polars.DataFrame(given), replies, Columns(is_parsed=True))
    assert made["value"].to_list() == texts
    assert made.schema["error"] == made.schema["value"] == polars.String
    table = pyarrow.table(given)
    for rows in (table, table.to_batches()[0]):
        made = with_replies(rows, replies, Columns(is_parsed=True))
        assert type(made) is type(rows)
        assert made["value"].to_pylist() == texts
        assert made.schema.field("error").type == pyarrow.string()


def test_fields_of_values_are_columns() -> None:
    """Of mappings and of instances; a row without a value has none."""
    values = [{"n": 1, "extra": 2}, SimpleNamespace(n=3), None]
    replies = [RowReply(row=0, key=KEY, text="{}", value=value) for value in values]
    table = library("pandas").DataFrame({"t": ["a", "b", "c"]})
    made = with_replies(table, replies, Columns(is_parsed=True, fields=("n",)))
    assert list(made.columns) == ["t", "reply", "n", "error"]
    assert [*made["n"].dropna()] == [1, 3]


def test_a_name_for_the_result() -> None:
    """So one table has several; the other names begin with it."""
    columns = Columns("label", is_parsed=True)
    table = library("pandas").DataFrame({"t": ["a", "b"], "reply": ["x", "y"]})
    columns.refuse_taken(table)
    made = with_replies(table, REPLIES, columns)
    assert list(made.columns) == ["t", "reply", "label", "label_value", "label_error"]
    assert Columns("label", fields=("n",)).names == ("label", "label_n", "label_error")
    with pytest.raises(InputError, match="have a column label already"):
        columns.refuse_taken(made)


def test_a_series_comes_back_with_its_index() -> None:
    """With the values where JSON was asked for; with fields it is a table."""
    pandas, polars = library("pandas"), library("polars")
    rows = pandas.Series(["a", "b"], index=[7, 5], name="t")
    made = with_replies(rows, REPLIES, Columns())
    assert (list(made.index), made.name, list(made)) == ([7, 5], "reply", ["[1]", None])
    made = with_replies(rows, REPLIES, Columns("label", is_parsed=True))
    assert (list(made.index), made.name, list(made)) == ([7, 5], "label", [[1], None])
    made = with_replies(rows, REPLIES, Columns(is_parsed=True, fields=("n",)))
    assert (list(made.index), list(made.columns)) == ([7, 5], ["reply", "n", "error"])
    made = with_replies(polars.Series("t", ["a", "b"]), REPLIES, Columns("label"))
    assert (made.name, made.to_list()) == ("label", ["[1]", None])
    made = with_replies(polars.Series(["a", "b"]), REPLIES, Columns("label", is_parsed=True))
    assert (made.name, made.to_list()) == ("label", ["[1]", None])
    made = with_replies(polars.Series(["a", "b"]), REPLIES, Columns(fields=("n",)))
    assert made.columns == ["reply", "n", "error"]


def test_tables_of_pyarrow_and_columns() -> None:
    """They get columns, and those that were given are as before."""
    given = {"t": ["a", "b"]}
    held = {"t": ["a", "b"], "reply": ["[1]", None], "error": [None, "No."]}
    assert with_replies(given, REPLIES, Columns()) == held
    assert list(given) == ["t"]
    table = library("pyarrow").table(given)
    assert with_replies(table, REPLIES, Columns()).to_pydict() == held


def test_a_list_is_a_table_on_a_page() -> None:
    """And a DataFrame; what a model wrote is text."""
    replies = [RowReply(row=0, key=KEY, text="<b>bold</b>"), REPLIES[1]]
    made = with_replies(["a", "b"], replies, Columns())
    assert made == replies
    assert isinstance(made, Replies)
    assert '<td dir="auto">&lt;b&gt;bold&lt;/b&gt;</td>' in made._repr_html_()
    frame = made.to_dataframe()
    assert list(frame.columns) == ["reply", "error"]
    fields = with_replies(["a", "b"], REPLIES, Columns(is_parsed=True, fields=("n",)))
    assert list(fields.to_dataframe().columns) == ["reply", "n", "error"]
    assert Replies() == []
    assert [type(made[:1]), type(made[0])] == [Replies, RowReply]
    assert list(fields[1:].to_dataframe().columns) == ["reply", "n", "error"]
