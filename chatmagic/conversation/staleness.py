"""What made a live turn stale: the change above it, and the cell that made it (rule 9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from chatmagic.conversation import history
from chatmagic.conversation.standings import standings
from chatmagic.conversation.turn import (
    changed_cell,
    is_instructed_otherwise,
    newest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmagic.conversation.changes import Snapshot
    from chatmagic.conversation.standings import Standing
    from chatmagic.conversation.turn import Turn

Kind = Literal[
    "run again",
    "asked again",
    "continued",
    "put back",
    "came",
    "moved",
    "hidden",
    "parted",
    "taken back",
    "unknown",
    "order",
    "instructions",
    "cell",
]

_WORDS: Final[dict[Kind, str]] = {
    "run again": "{} was run again",
    "asked again": "a question of {} was asked again",
    "continued": "a reply of {} was continued",
    "put back": "{} has another reply now",
    "came": "the turn of {} goes along now",
    "moved": "the turn of {} stands below it now",
    "hidden": "the turn of {} is hidden now",
    "parted": "the turn of {} is in another thread than this one now",
    "taken back": "the turn of {} was taken out of the conversation",
    "unknown": "a turn went along that is not known here",
    "order": "the turns above it stand in another order now",
    "instructions": "the instructions above it have changed",
    "cell": "{}, which went along, was run again",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """What made a turn stale.

    Args:
        kind: what happened.
        place: where, for people, such as ``cell [3]``.
        owner: hash of the cell that did it; ``None`` without one.
    """

    kind: Kind
    place: str = ""
    owner: str | None = None

    @property
    def words(self) -> str:
        """The cause as a clause: ``because cell [3] was run again``."""
        return f"because {_WORDS[self.kind].format(self.place)}"


class Causes:
    """What made the live turns stale, each worked out when it is asked for.

    Args:
        now: the conversation, with the turns of all threads.
        cells: for each cell that has run, the digest of what would go along of it now.
        label: returns a cell's name for people by its hash.
    """

    def __init__(
        self, now: Snapshot, cells: Mapping[str, str], label: Callable[[str], str]
    ) -> None:
        """Work out nothing yet."""
        self._now = now
        self._cells = cells
        self._label = label

    def of(self, number: int) -> Cause | None:
        """Return what made a live turn stale; ``None`` for one that is not, or is not live."""
        standing = self._standings.get(number)
        if standing is None:
            return None
        turn = standing.turn
        if standing.carries_others:
            return self._by_turns(standing)
        if is_instructed_otherwise(turn, standing.instructions):
            return Cause("instructions", owner=standing.instructed_by)
        cell = changed_cell(turn, self._cells)
        return None if cell is None else Cause("cell", self._label(cell), cell)

    def by_cell(self) -> dict[str, Cause]:
        """Return for each cell with a stale turn what made the first of them stale."""
        causes: dict[str, Cause] = {}
        for slot in self._now.slots:
            for turn in slot.turns:
                # Another cell may have asked for the reply that stands there.
                owners = [each for each in (slot.owner, turn.owner) if each not in causes]
                cause = self.of(turn.number) if any(owners) else None
                if cause is not None:
                    causes |= dict.fromkeys(filter(None, owners), cause)
        return causes

    @cached_property
    def _standings(self) -> dict[int, Standing]:
        return {each.turn.number: each for each in standings(self._now.slots)}

    @cached_property
    def _known(self) -> dict[int, Turn]:
        return history.known_turns(self._now)

    def _by_turns(self, standing: Standing) -> Cause:
        """Return the first turn that came or went, as a cause."""
        turn = standing.turn
        now = newest(standing.above, turn.last)
        carries, carried = {each.number for each in now}, frozenset(turn.carried)
        gone = [number for number in turn.carried if number not in carries]
        came = next((each for each in now if each.number not in carried), None)
        if came is not None:
            asked = [self._known[number] for number in gone if number in self._known]
            before = [each.owner for each in asked]
            old = next((each for each in asked if each.as_typed == came.as_typed), None)
            if old is not None and came.owner not in before:
                if came.number < turn.number:
                    return self._cause("put back", came)
                more = came.record is not None and came.record.continues is not None
                what: Kind = "continued" if more else "asked again"
                return replace(self._cause(what, old), owner=came.owner)
            is_replaced = came.owner is not None and came.owner in before
            if not is_replaced:
                return self._cause("came", came)
            again: Kind = "run again" if came.entry == "cell" else "asked again"
            return self._cause(again if came.number > turn.number else "put back", came)
        if not gone:
            return Cause("order")
        went = self._known.get(gone[0])
        return Cause("unknown") if went is None else self._cause(self._where(went, standing), went)

    def _where(self, went: Turn, standing: Standing) -> Kind:
        """Return what became of a turn that went along and would not go along now."""
        if went.number not in self._standings:
            return "taken back"
        line = [turn.number for turn in standing.line]
        if went.number not in line:
            return "parted"
        return "moved" if line.index(went.number) > standing.index else "hidden"

    def _cause(self, kind: Kind, turn: Turn) -> Cause:
        place = turn.asker or ("" if turn.owner is None else self._label(turn.owner))
        return Cause(kind, place or "a cell", turn.owner)
