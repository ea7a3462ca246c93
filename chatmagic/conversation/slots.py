"""The slots of a conversation, where its turns and what steers them stand, and their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from chatmagic.conversation.prefix import Known, Prefix
from chatmagic.conversation.steering import Hiding, Steering
from chatmagic.conversation.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Item = Turn | Steering
"""What may stand in a slot: a turn, or what steers the turns below without being one."""


@dataclass(frozen=True, slots=True)
class Replies:
    """Turns with the replies to one question in one slot, oldest first (rule 21).

    Args:
        earlier: those from before the slot's own cell asked the question last.
        latest: that cell's last one, and those since.
    """

    earlier: tuple[Turn, ...] = ()
    latest: tuple[Turn, ...] = ()

    def __iter__(self) -> Iterator[Turn]:
        """Go through all of them."""
        return chain(self.earlier, self.latest)

    def __len__(self) -> int:
        """Count all of them."""
        return len(self.earlier) + len(self.latest)

    @property
    def by_place(self) -> dict[int, Turn]:
        """The turns by their numbers for people: from 1 those since, and up to -1 the earlier."""
        return dict(enumerate(self.earlier, -len(self.earlier))) | dict(enumerate(self.latest, 1))

    def name(self, number: int) -> str:
        """Return which one the turn of a number is, in words."""
        place = next(place for place, turn in self.by_place.items() if turn.number == number)
        return f"reply {place} of {len(self.latest)}" if place > 0 else f"earlier reply {place}"

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
    """A slot: its key for life, the cell it belongs to, and what is live there, in order.

    ``earlier`` are the cells that it belonged to before (rule 13); ``newest`` is what its cell
    put there last, live or not (rule 14); ``replies`` are all turns that ever stood there, by
    their questions, which no undo takes away (rule 21).
    """

    key: int
    owner: str | None
    items: tuple[Item, ...] = ()
    earlier: frozenset[str] = frozenset()
    newest: Item | None = None
    replies: tuple[Replies, ...] = ()

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
        items = with_turns(self.items, change)
        return replace(self, items=items, newest=newest, replies=replies)

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


def with_turns(items: tuple[Item, ...], change: Callable[[Turn], Turn]) -> tuple[Item, ...]:
    """Return the items with each turn changed."""
    return tuple(change(item) if isinstance(item, Turn) else item for item in items)


def renumbered(slot: Slot, new: Callable[[int], int], known: Known[int]) -> Slot:
    """Return a slot of another conversation.

    Args:
        slot: the slot.
        new: returns the number that takes the place of a turn's.
        known: lists of numbers that were changed with the slots before; empty at first.
    """
    # The same turn may be live, the newest and among the replies.
    done: dict[int, Turn] = {}

    def renumber(turn: Turn) -> Turn:
        if id(turn) in done:
            return done[id(turn)]
        carried = turn.carried
        if isinstance(carried, Prefix):
            carried = carried.mapped(new, known)
        else:
            carried = tuple(map(new, carried))
        done[id(turn)] = replace(turn, number=new(turn.number), carried=carried)
        return done[id(turn)]

    slot = slot.with_turns(renumber)
    items = (
        replace(item, turn=new(item.turn)) if isinstance(item, Hiding) else item
        for item in slot.items
    )
    return replace(slot, items=tuple(items))


def live(slots: Sequence[Slot]) -> tuple[Turn, ...]:
    """Return the turns that are live in these slots, in their order."""
    return tuple(turn for slot in slots for turn in slot.turns)


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
