"""Replies to one question: the one in force, the earlier ones, and how another takes its place.

The rules are those of :mod:`chatmagic.conversation.conversation`, 20 and 21. The earlier replies
are kept nowhere else than in the changes that can be taken back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmagic.conversation.history import changed
from chatmagic.conversation.slots import live, with_slot
from chatmagic.conversation.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmagic.conversation.history import Change, Kind, Snapshot
    from chatmagic.conversation.slots import Item


def replaced(
    now: Snapshot, turn: Turn, number: int, asker: str | None, order: Sequence[str] | None
) -> tuple[Snapshot, Change]:
    """Put another reply in the place of a live turn; a change in any case (rule 8).

    Args:
        now: the conversation before.
        turn: with the other reply; a turn without a number gets one.
        number: of the live turn; of one that is not live nothing is replaced.
        asker: hash of the cell that asks for it, which gets a place, too; ``None`` without one.
        order: hashes of the page's cells from top to bottom, where the page tells them.
    """
    kind: Kind = "pick" if turn.number else "retry"
    old = next((each for each in live(now.slots) if each.number == number), turn)
    # What the cell that owns the place asks on in this execution carries it (rule 3).
    turn = replace(turn, number=turn.number or now.next_number, execution=old.execution)
    slots, index = with_slot(now.slots, asker, order)
    slots = (*slots[:index], replace(slots[index], newest=turn), *slots[index + 1 :])
    after = {
        slot.key: tuple(turn if _is(item, number) else item for item in slot.items)
        for slot in slots
        if any(each.number == number for each in slot.turns)
    }
    then, change = changed(replace(now, slots=slots), kind, after)
    return replace(then, next_number=now.next_number + 1), change


def replies(now: Snapshot, number: int) -> tuple[Turn, ...]:
    """Return a live turn, and the turns with the earlier replies to its question, oldest first.

    Args:
        now: the conversation.
        number: of the live turn; one that is not live has none.
    """
    slot = next((slot for slot in now.slots if any(_is(item, number) for item in slot.items)), None)
    if slot is None:
        return ()
    index = next(index for index, item in enumerate(slot.items) if _is(item, number))
    question = slot.items[index]
    others = {turn.number for turn in slot.turns} - {number}
    known = {
        item.number: item
        for items in (slot.items, *_earlier(now, slot.key))
        for item in items[index : index + 1]
        if isinstance(item, Turn)
        and isinstance(question, Turn)
        and item.as_typed == question.as_typed
        and item.number not in others
    }
    return tuple(known[each] for each in sorted(known))


def in_force(now: Snapshot, turn: Turn) -> Turn | None:
    """Return the live turn that another reply to a turn's question stands in; ``None`` for none."""
    same = (each for each in live(now.slots) if each.as_typed == turn.as_typed)
    return next((each for each in same if turn.number in _numbers(now, each)), None)


def _earlier(now: Snapshot, key: int) -> Iterator[tuple[Item, ...]]:
    """Yield what stood in a slot before each change since it began anew, the newest first."""
    for step in reversed(now.done):
        if step.kind in {"reset", "load"}:
            return
        if key in step.before:
            yield step.before[key]


def _numbers(now: Snapshot, turn: Turn) -> list[int]:
    return [each.number for each in replies(now, turn.number)]


def _is(item: Item, number: int) -> bool:
    return isinstance(item, Turn) and item.number == number
