"""History of a conversation: the changes to undo and to redo (rules 7 and 8).

The rules are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from chatmagic.conversation.steering import Item, SteeringKind

ChangeKind = Literal["ask", "re-run", "retry", "reset", "deletion", "removal", "load", SteeringKind]


@dataclass(frozen=True, slots=True)
class UndoStep:
    """A change that can be undone or redone.

    Args:
        kind: the kind of change.
        before: the items of the changed slots before the change, by key; for a load, which also
            changes the order, the items of all slots in their order.
        after: the items of the same slots after the change.
    """

    kind: ChangeKind
    before: Mapping[int, tuple[Item, ...]]
    after: Mapping[int, tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class UndoHistory:
    """The changes of a conversation that can be undone and redone.

    Args:
        done: the changes that can be taken back, oldest first.
        undone: the changes that can be redone, the next one last.
        empty_undos: number of undos that had nothing to take back and await a redo (rule 8).
    """

    done: tuple[UndoStep, ...] = ()
    undone: tuple[UndoStep, ...] = ()
    empty_undos: int = 0

    def with_step(self, step: UndoStep) -> UndoHistory:
        """Return the history after a new change, which clears the changes that could be redone.

        Args:
            step: the change.
        """
        return UndoHistory((*self.done, step))

    def after_undo(self) -> tuple[UndoHistory, UndoStep | None]:
        """Return the history after an undo, and the step to take back; ``None`` for none."""
        if not self.done:
            return replace(self, empty_undos=self.empty_undos + 1), None
        *earlier, step = self.done
        return replace(self, done=tuple(earlier), undone=(*self.undone, step)), step

    def after_redo(self) -> tuple[UndoHistory, UndoStep | None]:
        """Return the history after a redo, and the step to do again; ``None`` for none.

        An undo that had nothing to take back is redone first.
        """
        if self.empty_undos or not self.undone:
            return replace(self, empty_undos=max(0, self.empty_undos - 1)), None
        *later, step = self.undone
        return replace(self, done=(*self.done, step), undone=tuple(later)), step


NO_HISTORY: Final = UndoHistory()
"""The history of a conversation without changes."""
