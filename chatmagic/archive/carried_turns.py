"""Turns that saved turns carried, found again by the digests of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

from chatmagic import _json
from chatmagic.conversation.record import Record
from chatmagic.conversation.turn import NOTHING, Carried, Turn


class CarriedTurns:
    """Turns that saved turns carried, known by the digests that their records list.

    Args:
        turns: the turns to add, in their order, each with its record. Their numbers follow this
            order.
        after: as for :class:`Conversation`.
    """

    def __init__(self, turns: Iterable[Turn], after: int) -> None:
        """Keep the digests of all turns."""
        digests = [turn.recorded_digest for turn in turns]
        self._numbers = {digest: at for at, digest in reversed([*enumerate(digests, after + 1)])}
        self._repeated = {digest for digest, count in Counter(digests).items() if count > 1}
        self._known: dict[str | None, Carried] = {None: NOTHING}
        self._stand = _Occurrences()
        self._here: dict[tuple[str, int], int] = {}
        self._listed = _Occurrences()
        self._located = NOTHING
        self._is_settled = True

    def carrying(self, turn: Turn, above: Carried, number: int = 0) -> Turn:
        """Return a turn with the turns that it carried.

        Most requests carried the turns above, or the turns that the first listed turn carried
        itself.

        Args:
            turn: the turn.
            above: the turns above it.
            number: its own number, if it has one.
        """
        record = cast("Record", turn.record)
        expected = above.newest(turn.last)
        chain = record_chain(record)
        self._known[above.chain] = above
        self._known[expected.chain] = expected
        carried = expected
        if chain != expected.chain:
            if chain not in self._known:
                self._known[chain] = self._listed_in(record)
            carried = self._locate(self._known[chain], expected)
        return replace(turn, number=number, carried=carried)

    def _listed_in(self, record: Record) -> Carried:
        """Return the turns that a record lists, without their numbers."""
        total, before = record.earlier
        listed = self._known.get(before, Carried.unknown(total, before))
        for digest in record.carried:
            listed = listed.followed_by(0, digest)
        return listed

    def _locate(self, carried: Carried, expected: Carried) -> Carried:
        """Return carried turns with their numbers, from the turns above if possible.

        Most lists continue the last ones, so that only their new turns are located.
        """
        above = self._stand.advance(expected)
        if above.is_other:
            self._here.clear()
        self._here |= {place: node.number for place, node in above.added}
        listed = self._listed.advance(carried)
        added = listed.added
        if above.is_other or listed.is_other or not self._is_settled:
            added = self._listed.all
            self._located = carried.root
            self._is_settled = True
        for place, _ in added:
            number = self._here.get(place)
            # Another turn of this digest may come to stand above later.
            self._is_settled &= number is not None or place[0] not in self._repeated
            number = number or self._numbers.get(place[0], 0)
            self._located = self._located.followed_by(number, place[0])
        return self._located


def record_chain(record: Record) -> str | None:
    """Return the chain digest of all turns that the request of a record carried.

    Args:
        record: the record, as it was saved.
    """
    return _json.chain_of(record.carried, record.earlier[1])


_Place = tuple[str, int]
"""A digest with the number of equal digests before it in its list."""


@dataclass(frozen=True, slots=True)
class _Advance:
    """Difference between a list of turns and the list before it.

    Args:
        added: the new turns with their places.
        is_other: whether the list does not continue the one before it.
    """

    added: list[tuple[_Place, Carried]]
    is_other: bool


class _Occurrences:
    """Places of the known turns in a list that is mostly continued."""

    def __init__(self) -> None:
        """Begin with an empty list."""
        self.all: list[tuple[_Place, Carried]] = []
        self._counts: Counter[str] = Counter()
        self._last = NOTHING

    def advance(self, turns: Carried) -> _Advance:
        """Take the next list, and return its difference.

        Args:
            turns: the list.
        """
        nodes = None if self._last is NOTHING else turns.added_to(self._last)
        is_other = nodes is None
        if nodes is None:
            nodes = turns.added_to(NOTHING) or []
            self.all = []
            self._counts.clear()
        self._last = turns
        added: list[tuple[_Place, Carried]] = []
        for node in nodes:
            if node.digest is not None:
                added.append(((node.digest, self._counts[node.digest]), node))
                self._counts[node.digest] += 1
        self.all += added
        return _Advance(added, is_other)
