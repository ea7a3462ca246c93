"""Slots of a conversation in their order, and the position below them.

The rules are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from chatmagic.conversation.steering import Item, Replacement
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Position


@dataclass(frozen=True, slots=True)
class Slot:
    """Slot of a cell, or of a turn without a cell.

    Args:
        key: permanent key of the slot.
        owner: hash of its cell; ``None`` without a cell.
        items: the live items, in order.
        earlier: hashes of its earlier cells (rule 13).
        newest: the last item that its cell put there; it need not be live (rule 14).
    """

    key: int
    owner: str | None
    items: tuple[Item, ...] = ()
    earlier: frozenset[str] = frozenset()
    newest: Item | None = None

    def of_execution(self, execution: str | None) -> tuple[Item, ...]:
        """Return the items of one execution (rule 3).

        Args:
            execution: the execution's identity; ``None`` is unknown and has no items.
        """
        if execution is None:
            return ()
        return tuple(item for item in self.items if item.execution == execution)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns among its items, each with a question of its own."""
        return tuple(item for item in self.items if isinstance(item, Turn))

    def with_turn(self, turn: Turn) -> Slot:
        """Return the same slot with other facts of a turn.

        Args:
            turn: the turn, with its number.
        """

        def new(item: Item) -> Item:
            if isinstance(item, Replacement):
                return replace(item, turn=turn) if item.turn.number == turn.number else item
            return turn if isinstance(item, Turn) and item.number == turn.number else item

        return replace(self, items=tuple(map(new, self.items)))

    def of_cell(self, cell: str) -> Slot:
        """Return the same slot after a cell has taken it over (rule 13).

        Args:
            cell: hash of the cell.
        """
        earlier = self.earlier if self.owner is None else self.earlier | {self.owner}
        return replace(self, owner=cell, earlier=earlier)


@dataclass(frozen=True, slots=True)
class SlotChoice:
    """Slots of a conversation, and the one of them that takes a next item.

    Args:
        slots: the slots, in order.
        index: index of the chosen slot.
    """

    slots: tuple[Slot, ...]
    index: int

    @property
    def slot(self) -> Slot:
        """The chosen slot."""
        return self.slots[self.index]

    @property
    def above(self) -> tuple[Slot, ...]:
        """The slots above the chosen one."""
        return self.slots[: self.index]

    def changed_to(self, slot: Slot) -> tuple[Slot, ...]:
        """Return the slots with another state of the chosen one.

        Args:
            slot: its new state.
        """
        return (*self.above, slot, *self.slots[self.index + 1 :])


def slot_for(
    slots: tuple[Slot, ...], owner: str | None, order: Sequence[str] | None, question: int | None
) -> SlotChoice:
    """Return the slot for the next item of a cell, which is a new one if the cell has none.

    Args:
        slots: the existing slots.
        owner: hash of the cell that asks; ``None`` without a cell.
        order: hashes of the page's cells from top to bottom; ``None`` if no page reports them.
        question: number of the first turn with a repeated question, in whose slot a turn without a
            cell stands; ``None`` for a new question.
    """
    if order is not None:
        slots = arranged(slots, order)
    if owner is not None:
        index = _index_of_cell(slots, owner)
    else:
        index = None if question is None else _index_of_question(slots, question)
    if index is not None:
        return SlotChoice(slots, index)
    index = _index_of_new_cell(slots, owner, order)
    return SlotChoice((*slots[:index], Slot(len(slots), owner), *slots[index:]), index)


def _index_of_cell(slots: Sequence[Slot], owner: str) -> int | None:
    """Return the index of a cell's slot; ``None`` if it has none."""
    return next((index for index, slot in enumerate(slots) if slot.owner == owner), None)


def _index_of_question(slots: Sequence[Slot], question: int) -> int | None:
    """Return the index of the slot with the current reply to a question; ``None`` for none."""
    for index in reversed(range(len(slots))):
        for item in slots[index].items:
            turn = reply_of(item)
            if turn is not None and turn.first == question:
                return index
    return None


def _index_of_new_cell(
    slots: Sequence[Slot], owner: str | None, order: Sequence[str] | None
) -> int:
    """Return the index of a new slot: at the cell's place in the page, otherwise at the end."""
    page = order or ()
    if owner not in page:
        return len(slots)
    below = set(page[page.index(owner) :])
    return next((index for index, slot in enumerate(slots) if slot.owner in below), len(slots))


def arranged(slots: tuple[Slot, ...], order: Sequence[str]) -> tuple[Slot, ...]:
    """Return the slots in the page's order; a slot that is not on the page follows its predecessor.

    Args:
        slots: the slots in their present order.
        order: hashes of the page's cells from top to bottom.
    """
    on_page: dict[str | None, int] = {owner: rank for rank, owner in enumerate(order)}
    return by_rank(slots, [on_page.get(slot.owner) for slot in slots])


def by_rank(slots: tuple[Slot, ...], ranks: Sequence[int | None]) -> tuple[Slot, ...]:
    """Return the slots in the order of their ranks; one without a rank follows its predecessor.

    Args:
        slots: the slots in their present order.
        ranks: the rank of each.
    """
    known: dict[int, int] = {}
    last = -1
    for slot, rank in zip(slots, ranks, strict=True):
        last = last if rank is None else rank
        known[slot.key] = last
    return tuple(sorted(slots, key=lambda slot: known[slot.key]))


def pass_by(position: Position, item: Item) -> None:
    """Move a position below an item.

    Args:
        position: the position above the item; afterwards, the one below it.
        item: a turn or a steering item.
    """
    if isinstance(item, Turn):
        position.add(item)
    else:
        item.steer(position)


def position_below(slots: Iterable[Slot], above: Position | None = None) -> Position:
    """Return the position below slots.

    Args:
        slots: the slots, in order.
        above: the position above them, which is not changed; ``None`` for the beginning.
    """
    position = Position() if above is None else above.copy()
    for item in chain.from_iterable(slot.items for slot in slots):
        pass_by(position, item)
    return position


def live(slots: Iterable[Slot]) -> dict[int, Turn]:
    """Return the live turns of slots in order, by the number of the first turn with the question.

    Args:
        slots: the slots.
    """
    turns: dict[int, Turn] = {}
    for item in chain.from_iterable(slot.items for slot in slots):
        if isinstance(item, Turn):
            turns[item.first] = item
        elif isinstance(item, Replacement) and item.turn.first in turns:
            turns[item.turn.first] = item.turn
    return turns


def reply_of(item: Item | None) -> Turn | None:
    """Return the turn of an item: a turn itself, or that of a replacement; ``None`` for others.

    Args:
        item: the item; ``None`` without one.
    """
    turn = item.turn if isinstance(item, Replacement) else item
    return turn if isinstance(turn, Turn) else None
