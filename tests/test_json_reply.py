"""The JSON of a reply: what is read, and where what is none fails."""

from __future__ import annotations

from typing import Any

import pytest
from cases import each_case

from chatmagic._json_reply import DEEPEST, NotJSONError, indented, parse

DEEP = "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2)


@each_case(
    ("text", "value"),
    [
        ("null", None),
        (' {"a": [1, 2.5, "é"]}\n', {"a": [1, 2.5, "é"]}),
        ('["two\nlines"]', ["two\nlines"]),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ("~~~\n[1]\n~~~", [1]),
        ("````\n[1]\n```\n````", None),
        ('Here it is:\n\n```json\n{"a": 1}\n```\n\nAnything else?', {"a": 1}),
        ("Code:\n```python\nx = 1\n```\nData:\n```json\n[2]\n```\n", [2]),
        ("```json\n[1]", [1]),
        ("[" * DEEPEST + "]" * DEEPEST, ...),
    ],
)
def test_json_is_read(text: str, value: Any) -> None:
    """The whole reply, or its one code block of JSON, whatever stands around that."""
    if value is None and text != "null":
        with pytest.raises(NotJSONError):
            parse(text)
    elif value is ...:
        assert parse(text)
    else:
        assert parse(text) == value


@each_case(
    ("text", "where", "reason"),
    [
        ("", (1, 1), "Expecting value"),
        ("Lima, I think.", (1, 1), "Expecting value"),
        ('{"a": 1,\n "b" 2}', (2, 6), "Expecting ':' delimiter"),
        ('```json\n{"a": 1,\n "b" 2}\n```', (3, 6), "Expecting ':' delimiter"),
        ("Sure.\n```json\n[1 2]\n```", (3, 4), "Expecting ',' delimiter"),
        ("```\n[1 2]\n```\n```\nx\n```", (1, 1), "Expecting value"),
        ("[1] and more", (1, 5), "Extra data"),
        ('{"NaN": "NaN",\n "a": NaN}', (0, 0), "JSON has no NaN"),
        ("[1, -Infinity]", (0, 0), "JSON has no -Infinity"),
        ("```\n[1]\n```\n```\n[2]\n```", (0, 0), "it has 2 blocks of JSON instead of one"),
        ("[1,\n" + "9" * 4301 + "]", (0, 0), "a number is too large"),
        ("-" + "9" * 4300, (0, 0), "a number is too large"),
        (DEEP, (0, 0), f"it is nested more than {DEEPEST} deep"),
        ("[" * 100_000, (0, 0), f"it is nested more than {DEEPEST} deep"),
    ],
)
def test_what_is_no_json_says_where(text: str, where: tuple[int, int], reason: str) -> None:
    """By line and column of the reply as it came, where there is one place."""
    with pytest.raises(NotJSONError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == where
    place = f"line {where[0]}, column {where[1]}: " if where[0] else ""
    assert str(caught.value) == place + reason


class CountedText(str):
    """Text that counts how often its lines are counted."""

    __slots__ = ()
    lines_counted = 0

    def count(self, *given: Any) -> int:
        """Count, and return the number."""
        CountedText.lines_counted += 1
        return super().count(*given)


def test_the_place_of_a_mistake_is_worked_out_for_the_one_that_is_shown() -> None:
    """A reply of many blocks that are no JSON is read in a time that grows with its length."""
    with pytest.raises(NotJSONError) as caught:
        parse(CountedText("```\nx\n```\n" * 1_000))
    assert CountedText.lines_counted == 0
    assert str(caught.value) == "line 1, column 1: Expecting value"
    assert CountedText.lines_counted == 1


def test_json_is_written_to_be_read() -> None:
    """Its fields stay in their order, and its letters what they are."""
    assert indented({"b": "é", "a": [1]}) == '{\n  "b": "é",\n  "a": [\n    1\n  ]\n}'
    # No message to a page can hold half of a pair.
    text = '{\n  "\\ud83d": "🎈\\udc00"\n}'
    assert indented(parse(text)) == text
