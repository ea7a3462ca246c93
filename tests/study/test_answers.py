"""Answers of a study: any table is read as labels."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from cases import each_case
from libraries import library

from chatmagic.errors import InputError
from chatmagic.session.map.row_reply import RowReply
from chatmagic.study.answers import ModelAnswers, Scale, is_frame, read_answers

NAMES = Scale.of("nominal", None)


def read_all(
    frame: Any, repeats: Any = "replies", gold: Any = None, scale: Scale = NAMES
) -> ModelAnswers:
    """Return the answers of a table without a name."""
    return read_answers("", frame, repeats, gold, scale)


def columns() -> dict[str, list[Any]]:
    """Return three rows with lists of answers and a true label."""
    return {"replies": [["a", "b"], ["b", None], ["c"]], "label": ["a", "b", None]}


def tables() -> list[Any]:
    """Return the same three rows in each form."""
    held = columns()
    rows = [dict(zip(held, row, strict=True)) for row in zip(*held.values(), strict=True)]
    return [held, rows, library("pandas").DataFrame(held), library("polars").DataFrame(held)]


@pytest.mark.parametrize("form", range(4))
def test_a_table_of_any_form_is_read(form: int) -> None:
    """Of pandas and polars, a dict of columns, a list of dicts."""
    found = read_all(tables()[form], gold="label")
    assert found.rows == (("a", "b"), ("b",), ("c",))
    assert found.gold == ("a", "b", None)
    assert found.missing == 1


def test_replies_of_a_map_are_read() -> None:
    """By the names of their fields; a reply that failed is missing, whatever its text."""
    key = "0" * 64
    replies = [
        RowReply(row=0, key=key, request=key, occurrence=1, text=" good\n"),
        RowReply(row=1, key=key, request=key, occurrence=1, text="cut", error="It broke off."),
        RowReply(row=2, key=key, request=key, occurrence=1, text="{}", value={"b": 1, "a": None}),
    ]
    assert read_all(replies, "text").rows == (("good",), ("cut",), ("{}",))
    found = read_all({"replies": [replies]})
    assert found.rows == (("good", '{"a": null, "b": 1}'),)
    assert found.missing == 1


@each_case(
    ("value", "label"),
    [
        (" yes\n", "yes"),
        (1, "1"),
        (1.0, "1"),
        (0.5, "0.5"),
        (True, "True"),
        ("", None),
        (" ", None),
        (None, None),
        (float("nan"), None),
        (float("inf"), "inf"),
        (Decimal("2.0"), "2.0"),
        (Decimal("NaN"), None),
        (["a"], "['a']"),
    ],
)
def test_a_value_has_one_label(value: Any, label: str | None) -> None:
    """A number is its digits; what is empty or not a number is missing."""
    assert NAMES.label(value) == label


def test_what_is_missing_in_pandas_is_missing() -> None:
    """``pd.NA`` and ``NaT``, and ``NaN`` in a column of numbers, whose others are whole again."""
    pandas = library("pandas")
    assert NAMES.label(pandas.NA) is None
    assert NAMES.label(pandas.NaT) is None
    frame = pandas.DataFrame({"reply": [1, 2, 1], "label": [1, None, 2]})
    assert read_all(frame, "reply", "label").gold == ("1", None, "2")


def test_several_columns_are_several_answers() -> None:
    """Such as those of two persons; arrays and Series in a cell are lists."""
    assert read_all({"ann": ["a"], "ben": ["b"]}, ["ann", "ben"]).rows == (("a", "b"),)
    numpy = library("numpy")
    halves = numpy.array([1, 0.5, numpy.nan], "float32")
    assert read_all([{"replies": halves}]).rows == (("1", "0.5"),)
    array = numpy.array(["a", "b"])
    series = library("pandas").Series(["c"])
    assert read_all([{"replies": array}, {"replies": series}]).rows == (("a", "b"), ("c",))
    assert read_all([{"replies": array[0]}]).rows == (("a",),)


def test_a_tie_has_no_majority() -> None:
    """And no answer has none, without being a tie."""
    found = read_all({"replies": [["a", "b", "a"], ["a", "b"], [], ["c"]]})
    assert found.majorities == ["a", None, None, "c"]
    assert found.ties == 1


@each_case(
    ("frame", "gold", "message"),
    [
        ([], None, "The table has no rows."),
        ("text", None, "This takes a table, and not str."),
        (None, None, "This takes a table, and not NoneType."),
        ([{"reply": "a"}], None, "The table has no column 'replies'; it has reply."),
        (["a"], None, "The table has no column 'replies'; it has no columns."),
        ([{"replies": []}], None, "None of the 1 row has an answer in replies."),
        ([{"replies": ["a"]}], ["a", "b"], "There are 1 row, and 2 true labels."),
        ([{"replies": ["a"]}], [None], "No row has a true label"),
        ([{"replies": "['a', 'b']"}], None, "The answers of a row are a text"),
    ],
)
def test_what_cannot_be_read_is_one_line(frame: Any, gold: Any, message: str) -> None:
    """Each table that has no answers, and each gold that does not fit."""
    with pytest.raises(InputError) as caught:
        read_all(frame, gold=gold)
    with pytest.raises(InputError, match=r"^repeats is a list, and not None\.$"):
        read_all([{"replies": "a"}], None)
    assert caught.value.message.startswith(message)


def test_a_table_with_one_answer_a_row_names_its_column() -> None:
    """As a map returns it that asked each row once; that column can be measured."""
    with pytest.raises(InputError) as caught:
        read_all([{"reply": "a"}])
    assert caught.value.hint == 'repeats="reply" takes the one answer of each row.'
    assert read_all([{"reply": "a"}], "reply").rows == (("a",),)


def test_a_level_needs_what_it_measures() -> None:
    """Numbers, or words with an order; names need nothing."""
    ordinal = Scale.of("ordinal", ["low", "high"])
    frame = {"replies": [["low"], ["high"]]}
    assert ordinal.domain([read_all(frame, scale=ordinal)]) == ("low", "high")
    numbers = Scale.of("interval", None)
    found = read_all({"replies": [["10", 9.0, "9.50"]]}, scale=numbers)
    assert numbers.domain([found]) == ("9", "9.5", "10")
    names = Scale.of("nominal", ["z"])
    assert names.domain([read_all({"replies": [["b", "a"]]})]) == ("z", "a", "b")
    with pytest.raises(InputError, match=r"^'middle' is none of the labels"):
        ordinal.label("middle")
    with pytest.raises(InputError, match=r"^level='interval' needs numbers, and 'high' is none"):
        numbers.label("high")
    with pytest.raises(InputError, match=r"needs numbers.*gives words an order"):
        Scale.of("ordinal", None).label("nan")
    with pytest.raises(InputError, match=r"^level is one of nominal, ordinal, interval, not"):
        Scale.of("ratio", None)  # type: ignore[arg-type]


def test_texts_are_no_labels() -> None:
    """Hundreds of different answers have no table, and say nothing of agreement; numbers may."""
    found = read_all({"replies": [[f"It is {n}."] for n in range(501)]})
    with pytest.raises(InputError, match=r"^The answers have 501 different values: they are texts"):
        NAMES.domain([found])
    numbers = Scale.of("interval", None)
    assert len(numbers.domain([read_all({"replies": [[*range(501)]]}, scale=numbers)])) == 501


def test_a_table_is_told_from_other_values() -> None:
    """A dict of tables is not a table of columns."""
    assert all(map(is_frame, tables()))
    assert not any(map(is_frame, [5, "ab", ["a"], [], {"a": 5}]))
