"""Marks of cells: one a cell, the one that matters most."""

from __future__ import annotations

from talks import abc, ask, go_on

from chatmagic.conversation.changes import Snapshot
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.marks import marks
from chatmagic.conversation.slots import Slot
from chatmagic.conversation.staleness import Causes
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply


def test_a_cell_wears_the_mark_that_matters_most() -> None:
    """Taken back before stale; each kind of what was taken back has its own."""
    a, b, c = abc().turns
    terse = Instructions.of("Be terse.", owner="i")
    slots = (
        Slot(0, "i", (), newest=terse),
        Slot(1, "a", (), newest=a),
        Slot(2, "b", (b,), newest=a),
        Slot(3, "c", (c,), newest=c),
    )
    now = Snapshot(slots)
    assert marks(now, Causes(now, {}, str)) == {
        "i": "instructions taken back",
        "a": "taken back",
        "b": "taken back",
        "c": "stale",
    }


def test_what_is_as_it_was_asked_wears_none() -> None:
    """Nor does a turn that no cell owns."""
    talk = abc()
    ask(talk, "panel", entry="panel")
    assert talk.marks() == {}


def test_a_reply_at_its_limit_wears_one_where_it_ended() -> None:
    """The continuing cell instead, if that reached it, too."""
    talk = Conversation()
    turn = Turn(prompt="a", reply=Reply("a", finish_reason="length"), owner="a", execution="1")
    talk.add(turn)
    assert talk.marks() == {"a": "at its limit"}
    go_on(talk, "c", "1")
    assert talk.marks() == {"a": "replaced"}
