"""What steers the turns below: instructions, starts of threads, hidden turns; their records."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from cases import each_case
from talks import abc, ask, carries, layout, prompts, set_aside

from chatmagic._json import digest
from chatmagic.conversation import steering
from chatmagic.conversation.cell_magics import plan_of
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Value
from chatmagic.conversation.record import NewerVersionError
from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import (
    STEERING,
    Hiding,
    Instructions,
    Steering,
    ThreadStart,
    instructed,
)
from chatmagic.conversation.window import Position, QuestionPlace
from chatmagic.errors import InputError
from chatmagic.models import Message

PLACE: dict[str, Any] = {"owner": "s" * 16, "execution": "1"}
ITEMS: list[Steering] = [
    Instructions.of_text("Be terse.", **PLACE),
    ThreadStart("sql", 1, **PLACE),
    Hiding(1, digest("turn"), turn=1, **PLACE),
]
OTHERS: list[Steering] = [
    Instructions.of_text("", "empty.md", **PLACE),
    ThreadStart("größe_2.b-c", 0, **PLACE),
    Hiding(1, digest("turn"), show=True, **PLACE),
]
BAD_HIDING: list[dict[str, Any]] = [{"number": -1}, {"digest": "x"}, {"show": 1}]
each_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.kind)


@pytest.mark.parametrize("item", [*ITEMS, *OTHERS], ids=lambda item: item.kind)
def test_the_record_and_back(item: Steering) -> None:
    """As JSON, by its kind, with and without a cell; without what only this kernel knows."""
    if isinstance(item, Hiding):
        item = replace(item, turn=0)
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


@each_case(
    ("item", "facts"),
    [
        (ITEMS[0], Instructions.of_text("Be terse.").value.bare.to_json()),
        (ITEMS[0], Value.of_text("x", "1").to_json()),
        (ITEMS[0], {**ITEMS[0].facts, "text": "Be long."}),
        (ITEMS[1], {}),
        *((ITEMS[1], {"name": name}) for name in ("", "2", "a b", "-a", "a" * 41, 3, "<b>")),
        *((ITEMS[1], {"name": "a", "fork": fork}) for fork in (-1, "x", True)),
        (ITEMS[2], {"number": 1}),
        *((ITEMS[2], {**ITEMS[2].facts, **bad}) for bad in BAD_HIDING),
    ],
)
def test_facts_that_make_no_sense(item: Steering, facts: dict[str, Any]) -> None:
    """They are refused as those of a turn are."""
    with pytest.raises(ValueError, match=r"."):
        type(item).from_json({**item.to_json(), item.kind: facts})


@each_item
def test_a_record_of_a_later_release(item: Steering) -> None:
    """It says so."""
    with pytest.raises(NewerVersionError):
        type(item).from_json({**item.to_json(), "version": 99})


@each_item
def test_it_is_taken_back_and_done_again(item: Steering) -> None:
    """Rules 7, 8 and 14: each run of its cell is a change, also of the same."""
    talk, change = abc(), Change(item.kind, (), (), (item.kind,))
    for execution in "12":
        assert talk.add(replace(item, execution=execution)) == change
        held = talk.slots
    talk.undo()
    assert talk.undo() == change
    assert talk.causes().marks() == {item.owner: f"{item.kind} taken back"}
    assert talk.redo() == change
    talk.redo()
    assert (talk.slots, talk.causes().marks(), talk.added) == (held, {}, 3)


@each_item
def test_a_reset_leaves_it(item: Steering) -> None:
    """Rules 15, 16 and 19: it takes out the turns."""
    talk = abc()
    talk.add(item)
    assert talk.reset().steered == ()
    assert (talk.slots[-1][1][0].kind, len(talk)) == (item.kind, 0)  # type: ignore[union-attr]


@each_item
def test_a_cell_that_is_gone_takes_it_along(item: Steering) -> None:
    """Rules 12 and 13: set aside, and back with its cell, or with one that it was made to."""
    talk, change = abc(), Change("removal", (), (), (item.kind,))
    talk.add(item)
    _, held = talk.slots[-1]
    owner = str(item.owner)
    assert talk.follow(Layout(tuple("abc"), set("abc"), frozenset({owner}))) == change
    assert talk.slots[-1] == (owner, ())
    talk.follow(Layout((*"abc", "new"), {*"abc", "new"}, frozenset({owner}), {"new": owner}))
    assert talk.slots[-1] == ("new", held)


@each_item
def test_a_load_brings_it(item: Steering) -> None:
    """Rule 11: in place of what steers, naming the same turn."""
    talk, other = abc(after=3), abc()
    other.add(item)
    assert talk.load(other).steered == (item.kind,)
    (loaded,) = talk.slots[-1][1]
    assert loaded == item.numbered(place_of(talk))
    whole = talk.slots
    assert talk.undo() is not None
    assert len(talk.slots[-1][1]) == 0
    assert talk.redo() is not None
    assert talk.slots == whole


def place_of(talk: Conversation) -> Position:
    """Give the place below the turns of a conversation."""
    place = Position()
    for turn in talk:
        place.add(turn)
    return place


def test_each_reads_otherwise() -> None:
    """So a cell that says something else lacks what it gave."""
    assert [item.text for item in ITEMS] == ["Be terse.", "", ""]
    assert len({item.reads for item in [*ITEMS, *OTHERS]}) == len([*ITEMS, *OTHERS])


TERSE = Instructions.of_text("Be terse.", owner="i", execution="1i")
HELLO = (Message("user", "hello"), Message("assistant", "hi"), Message("user", "again"))


def held(
    talk: Conversation, owner: str | None = None, *, order: Sequence[str] | None = None
) -> str | None:
    """Give the text of the instructions that a request would carry."""
    value = talk.window(QuestionPlace(owner, "next", order=order)).instructions
    return None if value is None else value.text


def give(talk: Conversation, text: str, owner: str | None = None, execution: str = "x") -> Change:
    """Run a cell of instructions."""
    return talk.add(Instructions.of_text(text, owner=owner, execution=execution))


def test_a_turn_is_stale_whose_instructions_changed() -> None:
    """Rules 9 and 15: by their text alone, and no more once the text is as it was."""
    talk = Conversation()
    give(talk, "one", "i", "1")
    turn = ask(talk, "a", "a", "2a")
    assert turn.instructions == Value.of_text("", "one", "instructions").bare
    assert talk.stale_turns() == ()
    give(talk, "two", "i", "2")
    assert prompts(talk.stale_turns()) == ["a"]
    assert talk.turns[0] in talk.stale_turns()
    assert talk.causes().marks() == {"a": "stale"}
    talk.add(Instructions.of_text("one", "rules.md", owner="i", execution="3"))
    assert talk.stale_turns() == ()
    give(talk, "", "i", "4")
    assert prompts(talk.stale_turns()) == ["a"]


def test_they_go_in_front_of_the_first_message() -> None:
    """Byte for byte, with an empty line after them; or in a message of their own."""
    text = "{{ x }} $\\alpha$ {% raw %}\n"
    value = Instructions.of_text(text).value
    first, *others = instructed(HELLO, value)
    assert first == Message("user", f"{text}\n\nhello")
    assert tuple(others) == HELLO[1:]
    assert instructed(HELLO, value, system_role=True) == (Message("system", text), *HELLO)


@pytest.mark.parametrize("text", ["Be terse.", "two\nlines\n", "", "  indented", ">>> 1 + 1"])
def test_the_cell_for_instructions_reads_the_same(text: str) -> None:
    """A saved notebook's cell gives what it was made of."""
    (command,) = plan_of(Instructions.of_text(text).source).commands
    assert command.name == "chat_instructions"
    assert Instructions.of_text(command.body or "").text == text


