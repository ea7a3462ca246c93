"""Matching of a request with recorded interactions, and the difference from the nearest one.

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

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from chatmagic.archive.interaction import Interaction, by_identity
from chatmagic.safe_text import counted

RefreshOutcome = Literal["kept", "changed", "new", "not asked again"]

EXCERPT: Final = 48
"""Number of characters of each text that are shown around a difference."""
BEFORE: Final = 20
"""Number of these characters before the difference."""


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A request to look up, with the cell that makes it.

    Args:
        asked: the request, as it would be recorded.
        execution: identity of the cell's execution; ``None`` counts as a new execution.
    """

    asked: Interaction
    execution: str | None = None

    @property
    def owner(self) -> str | None:
        """Hash of the cell that asks; ``None`` if it is unknown."""
        return self.asked.owner

    @property
    def run(self) -> object:
        """The execution; all requests without a cell have the same one."""
        return self.owner and (self.execution or self)


@dataclass(slots=True, eq=False)
class Item:
    """A recorded interaction in this kernel; two equal ones are two items.

    Args:
        recorded: the interaction.
        outcome: its state in a refresh by this kernel.
        uses: number of uses by the latest execution of each cell.
        owners: the cells whose earlier execution used it.
        was_saved: whether the file has held it as it is.
    """

    recorded: Interaction
    outcome: RefreshOutcome = "not asked again"
    uses: Counter[str | None] = field(default_factory=Counter)
    owners: set[str | None] = field(default_factory=set)
    was_saved: bool = False

    @property
    def is_fresh(self) -> bool:
        """Whether no cell has used it here."""
        return not self.uses and not self.owners

    def is_own(self, query: Query) -> bool:
        """Return whether the cell of a query recorded this item, or used it earlier.

        Args:
            query: the request.
        """
        own = query.owner
        return own is not None and (own == self.recorded.owner or own in self.owners)


class Matcher:
    """The interactions of one cassette, and their use by one kernel.

    Args:
        interactions: the interactions of its file, in the order recorded.
    """

    def __init__(self, interactions: Iterable[Interaction]) -> None:
        """Start before the first request."""
        self.items = [Item(recorded, was_saved=True) for recorded in interactions]
        self._runs: dict[str | None, object] = {}
        self._last: Item | None = None

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
        self._begin(query)
        own = query.owner
        asked = query.asked
        equal = [item for item in self.items if item.recorded.answers(asked)]
        items = [item for item in equal if item.recorded.is_reply]
        if recording:
            free = [item for item in items if item.is_fresh or item.is_own(query)]
            unused = [item for item in free if not item.uses[own]]
            items = [item for item in unused if item.recorded.has_markdown_of(asked)]
        elif not items:
            items = equal

        def rank(item: Item) -> tuple[bool, bool, int, int]:
            is_own = item.is_own(query)
            is_other = not item.recorded.has_markdown_of(asked)
            return is_other, not is_own, item.uses[own], 0 if is_own else item.uses.total()

        item = min(items, key=rank, default=None)
        return None if item is None else self._give(item, query)

    def by_order(self, query: Query) -> Interaction | None:
        """Return the interaction that answers a request by its position (rule 2).

        Args:
            query: the request.

        Returns:
            The interaction; ``None`` if the cassette is empty.
        """
        self._begin(query)
        start = 0 if self._last not in self.items else self.items.index(self._last) + 1

        def place(item: Item) -> tuple[bool, bool, bool]:
            is_next = item.is_own(query) and not item.uses[query.owner]
            same_words = item.recorded.as_typed == query.asked.as_typed
            return not is_next, not same_words, not item.recorded.is_reply

        item = min([*self.items[start:], *self.items[:start]], key=place, default=None)
        return None if item is None else self._give(item, query)

    def is_changed_cell(self, query: Query) -> bool:
        """Return whether a cell asks a new question while its earlier exchanges stay.

        Args:
            query: a request. After the first answer to its execution the result is ``False``.
        """
        self._begin(query)
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
        self._begin(query)
        item = self._same_place(query)
        if item is not None and not recorded.is_reply:
            held = item.recorded
            if held.is_reply or held.error == recorded.error:
                return False
        if item is not None and refresh and recorded.is_reply:
            if item.outcome != "new":
                is_same = item.recorded.text == recorded.text and item.outcome != "changed"
                item.outcome = "kept" if is_same else "changed"
            item.recorded = replace(recorded, owner=recorded.owner or item.recorded.owner)
            item.was_saved = False
        else:
            item = Item(recorded, outcome="new")
            self.items.append(item)
        self._give(item, query)
        return True

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Add the interactions of another cassette at the end.

        Args:
            interactions: the interactions, in their order.

        Returns:
            The interactions that may not be recorded here (rule 5).
        """
        fit = [recorded for recorded in interactions if self.admits(recorded)]
        self.items += [Item(recorded, outcome="new") for recorded in fit]
        return [recorded for recorded in interactions if recorded not in fit]

    def unused(self) -> list[Item]:
        """Return the items that the latest answered executions of the cells did not use."""
        answered = {owner for item in self.items for owner in item.uses}
        return [item for item in self.items if not item.uses and item.owners <= answered]

    def outcomes(self) -> Counter[RefreshOutcome]:
        """Return the number of interactions by their state in a refresh."""
        return Counter(item.outcome for item in self.items)

    def merge(self, base: Sequence[Interaction], now: Sequence[Interaction]) -> int:
        """Take in the changes that another kernel has made in the cassette's file.

        The interactions of this kernel stay, even if the file no longer has them.

        Args:
            base: the interactions of the file when this kernel read or wrote it last.
            now: the interactions of the file now.

        Returns:
            The number of interactions that the file has held and no longer has.
        """
        known = by_identity(base)
        here = dict(zip(by_identity(self.interactions), self.items, strict=True))
        merged = []
        for key, recorded in by_identity(now).items():
            item = here.pop(key, None)
            if item is not None:
                item.recorded = recorded
                item.was_saved = True
                merged.append(item)
            elif key not in known:
                merged.append(Item(recorded, was_saved=True))
        self.items = [*merged, *here.values()]
        return sum(item.was_saved for item in here.values())

    def note_saved(self) -> None:
        """Take note that the file holds all interactions."""
        for item in self.items:
            item.was_saved = True

    def _begin(self, query: Query) -> None:
        """Count the uses by a cell's execution before this one as earlier uses."""
        own = query.owner
        if self._runs.get(own) != query.run:
            self._runs[own] = query.run
            for item in self.items:
                if item.uses.pop(own, 0):
                    item.owners.add(own)

    def _same_place(self, query: Query) -> Item | None:
        """Return the best unused item at the same place (rule 3); ``None`` for none."""
        own = query.owner
        asked = query.asked

        def is_free(item: Item) -> bool:
            recorded_by = item.recorded.owner
            if own is None:
                # A request without a cell replaces no exchange of a cell that has asked here.
                return item.is_fresh and recorded_by not in self._runs.keys() - {None}
            if recorded_by is None:
                return item.is_fresh
            return recorded_by == own and not item.uses[own]

        same = (i for i in self.items if i.recorded.as_typed == asked.as_typed and is_free(i))
        return min(
            same,
            key=lambda i: (
                not i.recorded.answers(asked),
                not i.recorded.has_markdown_of(asked),
                i.recorded.owner != own,
            ),
            default=None,
        )

    def _give(self, item: Item, query: Query) -> Interaction:
        """Note that the cell used an item, and return its interaction."""
        item.uses[query.owner] += 1
        self._last = item
        return item.recorded


