"""Turns that saved turns carried, known by the digests that their records list."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from chatmagic import _json
from chatmagic.conversation.prefix import Digests, grown
from chatmagic.conversation.turn import newest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from chatmagic.conversation.record import Record
    from chatmagic.conversation.turn import Turn


class CarriedTurns:
    """Numbers of the turns that saved turns carried.

    Args:
        turns: those that are added, in their order, each with its record; they are numbered in
            this order.
    """

    def __init__(self, turns: Iterable[Turn]) -> None:
        """Know the digests of all, and of no list yet."""
        self._digests = dict(enumerate((turn.recorded_digest for turn in turns), 1))
        self._numbers = {digest: number for number, digest in reversed(self._digests.items())}
        self.none = Digests()
        """The empty list, which the others go on from."""
        self._lists: dict[str | None, Digests] = {None: self.none}
        self._last = Digests()

    def digests(self, numbers: Iterable[int]) -> Digests:
        """Return the digests of turns by their numbers."""
        digests = [self._digests[number] for number in numbers]
        # What goes on from the last ones shares their chain digests.
        self._last = grown(self._last, digests, Digests)
        return self._last

    def carrying(self, turn: Turn, context: Sequence[int], above: Digests, number: int = 0) -> Turn:
        """Return a turn with the numbers of those that it carried; 0 is one that is not known.

        Args:
            turn: the turn.
            context: numbers of those that stand above it.
            above: their digests.
            number: its own number, if it has one.
        """
        now, stand = newest(context, turn.last), newest(above, turn.last)
        record = self.listed(cast("Record", turn.record))
        if record.carried != above:
            for each in (above,) if turn.last is None else (above, Digests(stand)):
                self._lists[each.chain(len(each))] = each
            record = self.listed(record)
        carried = now if record.carried == stand else self._known(record.carried, stand, now)
        # One 0 stands for all those that no digest tells.
        carried = (0, *carried) if record.earlier else carried
        return replace(turn, number=number, carried=carried, record=record)

    def listed(self, record: Record) -> Record:
        """Return a record with all turns that its request carried, where these can be known.

        Most requests carried what stands above their turn, or what the first turn that the
        record lists carried itself.

        Args:
            record: as it was saved.
        """
        chain, carried = _json.chain_of(record.carried, record.chain), record.carried
        if chain not in self._lists:
            if record.chain not in self._lists:
                return record
            self._lists[chain] = self._lists[record.chain].followed_by(carried)
        return replace(record, carried=self._lists[chain], earlier=0, chain=None)

    def _known(
        self, carried: Sequence[str], stand: Sequence[str], now: Sequence[int]
    ) -> tuple[int, ...]:
        """Return the numbers of turns by their digests: those above where they fit, else any."""
        here = dict(zip(_occurrences(stand), now, strict=True))
        return tuple(
            here.get((digest, count)) or self._numbers.get(digest, 0)
            for digest, count in _occurrences(carried)
        )


def _occurrences(digests: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield each digest with its count among those before: equal turns are carried once each."""
    counts: Counter[str] = Counter()
    for digest in digests:
        yield digest, counts[digest]
        counts[digest] += 1
