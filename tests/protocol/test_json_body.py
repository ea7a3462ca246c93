"""Bodies that are JSON, one value or several, and those that were cut."""

from __future__ import annotations

import pytest

from chatmagic.protocol import sse
from chatmagic.protocol.json_body import Documents, documents, is_cut


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        (" \n[1, 2]\r\n", [1, 2]),
        ("[]", [[]]),
        ('{"a": "b\nc"}', [{"a": "b\nc"}]),
        ('{"a": 1}\n\n{"a": 2}\r\n', [{"a": 1}, {"a": 2}]),
        ('{"a":\n1}{"a": 2}', [{"a": 1}, {"a": 2}]),
    ],
)
def test_a_document_is_one_value_or_several(text: str, values: list[object]) -> None:
    """A list is its items; raw control characters in a string are let through."""
    assert documents(text) == Documents(values)


@pytest.mark.parametrize("mark", ["[DONE]", "data: [DONE]", "data:[DONE]\n\n", "[DONE] more"])
def test_an_end_mark_ends_the_values(mark: str) -> None:
    """What follows it does not count; before it there is a value at least."""
    assert documents(f'{{"a": 1}}\n{mark}', sse.END_MARKS) == Documents([{"a": 1}], done=True)
    assert documents(mark, sse.END_MARKS).problem is not None


@pytest.mark.parametrize(
    ("text", "values", "cut"),
    [
        ('{"a": 1', [], True),
        ('{"a": "b', [], True),
        ('{"a": 1}\n{"a": ', [{"a": 1}], True),
        ("[", [], True),
        ('{"a": oops}', [], False),
        ('{"a": 1} trailing', [{"a": 1}], False),
        ("[" * 100_000, [], False),
        ('{"a": "\\u00g0', [], False),
        ('{"a": tea', [], False),
    ],
)
def test_a_document_that_ends_too_early_is_known(
    text: str, values: list[object], *, cut: bool
) -> None:
    """What was cut is told apart from what never was JSON; what came before it is kept."""
    found = documents(text)
    assert found.values == values
    assert found.problem is not None
    assert is_cut(found.problem) == cut


def test_a_document_that_ends_anywhere_is_known_to_be_cut() -> None:
    """In the middle of an escape, a word and a number too."""
    whole = (
        r'{"a": "x\u00fc\n\ud83d\ude00 y", "b": [true, false, null, -1.5e+3, 0, NaN, -Infinity,'
        r' {"c": {}}], "d": "\\"}'
    )
    assert documents(whole).problem is None
    for end in range(1, len(whole)):
        problem = documents(whole[:end]).problem
        assert problem is not None
        assert is_cut(problem), whole[:end]
