"""Marks of cells: what is to be known of what a cell shows (rules 9 and 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from chatmagic.conversation.hiding import Hiding
from chatmagic.conversation.instructions import Instructions
from chatmagic.conversation.slots import live
from chatmagic.conversation.threads import ThreadStart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmagic.conversation.history import Snapshot
    from chatmagic.conversation.staleness import Causes

Mark = Literal[
    "stale",
    "taken back",
    "held back",
    "instructions taken back",
    "thread taken back",
    "hiding taken back",
]


_TAKEN_BACK: Final[Mapping[type, Mark]] = {
    Instructions: "instructions taken back",
    ThreadStart: "thread taken back",
    Hiding: "hiding taken back",
}


def marks(now: Snapshot, causes: Causes) -> dict[str, Mark]:
    """Return the marks of cells, by their hashes.

    Args:
        now: the conversation.
        causes: what made its turns stale.
    """
    marks: dict[str | None, Mark] = {
        turn.owner: "held back" for turn in live(now.slots) if turn.reply.held_back
    }
    marks |= dict.fromkeys(causes.by_cell(), "stale")
    marks |= {
        slot.owner: _TAKEN_BACK.get(type(slot.newest), "taken back")
        for slot in now.slots
        if slot.lacks_newest
    }
    return {owner: mark for owner, mark in marks.items() if owner is not None}
