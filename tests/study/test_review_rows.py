"""Rows of a review: their keys, their order, and what a person reads of them."""

from __future__ import annotations

import pytest
from reviews import rows

from chatmagic.errors import InputError
from chatmagic.study.review_rows import ReviewRows


def test_a_row_is_named_by_its_texts() -> None:
    """Equal texts are told apart; other columns and later rows change no name."""
    table = [*rows(3), *rows(1)]
    held = ReviewRows.of(table, "text", "reply")
    assert len(held) == len({*held.keys}) == 4
    wide = [{**row, "reply": "bad", "year": 2026} for row in [*table, *rows(2)]]
    assert ReviewRows.of(wide, "text", "reply").keys[:4] == held.keys
    assert held.model_labels == ("good",) * 4
    assert ReviewRows.of(table, "text", "agree").text_digest == held.text_digest
    assert ReviewRows.of(rows(3), "text", "reply").text_digest != held.text_digest


def test_a_random_order_keeps_when_rows_are_added() -> None:
    """Of the same seed: the rows before stand in the same order among the new ones."""
    few = ReviewRows.of(rows(9), None, "reply").in_random_order(1)
    more = ReviewRows.of(rows(20), None, "reply").in_random_order(1)
    assert [place for place in more if place < 9] == few
    assert sorted(more) == list(range(20))
    assert ReviewRows.of(rows(9), None, "reply").in_random_order(2) != few


def test_a_column_of_the_model_is_not_read() -> None:
    """Neither one that is named, nor one that is left."""
    with pytest.raises(InputError, match=r"^reply is the model's label"):
        ReviewRows.of(rows(), ["text", "reply"], "reply")
    assert ReviewRows.of(rows(), None, "reply").columns == ("text",)
    with pytest.raises(InputError, match=r"there are: none\."):
        ReviewRows.of([{"reply": "good", "agree": 1.0}], None, "reply")
