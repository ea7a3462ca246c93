"""What changes a conversation, and each change taken back and done again."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talks import abc, ask, carries, carrying, layout, prompts

from chatmagic.conversation import slots
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.slots import Change
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_what_an_ask_says_that_it_did() -> None:
    """The change names its kind, the turns that went and the one that came."""
    talk = abc()
    b = talk.turns[1]
    turn = Turn(prompt="B", reply=Reply("r"), owner="b", execution="2b")
    change = talk.add(turn)
    assert change == Change("re-run", (b,), (dataclasses.replace(turn, number=4),))
    assert talk.add(turn) == Change("ask", (), (dataclasses.replace(turn, number=5),))


def test_a_turn_is_known_as_long_as_it_can_come_back() -> None:
    """A live one, and one that was asked anew, reset or undone; instructions are none."""
    talk = abc()
    ask(talk, "B", "b", "2b")
    talk.add(Instructions.of("Be terse.", owner="i"))
    talk.reset()
    talk.undo()
    known = {number: turn.prompt for number, turn in talk.known_turns().items()}
    assert known == {1: "a", 2: "b", 3: "c", 4: "B"}
    talk.forget_changes()
    assert sorted(talk.known_turns()) == [1, 3, 4]


@pytest.mark.parametrize("how", ["undo", "reset", "set aside"])
def test_a_turn_comes_back_in_its_place(how: str) -> None:
    """Rule 6: undone, reset or set aside, its cell's next turn stands where it stood."""
    talk = Conversation()
    ask(talk, "b", "b", "1")
    if how == "undo":
        talk.undo()
    elif how == "reset":
        talk.reset()
    else:
        talk.set_aside({"b"})
    ask(talk, "c", "c", "2")
    assert carries(talk, "b") == []
    ask(talk, "B", "b", "3")
    assert prompts(talk) == ["B", "c"]


def test_undo_takes_back_each_kind_of_change_and_redo_does_it_again() -> None:
    """Rule 7: each step says what went and what came."""
    talk = abc()
    a, b, c = talk
    again = ask(talk, "B", "b", "2b")
    aside = talk.set_aside(["c"])
    reset = talk.reset()
    assert aside == Change("set aside", (c,), ())
    assert reset == Change("reset", (a, again), ())
    assert (talk.undo_depth, talk.redo_depth) == (6, 0)
    assert talk.undo() == Change("reset", (), (a, again))
    assert talk.undo() == Change("set aside", (), (c,))
    assert talk.undo() == Change("re-run", (again,), (b,))
    assert list(talk) == [a, b, c]
    assert talk.undo() == Change("ask", (c,), ())
    assert talk.redo() == Change("ask", (), (c,))
    assert talk.redo() == Change("re-run", (b,), (again,))
    assert talk.redo() == aside
    assert talk.redo() == reset
    assert talk.redo() is None
    assert (talk.undo_depth, talk.redo_depth) == (6, 0)


def test_a_new_change_ends_what_could_be_redone() -> None:
    """Rule 7: after it, redo brings nothing back."""
    talk = abc()
    talk.undo()
    ask(talk, "d", "d", "1")
    assert talk.redo_depth == 0
    assert talk.redo() is None
    assert prompts(talk) == ["a", "b", "d"]


def test_setting_aside_cells_without_live_turns_is_no_change() -> None:
    """Nothing is recorded, and what was undone can still be redone."""
    talk = abc()
    ask(talk, "panel")
    talk.undo()
    assert talk.set_aside(["nobody"]) is None
    assert talk.set_aside([]) is None
    assert (talk.undo_depth, talk.redo_depth) == (3, 1)


def test_a_reset_of_nothing_counts() -> None:
    """Rule 8: an undo after it takes the reset back, not the change before."""
    talk = abc()
    talk.reset()
    assert talk.reset() == Change("reset", (), ())
    assert talk.undo() == Change("reset", (), ())
    assert prompts(talk) == []
    talk.undo()
    assert prompts(talk) == ["a", "b", "c"]


def test_an_undo_of_nothing_counts() -> None:
    """Rule 8: it needs a redo of its own, and a new change forgets it."""
    talk = Conversation()
    ask(talk, "a", "a", "1")
    talk.undo()
    assert talk.undo() is None
    assert talk.redo() is None
    assert talk.redo_depth == 1
    talk.redo()
    assert prompts(talk) == ["a"]
    talk.undo()
    talk.undo()
    ask(talk, "b", "b", "2")
    talk.undo()
    talk.redo()
    assert prompts(talk) == ["b"]


