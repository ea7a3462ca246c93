"""Marks of cells: what is to be known of what a cell shows (rules 9, 14 and 20)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from chatmagic.conversation.alternatives import in_force
from chatmagic.conversation.slots import live
from chatmagic.conversation.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmagic.conversation.changes import Snapshot
    from chatmagic.conversation.slots import Replies, Slot
    from chatmagic.conversation.staleness import Causes
    from chatmagic.conversation.steering import Kind

Mark = Literal[
    "stale",
    "taken back",
    "held back",
    "at its limit",
    "replaced",
    "instructions taken back",
    "thread taken back",
    "hiding taken back",
]

_TAKEN_BACK: Final[Mapping[Kind, Mark]] = {
    "instructions": "instructions taken back",
    "thread": "thread taken back",
    "hiding": "hiding taken back",
}


def marks(now: Snapshot, causes: Causes) -> dict[str, Mark]:
    """Return the marks of cells, by their hashes."""
    turns = live(now.slots)
    marks: dict[str | None, Mark] = {
        turn.owner: "held back" for turn in turns if turn.reply.held_back
    }
    marks |= {turn.owner: "at its limit" for turn in turns if turn.reply.finish_reason == "length"}
    marks |= dict.fromkeys(causes.by_cell(), "stale")
    numbers = {turn.number for turn in turns}
    lacking = [slot for slot in now.slots if _lacks(slot, numbers)]
    others = in_force(now) if lacking else {}
    lost = {slot.owner: _lost(slot, others) for slot in lacking}
    marks |= {owner: mark for owner, mark in lost.items() if mark is not None}
    return {owner: mark for owner, mark in marks.items() if owner is not None}


def _lacks(slot: Slot, numbers: set[int]) -> bool:
    """Return whether what a cell put there last is live neither here nor, a turn, elsewhere."""
    newest = slot.newest
    return slot.lacks_newest and not (isinstance(newest, Turn) and newest.number in numbers)


def _lost(slot: Slot, others: Mapping[int, tuple[Turn, Replies]]) -> Mark | None:
    """Return the mark of a cell whose newest item is not live; ``None`` where its like is."""
    newest = slot.newest
    if isinstance(newest, Turn) and newest.number in others:
        other, _ = others[newest.number]
        return None if other.reads == newest.reads else "replaced"
    if newest is None or isinstance(newest, Turn):
        return "taken back"
    return _TAKEN_BACK[newest.kind]
