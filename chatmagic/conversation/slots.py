"""Slots of a conversation: what stands where, in order, and the changes that can be taken back.

The rules that are named are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal

from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.steering import STEERING, Instructions, Item, Steering, SteeringKind
from chatmagic.conversation.turn import Carried, Turn
from chatmagic.conversation.window import Place, Window

_Asking = Literal["ask", "re-run", "retry", "pick"]
ChangeKind = Literal[_Asking, "reset", "deletion", "set aside", "load", SteeringKind]

UNDO_DEPTH: Final = 1000
"""How many changes can be taken back; older ones are final."""


@dataclass(frozen=True, slots=True)
class Replies:
    """Turns with the replies to one question in one slot, oldest first (rule 21).

    Args:
        earlier: those from before the slot's own cell asked the question last.
        latest: that cell's last one, and those since, of which people know the numbers, from 1.
    """

    earlier: tuple[Turn, ...] = ()
    latest: tuple[Turn, ...] = ()

    def __iter__(self) -> Iterator[Turn]:
        """Go through all of them."""
        return chain(self.earlier, self.latest)

    def __len__(self) -> int:
        """Count all of them."""
        return len(self.earlier) + len(self.latest)

    def name(self, number: int) -> str:
        """Return in words which one a turn is.

        Args:
            number: the turn's number in its conversation.
        """
        numbers = [turn.number for turn in self.latest]
        if number not in numbers:
            return "an earlier reply"
        return f"reply {numbers.index(number) + 1} of {len(numbers)}"

    def joined_by(self, turn: Turn, number: int) -> Replies:
        """Return them with one more that was asked again, if they have the turn of a number.

        Args:
            turn: with the new one.
            number: of the turn that was asked again.
        """
        is_here = any(each.number == number for each in self)
        return replace(self, latest=(*self.latest, turn)) if is_here else self


@dataclass(frozen=True, slots=True)
class Slot:
    """Slot of a cell, or of a turn that no cell owns.

    Args:
        key: its key for life.
        owner: hash of the cell that it belongs to; ``None`` for none.
        items: what is live there, in order.
        earlier: hashes of the cells that it belonged to before (rule 13).
        newest: what its cell put there last, live or not (rule 14).
        replies: all turns that ever stood there, by their questions, which no undo takes away
            (rule 21).
    """

    key: int
    owner: str | None
    items: tuple[Item, ...] = ()
    earlier: frozenset[str] = frozenset()
    newest: Item | None = None
    replies: tuple[Replies, ...] = ()

    def of_execution(self, execution: str | None) -> tuple[Item, ...]:
        """Return the items that belong to an execution (rule 3).

        Args:
            execution: the execution's identity; an unknown one (``None``) has none.
        """
        if execution is None:
            return ()
        return tuple(item for item in self.items if item.execution == execution)

    def asked(self, turn: Turn, kept: Sequence[Item]) -> tuple[Replies, ...]:
        """Return the replies with a turn that the slot's own cell has asked.

        Args:
            turn: the turn.
            kept: the items that it joins: of equal questions, one of theirs is another one.
        """
        stand = {item.number for item in kept if isinstance(item, Turn)}
        for index, each in enumerate(self.replies):
            is_same = each.latest[0].as_typed == turn.as_typed
            if is_same and stand.isdisjoint(reply.number for reply in each):
                new = Replies(tuple(each), (turn,))
                return (*self.replies[:index], new, *self.replies[index + 1 :])
        return (*self.replies, Replies((), (turn,)))

    def with_turns(self, change: Callable[[Turn], Turn]) -> Slot:
        """Return the same with each turn changed, live or not.

        Args:
            change: returns what takes the place of a turn.
        """
        newest = change(self.newest) if isinstance(self.newest, Turn) else self.newest
        replies = tuple(
            Replies(tuple(map(change, each.earlier)), tuple(map(change, each.latest)))
            for each in self.replies
        )
        items = tuple(change(item) if isinstance(item, Turn) else item for item in self.items)
        return replace(self, items=items, newest=newest, replies=replies)

    def renumbered(self, new: Callable[[int], int], known: dict[int, Carried]) -> Slot:
        """Return the same for a conversation in which the turns have other numbers.

        Args:
            new: returns the number that takes the place of a turn's.
            known: as :meth:`chatmagic.conversation.turn.Carried.renumbered` has it.
        """
        # The same turn may be live, the newest and among the replies.
        done: dict[int, Turn] = {}

        def renumber(turn: Turn) -> Turn:
            if id(turn) not in done:
                carried = turn.carried.renumbered(new, known)
                done[id(turn)] = replace(turn, number=new(turn.number), carried=carried)
            return done[id(turn)]

        slot = self.with_turns(renumber)
        items = (
            item.renumbered(new) if isinstance(item, Steering) else item for item in slot.items
        )
        return replace(slot, items=tuple(items))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns among its items."""
        return tuple(item for item in self.items if isinstance(item, Turn))


