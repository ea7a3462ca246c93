"""Marks of cells: what is stale, taken back, or came all at once."""

from __future__ import annotations

from talks import abc, ask, layout, prompts

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply


def test_stale_cells_can_be_told_before_the_conversation_follows() -> None:
    """Rule 9: what would be stale, without a change; turns of no cell are not told."""
    talk = abc()
    ask(talk, "panel")
    assert talk.marks() == {}
    assert talk.marks(layout("acb")) == dict.fromkeys("bc", "stale")
    assert talk.marks(layout("ac", gone="b")) == {"b": "taken back", "c": "stale"}
    assert prompts(talk) == ["a", "b", "c", "panel"]
    talk.follow(layout("bac"))
    assert talk.marks() == dict.fromkeys("abc", "stale")


def test_a_reply_that_was_held_back_is_told() -> None:
    """While there is nothing to be said of it that somebody has to do something about."""
    talk = abc()
    carried = talk.context("b", "2b").numbers
    reply = Reply("B", held_back=True)
    talk.add(Turn(prompt="b", reply=reply, owner="b", execution="2b", carried=carried))
    assert talk.marks() == {"b": "held back", "c": "stale"}
    ask(talk, "A", "a", "2a")
    assert talk.marks() == dict.fromkeys("bc", "stale")
    talk.undo()
    talk.undo()
    assert talk.marks() == dict.fromkeys("ab", "taken back")


def test_a_cell_whose_newest_reply_is_not_live_is_told() -> None:
    """Rule 14: after an undo, an undo of a re-run, a reset and a load, until it is back."""
    talk = abc()
    talk.undo()
    assert talk.marks() == {"c": "taken back"}
    talk.redo()
    assert talk.marks() == {}
    ask(talk, "B", "b", "2b")
    assert talk.marks() == {"c": "stale"}
    talk.undo()
    assert (prompts(talk), talk.marks()) == (["a", "b", "c"], {"b": "taken back"})
    talk.reset()
    assert talk.marks() == dict.fromkeys("abc", "taken back")
    ask(talk, "a", "a", "2a")
    ask(talk, "no cell")
    assert talk.marks() == dict.fromkeys("bc", "taken back")
    talk.load(abc())
    assert talk.marks() == {"b": "taken back"}
    talk.load(Conversation())
    assert talk.marks() == dict.fromkeys("abc", "taken back")


def test_a_loop_that_loses_a_reply_is_told_and_a_moved_turn_is_not() -> None:
    """Rule 14: of several replies the newest counts; a cell that asked nothing has none."""
    talk = Conversation()
    ask(talk, "one", "a", "1a")
    ask(talk, "two", "a", "1a")
    moved = ask(talk, "panel", entry="panel")
    talk.hand_over(moved.number, "b")
    assert talk.marks() == {}
    talk.undo()
    assert talk.marks() == {}
    talk.undo()
    assert talk.marks() == {"a": "taken back"}
