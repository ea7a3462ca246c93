"""The slots of a conversation, where its turns and instructions stand, and their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmagic.conversation.instructions import Instructions
from chatmagic.conversation.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.conversation.request_facts import Value

Item = Turn | Instructions
"""What may stand in a slot: a turn, or what steers the turns below without being one."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot: its key for life, the cell it belongs to, and what is live there, in order.

    ``earlier`` are the cells that it belonged to before (rule 13); ``newest`` is what its cell
    put there last, live or not (rule 14).
    """

    key: int
    owner: str | None
    items: tuple[Item, ...] = ()
    earlier: frozenset[str] = frozenset()
    newest: Item | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns among its items."""
        return tuple(item for item in self.items if isinstance(item, Turn))

    @property
    def lacks_newest(self) -> bool:
        """Whether what its cell put there last is not live here, nor what reads the same."""
        return self.newest is not None and all(
            item.reads != self.newest.reads for item in self.items
        )


def live(slots: Sequence[Slot]) -> tuple[Turn, ...]:
    """Return the turns that are live in these slots, in their order."""
    return tuple(turn for slot in slots for turn in slot.turns)


def instructions_of(slots: Sequence[Slot]) -> tuple[Value | None, ...]:
    """Return the instructions that hold for each turn of :func:`live`, and at last below all."""
    held: list[Value | None] = [None]
    for slot in slots:
        for item in slot.items:
            if isinstance(item, Instructions):
                held[-1] = item.in_force
            else:
                held.append(held[-1])
    return tuple(held)


def of_execution(slot: Slot, execution: str | None) -> tuple[Item, ...]:
    """Return the slot's items that belong to an execution (rule 3).

    Args:
        slot: the slot.
        execution: the execution's identity; an unknown one (``None``) has none.
    """
    if execution is None:
        return ()
    return tuple(item for item in slot.items if item.execution == execution)


def with_slot(
    slots: tuple[Slot, ...], owner: str | None, order: Sequence[str] | None
) -> tuple[tuple[Slot, ...], int]:
    """Return the slots with one for the owner's next item, and the index of that.

    Args:
        slots: those there are.
        owner: hash of the cell that asks; ``None`` gets a slot of its own at the end.
        order: hashes of the page's cells from top to bottom, where the page tells them.
    """
    if order is not None:
        slots = arranged(slots, order)
    owners = [slot.owner for slot in slots]
    if owner is not None and owner in owners:
        return slots, owners.index(owner)
    index = len(slots)
    if owner is not None and order is not None and owner in order:
        below = set(order[order.index(owner) :])
        index = next((i for i, other in enumerate(owners) if other in below), index)
    return (*slots[:index], Slot(len(slots), owner), *slots[index:]), index


def arranged(slots: tuple[Slot, ...], order: Sequence[str]) -> tuple[Slot, ...]:
    """Return the slots in the page's order; one not on the page goes with the one before it.

    Args:
        slots: in their present order.
        order: hashes of the page's cells from top to bottom.
    """
    on_page: dict[str | None, int] = {owner: rank for rank, owner in enumerate(order)}
    return _sorted(slots, [on_page.get(slot.owner) for slot in slots])


def ordered(slots: tuple[Slot, ...], keys: Sequence[int]) -> tuple[Slot, ...]:
    """Return the slots in an order of before; a newer one goes with the one before it.

    Args:
        slots: in their present order.
        keys: the keys of the slots in the order wanted.
    """
    stood = {key: rank for rank, key in enumerate(keys)}
    return _sorted(slots, [stood.get(slot.key) for slot in slots])


def _sorted(slots: tuple[Slot, ...], given: Sequence[int | None]) -> tuple[Slot, ...]:
    """Return the slots by rank; one without a rank goes with the one before it."""
    ranks: dict[int, int] = {}
    last = -1
    for slot, rank in zip(slots, given, strict=True):
        last = ranks[slot.key] = last if rank is None else rank
    return tuple(sorted(slots, key=lambda slot: ranks[slot.key]))
