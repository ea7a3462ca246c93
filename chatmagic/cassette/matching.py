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
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmagic.cassette.interaction import missing, numbered
from chatmagic.cassette.items import Item, Items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from chatmagic.cassette.interaction import Interaction
    from chatmagic.cassette.items import LatestRun, Query, RefreshOutcome


class Matcher:
    """The interactions of one cassette, and which of them one kernel has asked.

    Args:
        interactions: in the order recorded.
    """

    def __init__(self, interactions: Iterable[Interaction]) -> None:
        """Begin with nothing asked."""
        self._items = Items(interactions)

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """All interactions in their order."""
        return tuple(item.recorded for item in self._items.all)

    @property
    def standing(self) -> tuple[Interaction, ...]:
        """The interactions that are not superseded, in their order."""
        return tuple(recorded for recorded in self.interactions if not recorded.superseded)

    def replay(self, query: Query) -> Interaction | None:
        """Return the interaction that answers a request in a replay; ``None`` without one."""
        cell, equal = self._items.cell(query), self._items.equal(query)
        used = [item for item in cell.used if item in equal]
        candidates = [
            *self._items.unused(cell, query, equal),
            *(item for item in used if item.recorded.owner == query.owner),
            *(item for item in equal if not item.answered),
            *used,
        ]
        if not candidates:
            candidates = equal
            for item in equal:
                item.answered = False
        return self._items.give(candidates[0], cell) if candidates else None

    def by_order(self, query: Query) -> Interaction | None:
        """Return the interaction whose turn it is, whatever it answered when it was recorded.

        The cell's own first, then the next with the same prompt as typed, then the next.

        Returns:
            ``None`` only where all are superseded.
        """
        cell = self._items.cell(query)
        following = self._items.following()
        typed = [item for item in following if item.recorded.as_typed == query.asked.as_typed]
        for item in (*self._items.unused(cell, query, following), *typed, *following):
            if not item.recorded.superseded:
                return self._items.give(item, cell)
        return None

    def recall(self, query: Query) -> tuple[Interaction | None, bool]:
        """Return the recorded reply to a request that is being recorded.

        Returns:
            The interaction, or ``None`` where the request has to be sent; and whether marks
            changed that are to be saved (rule 4).
        """
        cell = self._items.cell(query)
        replies = [item for item in self._items.equal(query) if item.recorded.is_reply]
        free = [item for item in replies if not item.answered]
        item = next(iter([*self._items.unused(cell, query, replies), *free]), None)
        if item is None:
            return None, False
        if query.owner is not None and item.recorded.owner is None:
            item.recorded = replace(item.recorded, owner=query.owner)
        restored = item.recorded.superseded and item.recorded.owner == query.owner
        if restored:
            item.recorded = replace(item.recorded, superseded=False)
        self._items.give(item, cell)
        if restored:
            _supersede(self._items.outdated(cell, query))
        return item.recorded, restored

    def supersedes(self, query: Query, *, refresh: bool) -> bool:
        """Return whether a new reply would supersede what its cell asked before.

        Args:
            query: the request.
            refresh: whether the reply replaces what stands at the same place.
        """
        cell = self._items.cell(query)
        replaces = refresh and self._items.same_place(cell, query)
        return bool(self._items.outdated(cell, query)) and not replaces

    def admits(self, recorded: Interaction) -> bool:
        """Return whether an interaction may be recorded at all (rule 6)."""
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
        cell = self._items.cell(query)
        place = self._items.same_place(cell, query)
        if place and not recorded.is_reply:
            held = place[0]
            if held.recorded.is_reply:
                held.outcome = "failed"
                return None
            if held.recorded.error == recorded.error:
                held.outcome = "kept"
                self._items.give(held, cell)
                return None
        if place and recorded.is_reply and refresh:
            item = place[0]
            item.recorded = replace(recorded, owner=recorded.owner or item.recorded.owner)
            if (old := item.original) is not None:
                item.outcome = "kept" if old.text == recorded.text else "changed"
            return self._items.give(item, cell)
        item = self._insert(recorded, query, cell, place)
        self._items.give(item, cell)
        if recorded.is_reply:
            _supersede(self._items.outdated(cell, query))
        return item.recorded

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Add the interactions of another cassette behind all others, each of them once.

        Args:
            interactions: in their order.

        Returns:
            Those that may not be recorded here (rule 6).
        """
        fit = [recorded for recorded in interactions if self.admits(recorded)]
        for recorded in missing(fit, self.interactions):
            self._items.all.append(Item(recorded, outcome="new"))
        return [recorded for recorded in interactions if recorded not in fit]

    def remove(self, places: Collection[int]) -> dict[int, Item]:
        """Remove interactions; :meth:`put_back` takes what is returned."""
        items = [*self._items.all]
        self._items.all = [item for at, item in enumerate(items) if at not in places]
        return {at: items[at] for at in sorted(places)}

    def put_back(self, removed: Mapping[int, Item]) -> None:
        """Put back interactions that :meth:`remove` removed."""
        for at, item in removed.items():
            self._items.all.insert(at, item)

    def outcomes(self) -> Counter[RefreshOutcome]:
        """Return how many interactions a refresh kept, changed, added and did not ask."""
        return Counter(item.outcome for item in self._items.all)

    def merge(self, base: Sequence[Interaction], theirs: Sequence[Interaction]) -> None:
        """Apply the changes that another kernel made to the same cassette.

        Args:
            base: the state that both kernels began with.
            theirs: the state that the other kernel saved.
        """
        known, now = numbered(base), numbered(theirs)
        here = dict(zip(numbered(self.interactions), self._items.all, strict=True))
        for key, item in here.items():
            if key in now and item.recorded == known.get(key):
                # Only the other kernel can have marked it since.
                item.recorded = now[key]
        kept = [item for key, item in here.items() if key in now or key not in known]
        new = [now[key] for key in now if key not in known and key not in here]
        self._items.all = [*kept, *(Item(recorded, recorded) for recorded in new)]

    def _insert(
        self, recorded: Interaction, query: Query, cell: LatestRun, place: Sequence[Item]
    ) -> Item:
        """Insert a new interaction where it belongs, and supersede the errors before it."""
        equal = [item for item in place if item.recorded.answers(query.asked)]
        errors = [item for item in equal if not item.recorded.is_reply]
        if query.owner is None and errors:
            recorded = replace(recorded, owner=errors[0].recorded.owner)
        own = (item for item in reversed(cell.used) if item.recorded.owner == query.owner)
        latest = next((item for item in own if item in self._items.all), None)
        before = *self._items.outdated(cell, query), *errors
        outdated = [self._items.index(item) for item in before]
        if latest is not None:
            index = self._items.index(latest) + 1
        elif outdated:
            index = min(outdated) if recorded.is_reply else max(outdated) + 1
        else:
            index = self._items.new_place(query)
        _supersede(errors)
        item = Item(recorded, outcome="new")
        self._items.all.insert(index, item)
        return item


def _supersede(items: Iterable[Item]) -> None:
    for item in items:
        item.recorded = replace(item.recorded, superseded=True)
