"""Matching of a request with recorded interactions, and the difference from the nearest one.

The rules need no file and send nothing:

1. The interactions recorded for a request's digest answer it. A cell gets those that it recorded,
   or that answered an earlier execution of it, in order, each time that it runs. Any other asker
   gets them in the order recorded, then from the first again.
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
from typing import Final, Literal, NamedTuple

from chatmagic.cassette.file import Interaction, by_identity
from chatmagic.models import Message
from chatmagic.text import counted

RefreshOutcome = Literal["kept", "changed", "new", "failed", "not asked"]

EXCERPT: Final = 48
"""How many characters of each text are shown around a difference."""
BEFORE: Final = 20
"""How many of these characters stand before the difference."""


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A request to look up, with the cell that makes it.

    Args:
        asked: the request, as it would be recorded.
        execution: identity of the cell's execution; ``None`` is an execution of its own.
        messages: the messages that are sent, for an error that shows the difference.
    """

    asked: Interaction
    execution: str | None = None
    messages: Sequence[Message] = ()

    @property
    def owner(self) -> str | None:
        """Hash of the cell that asks; ``None`` if it is unknown."""
        return self.asked.owner

    @property
    def run(self) -> object:
        """The execution; all requests without a cell are of one."""
        return self.owner and (self.execution or self)


class Use(NamedTuple):
    """Use of a recorded interaction by one cell.

    Args:
        run: the latest execution of the cell that it answered, or that recorded it.
        times: how often.
        is_again: whether an earlier execution used it, too.
    """

    run: object
    times: int
    is_again: bool


@dataclass(slots=True, eq=False)
class Item:
    """A recorded interaction in this kernel; two equal ones are two items.

    Args:
        recorded: the interaction.
        outcome: its state in a refresh by this kernel.
        uses: its uses by cells.
    """

    recorded: Interaction
    outcome: RefreshOutcome = "not asked"
    uses: dict[str | None, Use] = field(default_factory=dict)

    def used(self, query: Query) -> int:
        """Return how often the execution of a query has used it.

        Args:
            query: the request.
        """
        use = self.uses.get(query.owner)
        return use.times if use is not None and use.run == query.run else 0

    def is_own(self, query: Query) -> bool:
        """Return whether the cell of a query recorded it, or an earlier execution used it.

        Args:
            query: the request.
        """
        use = self.uses.get(query.owner)
        is_again = use is not None and (use.is_again or use.run != query.run)
        return query.owner is not None and (query.owner == self.recorded.owner or is_again)


