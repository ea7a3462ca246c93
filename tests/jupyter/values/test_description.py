"""The bound of a description, how it is cut, and the words for what is shown of a whole."""

from __future__ import annotations

import sys
from datetime import date
from types import SimpleNamespace

import pytest

from chatmagic.jupyter.values.description import (
    COUNTED,
    LIMIT,
    Description,
    cell,
    ends,
    is_a,
    kind_of,
    places,
    printed,
    whole_or_cut,
)


def test_a_text_is_cut_to_the_bound_and_no_shorter() -> None:
    """With the line that says how much of how much is shown."""
    assert whole_or_cut("x" * LIMIT, "w", "it") == Description("x" * LIMIT, "w", whole=True)
    cut = whole_or_cut("x" * (LIMIT + 1), "w", "it")
    assert cut.text == "x" * 3_951 + "\n[cut: the first 3,951 of 4,001 characters of it]"
    assert (len(cut.text), cut.whole) == (LIMIT, False)
    more = whole_or_cut("x" * COUNTED, "w", "it", complete=False).text
    assert more.endswith(" of more than 100,000 characters of it]")
    assert len(more) == LIMIT


def test_a_cut_leaves_no_more_than_the_beginning_of_a_word() -> None:
    """Most of a password would be sent, and no check of what is sent would know it."""
    password = "pass-" + "w0rd.+=_" * 10
    assert cell(f"its {password}") == "its pass-w0rd.+=…"
    assert cell({"key": password}) == "{'key': 'pass-w0rd.+=…"
    assert cell(password[:60]) == password[:60]
    cut = whole_or_cut(" " * 3_900 + password + " " * 200, "w", "it").text
    assert cut.endswith("  pass-w0rd.+=\n[cut: the first 3,912 of 4,185 characters of it]")
    long = whole_or_cut("x" * 5_000, "w", "it").text
    assert len(long) == LIMIT


def test_the_words_for_a_person_are_one_line() -> None:
    """The expression, what it is, and its size; nothing of a text or number."""
    assert Description("text").words("x") == ""
    assert Description("text", "source", whole=True).words("f") == "f: source in 4 characters"
    assert Description("t", "80 rows").words("a\nb") == "a b: 80 rows described in 1 character"
    assert Description("t", "w").words("x" * 99) == f"{'x' * 39}…: w described in 1 character"


@pytest.mark.parametrize(
    ("total", "most", "words"),
    [
        (1, 3, "all 1 row"),
        (3, 3, "all 3 rows"),
        (80, 20, "rows 1 to 14 and 75 to 80 of 80"),
        (1_000_000, 3, "rows 1 to 2 and 1,000,000 of 1,000,000"),
        (5, 2, "rows 1 to 2 of 5"),
        (5, 1, "rows 1 of 5"),
    ],
)
def test_the_ends_of_a_whole_are_named_by_their_places(total: int, most: int, words: str) -> None:
    """Two thirds are the first ones; counted from 1."""
    shown = ends(total, most)
    assert len(shown) == min(total, most)
    assert places("row", shown, total) == words


def test_an_object_is_told_by_its_type() -> None:
    """With its size where that is known without asking the object."""
    assert kind_of({}) == "dict of 0 items"
    assert kind_of((1,)) == "tuple of 1 item"
    assert kind_of(type("Mine", (list,), {"__len__": None})()) == "Mine"


def test_a_cell_is_short_and_in_one_line() -> None:
    """A text without quotes, a number or date by ``str``, anything else by ``repr``."""
    assert cell("a\n b") == "a b"
    assert cell(1.50) == "1.5"
    assert cell(date(2026, 1, 2)) == "2026-01-02"
    assert cell(["a", None]) == "['a', None]"
    assert cell("x" * 50, 10) == f"{'x' * 9}…"
    assert cell("word " * 50, 12) == "word word w…"
    assert cell("word " * 50, 11) == "word word…"
    assert cell(10**5_000) == "<int>"


def test_a_text_is_printed_up_to_its_limit() -> None:
    """And whether it is all there is."""
    assert printed([1, 2]) == ("[1, 2]", True)
    assert printed([1, 2], limit=6) == ("[1, 2]", True)
    assert printed([1, 2], limit=5) == ("[1, 2", False)
    assert printed(["x" * 9], limit=5) == ("['xxx", False)


def test_a_class_of_a_library_is_known_where_the_library_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where it is half imported, or hides something else under a name."""
    monkeypatch.setitem(sys.modules, "made_up", SimpleNamespace(Kind=int, other=7))
    assert is_a(True, "made_up", "missing", "other", "Kind")
    assert not is_a("x", "made_up", "Kind")
    assert not is_a(1, "not_imported", "Kind")
