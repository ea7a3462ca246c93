"""State of a conversation, and the changes by which it can be gone back over.

The rules are those of :mod:`chatmagic.conversation.conversation`; what changes one state into
another is in :mod:`chatmagic.conversation.history`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    from chatmagic.conversation.slots import Item, Slot
    from chatmagic.conversation.steering import Kind as Steers
    from chatmagic.conversation.turn import Turn

    _Asking = Literal["ask", "re-run", "retry", "pick"]
    Kind = Literal[_Asking, "reset", "deletion", "set aside", "load", Steers]


@dataclass(frozen=True, slots=True)
class Change:
    """Effect of one step on the live turns, for a message about it.

    Args:
        kind: the kind of change that was done, taken back, or done again.
        went: the turns that were live before the step and are not now, in their order.
        came: the turns that are live since the step, in their order.
        steered: the kinds of what steers the turns of which other items are live since the step.
    """

    kind: Kind
    went: tuple[Turn, ...]
    came: tuple[Turn, ...]
    steered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A change that can be gone back over: the items of the slots that it touched, by key.

    ``held`` are the keys, each with the slot's items before and after it. A load also changes
    the order; ``orders`` is the slots' keys before and after it.
    """

    kind: Kind
    held: tuple[tuple[int, tuple[Item, ...], tuple[Item, ...]], ...]
    orders: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def before(self) -> dict[int, tuple[Item, ...]]:
        """The slots' items before it, by key."""
        return {key: before for key, before, _ in self.held}

    @property
    def after(self) -> dict[int, tuple[Item, ...]]:
        """The slots' items after it, by key."""
        return {key: after for key, _, after in self.held}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of a conversation, whole.

    ``void`` counts the undos that had nothing to take back and await a redo (rule 8);
    ``away`` are the cells that are gone, and whose turns have been set aside (rule 12).
    """

    slots: tuple[Slot, ...] = ()
    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()
    void: int = 0
    next_number: int = 1
    away: frozenset[str] = frozenset()