def nearest(asked: Interaction, recorded: Iterable[Interaction]) -> Interaction | None:
    """Return the recorded request that is most like a request; ``None`` if none is recorded.

    The same prompt counts most, then the number of equal earlier turns, then the number of earlier
    turns, then the length of the prompts' common beginning, then the same parameters. Among equals
    the latest wins.

    Args:
        asked: the request, as it would be recorded.
        recorded: the recorded requests, oldest first.
    """

    def likeness(candidate: Interaction) -> tuple[bool, int, int, int, bool]:
        return (
            asked.as_typed == candidate.as_typed,
            _shared(asked.before, candidate.before),
            -abs(len(asked.before) - len(candidate.before)),
            _shared(_prompt(asked, candidate), candidate.prompt),
            asked.parameters == candidate.parameters,
        )

    return max(reversed([*recorded]), key=likeness, default=None)


def difference(asked: Interaction, recorded: Interaction) -> str:
    """Return a sentence on the first difference between a request and a recorded one.

    Args:
        asked: the request, as it would be recorded.
        recorded: the recorded request.
    """
    ours = asked.before
    theirs = recorded.before
    if len(ours) != len(theirs):
        return (
            f"The nearest recorded request carries {counted(len(theirs), 'turn')}, this one "
            f"{len(ours):,}: a cell above was added, left out, or run in another order."
        )
    if ours != theirs:
        return (
            f"Turn {_shared(ours, theirs) + 1:,} of {len(ours):,} that it carries has another "
            "prompt or reply than the recorded one."
        )
    prompt = _prompt(asked, recorded)
    other = recorded.prompt
    if prompt != other:
        begin = max(0, _shared(prompt, other) - BEFORE)
        mine, its = (text[begin : begin + EXCERPT] for text in (prompt, other))
        return (
            f"Message {2 * len(ours) + 1:,} (the prompt) differs: asked {mine!r}, recorded {its!r}."
        )
    return _changed_fact(asked, recorded)


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return the length of the common beginning of two texts or lists."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def _prompt(request: Interaction, recorded: Interaction) -> str:
    """Return a prompt as sent; for a notebook, which has only the typed form, as typed."""
    return request.as_typed if recorded.typed == recorded.prompt else request.prompt


def _changed_fact(asked: Interaction, recorded: Interaction) -> str:
    """Return the sentence for two requests whose messages are the same."""
    ours = {**asked.parameters, "model": asked.asked_model, "instructions": asked.instructions}
    # A recorded model does not count if none is set now.
    model = asked.asked_model and recorded.asked_model
    theirs = {**recorded.parameters, "model": model, "instructions": recorded.instructions}
    for name in [*theirs, *ours]:
        if (now := ours.get(name)) != (then := theirs.get(name)):
            return f"The messages are the same, but {name} is {now!r}, and was {then!r}."
    return (
        "The prompt as typed is the same, but a value that it puts in, stream, extra_body or "
        "system_role differs."
    )
