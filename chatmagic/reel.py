"""Which recorded exchange answers a request, and where a new one belongs.

The rules, which need no file and send nothing:

1. Equal requests (one digest) are answered in the order recorded, then from the first again.
2. A cell that is known gets its own exchanges, in their order, each time that it runs. One
   that the cassette does not know keeps what it was given the first time.
3. What an execution records stands together, in the place of what its cell recorded before.
   What the earlier execution recorded and this one has not asked yet leaves the cassette,
   but answers this execution still, and then comes back.
4. An error answers when it is replayed. Who records is not given it: it is asked again, and
   what comes then takes its place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmagic.tape import Recorded

Fate = Literal["kept", "changed", "new", "dropped"]


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and who makes it.

    Args:
        asked: the request, as it would be recorded.
        execution: identity of the cell's execution; ``None`` is one of its own.
        order: hashes of the page's cells from top to bottom, where the page tells them.
    """

    asked: Recorded
    execution: str | None = None
    order: tuple[str, ...] | None = None


@dataclass(slots=True, eq=False)
class _Item:
    """An exchange on the reel; two equal ones are two."""

    recorded: Recorded
    was: Recorded | None = None
    fresh: bool = False


@dataclass(slots=True)
class _Cell:
    """What the latest execution of a cell has to do with the reel.

    Args:
        execution: its identity.
        spare: exchanges of the cell that it has not asked yet.
        used: those that it has asked or recorded, oldest first.
        lent: exchanges of nobody, or of another cell, that answered the cell.
    """

    execution: str | None = None
    spare: list[_Item] = field(default_factory=list)
    used: list[_Item] = field(default_factory=list)
    lent: list[_Item] = field(default_factory=list)


