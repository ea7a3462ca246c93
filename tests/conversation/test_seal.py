"""The seal of a record: over all values, whatever program saves them, and in whichever form."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from chatmagic._json import digest
from chatmagic.conversation import seal

RECORD: dict[str, Any] = {
    "version": 1,
    "kind": "turn",
    "prompt": "why\nso?",
    "parameters": {"temperature": 1.0, "last": 2, "stream": False},
    "took": 2**53 + 1,
    "values": [{"size": 3}],
}
DATA = {"text/html": "<p>x</p>\n<p>y</p>", "text/plain": "x\n\ny", "text/markdown": ""}


def as_a_page_saves(value: Any) -> Any:
    """Give JSON as a page and its server save it: every number a double, fields in any order."""
    if isinstance(value, dict):
        return {name: as_a_page_saves(value[name]) for name in reversed(value)}
    if isinstance(value, list):
        return [as_a_page_saves(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    double = float(value)
    return int(double) if double.is_integer() else double


def test_it_is_the_digest_of_the_record_and_its_output() -> None:
    """Anybody can work it out."""
    made = seal.sealed({"kind": "undo", "n": 1.0}, {"text/plain": "x"})
    assert made == {
        "kind": "undo", "n": 1.0, "seal": digest([{"kind": "undo", "n": 1}, {"text/plain": "x"}]),
    }  # fmt: skip


@pytest.mark.parametrize("number", [0, -3, 1.0, -0.0, 0.1, 2.5e-9, 1e17, 1e21, 2**53, 2**53 + 1,
                                    -(10**30), True, None])  # fmt: skip
def test_a_page_changes_no_seal(number: Any) -> None:
    """Numbers as doubles, texts as lists of lines, other orders: all are the same values."""
    made = seal.sealed({**RECORD, "number": number, "inner": [{"number": number}]}, DATA)
    assert json.loads(json.dumps(made)) == made
    lines: dict[str, Any] = {kind: text.splitlines(keepends=True) for kind, text in DATA.items()}
    for record in (made, as_a_page_saves(made), json.loads(json.dumps(made, sort_keys=True))):
        for data in (DATA, lines, as_a_page_saves(lines)):
            assert seal.check(record, data) == "sealed"


def test_each_value_is_covered() -> None:
    """A changed, a new and a missing one, in the record and in each form of the output."""
    made = seal.sealed(RECORD, DATA)
    for kind in DATA:
        for data in ({**DATA, kind: "z"}, {**DATA, kind: 5}, {**DATA, "text/latex": "z"}):
            assert seal.check(made, data) == "changed"
        assert seal.check(made, {name: DATA[name] for name in DATA if name != kind}) == "changed"
    for name in made:
        changed = copy.deepcopy(made)
        changed[name] = "forged"
        assert seal.check(changed, DATA) == "changed"
        del changed[name]
        expected = "not sealed" if name == "seal" else "changed"
        assert seal.check(changed, DATA) == expected
    assert seal.check({**made, "new": None}, DATA) == "changed"
    assert seal.check(made, None) == "changed"


def test_lines_of_a_record_are_not_joined() -> None:
    """A list of texts in it is a list."""
    made = seal.sealed({"carried": ["ab", "c"]}, {})
    assert seal.check({**made, "carried": ["a", "bc"]}, {}) == "changed"


def test_what_is_too_deep_is_changed() -> None:
    """No untrusted value raises anything."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert seal.check({**seal.sealed(RECORD, DATA), "deep": deep}, DATA) == "changed"
