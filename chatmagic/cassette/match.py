"""Matching of a request with recorded interactions.

The rules need no file and send nothing:

1. The interactions recorded for a request's digest answer it. A cell gets, in order and each time
   that it runs, those that it recorded or that answered its earlier execution. Any other request
   gets them in the order recorded, then from the first again. The digest leaves Markdown cells
   out: in a replay one with the same Markdown cells comes first, and one with others answers, too.
   While recording, only one with the same Markdown cells answers.
2. If a request may differ (``--by-order``), it is answered by its position: first by the cell's
   own interaction, then by the same prompt as typed, then by the next interaction.
3. A new interaction is added at the end. Only a refresh that gets a whole reply replaces an
   interaction, at the same place: the same cell and the same prompt as typed; without a cell the
   same prompt as typed, in order.
4. A recorded error answers a replay only if no reply was recorded. An error replaces no reply.
   While recording, an error does not answer: the request is sent again.
5. A reply of the emulator is recorded only if no reply of a service is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.item import CassetteItem, Query


class Matcher:
    """The interactions of one cassette, and their use by one kernel.

    Attributes:
        items: the interactions with their uses, in order.

    Args:
        interactions: the interactions of its file, in the order recorded.
    """

    def __init__(self, interactions: Iterable[Interaction]) -> None:
        """Start before the first request."""
        self.items = [CassetteItem(recorded, was_saved=True) for recorded in interactions]
        self._executions: dict[str | None, object] = {}
        """The latest execution of each cell that has asked, by the cell."""
        self._last: CassetteItem | None = None
        """The item that was used last."""

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """All interactions in their order."""
        return tuple(item.recorded for item in self.items)

    def answer(self, query: Query, *, recording: bool = False) -> Interaction | None:
        """Return the interaction that answers a request (rules 1 and 4); ``None`` without one.

        Args:
            query: the request.
            recording: whether a reply answers only one of a cell's equal requests, as in a loop, so
                that the others are sent.
        """
        self._note_execution(query)
        items = self._answering(query, recording=recording)

        def rank(item: CassetteItem) -> tuple[bool, bool, int, int]:
            has_other_markdown = not item.recorded.has_markdown_of(query.asked)
            is_own = item.is_own(query)
            uses_by_others = 0 if is_own else item.uses.total()
            return has_other_markdown, not is_own, item.uses[query.owner], uses_by_others

        item = min(items, key=rank, default=None)
        return None if item is None else self._use(item, query)

    def _answering(self, query: Query, *, recording: bool) -> list[CassetteItem]:
        """Return the items that may answer a request; see :meth:`answer`."""
        asked = query.asked
        equal = [item for item in self.items if item.recorded.answers(asked)]
        replies = [item for item in equal if item.recorded.is_reply]
        if not recording:
            return replies or equal
        return [
            item
            for item in replies
            if (item.is_fresh or item.is_own(query))
            and not item.uses[query.owner]
            and item.recorded.has_markdown_of(asked)
        ]

    def by_order(self, query: Query) -> Interaction | None:
        """Return the interaction that answers a request by its position (rule 2).

        Args:
            query: the request.

        Returns:
            The interaction; ``None`` if the cassette is empty.
        """
        self._note_execution(query)
        start = 0 if self._last not in self.items else self.items.index(self._last) + 1

        def rank(item: CassetteItem) -> tuple[bool, bool, bool]:
            is_next = item.is_own(query) and not item.uses[query.owner]
            is_same_prompt = item.recorded.as_typed == query.asked.as_typed
            return not is_next, not is_same_prompt, not item.recorded.is_reply

        item = min([*self.items[start:], *self.items[:start]], key=rank, default=None)
        return None if item is None else self._use(item, query)

    def is_changed_cell(self, query: Query) -> bool:
        """Return whether a cell asks a new question while its earlier exchanges stay.

        Args:
            query: a request. After the first answer to its execution the result is ``False``.
        """
        self._note_execution(query)
        own = query.owner
        is_first = own is not None and not any(item.uses[own] for item in self.items)
        return is_first and any(item.recorded.owner == own for item in self.items)

    def admits(self, recorded: Interaction) -> bool:
        """Return whether an interaction may be recorded at all (rule 5).

        Args:
            recorded: the interaction.
        """
        return recorded.origin != "emulator" or all(
            item.recorded.origin == "emulator" for item in self.items
        )

    def add(self, recorded: Interaction, query: Query, *, refresh: bool = False) -> bool:
        """Record a new interaction (rules 3 to 5).

        Args:
            recorded: the interaction.
            query: the request that it answers.
            refresh: whether a reply replaces the interaction at the same place.

        Returns:
            Whether it was recorded.
        """
        if not self.admits(recorded):
            return False
        self._note_execution(query)
        item = self._same_place(query)
        if item is not None and not recorded.is_reply:
            held = item.recorded
            if held.is_reply or held.error == recorded.error:
                return False
        if item is not None and refresh and recorded.is_reply:
            item.replace(recorded)
        else:
            item = CassetteItem(recorded, outcome="new")
            self.items.append(item)
        self._use(item, query)
        return True

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Add the interactions of another cassette at the end.

        Args:
            interactions: the interactions, in their order.

        Returns:
            The interactions that may not be recorded here (rule 5).
        """
        admitted = [recorded for recorded in interactions if self.admits(recorded)]
        self.items += [CassetteItem(recorded, outcome="new") for recorded in admitted]
        return [recorded for recorded in interactions if recorded not in admitted]

    def unused(self) -> list[CassetteItem]:
        """Return the items that the latest answered executions of the cells did not use."""
        answered = {owner for item in self.items for owner in item.uses}
        return [item for item in self.items if not item.uses and item.owners <= answered]

    def _note_execution(self, query: Query) -> None:
        """Count the uses by the cell's execution before this one as earlier uses."""
        own = query.owner
        if self._executions.get(own) != query.execution_key:
            self._executions[own] = query.execution_key
            for item in self.items:
                if item.uses.pop(own, 0):
                    item.owners.add(own)

    def _same_place(self, query: Query) -> CassetteItem | None:
        """Return the best unused item at the same place (rule 3); ``None`` for none."""
        asked = query.asked

        def rank(item: CassetteItem) -> tuple[bool, bool, bool]:
            recorded = item.recorded
            is_own = recorded.owner == query.owner
            return not recorded.answers(asked), not recorded.has_markdown_of(asked), not is_own

        same_prompt = (item for item in self.items if item.recorded.as_typed == asked.as_typed)
        free = (item for item in same_prompt if self._is_free(item, query.owner))
        return min(free, key=rank, default=None)

    def _is_free(self, item: CassetteItem, owner: str | None) -> bool:
        """Return whether a reply to a cell, ``None`` without one, may take an item's place."""
        recorded_by = item.recorded.owner
        if owner is None:
            # A request without a cell replaces no exchange of a cell that has asked here.
            return item.is_fresh and (recorded_by is None or recorded_by not in self._executions)
        if recorded_by is None:
            return item.is_fresh
        return recorded_by == owner and not item.uses[owner]

    def _use(self, item: CassetteItem, query: Query) -> Interaction:
        """Note that the cell used an item, and return its interaction."""
        item.uses[query.owner] += 1
        self._last = item
        return item.recorded