class Reel:
    """The exchanges of one cassette, and what one kernel has asked of them.

    Args:
        exchanges: in the order recorded.
    """

    def __init__(self, exchanges: Iterable[Recorded]) -> None:
        """Begin with nothing asked."""
        self._items = [_Item(one) for one in exchanges]
        self._given: list[_Item] = []
        self._cells: dict[str, _Cell] = {}
        self._last: _Item | None = None
        self._dropped = 0

    @property
    def exchanges(self) -> tuple[Recorded, ...]:
        """All that the cassette holds now, in its order."""
        return tuple(item.recorded for item in self._items)

    def replay(self, question: Question) -> Recorded | None:
        """Give the exchange that answers a request again; ``None`` if there is none.

        Args:
            question: what is asked, and by whom.
        """
        cell = self._cell(question)
        item = self._own(cell, question) or self._from_used(cell, question, own=True)
        if item is None:
            free = [one for one in self._equal(question) if one not in self._given]
            item = next(iter(free), None) or self._from_used(cell, question, own=False)
        if item is None and (equal := self._equal(question)):
            self._given = [one for one in self._given if one not in equal]
            item = equal[0]
        return None if item is None else self._give(item, cell)

    def by_order(self, question: Question) -> Recorded | None:
        """Give the exchange whose turn it is; ``None`` only where nothing is recorded.

        The cell's own first, then the next with the same prompt as typed, then the next.

        Args:
            question: what is asked, and by whom.
        """
        cell = self._cell(question)
        own = list(cell.spare) if cell is not None else []
        behind = self._index(self._last) + 1 if self._last is not None else 0
        later = [*self._items[behind:], *self._items[:behind]]
        typed = [item for item in later if _typed(item.recorded) == _typed(question.asked)]
        found = next(iter([*own, *typed, *later]), None)
        if found is None:
            return None
        if cell is not None and found in cell.spare:
            cell.spare.remove(found)
        return self._give(found, cell)

    def recall(self, question: Question) -> tuple[Recorded | None, bool]:
        """Give the reply that needs not be asked again, for somebody who records.

        Args:
            question: what is asked, and by whom.

        Returns:
            The exchange, or ``None``; and whether it came back to the reel (rule 3).
        """
        cell = self._cell(question)
        item = self._own(cell, question, replies=True)
        back = cell is not None and item is not None and item not in self._items
        if item is None:
            free = (one for one in self._equal(question) if one not in self._given)
            item = next((one for one in free if one.recorded.is_reply), None)
            if item is not None and self._is_nobodys(item, question):
                item.recorded = replace(item.recorded, owner=question.asked.owner)
        elif back:
            self._insert(item, question, cell)
        return (None if item is None else self._give(item, cell)), back

    def put(self, recorded: Recorded, question: Question) -> None:
        """Take in what was recorded (rules 3 and 4).

        Args:
            recorded: the exchange.
            question: what was asked, and by whom.
        """
        cell = self._cell(question)
        item = _Item(recorded, fresh=True)
        self._insert(item, question, cell)
        self._give(item, cell)

    def renew(self, recorded: Recorded, question: Question) -> None:
        """Take in what was asked again, in the place of what it was before.

        Args:
            recorded: the exchange.
            question: what was asked, and by whom.
        """
        cell = self._cell(question)
        old = self._own(cell, question) or self._counterpart(cell, question)
        if old is None:
            self.put(recorded, question)
            return
        item = _Item(recorded, was=old.was if old.fresh else old.recorded, fresh=True)
        if recorded.owner is None:
            item.recorded = replace(recorded, owner=old.recorded.owner)
        self._items[self._index(old)] = item
        self._give(item, cell)

    def drop_the_rest(self) -> None:
        """Drop what was not asked since the beginning."""
        asked = [item for item in self._items if item.fresh]
        self._dropped += len(self._items) - len(asked)
        self._items = asked

    def fates(self) -> Counter[Fate]:
        """Count what became of the exchanges that :meth:`renew` was to renew."""
        counts: Counter[Fate] = Counter({"dropped": self._dropped})
        counts.update(_fate(item) for item in self._items if item.fresh)
        return counts

    @property
    def unasked(self) -> int:
        """How many exchanges were not asked since the beginning."""
        return sum(not item.fresh for item in self._items)

    def join(self, base: Sequence[Recorded], theirs: Sequence[Recorded]) -> None:
        """Take in what somebody else has put into the same cassette, or taken out of it.

        What was asked here stays.

        Args:
            base: what both began with.
            theirs: what the cassette holds now.
        """
        known = [*base, *self.exchanges]
        self._items = [
            item
            for item in self._items
            if item in self._given or item.recorded in theirs or item.recorded not in base
        ]
        behind = -1
        for one in theirs:
            held = self.exchanges
            if one in held:
                behind = held.index(one)
            elif one not in known:
                behind += 1
                self._items.insert(behind, _Item(one))

    def _cell(self, question: Question) -> _Cell | None:
        """Give the asking cell's state, begun anew where this is another execution of it."""
        owner = question.asked.owner
        if owner is None:
            return None
        cell = self._cells.get(owner)
        if cell is None or question.execution is None or cell.execution != question.execution:
            lent = cell.lent if cell is not None else []
            spare = [item for item in self._items if item.recorded.owner == owner]
            spare += [item for item in lent if item in self._items and item not in spare]
            cell = self._cells[owner] = _Cell(question.execution, spare, lent=lent)
        return cell

    def _own(
        self, cell: _Cell | None, question: Question, *, replies: bool = False
    ) -> _Item | None:
        """Take the first of the cell's own that answers this request."""
        for item in cell.spare if cell is not None else ():
            if _answers(item, question) and (item.recorded.is_reply or not replies):
                cell.spare.remove(item)  # type: ignore[union-attr] # it has items, so it is one
                return item
        return None

    @staticmethod
    def _from_used(cell: _Cell | None, question: Question, *, own: bool) -> _Item | None:
        """Give what answered this execution, from the first again: it asks more often."""
        for item in cell.used if cell is not None else ():
            is_own = item.recorded.owner == question.asked.owner
            if _answers(item, question) and (is_own or not own):
                # To the end, so that the next one is the next.
                cell.used.remove(item)  # type: ignore[union-attr] # as in _own
                return item
        return None

    def _counterpart(self, cell: _Cell | None, question: Question) -> _Item | None:
        """Find what a request that is asked again was before, though it may be another now."""
        if cell is not None and cell.spare:
            return cell.spare.pop(0)
        free = [one for one in self._items if one not in self._given]
        others = {*(question.order or ()), *self._cells} - {question.asked.owner}
        free = [one for one in free if one.recorded.owner not in others]
        equal = [one for one in free if _answers(one, question)]
        typed = [one for one in free if _typed(one.recorded) == _typed(question.asked)]
        return next(iter([*equal, *typed]), None)

    def _equal(self, question: Question) -> list[_Item]:
        return [item for item in self._items if _answers(item, question)]

    @staticmethod
    def _is_nobodys(item: _Item, question: Question) -> bool:
        """Tell whether an exchange belongs to no cell, or to one that is not on the page."""
        owner, order = item.recorded.owner, question.order
        return question.asked.owner is not None and (
            owner is None or (order is not None and owner not in order)
        )

    def _give(self, item: _Item, cell: _Cell | None) -> Recorded:
        """Take note of an exchange that answers."""
        if item not in self._given:
            self._given.append(item)
        if cell is not None:
            cell.used.append(item)
            if item not in cell.lent:
                cell.lent.append(item)
        self._last = item
        return item.recorded

    def _insert(self, item: _Item, question: Question, cell: _Cell | None) -> None:
        """Put an exchange where it belongs, and take out what it replaces."""
        owner = question.asked.owner
        gone = [one for one in self._items if self._is_replaced(one, question, cell)]
        used = [one for one in cell.used if one in self._items] if cell is not None else []
        mine = [one for one in used if one.recorded.owner == owner]
        if mine:
            index = self._index(mine[-1]) + 1
        elif gone:
            index = self._index(gone[0])
        else:
            index = self._new_place(question)
        if owner is None and gone:
            item.recorded = replace(item.recorded, owner=gone[0].recorded.owner)
        index -= sum(self._index(one) < index for one in gone)
        self._items = [one for one in self._items if one not in gone]
        self._items.insert(index, item)

    def _is_replaced(self, one: _Item, question: Question, cell: _Cell | None) -> bool:
        """Tell whether a new exchange takes this one's place."""
        if cell is not None and one.recorded.owner == question.asked.owner:
            return one not in cell.used
        failed = not one.recorded.is_reply and one not in self._given
        nobodys = cell is None or self._is_nobodys(one, question)
        return failed and nobodys and _answers(one, question)

    def _new_place(self, question: Question) -> int:
        """Give the place of a cell that has none: as on the page, else behind the last answer."""
        owner, order = question.asked.owner, question.order or ()
        if owner in order:
            below = order[order.index(owner) :]
            found = (i for i, one in enumerate(self._items) if one.recorded.owner in below)
            return next(found, len(self._items))
        return len(self._items) if self._last is None else self._index(self._last) + 1

    def _index(self, item: _Item) -> int:
        """Give an exchange's place; one that was replaced stood at the end."""
        return self._items.index(item) if item in self._items else len(self._items) - 1


def _answers(item: _Item, question: Question) -> bool:
    return item.recorded.request == question.asked.request


def _typed(one: Recorded) -> str:
    return one.prompt if one.typed is None else one.typed


def _fate(item: _Item) -> Fate:
    if item.was is None:
        return "new"
    now, then = item.recorded, item.was
    return "kept" if (now.text, now.error) == (then.text, then.error) else "changed"
