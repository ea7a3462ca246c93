"""Pairs of questions in two files, the surest first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import each_case
from studies import ONE

from chatmagic.study import pairs
from chatmagic.study.asked import Asked
from chatmagic.study.pairs import partners_of

ROW = replace(ONE, kind="map", place=0, cell=None)
RIVER = replace(ONE, typed="Name a river", request="1")
LAKE = replace(ONE, typed="Name a lake", request="2")


@each_case(
    ("old", "new", "expected"),
    [
        # The cell and the request count before the cell, and the cell before the prompt.
        ([replace(ONE, cell="a"), replace(ONE, cell="b")], [replace(ONE, cell="b")], {0: 1}),
        (
            [replace(ONE, cell="a", request="1"), replace(ONE, cell="a", request="2")],
            [replace(ONE, cell="a", request="2"), replace(ONE, cell="a", request="1")],
            {0: 1, 1: 0},
        ),
        ([RIVER], [LAKE], {0: 0}),
        # A text that moved to another cell is the same question, and so is an edited cell.
        (
            [replace(RIVER, cell="a"), replace(LAKE, cell="b")],
            [replace(LAKE, cell="a", request="3"), replace(RIVER, cell="b", request="4")],
            {0: 1, 1: 0},
        ),
        ([replace(RIVER, cell="a")], [replace(LAKE, cell="a", typed="Why?")], {0: 0}),
        ([RIVER], [replace(LAKE, typed="Why?")], {}),
        # A row that moved is paired by its request, one with another value by its place.
        (
            [replace(ROW, place=n, request=str(n)) for n in (0, 1)],
            [replace(ROW, place=0, request="1"), replace(ROW, place=1, request="2")],
            {0: 1, 1: 0},
        ),
        ([], [ONE], {}),
    ],
)
def test_partners(old: list[Asked], new: list[Asked], expected: dict[int, int]) -> None:
    """A question stands beside its earlier self, or alone."""
    assert partners_of(old, new) == expected


def test_very_many_prompts_are_not_compared_with_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their number of pairs would be its square."""
    monkeypatch.setattr(pairs, "MOST_COMPARED", 0)
    assert partners_of([RIVER], [LAKE]) == {}


def test_rows_of_one_template_are_paired_however_many_they_are() -> None:
    """Cells beside a map's rows, of which no digest is the same."""
    count = pairs.MOST_COMPARED + 1
    cells = [replace(ONE, cell=str(n), prompt_digest=None, request=f"cell {n}")
             for n in range(count)]  # fmt: skip
    rows = [replace(ROW, place=n, prompt=None, prompt_digest=None, request=f"row {n}")
            for n in range(count)]  # fmt: skip
    assert partners_of(cells, rows) == {n: n for n in range(count)}
