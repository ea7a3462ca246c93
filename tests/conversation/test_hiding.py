"""Hiding: which requests leave a turn out, how it is taken back, its record and its cell."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from talks import abc, ask, carries, layout, prompts

from chatmagic._json import digest
from chatmagic.conversation.changes import Change
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.hiding import Hiding

FIRST = Hiding(1, digest("any"), turn=1, owner="h", execution="1")


def test_requests_below_leave_a_hidden_turn_out() -> None:
    """Rule 19: those above it carry it still; ``last`` counts what is left; numbers stay."""
    talk = abc()
    assert talk.add(FIRST) == Change("hiding", (), (), ("hiding",))
    ask(talk, "d", "d", "1")
    assert carries(talk) == ["b", "c", "d"]
    assert carries(talk, "c") == ["a", "b"]
    assert carries(talk, last=3) == ["b", "c", "d"]
    assert [place for place, _ in talk.context(last=2).places] == [3, 4]
    assert (talk.context().total, talk.context().hidden, talk.hidden) == (3, 1, frozenset([1]))
    assert talk.stale_turns() == ()
    talk.add(dataclasses.replace(FIRST, show=True, owner="s"))
    assert carries(talk) == ["a", "b", "c", "d"]
    assert talk.stale_turns() == ()
    talk.undo()
    talk.undo()
    assert talk.undo() == Change("hiding", (), (), ("hiding",))
    assert (carries(talk), talk.marks()["h"]) == (["a", "b", "c"], "hiding taken back")


def test_a_turn_may_be_asked_as_hidden() -> None:
    """It carries what stands above it, and nothing below carries it."""
    talk = abc()
    ask(talk, "d", "d", "1", hide=True)
    assert carries(talk) == ["a", "b", "c"]
    assert prompts(talk.context().line) == ["a", "b", "c", "d"]
    talk.add(Hiding(4, digest("any"), show=True, turn=4))
    assert carries(talk) == ["a", "b", "c", "d"]


def test_it_belongs_to_the_turn() -> None:
    """A cell asked again has a new turn, which is not hidden; an undo brings back the hidden."""
    talk = abc()
    talk.add(FIRST)
    ask(talk, "A", "a", "2")
    assert carries(talk) == ["A", "b", "c"]
    talk.undo()
    assert carries(talk) == ["b", "c"]
    talk.reset()
    talk.undo()
    assert carries(talk) == ["b", "c"]


def test_it_stands_where_its_cell_stands() -> None:
    """Rules 5 and 12: what it hides, it hides below; with its cell it goes, and comes back."""
    talk = abc()
    talk.add(FIRST)
    ask(talk, "d", "d", "1")
    talk.follow(layout("abhcd"))
    assert prompts(talk.stale_turns()) == ["c"]
    change = talk.follow(layout("abcd", gone="h"))
    assert change == Change("set aside", (), (), ("hiding",))
    assert carries(talk) == ["a", "b", "c", "d"]
    talk.follow(layout("abchd"))
    assert carries(talk) == ["b", "c", "d"]
    other = Conversation()
    ask(other, "x")
    other.load(talk)
    assert carries(other) == ["b", "c", "d"]


def test_a_slot_tells_the_number_that_the_turn_has_now() -> None:
    """For the cell that hides it in a saved notebook; 0 where it is not there."""
    talk = abc()
    talk.add(Hiding(3, digest("any"), turn=3, owner="h"))
    talk.set_aside(["b"])
    assert talk.slots[-1][1] == (Hiding(2, digest("any"), turn=3, owner="h"),)
    talk.set_aside(["c"])
    assert talk.slots[-1][1] == (Hiding(0, digest("any"), turn=3, owner="h"),)


def test_a_record_names_a_turn_by_its_digest() -> None:
    """Among equal ones by its number; what is not there stays unknown, and hides nothing."""
    talk = abc()
    a, b, c = talk
    line = (a, b, dataclasses.replace(b, number=7), c)
    known = dataclasses.replace(FIRST, digest=b.digest, turn=0)
    numbers = [dataclasses.replace(known, number=number).among(line).turn for number in range(5)]
    assert numbers == [0, 2, 2, 7, 2]
    assert FIRST.among(line).turn == 0
    talk.add(FIRST.among(line))
    assert carries(talk) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "changes",
    [
        {"hiding": {"number": 1}},
        {"hiding": {**FIRST.facts, "number": -1}},
        {"hiding": {**FIRST.facts, "digest": "x"}},
        {"hiding": {**FIRST.facts, "show": 1}},
    ],
)
def test_a_record_that_makes_no_sense(changes: dict[str, Any]) -> None:
    """It is refused as the record of a turn is."""
    with pytest.raises(ValueError, match=r"."):
        Hiding.from_json({**FIRST.to_json(), **changes})


@pytest.mark.parametrize(
    ("hiding", "source", "words"),
    [
        (
            FIRST,
            "%chat_hide 1",
            "Turn 1 is hidden: it does not go along with the questions below.",
        ),
        (
            dataclasses.replace(FIRST, show=True),
            "%chat_hide --show 1",
            "Turn 1 goes along again with the questions below.",
        ),
    ],
)
def test_its_cell_and_its_words(hiding: Hiding, source: str, words: str) -> None:
    """As typed, and as its output says."""
    assert (hiding.source, hiding.in_words) == (source, words)
