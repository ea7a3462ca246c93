"""Slots of a conversation: items in their order, and the changes to undo.

The rules are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from chatmagic.conversation.steering import STEERING, Item, Replacement, SteeringKind
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Position

ChangeKind = Literal["ask", "re-run", "retry", "reset", "deletion", "removal", "load", SteeringKind]


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


@dataclass(frozen=True, slots=True)
class Change:
    """Effect of one step on the live turns, for a message.

    Args:
        kind: the kind of change that was done, taken back, or done again.
        went: the turns that were live before the step only, in their order.
        came: the turns that are live after the step only, in their order.
        steered: kinds of the steering items that the step changed.
    """

    kind: ChangeKind
    went: tuple[Turn, ...]
    came: tuple[Turn, ...]
    steered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
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
class State:
    """Complete state of a conversation; each change makes a new one.

    Args:
        slots: the slots, in order.
        done: the changes that can be taken back, oldest first.
        undone: the changes that can be redone, the next one last.
        void: number of undos that had nothing to take back and await a redo (rule 8).
        next_number: the number of the next turn.
        asked: all turns that were ever added, by number, also after an undo (rule 21).
        away: hashes of the cells that are gone, with their turns left out (rule 12).
    """

    slots: tuple[Slot, ...] = ()
    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()
    void: int = 0
    next_number: int = 1
    asked: Mapping[int, Turn] = field(default_factory=dict)
    away: frozenset[str] = frozenset()

    def with_item(
        self, kind: ChangeKind, item: Item, order: Sequence[str] | None
    ) -> tuple[State, Change]:
        """Put an item into its slot, where it replaces the items of older executions.

        Args:
            kind: the kind of change; an ``ask`` that replaces items is a ``re-run``.
            item: the item.
            order: hashes of the page's cells from top to bottom, if the page reports them.
        """
        question = item.turn.first if isinstance(item, Replacement) else None
        slots, index = with_slot(self.slots, item.owner, order, question)
        slot = slots[index]
        if item.owner is None and slot.items:
            # It stays as long as the reply that it replaces (rule 3).
            items = slot.items
            item = replace(item, execution=items[-1].execution)
        else:
            items = slot.of_execution(item.execution)
            slot = replace(slot, newest=item)
        now = replace(self, slots=(*slots[:index], slot, *slots[index + 1 :]))
        kind = "re-run" if kind == "ask" and items != slot.items else kind
        return now.changed(kind, {slot.key: (*items, item)})

    def changed(
        self, kind: ChangeKind, after: Mapping[int, tuple[Item, ...]]
    ) -> tuple[State, Change]:
        """Put items into slots, as a new change to undo.

        Args:
            kind: the kind of change.
            after: the slots' items, by key; for a load, the items of all slots in their new order.
        """
        before = {slot.key: slot.items for slot in self.slots if slot.key in after}
        then, change = self.moved(kind, after)
        done = (*self.done, Step(kind, before, after))
        return replace(then, done=done, undone=(), void=0), change

    def moved(
        self, kind: ChangeKind, items: Mapping[int, tuple[Item, ...]]
    ) -> tuple[State, Change]:
        """Put items into slots, and return the turns that went and came.

        Args:
            kind: the kind of change.
            items: the slots' items, by key; for a load, they also give the order.
        """
        slots = tuple(
            replace(slot, items=items[slot.key]) if slot.key in items else slot
            for slot in self.slots
        )
        if kind == "ask" and (added := self._added(items)) is not None:
            # Without a walk through all turns.
            return replace(self, slots=slots), Change(kind, went=(), came=added)
        if kind == "load":
            ranks = {key: rank for rank, key in enumerate(items)}
            slots = _sorted(slots, [ranks.get(slot.key) for slot in slots])
        old = [slot for slot in self.slots if slot.key in items]
        new = [slot for slot in slots if slot.key in items]
        before = live(self.slots).values()
        after = live(slots).values()
        was, now = ({turn.number for turn in turns} for turns in (before, after))
        went = tuple(turn for turn in before if turn.number not in now)
        came = tuple(turn for turn in after if turn.number not in was)
        steered = tuple(kind for kind in STEERING if _of(kind, old) != _of(kind, new))
        return replace(self, slots=slots), Change(kind, went, came, steered)

    def _added(self, items: Mapping[int, tuple[Item, ...]]) -> tuple[Turn, ...] | None:
        """Return the new turns of slots, if nothing else in them changes; else ``None``."""
        added: list[Turn] = []
        for slot in (slot for slot in self.slots if slot.key in items):
            held = items[slot.key]
            new = held[len(slot.items) :]
            turns = [item for item in new if isinstance(item, Turn) and item.again is None]
            if held[: len(slot.items)] != slot.items or len(turns) < len(new):
                return None
            added += turns
        return tuple(added)

    def without(self, kind: ChangeKind, questions: Collection[int]) -> tuple[State, Change]:
        """Return the state without questions and their replies, and the change, to undo it.

        Args:
            kind: the kind of change.
            questions: numbers of the first turns with the questions.
        """
        after = {
            slot.key: tuple(
                item
                for item in slot.items
                if not isinstance(item, Turn) or item.first not in questions
            )
            for slot in self.slots
            if any(turn.first in questions for turn in slot.turns)
        }
        return self.changed(kind, after)


def pass_by(place: Position, item: Item) -> None:
    """Move a place below an item.

    Args:
        place: the place above the item; afterwards, the place below it.
        item: a turn or a steering item.
    """
    if isinstance(item, Turn):
        place.add(item)
    else:
        item.steer(place)


def place_below(slots: Iterable[Slot], above: Position | None = None) -> Position:
    """Return the place below slots.

    Args:
        slots: the slots, in order.
        above: the place above them, which is not changed; ``None`` for the beginning.
    """
    place = Position() if above is None else above.copy()
    for item in chain.from_iterable(slot.items for slot in slots):
        pass_by(place, item)
    return place


def live(slots: Iterable[Slot]) -> dict[int, Turn]:
    """Return the live turns of slots in order, by the number of the first turn with the question.

    Args:
        slots: the slots.
    """
    turns: dict[int, Turn] = {}
    for item in chain.from_iterable(slot.items for slot in slots):
        if isinstance(item, Turn):
            turns[item.first] = item
        elif (turn := reply_of(item)) is not None and turn.first in turns:
            turns[turn.first] = turn
    return turns


def reply_of(item: Item | None) -> Turn | None:
    """Return the turn of an item: a turn itself, or that of a replacement; ``None`` for others.

    Args:
        item: the item; ``None`` without one.
    """
    turn = item.turn if isinstance(item, Replacement) else item
    return turn if isinstance(turn, Turn) else None


def with_slot(
    slots: tuple[Slot, ...],
    owner: str | None,
    order: Sequence[str] | None,
    question: int | None = None,
) -> tuple[tuple[Slot, ...], int]:
    """Return the slots, with a slot for the owner's next item, and the index of this slot.

    Args:
        slots: the existing slots.
        owner: hash of the cell that asks; ``None`` for a new slot at the end.
        order: hashes of the page's cells from top to bottom, if the page reports them.
        question: number of the first turn with the repeated question; without a cell, its reply in
            force gives the slot. ``None`` for a new question.
    """
    if order is not None:
        slots = arranged(slots, order)
    index = len(slots)
    if owner is None and question is not None:
        for at in reversed(range(index)):
            if any(turn and turn.first == question for turn in map(reply_of, slots[at].items)):
                return slots, at
    owners = [] if owner is None else [slot.owner for slot in slots]
    if owner is not None and owner in owners:
        return slots, owners.index(owner)
    if owner is not None and order is not None and owner in order:
        below = set(order[order.index(owner) :])
        index = next((i for i, other in enumerate(owners) if other in below), index)
    return (*slots[:index], Slot(len(slots), owner), *slots[index:]), index


def arranged(slots: tuple[Slot, ...], order: Sequence[str]) -> tuple[Slot, ...]:
    """Return the slots in the page's order; a slot that is not on the page follows its predecessor.

    Args:
        slots: the slots in their present order.
        order: hashes of the page's cells from top to bottom.
    """
    on_page: dict[str | None, int] = {owner: rank for rank, owner in enumerate(order)}
    return _sorted(slots, [on_page.get(slot.owner) for slot in slots])


def _sorted(slots: tuple[Slot, ...], given: Sequence[int | None]) -> tuple[Slot, ...]:
    """Return the slots by rank; a slot without a rank follows its predecessor."""
    ranks: dict[int, int] = {}
    last = -1
    for slot, rank in zip(slots, given, strict=True):
        last = ranks[slot.key] = last if rank is None else rank
    return tuple(sorted(slots, key=lambda slot: ranks[slot.key]))


def _of(kind: str, slots: Iterable[Slot]) -> list[Item]:
    """Return the live steering items of a kind, in order."""
    items = (item for slot in slots for item in slot.items)
    return [item for item in items if not isinstance(item, Turn) and item.kind == kind]