SQL = ThreadStart("sql", owner="s", execution="1")


FIRST = Hiding(1, digest("any"), turn=1, owner="h", execution="1")


def test_it_stands_where_its_cell_stands() -> None:
    """Rules 5 and 12: what it hides, it hides below; with its cell it goes, and comes back."""
    talk = abc()
    talk.add(FIRST)
    ask(talk, "d", "d", "1")
    talk.follow(layout("abhcd"))
    assert prompts(talk.stale_turns()) == ["c"]
    change = talk.follow(layout("abcd", gone="h"))
    assert change == Change("removal", (), (), ("hiding",))
    assert carries(talk) == ["a", "b", "c", "d"]
    talk.follow(layout("abchd"))
    assert carries(talk) == ["b", "c", "d"]
    assert (talk.window().hidden_above, talk.window().hides(talk.turns[0])) == (1, True)
    assert [place for place, _ in talk.window(last=2).places] == [3, 4]
    other = Conversation(after=10)
    ask(other, "x")
    other.load(talk)
    assert carries(other) == ["b", "c", "d"]


def test_a_slot_tells_the_number_that_the_turn_has_now() -> None:
    """For the cell that hides it in a saved notebook; 0 where it is not there."""
    talk = abc()
    talk.add(Hiding(3, digest("any"), turn=3, owner="h"))
    set_aside(talk, "b")
    assert talk.slots[-1][1] == (Hiding(2, digest("any"), turn=3, owner="h"),)
    set_aside(talk, "bc")
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


