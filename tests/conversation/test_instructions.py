"""Standing instructions: the place they hold for, how they are sent, and their record."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from talks import abc, ask, layout, prompts

from chatmagic.conversation import instructions
from chatmagic.conversation.cell_order import AS_RUN
from chatmagic.conversation.changes import Change
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.instructions import Instructions, instructed
from chatmagic.conversation.request_facts import Value
from chatmagic.models import Message

TERSE = Instructions.of("Be terse.", owner="i", execution="1i")
HELLO = (Message("user", "hello"), Message("assistant", "hi"), Message("user", "again"))


def held(talk: Conversation, owner: str | None = None, **given: Any) -> str | None:
    """Give the text of the instructions that a request would carry."""
    value = talk.context(owner, "next", **given).instructions
    return None if value is None else value.text


def give(talk: Conversation, text: str, owner: str | None = None, execution: str = "x") -> Change:
    """Run a cell of instructions."""
    return talk.add(Instructions.of(text, owner=owner, execution=execution))


def test_they_hold_for_the_turns_below_up_to_the_next() -> None:
    """Rule 15: in the order of the cells; empty ones end those above."""
    talk = abc()
    order = list("aibjckd")
    for name, text in (("i", "one"), ("j", "two"), ("k", " \n")):
        talk.add(Instructions.of(text, owner=name), order=order)
    talk.follow(layout("".join(order)))
    assert [value and value.text for value in talk.instructions] == [None, "one", "two", None]
    assert [held(talk, name, order=order) for name in "abcd"] == [None, "one", "two", None]
    assert held(talk, "c", order=order, last=0) == "two"
    talk.follow(layout("aibckdj"))
    assert [held(talk, name) for name in "abc"] == [None, "one", "one"]
    assert (held(talk, "d", order=list("aibckdj")), held(talk)) == (None, "two")
    talk.follow(AS_RUN)
    assert [held(talk, name) for name in "abc"] == [None] * 3
    assert prompts(talk) == ["a", "b", "c"]


def test_those_of_no_cell_hold_from_the_end_on() -> None:
    """Rule 1: as a turn that no cell owns is appended, so are they."""
    talk = abc()
    give(talk, "one")
    give(talk, "two")
    assert (held(talk), held(talk, "c"), held(talk, "d")) == ("two", None, "two")


def test_a_turn_is_stale_whose_instructions_changed() -> None:
    """Rules 9 and 15: by their text alone, and no more once the text is as it was."""
    talk = Conversation()
    give(talk, "one", "i", "1")
    turn = ask(talk, "a", "a", "2a")
    assert turn.instructions == Value.of("", "one", "instructions").bare
    assert talk.stale_turns() == ()
    give(talk, "two", "i", "2")
    assert prompts(talk.stale_turns()) == ["a"]
    assert talk.turns[0] in talk.stale_turns()
    assert talk.marks() == {"a": "stale"}
    talk.add(Instructions.of("one", "rules.md", owner="i", execution="3"))
    assert talk.stale_turns() == ()
    give(talk, "", "i", "4")
    assert prompts(talk.stale_turns()) == ["a"]


def test_undo_takes_them_back_and_redo_gives_them_again() -> None:
    """Rules 7 and 8: each run of their cell is a change, also with the same text."""
    talk = Conversation()
    assert give(talk, "one", "i", "1") == Change("instructions", (), (), ("instructions",))
    assert give(talk, "one", "i", "2") == Change("instructions", (), (), ("instructions",))
    assert give(talk, "two", "i", "3") == Change("instructions", (), (), ("instructions",))
    assert talk.undo() == Change("instructions", (), (), ("instructions",))
    assert held(talk) == "one"
    assert talk.marks() == {"i": "instructions taken back"}
    talk.undo()
    talk.undo()
    assert (held(talk), talk.undo_depth) == (None, 0)
    talk.redo()
    assert held(talk) == "one"
    assert talk.added == 0


def test_those_of_before_are_known_by_their_digest() -> None:
    """As long as an undo could bring them back."""
    talk = Conversation()
    give(talk, "one", "i", "1")
    give(talk, "two", "i", "2")
    known = {Value.of("", text).sha256: text for text in ("one", "two")}
    assert {key: value.text for key, value in talk.known_instructions().items()} == known
    talk.forget_changes()
    assert [value.text for value in talk.known_instructions().values()] == ["two"]


def test_a_reset_leaves_them() -> None:
    """Rule 15: it takes out the turns, also those beside them in their slot."""
    talk = abc()
    give(talk, "one", "i")
    change = talk.reset()
    assert (prompts(change.went), change.steered) == (["a", "b", "c"], ())
    assert (held(talk), len(talk)) == ("one", 0)
    both = Conversation()
    give(both, "one", "i", "1")
    ask(both, "p", "i", "1")
    assert held(both, "i", order=None) is None
    assert both.context("i", "1").instructions == Value.of("", "one", "instructions")
    assert prompts(both.reset().went) == ["p"]
    assert held(both) == "one"


def test_a_cell_changes_from_a_question_to_instructions_and_back() -> None:
    """Rule 4: what an execution puts into the slot replaces that of the older ones."""
    talk = Conversation()
    turn = ask(talk, "p", "i", "1")
    assert give(talk, "one", "i", "2") == Change("instructions", (turn,), (), ("instructions",))
    assert (len(talk), held(talk)) == (0, "one")
    again = talk.add(dataclasses.replace(turn, execution="3"))
    assert (again.kind, again.steered, held(talk)) == ("re-run", ("instructions",), None)


def test_a_cell_that_is_gone_takes_them_along() -> None:
    """Rule 12: set aside, and back with their cell; handing over another turn leaves them."""
    talk = abc()
    talk.add(dataclasses.replace(talk.turns[0], owner=None, execution=None))
    give(talk, "one", "i")
    talk.hand_over(4, "h")
    assert [owner for owner, _ in talk.slots] == ["a", "b", "c", "h", "i"]
    change = talk.follow(layout("abch", gone="i"))
    assert change == Change("set aside", (), (), ("instructions",))
    assert held(talk) is None
    assert talk.follow(layout("abchi")) is None
    assert held(talk) == "one"


def test_a_load_brings_its_own() -> None:
    """Rule 11: in place of those that hold."""
    talk, other = abc(), Conversation()
    give(talk, "mine", "i")
    give(other, "theirs", "j")
    ask(other, "q", "q", "1q")
    change = talk.load(other)
    assert (held(talk), prompts(talk), change.steered) == ("theirs", ["q"], ("instructions",))
    talk.undo()
    assert (held(talk), prompts(talk)) == ("mine", ["a", "b", "c"])


def test_they_go_in_front_of_the_first_message() -> None:
    """Byte for byte, with an empty line after them; or in a message of their own."""
    text = "{{ x }} $\\alpha$ {% raw %}\n"
    value = Instructions.of(text).value
    first, *others = instructed(HELLO, value)
    assert first == Message("user", f"{text}\n\nhello")
    assert tuple(others) == HELLO[1:]
    assert instructed(HELLO, value, system_role=True) == (Message("system", text), *HELLO)


def test_empty_ones_end_those_above() -> None:
    """Their cell shows nothing of them."""
    lone = Instructions.of("", "empty.md")
    assert (lone.in_force, lone.reads) == (None, ("",))


@pytest.mark.parametrize(
    "changes",
    [
        {"instructions": TERSE.value.bare.to_json()},
        {"instructions": Value.of("x", "1").to_json()},
        {"instructions": {**TERSE.value.to_json(), "text": "Be long."}},
    ],
)
def test_a_record_that_makes_no_sense(changes: dict[str, Any]) -> None:
    """It is refused as the record of a turn is."""
    with pytest.raises(ValueError, match=r"."):
        Instructions.from_json({**TERSE.to_json(), **changes})


@pytest.mark.parametrize("text", ["Be terse.", "two\nlines\n", "", "  indented", ">>> 1 + 1"])
def test_the_cell_for_instructions_reads_the_same(text: str) -> None:
    """A saved notebook's cell gives what it was made of."""
    assert instructions.typed_in(Instructions.of(text).source) == text


@pytest.mark.parametrize(
    "source",
    ["", "x = 1", "%%chat\nBe terse.", "%%chat_instructions --from f.md", "%%chat_instructionsx"],
)
def test_other_cells_hold_none(source: str) -> None:
    """Nor does one that reads a file."""
    assert instructions.typed_in(source) is None


def test_in_words() -> None:
    """Their size, and their file where they have one."""
    assert instructions.in_words(TERSE.value) == "with instructions of 9 characters"
    named = Instructions.of("Be terse.", "a\nb.md")
    assert instructions.in_words(named.value) == "with instructions from a b.md of 9 characters"
    words = "Instructions from a b.md for the questions below: 9 characters."
    assert named.in_words == words
    assert TERSE.in_words == "Instructions for the questions below: 9 characters."
    assert Instructions.of("").in_words == "No instructions for the questions below."
