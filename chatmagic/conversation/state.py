"""Complete state of a conversation as one value, and the changes that make a new one.

The rules are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chatmagic.conversation.slots import Slot, by_rank, live, slot_for
from chatmagic.conversation.steering import STEERING, Item, Replacement
from chatmagic.conversation.turn import IN_NOTEBOOK, Turn
from chatmagic.conversation.undo_history import NO_HISTORY, ChangeKind, UndoHistory, UndoStep


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
class State:
    """Complete state of a conversation; each change makes a new one.

    Args:
        slots: the slots, in order.
        history: the changes to undo and to redo.
        next_number: the number of the next turn.
        asked: all turns that were ever added, by number, also after an undo (rule 21).
        away: hashes of the cells that are gone, with their turns left out (rule 12).
    """

    slots: tuple[Slot, ...] = ()
    history: UndoHistory = NO_HISTORY
    next_number: int = 1
    asked: Mapping[int, Turn] = field(default_factory=dict)
    away: frozenset[str] = frozenset()

    def question_of(self, number: int | None) -> int | None:
        """Return the number of the first turn with a turn's question; ``None`` if it is unknown.

        Args:
            number: the turn's number; ``None`` for a new question.
        """
        turn = None if number is None else self.asked.get(number)
        return None if turn is None else turn.first

    def with_new_item(self, item: Item, order: Sequence[str] | None) -> tuple[State, Change]:
        """Return the state with a new item in its slot, and the change.

        A turn gets its number. One that asks a question again becomes a replacement (rule 20).

        Args:
            item: a turn or a steering item.
            order: hashes of the page's cells from top to bottom; ``None`` if no page reports them.
        """
        if not isinstance(item, Turn):
            # A pick counts as a turn, too, so that a saved notebook numbers its outputs.
            number = self.next_number + 1 if isinstance(item, Replacement) else self.next_number
            now = replace(self, next_number=number)
            return now.with_item(item.kind, item, order)
        question = self.question_of(item.again)
        again = item.again if question is None else question
        turn = replace(item, number=self.next_number, again=again)
        asked = {**self.asked, turn.number: turn}
        now = replace(self, asked=asked, next_number=self.next_number + 1)
        if turn.again is None:
            return now.with_item("ask", turn, order)
        owner = None if turn.entry == "panel" else turn.owner
        new = Replacement(turn, owner=owner, execution=turn.execution)
        return now.with_item("retry", new, order)

    def with_item(
        self, kind: ChangeKind, item: Item, order: Sequence[str] | None
    ) -> tuple[State, Change]:
        """Put an item into its slot, where it replaces the items of older executions.

        Args:
            kind: the kind of change; an ``ask`` that replaces items becomes a ``re-run``.
            item: the item; a turn has its number.
            order: as for :meth:`with_new_item`.
        """
        question = item.turn.first if isinstance(item, Replacement) else None
        chosen = slot_for(self.slots, item.owner, order, question)
        slot = chosen.slot
        if item.owner is None and slot.items:
            # It stays as long as the reply that it replaces (rule 3).
            items = slot.items
            item = replace(item, execution=items[-1].execution)
        else:
            items = slot.of_execution(item.execution)
            slot = replace(slot, newest=item)
        now = replace(self, slots=chosen.changed_to(slot))
        is_rerun = kind == "ask" and items != slot.items
        return now.changed("re-run" if is_rerun else kind, {slot.key: (*items, item)})

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
        history = self.history.with_step(UndoStep(kind, before, after))
        return replace(then, history=history), change

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
            slots = by_rank(slots, [ranks.get(slot.key) for slot in slots])
        before = live(self.slots).values()
        after = live(slots).values()
        numbers_before = {turn.number for turn in before}
        numbers_after = {turn.number for turn in after}
        old = [slot for slot in self.slots if slot.key in items]
        new = [slot for slot in slots if slot.key in items]
        change = Change(
            kind,
            went=tuple(turn for turn in before if turn.number not in numbers_after),
            came=tuple(turn for turn in after if turn.number not in numbers_before),
            steered=tuple(
                name for name in STEERING if _steering(name, old) != _steering(name, new)
            ),
        )
        return replace(self, slots=slots), change

    def _added(self, items: Mapping[int, tuple[Item, ...]]) -> tuple[Turn, ...] | None:
        """Return the new turns of slots, if nothing else in them changes; else ``None``."""
        added: list[Turn] = []
        for slot in self.slots:
            if slot.key not in items:
                continue
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

    def undone(self) -> tuple[State, Change | None]:
        """Return the state after an undo, and its effect; ``None`` with nothing to take back."""
        history, step = self.history.after_undo()
        now = replace(self, history=history)
        return (now, None) if step is None else now.moved(step.kind, step.before)

    def redone(self) -> tuple[State, Change | None]:
        """Return the state after a redo, and its effect; ``None`` with nothing to do again."""
        history, step = self.history.after_redo()
        now = replace(self, history=history)
        return (now, None) if step is None else now.moved(step.kind, step.after)

    def with_owner(self, number: int, owner: str) -> State:
        """Return the state in which a cell has taken over a live turn without one, with its slot.

        Args:
            number: the turn's number; nothing changes for a turn that is not live.
            owner: hash of the cell.
        """
        if number not in {turn.number for turn in live(self.slots).values()}:
            return self
        turn = replace(self.asked[number], owner=owner, entry="cell", asker=IN_NOTEBOOK, shown=True)
        slots = tuple(
            # The cell has asked nothing yet.
            replace(slot.with_turn(turn), owner=owner, newest=None)
            if turn.first in {other.first for other in slot.turns}
            else slot.with_turn(turn)
            for slot in self.slots
        )
        return replace(self, slots=slots, asked={**self.asked, number: turn})

    def loaded(self, other: State) -> tuple[State, Change]:
        """Return the state with the live items of another conversation in place of its own.

        Args:
            other: the state of the other conversation (rule 11).

        Raises:
            ValueError: turns of both have the same number.
        """
        if self == State() and other.history.done:
            # Nothing has happened here, so it brings its own changes to undo and redo.
            return other, Change("load", (), tuple(live(other.slots).values()))
        if not self.asked.keys().isdisjoint(other.asked):
            raise ValueError("turns of both conversations have the same number")
        keys = {slot.owner: slot.key for slot in self.slots if slot.owner is not None}
        slots = {slot.key: slot for slot in self.slots}
        after: dict[int, tuple[Item, ...]] = {}
        for slot in other.slots:
            # A cell keeps its slot; any other slot is a new one.
            key = len(slots) if slot.owner is None else keys.get(slot.owner, len(slots))
            slots.setdefault(key, Slot(key, slot.owner, newest=slot.newest))
            after[key] = slot.items
        # The loaded order counts, so the earlier slots move after it.
        after |= {slot.key: () for slot in self.slots if slot.key not in after}
        now = replace(
            self,
            slots=tuple(slots.values()),
            next_number=max(self.next_number, other.next_number),
            asked={**self.asked, **other.asked},
        )
        return now.changed("load", after)


def _steering(kind: str, slots: Iterable[Slot]) -> list[Item]:
    """Return the live steering items of a kind, in order."""
    items = (item for slot in slots for item in slot.items)
    return [item for item in items if not isinstance(item, Turn) and item.kind == kind]
