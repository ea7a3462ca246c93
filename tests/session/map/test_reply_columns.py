"""Columns of replies: their names, and which of them a table may not have yet."""

from __future__ import annotations

import pytest
from libraries import library

from chatmagic.errors import InputError
from chatmagic.session.map.reply_columns import Columns


@pytest.mark.parametrize("name", ["reply", "error"])
def test_a_column_that_is_there_is_not_replaced(name: str) -> None:
    """Before anything is sent."""
    table = library("pandas").DataFrame({name: ["a"]})
    with pytest.raises(InputError, match=rf"have a column {name} already.* Nothing was sent"):
        Columns().refuse_taken(table)
    with pytest.raises(InputError, match="have a column n already"):
        Columns(is_parsed=True, fields=("n",)).refuse_taken({"n": ["a"]})
    Columns().refuse_taken([{name: "a"}])
    Columns().refuse_taken(library("pandas").DataFrame({"value": ["a"]}))


def test_the_column_that_stands_for_a_series() -> None:
    """The values where there are some, and otherwise the replies."""
    assert Columns().name_of_values == "reply"
    assert Columns("label", is_parsed=True).name_of_values == "label_value"
    assert Columns(is_parsed=True, repeats=2).name_of_values == "reply"
