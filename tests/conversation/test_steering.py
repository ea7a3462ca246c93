"""What the kinds of what steers the turns below have in common: their records."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from chatmagic._json import digest
from chatmagic.conversation.hiding import Hiding
from chatmagic.conversation.instructions import Instructions
from chatmagic.conversation.record import NewerVersionError
from chatmagic.conversation.slots import STEERING
from chatmagic.conversation.threads import ThreadStart

if TYPE_CHECKING:
    from chatmagic.conversation.steering import Steering

PLACE: dict[str, Any] = {"owner": "a" * 16, "execution": "1"}
ITEMS: list[Steering] = [
    Instructions.of("Be terse.", **PLACE),
    ThreadStart("sql", 1, **PLACE),
    Hiding(1, digest("turn"), **PLACE),
]
OTHERS: list[Steering] = [
    Instructions.of("", "empty.md", **PLACE),
    ThreadStart("größe_2.b-c", 0, **PLACE),
    Hiding(1, digest("turn"), show=True, **PLACE),
]
each_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.kind)


@pytest.mark.parametrize("item", [*ITEMS, *OTHERS], ids=lambda item: item.kind)
def test_the_record_and_back(item: Steering) -> None:
    """As JSON, by its kind, with and without a cell; without what only this kernel knows."""
    for whole in (item, replace(item, owner=None)):
        record = json.loads(json.dumps(whole.to_json()))
        assert STEERING[record["kind"]].from_json(record) == replace(whole, execution=None)
    if isinstance(item, Hiding):
        assert replace(item, turn=2).to_json() == item.to_json()
    assert item.to_json("deletion") == {**item.to_json(), "kind": "deletion"}


@each_item
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("owner", "a/b", "not an owner"), ("", None, "cannot be read"), ("", [], "cannot be read")],
)
def test_a_record_that_makes_no_sense(item: Steering, name: str, value: Any, words: str) -> None:
    """It is refused as the record of a turn is."""
    with pytest.raises(ValueError, match=words):
        type(item).from_json({**item.to_json(), name or item.kind: value})
    with pytest.raises(ValueError, match="it is not a JSON object"):
        type(item).from_json(None)


@each_item
def test_a_record_of_a_later_release(item: Steering) -> None:
    """It says so."""
    with pytest.raises(NewerVersionError):
        type(item).from_json({**item.to_json(), "version": 99})


def test_each_reads_otherwise() -> None:
    """So a cell that says something else lacks what it gave."""
    assert [item.text for item in ITEMS] == ["Be terse.", "", ""]
    assert len({item.reads for item in [*ITEMS, *OTHERS]}) == len([*ITEMS, *OTHERS])


def test_their_digests_name_saved_cells() -> None:
    """That of instructions is their text's; a hiding's is not its turn's."""
    terse, *others = ITEMS
    assert terse.facts_digest == digest("Be terse.")
    assert [item.facts_digest for item in others] == [digest(item.facts) for item in others]