NAMED = Instructions.of_text("Be terse.", "a\nb.md")


@pytest.mark.parametrize(
    ("start", "words"),
    [
        *((start, "") for start in (ThreadStart("new"), SQL, ThreadStart("new", 3))),
        (ThreadStart("new", 4), "The thread main has 3 turns above this cell. Nothing was"),
        (ThreadStart("sql", 1), "The thread sql has turns above this cell already."),
    ],
)
def test_a_fork_that_cannot_begin_is_refused(start: ThreadStart, words: str) -> None:
    """Of turns that are not there, or of a thread that has some; numbers count in the thread."""
    talk = abc()
    ask(talk, "d", "d", "1", thread="sql")
    here = talk.window(last=1)
    assert [(place, turn.prompt) for place, turn in here.places] == [(3, "c")]
    with pytest.raises(InputError, match=words) if words else contextlib.nullcontext():
        steering.refuse_fork(start, here, talk.window(QuestionPlace(thread=start.name)))


@each_case(
    ("item", "source", "words"),
    [
        (SQL, "%chat_thread sql", "Thread sql for the questions below."),
        (ThreadStart("b", 0), "%chat_thread --fork 0 b", "It begins without turns."),
        (
            ThreadStart("b", 1),
            "%chat_thread --fork 1 b",
            "with the first turn of the thread above.",
        ),
        (ThreadStart("b", 2), "%chat_thread --fork 2 b", "with the first 2 turns of the thread"),
        (FIRST, "%chat_hide 1", "Turn 1 is hidden: it does not go along with the questions below."),
        (replace(FIRST, show=True), "%chat_hide --show 1", "Turn 1 goes along again with the"),
        (TERSE, "%%chat_instructions\nBe terse.", "the questions below: 9 characters."),
        (NAMED, "%%chat_instructions\nBe terse.", "Instructions from a b.md for the questions"),
        (Instructions.of_text(" \n"), "%%chat_instructions\n", "No instructions for the questions"),
    ],
)
def test_the_cell_of_an_item_and_its_words(item: Steering, source: str, words: str) -> None:
    """As typed, and as its output says."""
    assert item.source == source
    assert words in item.in_words


def test_a_note_on_a_question_names_its_instructions() -> None:
    """By their size, and their file where they have one."""
    notes = [steering.instructions_note(item.value) for item in (TERSE, NAMED)]
    assert notes == [
        "with instructions of 9 characters",
        "with instructions from a b.md of 9 characters",
    ]
