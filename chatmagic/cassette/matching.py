"""Matching of a request with recorded interactions, and the place of a new one among them.

The rules; they need no file and send nothing:

1. Equal requests (one digest) are answered in the order recorded, then from the first again.
2. A cell that the cassette knows gets its own interactions, in their order, each time it runs.
   A cell that it does not know keeps what answered it the first time.
3. Interactions leave the cassette only by a refresh that gets a whole new reply to the same
   place, and by :meth:`Matcher.remove`. The same place is the same owner and the same prompt as
   typed; without an owner the same prompt as typed, in order.
4. What one execution records stands together, before what its cell recorded in an earlier one.
   That is superseded, unless this execution asks it again: it answers its very request still,
   and nothing else.
5. An error is recorded only where no reply stands, and not twice. Recording does not answer from
   it: the request is sent again, and a reply supersedes the error.
6. A reply of the emulator is recorded only where there is none of a service.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from chatmagic.cassette import merging

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from chatmagic.cassette.interaction import Interaction
    from chatmagic.models import Message

RefreshOutcome = Literal["kept", "changed", "new", "failed", "not asked"]


@dataclass(frozen=True, slots=True)
class Query:
    """A request to look up, with the cell that makes it.

    Args:
        asked: the request, as it would be recorded.
        execution: identity of the cell's execution; ``None`` is an execution of its own.
        order: hashes of the notebook's cells from top to bottom; ``None`` where not known.
        messages: what is sent, for a message that tells what differs.
    """

    asked: Interaction
    execution: str | None = None
    order: tuple[str, ...] | None = None
    messages: Sequence[Message] = ()

    @property
    def owner(self) -> str | None:
        """Hash of the cell that asks; ``None`` where it is not known."""
        return self.asked.owner


@dataclass(slots=True, eq=False)
class _Item:
    """A recorded interaction in this kernel; two equal ones are two items.

    Args:
        recorded: the interaction.
        original: what was recorded in its place before this kernel; ``None`` for a new one.
        outcome: what a refresh by this kernel made of it.
        answered: whether it answered a request of this kernel.
    """

    recorded: Interaction
    original: Interaction | None = None
    outcome: RefreshOutcome = "not asked"
    answered: bool = False


@dataclass(slots=True)
class _Cell:
    """The latest execution of a cell.

    Args:
        execution: its identity.
        used: items that it has asked or recorded, oldest first.
        given: items that answered any execution of the cell.
    """

    execution: str | None = None
    used: dict[_Item, None] = field(default_factory=dict)
    given: dict[_Item, None] = field(default_factory=dict)


class Matcher:
    """The interactions of one cassette, and which of them one kernel has asked.

    Args:
        interactions: in the order recorded.
    """

    def __init__(self, interactions: Iterable[Interaction]) -> None:
        """Begin with nothing asked."""
        self._items = [_Item(recorded, recorded) for recorded in interactions]
        self._cells: dict[str, _Cell] = {}
        self._last: _Item | None = None

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """All interactions in their order."""
        return tuple(item.recorded for item in self._items)

    @property
    def standing(self) -> tuple[Interaction, ...]:
        """The interactions that are not superseded, in their order."""
        return tuple(recorded for recorded in self.interactions if not recorded.superseded)

    def replay(self, query: Query) -> Interaction | None:
        """Return the interaction that answers a request in a replay; ``None`` without one.

        Args:
            query: the request.
        """
        cell, equal = self._cell(query), self._equal(query)
        used = [item for item in cell.used if item in equal]
        candidates = [
            *self._unused(cell, query, equal),
            *(item for item in used if item.recorded.owner == query.owner),
            *(item for item in equal if not item.answered),
            *used,
        ]
        if not candidates:
            candidates = equal
            for item in equal:
                item.answered = False
        return self._give(candidates[0], cell) if candidates else None

    def by_order(self, query: Query) -> Interaction | None:
        """Return the interaction whose turn it is, whatever it answered when it was recorded.

        The cell's own first, then the next with the same prompt as typed, then the next.

        Args:
            query: the request.

        Returns:
            ``None`` only where all are superseded.
        """
        cell = self._cell(query)
        start = 0 if self._last is None else self._index(self._last) + 1
        following = [*self._items[start:], *self._items[:start]]
        typed = [item for item in following if item.recorded.as_typed == query.asked.as_typed]
        for item in (*self._unused(cell, query, self._items), *typed, *following):
            if not item.recorded.superseded:
                return self._give(item, cell)
        return None

    def recall(self, query: Query) -> tuple[Interaction | None, bool]:
        """Return the recorded reply to a request that is being recorded.

        Args:
            query: the request.

        Returns:
            The interaction, or ``None`` where the request has to be sent; and whether marks
            changed that are to be saved (rule 4).
        """
        cell = self._cell(query)
        replies = [item for item in self._equal(query) if item.recorded.is_reply]
        free = [item for item in replies if not item.answered]
        item = next(iter([*self._unused(cell, query, replies), *free]), None)
        if item is None:
            return None, False
        if query.owner is not None and item.recorded.owner is None:
            item.recorded = replace(item.recorded, owner=query.owner)
        restored = item.recorded.superseded and item.recorded.owner == query.owner
        if restored:
            item.recorded = replace(item.recorded, superseded=False)
        self._give(item, cell)
        if restored:
            _supersede(self._outdated(cell, query))
        return item.recorded, restored

    def supersedes(self, query: Query, *, refresh: bool) -> bool:
        """Return whether a new reply would supersede what its cell asked before.

        Args:
            query: the request.
            refresh: whether the reply replaces what stands at the same place.
        """
        cell = self._cell(query)
        return bool(self._outdated(cell, query)) and not (refresh and self._same_place(cell, query))

    def admits(self, recorded: Interaction) -> bool:
        """Return whether an interaction may be recorded at all (rule 6).

        Args:
            recorded: the interaction.
        """
        return recorded.origin != "emulator" or all(
            held.origin == "emulator" for held in self.interactions
        )

    def add(
        self, recorded: Interaction, query: Query, *, refresh: bool = False
    ) -> Interaction | None:
        """Record a new interaction (rules 3 to 6).

        Args:
            recorded: the interaction.
            query: the request that it answers.
            refresh: whether a reply replaces what stands at the same place.

        Returns:
            The interaction as it is recorded; ``None`` where nothing was recorded.
        """
        if not self.admits(recorded):
            return None
        cell = self._cell(query)
        place = self._same_place(cell, query)
        if place and not recorded.is_reply:
            held = place[0]
            if held.recorded.is_reply:
                held.outcome = "failed"
                return None
            if held.recorded.error == recorded.error:
                held.outcome = "kept"
                self._give(held, cell)
                return None
        if place and recorded.is_reply and refresh:
            item = place[0]
            item.recorded = replace(recorded, owner=recorded.owner or item.recorded.owner)
            if (old := item.original) is not None:
                item.outcome = "kept" if old.text == recorded.text else "changed"
            return self._give(item, cell)
        item = self._insert(recorded, query, cell, place)
        self._give(item, cell)
        if recorded.is_reply:
            _supersede(self._outdated(cell, query))
        return item.recorded

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Add the interactions of another cassette behind all others, each of them once.

        Args:
            interactions: in their order.

        Returns:
            Those that may not be recorded here (rule 6).
        """
        fit = [recorded for recorded in interactions if self.admits(recorded)]
        for recorded in merging.missing(fit, self.interactions):
            self._items.append(_Item(recorded, outcome="new"))
        return [recorded for recorded in interactions if recorded not in fit]

    def remove(self, places: Collection[int]) -> dict[int, _Item]:
        """Remove interactions; :meth:`put_back` takes what is returned.

        Args:
            places: their indices.
        """
        items = [*self._items]
        self._items = [item for at, item in enumerate(items) if at not in places]
        return {at: items[at] for at in sorted(places)}

    def put_back(self, removed: Mapping[int, _Item]) -> None:
        """Put back interactions that :meth:`remove` removed."""
        for at, item in removed.items():
            self._items.insert(at, item)

    def outcomes(self) -> Counter[RefreshOutcome]:
        """Return how many interactions a refresh kept, changed, added and did not ask."""
        return Counter(item.outcome for item in self._items)

    def merge(self, base: Sequence[Interaction], theirs: Sequence[Interaction]) -> None:
        """Apply the changes that another kernel made to the same cassette.

        Args:
            base: the state that both kernels began with.
            theirs: the state that the other kernel saved.
        """
        known, now = merging.numbered(base), merging.numbered(theirs)
        here = dict(zip(merging.numbered(self.interactions), self._items, strict=True))
        for key, item in here.items():
            if key in now and item.recorded == known.get(key):
                # Only the other kernel can have marked it since.
                item.recorded = now[key]
        kept = [item for key, item in here.items() if key in now or key not in known]
        new = [now[key] for key in now if key not in known and key not in here]
        self._items = [*kept, *(_Item(recorded, recorded) for recorded in new)]

    def _cell(self, query: Query) -> _Cell:
        """Return the cell's latest execution, begun anew where this is another one."""
        if query.owner is None:
            return _Cell()
        cell = self._cells.get(query.owner)
        if cell is None or query.execution is None or cell.execution != query.execution:
            given = cell.given if cell is not None else {}
            cell = self._cells[query.owner] = _Cell(query.execution, given=given)
        return cell

    def _own(self, cell: _Cell, query: Query) -> list[_Item]:
        """Return the cell's own items that this execution has not asked yet."""
        owner = query.owner
        if owner is None:
            return []
        own = [item for item in self._items if item.recorded.owner == owner]
        return [item for item in own if item not in cell.used]

    def _unused(self, cell: _Cell, query: Query, items: Sequence[_Item]) -> list[_Item]:
        """Return what the cell has not asked yet of these items, the superseded last."""
        given = [item for item in cell.given if item not in cell.used]
        unused = dict.fromkeys([*self._own(cell, query), *given])
        among = set(items)
        return sorted(
            (item for item in unused if item in among), key=lambda item: item.recorded.superseded
        )

    def _equal(self, query: Query) -> list[_Item]:
        """Return what answers this very request; superseded errors only where nothing else does."""
        equal = [item for item in self._items if item.recorded.answers(query.asked)]
        standing = [item for item in equal if not item.recorded.superseded]
        replies = [i for i in equal if i.recorded.superseded and i.recorded.is_reply]
        return [*standing, *replies] or equal

    def _same_place(self, cell: _Cell, query: Query) -> list[_Item]:
        """Return what stands at the same place and was not asked yet (rule 3), best first."""
        if query.owner is not None:
            free = self._own(cell, query)
            free += [i for i in self._items if not i.answered and i.recorded.owner is None]
        else:
            # The panel takes no cell's place; where a program asks, no cells are known.
            cells = {*(query.order or ()), *self._cells}
            free = [i for i in self._items if not i.answered and i.recorded.owner not in cells]
        return sorted(
            (item for item in free if item.recorded.as_typed == query.asked.as_typed),
            key=lambda i: (not i.recorded.answers(query.asked), i.recorded.superseded),
        )

    def _insert(
        self, recorded: Interaction, query: Query, cell: _Cell, place: Sequence[_Item]
    ) -> _Item:
        """Insert a new interaction where it belongs, and supersede the errors before it."""
        equal = [item for item in place if item.recorded.answers(query.asked)]
        errors = [item for item in equal if not item.recorded.is_reply]
        if query.owner is None and errors:
            recorded = replace(recorded, owner=errors[0].recorded.owner)
        own = (item for item in reversed(cell.used) if item.recorded.owner == query.owner)
        latest = next((item for item in own if item in self._items), None)
        outdated = [self._index(item) for item in (*self._outdated(cell, query), *errors)]
        if latest is not None:
            index = self._index(latest) + 1
        elif outdated:
            index = min(outdated) if recorded.is_reply else max(outdated) + 1
        else:
            index = self._new_place(query)
        _supersede(errors)
        item = _Item(recorded, outcome="new")
        self._items.insert(index, item)
        return item

    def _outdated(self, cell: _Cell, query: Query) -> list[_Item]:
        """Return what the cell recorded before, stands, and is not asked by this execution."""
        return [item for item in self._own(cell, query) if not item.recorded.superseded]

    def _give(self, item: _Item, cell: _Cell) -> Interaction:
        """Mark an item that answers, or that was recorded, as asked by a cell."""
        item.answered = True
        # The latest is the last, so that of equal ones the next is the next.
        cell.used.pop(item, None)
        cell.used[item] = None
        cell.given.setdefault(item)
        self._last = item
        return item.recorded

    def _new_place(self, query: Query) -> int:
        """Return the index for a new cell: as in the notebook, else behind the latest answer."""
        owner, order = query.owner, query.order or ()
        if owner in order:
            below = order[order.index(owner) :]
            indices = (at for at, item in enumerate(self._items) if item.recorded.owner in below)
            return next(indices, len(self._items))
        return len(self._items) if self._last is None else self._index(self._last) + 1

    def _index(self, item: _Item) -> int:
        """Return an item's index; a removed one counts as the last."""
        return self._items.index(item) if item in self._items else len(self._items) - 1


def _supersede(items: Iterable[_Item]) -> None:
    for item in items:
        item.recorded = replace(item.recorded, superseded=True)