class Matcher:
    """The interactions of one cassette, and their use by one kernel.

    Args:
        interactions: in the order recorded.
    """

    def __init__(self, interactions: Iterable[Interaction]) -> None:
        """Begin before the first request."""
        self.items = [Item(recorded) for recorded in interactions]
        self._runs: dict[str | None, object] = {}
        self._last: Item | None = None

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """All interactions in their order."""
        return tuple(item.recorded for item in self.items)

    def replay(self, query: Query) -> Interaction | None:
        """Return the interaction that answers a request in a replay; ``None`` without one.

        Args:
            query: the request.
        """
        return self._first(query, self._equal(query) or self._equal(query, replies=False))

    def recall(self, query: Query) -> Interaction | None:
        """Return the recorded reply to a request while the cassette records.

        Args:
            query: the request.

        Returns:
            ``None`` if the request must be sent: each of a cell's equal requests, as in a loop,
            gets a reply of its own.
        """
        equal = self._equal(query)
        free = [i for i in equal if not i.uses or (i.is_own(query) and not i.used(query))]
        return self._first(query, free)

    def by_order(self, query: Query) -> Interaction | None:
        """Return the interaction that answers a request by its position (rule 2).

        Args:
            query: the request.

        Returns:
            ``None`` if the cassette is empty.
        """
        start = 0 if self._last not in self.items else self.items.index(self._last) + 1

        def place(item: Item) -> tuple[bool, bool, bool]:
            is_next = item.is_own(query) and not item.used(query)
            same_words = item.recorded.as_typed == query.asked.as_typed
            return not is_next, not same_words, not item.recorded.is_reply

        item = min([*self.items[start:], *self.items[:start]], key=place, default=None)
        return None if item is None else self._give(item, query)

    def is_changed_cell(self, query: Query, *, refresh: bool) -> bool:
        """Return whether a cell's earlier exchanges stay beside the new reply.

        Args:
            query: the first request of an execution; for its later ones the result is ``False``.
            refresh: whether the reply replaces the interaction at the same place.
        """
        if query.owner is None or self._runs.get(query.owner) == query.run:
            return False
        asked_before = any(item.recorded.owner == query.owner for item in self.items)
        return asked_before and not (refresh and self._same_place(query))

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
        item = self._same_place(query)
        if item is not None and not recorded.is_reply:
            if item.recorded.is_reply:
                item.outcome = "failed"
                return False
            if item.recorded.error == recorded.error:
                item.outcome = "kept"
                self._give(item, query)
                return False
        if item is None or not (refresh and recorded.is_reply):
            item = Item(recorded, outcome="new")
            self.items.append(item)
        else:
            if item.outcome != "new":
                is_same = item.recorded.text == recorded.text and item.outcome != "changed"
                item.outcome = "kept" if is_same else "changed"
            item.recorded = replace(recorded, owner=recorded.owner or item.recorded.owner)
        self._give(item, query)
        return True

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Add the interactions of another cassette at the end, each of them once.

        Args:
            interactions: in their order.

        Returns:
            The interactions that may not be recorded here (rule 5).
        """
        fit = [recorded for recorded in interactions if self.admits(recorded)]
        present = by_identity(self.interactions)
        new = [item for key, item in by_identity(fit).items() if key not in present]
        self.items += [Item(recorded, outcome="new") for recorded in new]
        return [recorded for recorded in interactions if recorded not in fit]

    def unused(self) -> list[Item]:
        """Return the items that the latest executions of this kernel's cells did not use."""
        runs = self._runs
        return [
            item
            for item in self.items
            if not any(runs[owner] == use.run for owner, use in item.uses.items())
        ]

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
            The number of interactions in ``base`` that the file no longer has.
        """
        known = by_identity(base)
        here = dict(zip(by_identity(self.interactions), self.items, strict=True))
        merged = []
        for key, recorded in by_identity(now).items():
            item = here.pop(key, None)
            if item is not None:
                item.recorded = recorded
                merged.append(item)
            elif key not in known:
                merged.append(Item(recorded))
        self.items = [*merged, *here.values()]
        return sum(key in known for key in here)

    def _equal(self, query: Query, *, replies: bool = True) -> list[Item]:
        """Return the replies, or the errors, that were recorded for exactly this request."""
        items = (item for item in self.items if item.recorded.is_reply == replies)
        return [item for item in items if item.recorded.answers(query.asked)]

    def _first(self, query: Query, items: Sequence[Item]) -> Interaction | None:
        """Return the one of these items that answers (rule 1); ``None`` for no items."""

        def rank(item: Item) -> tuple[bool, int, int]:
            is_own = item.is_own(query)
            others = 0 if is_own else sum(use.times for use in item.uses.values())
            return not is_own, item.used(query), others

        item = min(items, key=rank, default=None)
        return None if item is None else self._give(item, query)

    def _same_place(self, query: Query) -> Item | None:
        """Return the best of the unused items at the same place (rule 3); ``None`` for none."""
        own, asked = query.owner, query.asked

        def is_free(item: Item) -> bool:
            is_fresh, recorded_by = not item.uses, item.recorded.owner
            if own is None:
                # It replaces no exchange of a cell that has asked here.
                return is_fresh and recorded_by not in self._runs.keys() - {None}
            return not item.used(query) if recorded_by == own else is_fresh and recorded_by is None

        same = (i for i in self.items if i.recorded.as_typed == asked.as_typed and is_free(i))
        return min(
            same,
            key=lambda i: (not i.recorded.answers(asked), i.recorded.owner != own),
            default=None,
        )

    def _give(self, item: Item, query: Query) -> Interaction:
        """Note that the cell used an item, and return its interaction."""
        item.uses[query.owner] = Use(query.run, item.used(query) + 1, item.is_own(query))
        self._runs[query.owner] = query.run
        self._last = item
        return item.recorded


def nearest(asked: Interaction, recorded: Iterable[Interaction]) -> Interaction | None:
    """Return the recorded request most like a request; ``None`` if none is recorded.

    The same prompt counts most, then the number of equal earlier turns, then the same instructions,
    then the length of the prompts' common beginning. Among equals the latest wins.

    Args:
        asked: the request, as it would be recorded.
        recorded: the recorded requests, oldest first.
    """

    def likeness(candidate: Interaction) -> tuple[bool, int, bool, int, int]:
        return (
            asked.as_typed == candidate.as_typed,
            _shared(asked.before, candidate.before),
            asked.instructions == candidate.instructions,
            _shared(_prompt(asked, candidate), candidate.prompt),
            -abs(len(asked.before) - len(candidate.before)),
        )

    return max(reversed([*recorded]), key=likeness, default=None)


def difference(query: Query, recorded: Interaction, held: Sequence[Interaction]) -> str:
    """Return a sentence on the first difference between a request and a recorded one.

    Args:
        query: the request.
        recorded: the recorded request.
        held: all recorded interactions; the texts of earlier turns are looked up in them.
    """
    ours, theirs = query.asked.before, recorded.before
    shared = _shared(ours, theirs)
    prompt, other = _prompt(query.asked, recorded), recorded.prompt
    turn = next((item for item in held if item.turn in theirs[shared : shared + 1]), None)
    if shared == len(ours) < len(theirs) and prompt != other:
        if turn is None or turn.prompt == query.asked.prompt:
            return (
                "The messages before it are the recorded ones, but no reply to this prompt is "
                "recorded after them."
            )
        return _message(2 * shared, "the prompt", query.asked.prompt, turn.prompt)
    if len(ours) != len(theirs) and (shared == min(len(ours), len(theirs)) or prompt == other):
        return (
            f"The nearest recorded request carries {_earlier(theirs)}, this one {_earlier(ours)}: "
            "a cell above was added, left out, or run in another order."
        )
    if shared < len(ours):
        return _turn_above(shared, query, turn)
    if prompt != other:
        return _message(2 * shared, "the prompt", prompt, other)
    return _changed_parameters(query.asked, recorded)


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return the length of the common beginning of two texts or lists."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def _prompt(request: Interaction, recorded: Interaction) -> str:
    """Return a prompt as sent; as typed if a notebook is compared, which has no other form."""
    return request.as_typed if recorded.typed == recorded.prompt else request.prompt


def _earlier(turns: Sequence[str]) -> str:
    return counted(2 * len(turns), "earlier message")


def _turn_above(number: int, query: Query, recorded: Interaction | None) -> str:
    """Return the sentence for a turn above the prompt.

    Args:
        number: the number of turns before it.
        query: the request.
        recorded: the recorded turn; ``None`` if the cassette does not hold its texts.
    """
    mine = [message.content for message in query.messages[2 * number : 2 * number + 2]]
    theirs = [] if recorded is None else [recorded.prompt, recorded.text or ""]
    kinds = ("a prompt above", "a reply above")
    for at, (kind, now, then) in enumerate(zip(kinds, mine, theirs, strict=False), 2 * number):
        if now != then:
            return _message(at, kind, now, then)
    return (
        f"Messages {2 * number + 1:,} and {2 * number + 2:,} (a turn above) differ from the "
        "recorded ones: its cell was changed, or a value that it puts in."
    )


def _changed_parameters(asked: Interaction, recorded: Interaction) -> str:
    if asked.instructions != recorded.instructions:
        how = "the instructions that go along are not the recorded ones"
        if recorded.instructions is None:
            how = "this one carries instructions, and the recorded one carried none"
        elif asked.instructions is None:
            how = "this one carries no instructions, and the recorded one carried some"
        return f"The messages are the same, but {how}."
    ours = {**asked.parameters, "model": asked.asked_model}
    # A recorded model does not count where none is set now.
    theirs = {**recorded.parameters, "model": asked.asked_model and recorded.asked_model}
    for name in [*theirs, *ours]:
        now, then = (
            "not set" if values.get(name) is None else repr(values[name])
            for values in (ours, theirs)
        )
        if now != then:
            return f"The messages are the same, but {name} is {now}, and was recorded as {then}."
    return (
        "The prompt as typed is the same, but a value that it puts in, --no-stream, extra_body or "
        "system_role differs."
    )


def _message(at: int, kind: str, now: str, then: str) -> str:
    """Return the sentence for a message, with both texts around the first different character.

    Args:
        at: the message's index.
        kind: its kind, in words.
        now: the text that is asked.
        then: the recorded text.
    """
    begin = max(0, _shared(now, then) - BEFORE)
    asked, recorded = (_excerpt(text, begin) for text in (now, then))
    return f"Message {at + 1:,} ({kind}) differs: asked “{asked}”, recorded “{recorded}”."


def _excerpt(text: str, begin: int) -> str:
    """Return a part of a text on one line; unprintable characters are escapes."""
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text[begin : begin + EXCERPT]
    )
    return f"{'…' if begin else ''}{shown}{'…' if begin + EXCERPT < len(text) else ''}"
