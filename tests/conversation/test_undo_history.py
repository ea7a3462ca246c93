"""The changes of a conversation to undo and to redo."""

from __future__ import annotations

from chatmagic.conversation.undo_history import NO_HISTORY, UndoHistory, UndoStep

FIRST = UndoStep("ask", {1: ()}, {1: ()})
SECOND = UndoStep("reset", {1: ()}, {1: ()})


def test_what_was_undone_last_is_redone_first() -> None:
    """Rule 7: redo is the inverse of undo, and a new change clears what could be redone."""
    history = NO_HISTORY.with_step(FIRST).with_step(SECOND)
    undone, step = history.after_undo()
    assert (undone, step) == (UndoHistory((FIRST,), (SECOND,)), SECOND)
    twice, step = undone.after_undo()
    assert (twice, step) == (UndoHistory((), (SECOND, FIRST)), FIRST)
    assert twice.after_redo() == (undone, FIRST)
    assert undone.after_redo() == (history, SECOND)
    assert undone.with_step(SECOND) == history


def test_an_undo_of_nothing_needs_its_own_redo() -> None:
    """Rule 8: so a notebook with undos and redos sends the same in a second run."""
    undone, _ = NO_HISTORY.with_step(FIRST).after_undo()
    empty, step = undone.after_undo()
    assert (empty.empty_undos, step) == (1, None)
    assert empty.after_redo() == (undone, None)
    assert NO_HISTORY.after_redo() == (NO_HISTORY, None)
