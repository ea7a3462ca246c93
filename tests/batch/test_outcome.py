"""The outcome of a job: the rows' own table, or a list."""

from __future__ import annotations

import pytest
from libraries import library

from chatmagic.batch import outcome
from chatmagic.batch.row_reply import RowReply
from chatmagic.errors import InputError

KEY = "ab" * 32
REPLIES = [
    RowReply(row=0, key=KEY, text="[1]", value=[1]),
    RowReply(row=1, key=KEY, error="No."),
]


@pytest.mark.parametrize("parsed", [False, True])
def test_a_table_of_pandas(*, parsed: bool) -> None:
    """The index and the columns stay, and the user's own table is as before."""
    table = library("pandas").DataFrame({"t": ["a", "b"]}, index=[7, 5])
    made = outcome.of(table, REPLIES, parsed=parsed)
    assert list(made.index) == [7, 5]
    assert list(made.columns) == ["t", "reply", *(["value"] if parsed else []), "error"]
    assert list(made["reply"].dropna()) == ["[1]"]
    assert list(made["error"].dropna()) == ["No."]
    assert not parsed or list(made["value"]) == [[1], None]
    assert list(table.columns) == ["t"]


def test_a_table_of_polars() -> None:
    """Also with values of a user's own class."""
    table = library("polars").DataFrame({"t": ["a", "b"]})
    made = outcome.of(table, REPLIES, parsed=True)
    assert made.to_dict(as_series=False) == {
        "t": ["a", "b"],
        "reply": ["[1]", None],
        "value": [[1], None],
        "error": [None, "No."],
    }
    instance = RowReply(row=0, key=KEY, text="{}", value=str)
    assert outcome.of(table, [instance] * 2, parsed=True)["value"].to_list() == [str, str]


def test_a_list() -> None:
    """Of other rows."""
    assert outcome.of(["a", "b"], REPLIES, parsed=False) == REPLIES


@pytest.mark.parametrize("name", ["reply", "error"])
def test_a_column_that_is_there_is_not_replaced(name: str) -> None:
    """Before anything is sent."""
    table = library("pandas").DataFrame({name: ["a"]})
    with pytest.raises(InputError, match=rf"have a column {name} already.* Nothing was sent"):
        outcome.refuse_taken(table, parsed=False)
    outcome.refuse_taken([{name: "a"}], parsed=False)
    outcome.refuse_taken(library("pandas").DataFrame({"value": ["a"]}), parsed=False)