@dataclass(frozen=True, slots=True)
class Change:
    """Effect of one step on the live turns, for a message about it.

    Args:
        kind: the kind of change that was done, taken back, or done again.
        went: the turns that were live before the step and are not now, in their order.
        came: the turns that are live since the step, in their order.
        steered: the kinds of what steers the turns of which other items are live since the step.
    """

    kind: ChangeKind
    went: tuple[Turn, ...]
    came: tuple[Turn, ...]
    steered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A change that can be gone back over.

    Args:
        kind: the kind of change.
        before: the items before it of the slots that it touched, by their keys.
        after: the items after it.
        orders: the slots' keys before and after it, of a load, which also changes the order.
    """

    kind: ChangeKind
    before: Mapping[int, tuple[Item, ...]]
    after: Mapping[int, tuple[Item, ...]]
    orders: tuple[tuple[int, ...], tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class State:
    """State of a conversation, whole; each change makes another one.

    Args:
        slots: the slots, in order.
        done: the changes that can be taken back, oldest first.
        undone: those that can be done again, the next one last.
        void: how many undos had nothing to take back and await a redo (rule 8).
        next_number: the number of the next turn.
        away: hashes of the cells that are gone, and whose turns have been set aside (rule 12).
    """

    slots: tuple[Slot, ...] = ()
    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()
    void: int = 0
    next_number: int = 1
    away: frozenset[str] = frozenset()

    def windows(self) -> Iterator[tuple[Turn, Window]]:
        """Yield the live turns in their order, each with the window of its place."""
        place = Place()
        for item in chain.from_iterable(slot.items for slot in self.slots):
            window = pass_by(place, item)
            if isinstance(item, Turn) and window is not None:
                yield item, window

    def known_turns(self) -> dict[int, Turn]:
        """Return by number the turns that are live, and all replies to choose from."""
        replies = (turn for slot in self.slots for each in slot.replies for turn in each)
        return {turn.number: turn for turn in (*replies, *live(self.slots))}

    def known_instructions(self) -> dict[str, Value]:
        """Return by digest the instructions that are live, and those of the changes kept."""
        lists = [slot.items for slot in self.slots]
        for step in (*self.done, *self.undone):
            lists += [*step.before.values(), *step.after.values()]
        given = (item for item in chain.from_iterable(lists) if isinstance(item, Instructions))
        return {each.value.sha256: each.value for each in given}

    def replies_by_number(self) -> dict[int, tuple[Turn, Replies]]:
        """Return by each reply's number the live turn with its question, and all its replies.

        Those to a question without a live turn are left out (rule 21).
        """
        known: dict[int, tuple[Turn, Replies]] = {}
        for slot in self.slots:
            turns = {turn.number: turn for turn in slot.turns}
            for replies in slot.replies:
                numbers = [each.number for each in replies]
                turn = next((turns[each] for each in numbers if each in turns), None)
                if turn is not None:
                    known |= dict.fromkeys(numbers, (turn, replies))
        return known

    def changed(
        self,
        kind: ChangeKind,
        after: Mapping[int, tuple[Item, ...]],
        orders: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
    ) -> tuple[State, Change]:
        """Put items into slots, as a new change to undo.

        Args:
            kind: the kind of change.
            after: the slots' items, by key.
            orders: as :class:`Step` has them.
        """
        before = {slot.key: slot.items for slot in self.slots if slot.key in after}
        then, change = self.moved(kind, after)
        done = (*self.done, Step(kind, before, after, orders))[-UNDO_DEPTH:]
        return replace(then, done=done, undone=(), void=0), change

    def moved(
        self, kind: ChangeKind, items: Mapping[int, tuple[Item, ...]]
    ) -> tuple[State, Change]:
        """Put items into slots, and tell which turns went and which came.

        Args:
            kind: the kind of change.
            items: the slots' items, by key.
        """
        # Of many turns, few are in slots that a change touches.
        old = [slot for slot in self.slots if slot.key in items]
        new = [replace(slot, items=items[slot.key]) for slot in old]
        changed = {slot.key: slot for slot in new}
        before, after = live(old), live(new)
        was, now = ({turn.number for turn in each} for each in (before, after))
        went = tuple(turn for turn in before if turn.number not in now)
        came = tuple(turn for turn in after if turn.number not in was)
        steered = tuple(each for each in STEERING if _of(each, old) != _of(each, new))
        slots = tuple(changed.get(slot.key, slot) for slot in self.slots)
        return replace(self, slots=slots), Change(kind, went, came, steered)

    def without(self, kind: ChangeKind, numbers: Collection[int]) -> tuple[State, Change]:
        """Take live turns out, as a change to undo.

        Args:
            kind: the kind of change.
            numbers: of the turns.
        """
        after = {
            slot.key: tuple(
                item
                for item in slot.items
                if not isinstance(item, Turn) or item.number not in numbers
            )
            for slot in self.slots
            if not {turn.number for turn in slot.turns}.isdisjoint(numbers)
        }
        return self.changed(kind, after)


def pass_by(place: Place, item: Item) -> Window | None:
    """Go past an item; return the window of its place, if it is a turn.

    Args:
        place: the place above it, which is the one below it then.
        item: a turn, or what steers the turns below.
    """
    if isinstance(item, Turn):
        return place.add(item)
    item.steer(place)
    return None


def place_below(slots: Iterable[Slot], above: Place | None = None) -> Place:
    """Return the place below slots.

    Args:
        slots: in their order.
        above: the place above them, which stays as it is; ``None`` is the beginning.
    """
    place = Place() if above is None else above.copy()
    for item in chain.from_iterable(slot.items for slot in slots):
        pass_by(place, item)
    return place


def live(slots: Iterable[Slot]) -> tuple[Turn, ...]:
    """Return the turns that are live in slots, in their order.

    Args:
        slots: the slots.
    """
    return tuple(turn for slot in slots for turn in slot.turns)


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
    index = len(slots)
    owners = [] if owner is None else [slot.owner for slot in slots]
    if owner is not None and owner in owners:
        return slots, owners.index(owner)
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


def _of(kind: str, slots: Sequence[Slot]) -> list[Item]:
    """Return the items of a kind that are live in these slots, in their order."""
    items = (item for slot in slots for item in slot.items)
    return [item for item in items if not isinstance(item, Turn) and item.kind == kind]
