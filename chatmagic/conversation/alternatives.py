"""Replies to one question: the one in force, the others, and how another takes its place.

The rules are those of :mod:`chatmagic.conversation.conversation`, 20 and 21.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmagic.conversation.history import changed
from chatmagic.conversation.slots import live, with_slot
from chatmagic.conversation.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.conversation.changes import Change, Kind, Snapshot
    from chatmagic.conversation.slots import Item, Replies


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
    slots = now.slots
    if asker is not None:
        slots, index = with_slot(slots, asker, order)
        slots = (*slots[:index], replace(slots[index], newest=turn), *slots[index + 1 :])
    if kind == "retry":
        slots = tuple(
            replace(slot, replies=tuple(each.joined_by(turn, number) for each in slot.replies))
            for slot in slots
        )
    after = {
        slot.key: tuple(turn if _is(item, number) else item for item in slot.items)
        for slot in slots
        if any(each.number == number for each in slot.turns)
    }
    then, change = changed(replace(now, slots=slots), kind, after)
    return replace(then, next_number=now.next_number + 1), change


def in_force(now: Snapshot) -> dict[int, tuple[Turn, Replies]]:
    """Return by each reply's number the live turn in its question's place, and all its replies.

    Those to a question without a live turn are left out.
    """
    known: dict[int, tuple[Turn, Replies]] = {}
    for slot in now.slots:
        turns = {turn.number: turn for turn in slot.turns}
        for replies in slot.replies:
            numbers = [each.number for each in replies]
            turn = next((turns[each] for each in numbers if each in turns), None)
            if turn is not None:
                known |= dict.fromkeys(numbers, (turn, replies))
    return known


def _is(item: Item, number: int) -> bool:
    return isinstance(item, Turn) and item.number == number
