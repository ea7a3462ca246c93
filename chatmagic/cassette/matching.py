"""Which recorded exchange answers a request, and where a new one belongs.

The rules, which need no file and send nothing:

1. Equal requests (one digest) are answered in the order recorded, then from the first again.
2. A cell that is known gets its own exchanges, in their order, each time that it runs. One
   that the cassette does not know keeps what it was given the first time.
3. Nothing leaves the reel but by a refresh that got a whole new reply to the same place, and
   by :meth:`Matcher.remove`. The same place is the same owner and the same prompt as typed;
   without an owner the same prompt as typed, in order.
4. What an execution records stands together, before what its cell recorded in an earlier
   one. That is superseded, as far as this execution has not asked it: it answers its very
   request still, and is no more superseded when its cell asks that again; nothing else finds
   it.
5. An error is recorded only where no reply stands, and not twice. Who records is not given
   it: it is asked again, and a reply that comes then supersedes it.
6. A reply of the emulator is recorded only where there is none of a service.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from chatmagic.cassette import merging

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmagic.cassette.interaction import Recorded

Fate = Literal["kept", "changed", "new", "failed", "not asked"]


@dataclass(frozen=True, slots=True)
class Query:
    """A request, and who makes it.

    Args:
        asked: the request, as it would be recorded.
        execution: identity of the cell's execution; ``None`` is one of its own.
        order: hashes of the page's cells from top to bottom, where the page tells them.
    """

    asked: Recorded
    execution: str | None = None
    order: tuple[str, ...] | None = None

    @property
    def owner(self) -> str | None:
        """Hash of the cell that asks; ``None`` where it is not known."""
        return self.asked.owner


@dataclass(slots=True, eq=False)
class _Item:
    """An exchange on the reel; two equal ones are two.

    Args:
        recorded: the exchange.
        was: what stood in its place before this kernel refreshed it.
        fresh: whether this kernel recorded it.
        failed: whether this kernel asked it again, and an error came.
        given: whether it answered this kernel.
    """

    recorded: Recorded
    was: Recorded | None = None
    fresh: bool = False
    failed: bool = False
    given: bool = False


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


class Matcher:
    """The exchanges of one cassette, and what one kernel has asked of them.

    Args:
        exchanges: in the order recorded.
    """

    def __init__(self, exchanges: Iterable[Recorded]) -> None:
        """Begin with nothing asked."""
        self._items = [_Item(one) for one in exchanges]
        self._cells: dict[str, _Cell] = {}
        self._last: _Item | None = None

    @property
    def exchanges(self) -> tuple[Recorded, ...]:
        """All that the cassette holds now, in its order."""
        return tuple(item.recorded for item in self._items)

    @property
    def standing(self) -> tuple[Recorded, ...]:
        """What is not superseded, in its order."""
        return tuple(one for one in self.exchanges if not one.superseded)

    def replay(self, query: Query) -> Recorded | None:
        """Give the exchange that answers a request again; ``None`` if there is none.

        Args:
            query: what is asked, and by whom.
        """
        cell, equal = self._cell(query), self._equal(query)
        item = self._own(cell, equal) or self._from_used(cell, query, own=True)
        if item is None:
            free = (one for one in equal if not one.given)
            item = next(free, None) or self._from_used(cell, query, own=False)
        if item is None and equal:
            for one in equal:
                one.given = False
            item = equal[0]
        return None if item is None else self._give(item, cell)

    def by_order(self, query: Query) -> Recorded | None:
        """Give the exchange whose turn it is; ``None`` only where none is left to take.

        The cell's own first, then the next with the same prompt as typed, then the next.

        Args:
            query: what is asked, and by whom.
        """
        cell = self._cell(query)
        own = list(cell.spare) if cell is not None else []
        behind = self._index(self._last) + 1 if self._last is not None else 0
        later = [*self._items[behind:], *self._items[:behind]]
        typed = [item for item in later if _typed(item.recorded) == _typed(query.asked)]
        standing = (item for item in (*own, *typed, *later) if not item.recorded.superseded)
        found = next(standing, None)
        return None if found is None else self._give(found, cell)

    def recall(self, query: Query) -> tuple[Recorded | None, bool]:
        """Give the reply that needs not be asked again, for somebody who records.

        Args:
            query: what is asked, and by whom.

        Returns:
            The exchange, or ``None``; and whether its marks or others' changed (rule 4).
        """
        cell = self._cell(query)
        replies = [item for item in self._equal(query) if item.recorded.is_reply]
        item = self._own(cell, replies) or next((one for one in replies if not one.given), None)
        if item is None:
            return None, False
        if query.owner is not None and item.recorded.owner is None:
            item.recorded = replace(item.recorded, owner=query.owner)
        back = item.recorded.superseded and item.recorded.owner == query.owner
        if back:
            item.recorded = replace(item.recorded, superseded=False)
        self._give(item, cell)
        if back:
            self._supersede(self._behind(cell, query))
        return item.recorded, back

    def leaves_behind(self, query: Query, *, renewing: bool) -> bool:
        """Tell whether a new reply would supersede what its cell asked before.

        Args:
            query: what is asked, and by whom.
            renewing: whether the reply takes the place of what stands there.
        """
        cell = self._cell(query)
        if renewing and self._place(cell, query):
            return False
        return bool(self._behind(cell, query))

    def admits(self, recorded: Recorded) -> bool:
        """Tell whether an exchange may be recorded here at all (rule 6).

        Args:
            recorded: the exchange.
        """
        emulated = recorded.origin == "emulator"
        return not emulated or all(one.origin == "emulator" for one in self.exchanges)

    def put(self, recorded: Recorded, query: Query) -> Recorded | None:
        """Take in what was recorded (rules 4 to 6).

        Args:
            recorded: the exchange.
            query: what was asked, and by whom.

        Returns:
            It, as it stands on the reel; ``None`` where nothing was recorded.
        """
        return self._put(recorded, query, renewing=False)

    def renew(self, recorded: Recorded, query: Query) -> Recorded | None:
        """Take in what was asked again, a reply in the place of what it was before (rule 3).

        Args:
            recorded: the exchange.
            query: what was asked, and by whom.

        Returns:
            As for :meth:`put`.
        """
        return self._put(recorded, query, renewing=True)

    def take(self, exchanges: Sequence[Recorded]) -> list[Recorded]:
        """Take in what was recorded for another cassette, behind all others.

        Args:
            exchanges: in their order; one that is here already is not taken twice.

        Returns:
            Those that are not for this one (rule 6).
        """
        fit = [one for one in exchanges if self.admits(one)]
        here = merging.named(self._items, self.exchanges)
        new = [one for name, one in merging.named(fit, fit).items() if name not in here]
        self._items += [_Item(one, fresh=True) for one in new]
        return [one for one in exchanges if one not in fit]

    def beyond(self, held: Sequence[Recorded]) -> tuple[Recorded, ...]:
        """Give the exchanges that are here and not among these.

        Args:
            held: what the cassette's file holds.
        """
        there = merging.named(held, held)
        return tuple(
            one
            for name, one in merging.named(self.exchanges, self.exchanges).items()
            if name not in there
        )

    def remove(self, exchanges: Iterable[Recorded]) -> int:
        """Take exchanges out for good; give how many.

        Args:
            exchanges: as they were held; of several equal ones as many as are given.
        """
        gone: list[_Item] = []
        for one in exchanges:
            alike = [
                i
                for i in self._items
                if merging.name(i.recorded) == merging.name(one) and i not in gone
            ]
            gone += sorted(alike, key=lambda item: item.recorded != one)[:1]
        self._drop(gone)
        return len(gone)

    def fates(self) -> Counter[Fate]:
        """Count what became of each exchange that :meth:`renew` was to renew."""
        return Counter(map(_fate, self._items))

    def join(self, base: Sequence[Recorded], theirs: Sequence[Recorded]) -> None:
        """Take in what somebody else has put into the same cassette, or taken out of it.

        Args:
            base: what both began with.
            theirs: what the cassette holds now.
        """
        found = merging.merged(base, self.exchanges, theirs)
        items, stay = self._items, {place for place, _ in found}
        self._drop([item for place, item in enumerate(items) if place not in stay])
        self._items = []
        for place, one in found:
            item = _Item(one) if place is None else items[place]
            item.recorded = one
            self._items.append(item)

    def _cell(self, query: Query) -> _Cell | None:
        """Give the asking cell's state, begun anew where this is another execution of it."""
        owner = query.owner
        if owner is None:
            return None
        cell = self._cells.get(owner)
        if cell is None or query.execution is None or cell.execution != query.execution:
            lent = cell.lent if cell is not None else []
            spare = [item for item in self._items if item.recorded.owner == owner]
            own = set(map(id, spare))
            spare += [item for item in lent if id(item) not in own]
            cell = self._cells[owner] = _Cell(query.execution, spare, lent=lent)
        return cell

    def _equal(self, query: Query) -> list[_Item]:
        """Give what answers this very request, best first: what is superseded is second."""
        found = [item for item in self._items if item.recorded.answers(query.asked)]
        standing = [item for item in found if not item.recorded.superseded]
        replies = [one for one in found if one.recorded.superseded and one.recorded.is_reply]
        return [*standing, *replies] or found

    @staticmethod
    def _own(cell: _Cell | None, equal: Sequence[_Item]) -> _Item | None:
        """Give the first of these that is the cell's own and was not asked yet."""
        spare = [item for item in (cell.spare if cell is not None else ()) if item in equal]
        return min(spare, key=lambda item: item.recorded.superseded, default=None)

    @staticmethod
    def _from_used(cell: _Cell | None, query: Query, *, own: bool) -> _Item | None:
        """Give what answered this execution, from the first again: it asks more often."""
        for item in cell.used if cell is not None else ():
            is_own = item.recorded.owner == query.owner
            if item.recorded.answers(query.asked) and (is_own or not own):
                return item
        return None

    def _place(self, cell: _Cell | None, query: Query) -> list[_Item]:
        """Give what stands at the same place and was not asked yet (rule 3), best first."""
        free = [one for one in self._items if not one.given]
        if cell is not None:
            own = [one for one in cell.spare if one.recorded.owner == query.owner]
            free = [*own, *(one for one in free if one.recorded.owner is None)]
        else:
            # A panel's question takes no cell's place; a machine's cells are not known.
            others = {*(query.order or ()), *self._cells}
            free = [one for one in free if one.recorded.owner not in others]
        place = [one for one in free if _typed(one.recorded) == _typed(query.asked)]

        def likeness(item: _Item) -> tuple[bool, bool]:
            return not item.recorded.answers(query.asked), item.recorded.superseded

        return sorted(place, key=likeness)

    def _put(self, recorded: Recorded, query: Query, *, renewing: bool) -> Recorded | None:
        if not self.admits(recorded):
            return None
        cell = self._cell(query)
        place = self._place(cell, query)
        held = place[0] if place else None
        if held is not None and not recorded.is_reply:
            if held.recorded.is_reply:
                held.failed = True
                return None
            if held.recorded.error == recorded.error:
                held.was, held.fresh = held.recorded, True
                self._give(held, cell)
                return None
        if held is not None and recorded.is_reply and renewing:
            held.was = held.was if held.fresh else held.recorded
            owner = recorded.owner or held.recorded.owner
            held.recorded = replace(recorded, owner=owner)
            held.fresh, held.failed = True, False
            return self._give(held, cell)
        item = self._insert(recorded, query, cell, place)
        self._give(item, cell)
        if recorded.is_reply:
            self._supersede(self._behind(cell, query))
        return item.recorded

    def _insert(
        self, recorded: Recorded, query: Query, cell: _Cell | None, place: Sequence[_Item]
    ) -> _Item:
        """Put a new exchange where it belongs, and supersede the errors that it is instead of."""
        equal = [one for one in place if one.recorded.answers(query.asked)]
        errors = [one for one in equal if not one.recorded.is_reply]
        if query.owner is None and errors:
            recorded = replace(recorded, owner=errors[0].recorded.owner)
        used = cell.used if cell is not None else []
        mine = [one for one in used if one.recorded.owner == query.owner]
        behind = [*self._behind(cell, query), *errors]
        if mine:
            index = self._index(mine[-1]) + 1
        elif behind:
            places = [self._index(one) for one in behind]
            index = min(places) if recorded.is_reply else max(places) + 1
        else:
            index = self._new_place(query)
        self._supersede(errors)
        item = _Item(recorded, fresh=True)
        self._items.insert(index, item)
        return item

    def _behind(self, cell: _Cell | None, query: Query) -> list[_Item]:
        """Give what the cell recorded, is not superseded, and was not asked by this execution."""
        if cell is None:
            return []
        used = set(map(id, cell.used))
        own = (item for item in self._items if item.recorded.owner == query.owner)
        return [item for item in own if not item.recorded.superseded and id(item) not in used]

    @staticmethod
    def _supersede(items: Iterable[_Item]) -> None:
        for item in items:
            item.recorded = replace(item.recorded, superseded=True)

    def _give(self, item: _Item, cell: _Cell | None) -> Recorded:
        """Take note of an exchange that answers, or that was recorded."""
        item.given = True
        if cell is not None:
            for held in (cell.spare, cell.used):
                if item in held:
                    held.remove(item)
            # At the end, so that of equal ones the next is the next.
            cell.used.append(item)
            if item not in cell.lent:
                cell.lent.append(item)
        self._last = item
        return item.recorded

    def _drop(self, gone: Sequence[_Item]) -> None:
        """Take these out, wherever they are."""
        ids = set(map(id, gone))
        self._items = [item for item in self._items if id(item) not in ids]
        for cell in self._cells.values():
            for held in (cell.spare, cell.used, cell.lent):
                held[:] = [item for item in held if id(item) not in ids]

    def _new_place(self, query: Query) -> int:
        """Give the place of a cell that has none: as on the page, else behind the last answer."""
        owner, order = query.owner, query.order or ()
        if owner in order:
            below = order[order.index(owner) :]
            found = (i for i, one in enumerate(self._items) if one.recorded.owner in below)
            return next(found, len(self._items))
        return len(self._items) if self._last is None else self._index(self._last) + 1

    def _index(self, item: _Item) -> int:
        """Give an exchange's place; one that is gone stood at the end."""
        return self._items.index(item) if item in self._items else len(self._items) - 1


def _typed(one: Recorded) -> str:
    return one.prompt if one.typed is None else one.typed


def _fate(item: _Item) -> Fate:
    if item.failed:
        return "failed"
    if not item.fresh:
        return "not asked"
    if item.was is None:
        return "new"
    now, then = item.recorded, item.was
    return "kept" if (now.text, now.error) == (then.text, then.error) else "changed"