def test_undo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many changes can be taken back; the older ones are final."""
    assert slots.UNDO_DEPTH == 1000
    monkeypatch.setattr(slots, "UNDO_DEPTH", 2)
    talk = abc()
    assert talk.undo_depth == 2
    while talk.undo():
        pass
    assert prompts(talk) == ["a"]


def talked(asks: Sequence[tuple[str | None, int]]) -> Conversation:
    """Give a conversation in which these cells asked, each in one of a few executions."""
    talk = Conversation()
    for owner, execution in asks:
        ask(talk, f"{owner}{execution}", owner, str(execution))
    return talk


ASKED = st.lists(st.tuples(st.sampled_from([*"abc", None]), st.integers(1, 2)), max_size=6)


@given(mine=ASKED, theirs=ASKED, again=st.booleans())
def test_a_loaded_conversation_stands_in_for_the_live_one(
    mine: list[tuple[str | None, int]], theirs: list[tuple[str | None, int]], *, again: bool
) -> None:
    """Rule 11: one change, which undo takes back; its turns keep order, owners and staleness."""
    talk, other = talked(mine), talked(theirs)
    held = other.slots
    other.forget_changes()
    assert (other.slots, other.undo_depth) == (held, 0)
    if again:
        talk.load(other)
    before, numbers = talk.turns, {turn.number for turn in talk}
    change = talk.load(other)
    assert change.kind == "load"
    assert change.went == before
    assert change.came == talk.turns
    assert [(t.prompt, t.owner, t.execution) for t in talk] == [
        (t.prompt, t.owner, t.execution) for t in other
    ]
    assert prompts(talk.stale_turns()) == prompts(other.stale_turns())
    assert not numbers & {turn.number for turn in talk}
    owners = [owner for owner, _ in talk.slots if owner is not None]
    assert len(owners) == len(set(owners))
    assert len(other) == len(prompts(other))
    loaded = talk.turns
    talk.undo()
    assert talk.turns == before
    talk.redo()
    assert talk.turns == loaded
    assert ask(talk, "next").carried == tuple(turn.number for turn in loaded)


def test_where_nothing_has_happened_a_loaded_conversation_brings_its_changes() -> None:
    """Rule 11: what it undid can be done again; elsewhere there would be two pasts."""
    other = abc()
    other.undo()
    for talk in (Conversation(), Conversation()):
        talk.load(other)
        assert prompts(talk) == ["a", "b"]
        assert (talk.undo_depth, talk.redo_depth) == (2, 1)
        talk.redo()
        assert prompts(talk) == ["a", "b", "c"]
    assert prompts(other) == ["a", "b"]
    talk = Conversation()
    talk.undo()
    talk.load(other)
    assert (talk.undo_depth, talk.redo_depth) == (1, 0)


def test_a_turn_that_is_not_known_stays_so() -> None:
    """A number of 0 among those carried is no turn's, also after loading."""
    other = Conversation()
    other.add(Turn(prompt="p", reply=Reply("r"), carried=carrying(0)))
    talk = abc()
    (turn,) = talk.load(other).came
    assert turn.carried == (0,)
    assert turn in talk.stale_turns()


def test_cells_that_go_have_their_turns_set_aside_once() -> None:
    """Rule 12: it can be undone, and then they stay, though the page still lacks the cell."""
    talk = abc()
    change = talk.follow(layout("ac", gone="b"))
    assert change is not None
    assert (change.kind, prompts(change.went)) == ("set aside", ["b"])
    assert talk.follow(layout("ac", gone="b")) is None
    talk.undo()
    assert talk.follow(layout("ac", gone="b")) is None
    assert prompts(talk) == ["a", "b", "c"]
    assert talk.stale_turns() == ()


def test_a_cell_that_never_was_on_the_page_is_not_missed() -> None:
    """Rule 12: a console's, or another notebook's, keeps its turn where it stands."""
    talk = abc()
    assert talk.follow(layout("ca")) is None
    assert prompts(talk) == ["c", "a", "b"]


def test_a_cell_that_comes_back_gets_its_turns_back() -> None:
    """Rule 12: as though they had never been set aside, alone or with others."""
    talk = abc()
    talk.follow(layout("a", gone="bc"))
    assert prompts(talk) == ["a"]
    talk.follow(layout("ab", gone="c"))
    assert prompts(talk) == ["a", "b"]
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "b", "c"]
    assert talk.undo_depth == 3
    assert talk.stale_turns() == ()


def test_what_can_be_redone_can_be_so_after_a_cell_came_back() -> None:
    """Rule 12: coming back is not a change."""
    talk = abc()
    talk.follow(layout("ac", gone="b"))
    ask(talk, "d", "d", "1d")
    talk.undo()
    talk.follow(layout("abc"))
    talk.redo()
    assert prompts(talk) == ["a", "b", "c", "d"]


def test_what_was_asked_or_reset_in_between_stays_so() -> None:
    """Rule 12: coming back brings back what was set aside, and nothing older or newer."""
    talk = abc()
    talk.follow(layout("ac", gone="b"))
    ask(talk, "new", "b", "2b", order="abc")
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "new", "c"]
    talk.follow(layout("ac", gone="b"))
    talk.reset()
    talk.follow(layout("abc"))
    assert prompts(talk) == []
    talk.undo()
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "c"]


def test_a_cell_whose_ask_was_undone_has_nothing_to_get_back() -> None:
    """Rule 12: what undo took back stays taken back."""
    talk = abc()
    talk.undo()
    talk.follow(layout("ab", gone="c"))
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "b"]
    assert prompts(talk.redo().came) == ["c"]  # type: ignore[union-attr] # there is one


def test_a_cell_with_another_identity_takes_its_place_over() -> None:
    """Rule 13: it is known by the record in its outputs, then and later."""
    talk = abc()
    talk.follow(layout("axc", gone="b", x="b", a="a"))
    assert prompts(talk) == ["a", "b", "c"]
    assert talk.stale_turns() == ()
    talk.follow(layout("ayc", gone="bx", y="b"))
    assert prompts(talk) == ["a", "b", "c"]
    ask(talk, "B", "y", "2", order="ayc")
    assert prompts(talk) == ["a", "B", "c"]


def test_a_cell_pasted_later_under_another_identity_takes_over_too() -> None:
    """Rules 12 and 13: what was set aside with the old one comes back with the new one."""
    talk = abc()
    talk.follow(layout("ac", gone="b"))
    talk.follow(layout("acx", gone="b", x="b"))
    assert prompts(talk) == ["a", "c", "b"]


def test_a_copied_cell_is_a_new_one() -> None:
    """Rule 13: the record's own cell is on a page, or the copy has turns, or comes second."""
    talk = abc()
    talk.follow(layout("abxc", x="b"))
    assert carries(talk, "x", order="abxc") == ["a", "b"]
    assert prompts(talk) == ["a", "b", "c"]
    ask(talk, "copy", "x", "1", order="abxc")
    talk.follow(layout("axyzc", gone="b", x="b", y="b", z="b"))
    assert prompts(talk) == ["a", "copy", "b", "c"]
    assert carries(talk, "y", order="axyzc") == ["a", "copy"]
    assert carries(talk, "z", order="axyzc") == ["a", "copy", "b"]


def test_a_record_of_nobody_here_changes_nothing() -> None:
    """Rule 13: another kernel's, or a turn without a cell."""
    talk = abc()
    ask(talk, "panel")
    talk.follow(layout("abcx", x="other"))
    assert prompts(talk) == ["a", "b", "c", "panel"]


@given(st.lists(st.sets(st.sampled_from("abc")), max_size=6))
def test_whatever_goes_and_comes_back_is_as_before(gone: list[set[str]]) -> None:
    """Rule 12: a page that has all its cells again has all their turns, and nothing to undo."""
    talk = abc()
    before = talk.turns
    for some in gone:
        order = "".join(name for name in "abc" if name not in some)
        talk.follow(layout(order, gone="".join(some)))
        assert prompts(talk) == list(order)
    talk.follow(layout("abc"))
    assert talk.turns == before
    assert talk.undo_depth == 3


def test_a_turn_that_was_taken_over_stays_so() -> None:
    """Undo and redo bring back the cell's turn, and the handing over is no change of theirs."""
    talk = Conversation()
    panel = ask(talk, "p", "panel", "1", entry="panel")
    ask(talk, "q", "other", "1", entry="panel")
    talk.undo()
    depth = talk.undo_depth, talk.redo_depth
    talk.hand_over(panel.number, "new")
    assert (talk.undo_depth, talk.redo_depth) == depth
    talk.undo()
    assert prompts(talk) == []
    talk.redo()
    assert [(turn.owner, turn.entry) for turn in talk] == [("new", "cell")]
    ask(talk, "p", "new", "2")
    assert len(talk) == 1


def test_a_load_can_be_taken_back_after_a_turn_was_taken_over() -> None:
    """The order from before it comes back, too."""
    talk = abc()
    other = Conversation()
    for name in "cpa":
        ask(other, name.upper(), name, "1", entry="panel" if name == "p" else "cell")
    talk.load(other)
    assert prompts(talk) == ["C", "P", "A"]
    talk.hand_over(next(turn.number for turn in talk if turn.prompt == "P"), "new")
    talk.undo()
    assert prompts(talk) == ["a", "b", "c"]
