"""One question with its reply, the turns of its request, and its messages in later requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from typing import Final

from chatmagic._cached import cached_property
from chatmagic._json import chain_digest, digest, turn_digest, with_shared_fields
from chatmagic.conversation.question import NO_PARAMETERS, RequestFacts, Value
from chatmagic.conversation.record import Record
from chatmagic.models import Message, Reply, ReplyFacts, State

MAIN: Final = "main"
"""The thread of a turn without a start above it."""
IN_NOTEBOOK: Final = "a cell of the notebook"
"""The asker of a turn whose cell has no known number."""


@dataclass(slots=True, eq=False, repr=False)
class Carried:
    """Last turn that a request carried, with its parent: the turns that the request carried before.

    It reads as a tuple of the turns' numbers, oldest first. An unknown turn has the number 0.
    Unknown first turns have one 0 together. Requests of one conversation share their parents, so a
    turn holds one value, however many turns it carried.

    Args:
        parent: the earlier turns; ``None`` for an empty list.
        number: the turn's number; 0 if the turn is unknown.
        digest: the turn's digest in records; ``None`` for several unknown turns.
        total: number of turns, including this one.
        known_chain: the chain digest of all these turns, if it is known already.
        size: length of the tuple of numbers.
    """

    parent: Carried | None = None
    number: int = 0
    digest: str | None = None
    total: int = 0
    known_chain: str | None = None
    size: int = 0

    @classmethod
    def from_turns(cls, turns: Iterable[tuple[int, str]]) -> Carried:
        """Return the value for a list of turns.

        Args:
            turns: their numbers and digests, oldest first.
        """
        carried = NOTHING
        for number, name in turns:
            carried = carried.followed_by(number, name)
        return carried

    @classmethod
    def unknown(cls, total: int, chain: str | None) -> Carried:
        """Return the value for the first turns, if a record does not list them.

        Args:
            total: number of these turns.
            chain: their chain digest.
        """
        return cls(NOTHING, total=total, known_chain=chain, size=1)

    def followed_by(self, number: int, digest: str) -> Carried:
        """Return these turns and one more.

        Args:
            number: number of the added turn.
            digest: digest of the added turn.
        """
        return Carried(self, number, digest, self.total + 1, size=self.size + 1)

    def replaced(self, old: int, number: int, digest: str) -> Carried:
        """Return these turns with another one in the place of one of them, if it is there.

        Args:
            old: number of the turn that is replaced.
            number: number of the other turn.
            digest: digest of the other turn.
        """
        after = [*takewhile(lambda node: node.number != old, self._backwards())]
        replaced = after[-1].parent if after else self
        if replaced is None or replaced.parent is None:
            return self
        turns = replaced.parent.followed_by(number, digest)
        for node in reversed(after):
            turns = turns.followed_by(node.number, node.digest or "")
        return turns

    @property
    def chain(self) -> str | None:
        """Chain digest of these turns; ``None`` for none."""
        missing = [*takewhile(lambda node: node.known_chain is None, self._backwards())]
        for node in reversed(missing):
            before = (node.parent or NOTHING).known_chain
            node.known_chain = chain_digest(before, node.digest or "")
        return self.known_chain

    @property
    def digests(self) -> tuple[str, ...]:
        """Their digests, oldest first, without the unknown ones."""
        digests = [node.digest for node in self._backwards() if node.digest is not None]
        return tuple(reversed(digests))

    @property
    def root(self) -> Carried:
        """The first turns whose digests are unknown; empty for none."""
        return next((node for node in self._backwards() if node.digest is None), NOTHING)

    def newest(self, last: int | None) -> Carried:
        """Return the newest turns.

        Args:
            last: largest number of turns; ``None`` for all.
        """
        if last is None or last >= self.size:
            return self
        newest = [*islice(self._backwards(), last)]
        return Carried.from_turns((node.number, node.digest or "") for node in reversed(newest))

    def listed_in(self, record: Record, shown: Collection[str]) -> Record:
        """Return a record that lists these turns, in a short form.

        Args:
            record: the other facts.
            shown: digests of the turns that a cell shows. The list begins with the newest of them,
                or with the first turn if there is none.
        """
        digests: list[str] = []
        before = NOTHING
        for node in self._backwards():
            if node.digest is None:
                before = node
                break
            digests.append(node.digest)
            if node.digest in shown:
                before = node.parent or NOTHING
                break
        return replace(
            record, carried=tuple(reversed(digests)), earlier=(before.total, before.chain)
        )

    def added_to(self, earlier: Carried) -> list[Carried] | None:
        """Return the turns after an earlier list that these turns continue, oldest first.

        Args:
            earlier: the earlier list.

        Returns:
            The turns, each as the last of its list; ``None`` if these do not continue that list.
        """
        added: list[Carried] = []
        node: Carried | None = self
        while node is not None and node is not earlier:
            if node.size <= earlier.size:
                return None
            added.append(node)
            node = node.parent
        return added[::-1]

    def _backwards(self) -> Iterator[Carried]:
        """Yield this turn and its parents, without the empty list."""
        node: Carried | None = self
        while node is not None and node.parent is not None:
            yield node
            node = node.parent

    def __len__(self) -> int:
        """Count the numbers."""
        return self.size

    def __iter__(self) -> Iterator[int]:
        """Go through the numbers, oldest first."""
        return iter([node.number for node in self._backwards()][::-1])

    def __eq__(self, other: object) -> bool:
        """Return whether another value, or a tuple, has the same numbers."""
        if not isinstance(other, Carried):
            return tuple(self) == other
        if other.size != self.size:
            return False
        # Most requests share their parents.
        pairs = zip(self._backwards(), other._backwards(), strict=True)
        for mine, its in pairs:
            if mine is its:
                return True
            if mine.number != its.number:
                return False
        return True

    def __hash__(self) -> int:
        """Return the hash of a tuple of the numbers."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return the repr of a tuple of the numbers."""
        return repr(tuple(self))


NOTHING = Carried()
"""No turns."""


@dataclass(frozen=True, kw_only=True)
class Turn(RequestFacts):
    """One question and its reply.

    Args:
        reply: the reply, whole or partial.
        number: its number in its conversation, never used twice; 0 until it is added.
        carried: the turns that its request carried.
        instructions: the standing instructions that its request carried; without their text if it
            is unknown.
        record: the record in its output.
    """

    reply: Reply
    number: int = 0
    carried: Carried = NOTHING
    instructions: Value | None = None
    record: Record | None = field(default=None, compare=False, repr=False)

    @property
    def first(self) -> int:
        """The number of the first turn with its question, which may be its own."""
        return self.number if self.again is None else self.again

    @property
    def is_continued(self) -> bool:
        """Whether its reply has several parts (rule 22)."""
        return self.seams != () or (self.record is not None and self.record.continues is not None)

    @property
    def seams(self) -> tuple[str, ...]:
        """The last words before each place where a later part of its reply was joined."""
        return () if self.record is None else self.record.seams

    @property
    def state(self) -> State:
        """``complete``, ``interrupted`` or ``cut off``."""
        return self.reply.state

    @cached_property
    def messages(self) -> tuple[Message, Message]:
        """The two messages of this turn in a later request (fact 2)."""
        return Message("user", self.prompt), Message("assistant", self.reply.text)

    @cached_property
    def digest(self) -> str:
        """The digest of this turn in the record of a later request."""
        return turn_digest(self.prompt, self.reply.text)

    @property
    def recorded_digest(self) -> str:
        """The digest of this turn in records: that of its own record, if it has one."""
        # The prompt has another text now if its values were not kept.
        recorded = None if self.record is None else self.record.turn
        return recorded or self.digest

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts of the turn that its cell shows: the prompt as typed, and the reply."""
        return self.as_typed, self.reply.text

    def to_record(self, request: str, shown: Collection[str] = ()) -> Record:
        """Return the turn's record, with its values.

        Args:
            request: digest of the canonical request.
            shown: digests of the turns that a cell shows.
        """
        record = Record(
            state=self.reply.state,
            origin=self.reply.origin,
            prompt=self.as_typed,
            values=self.values,
            owner=self.owner,
            request=request,
            reply=digest(self.reply.text),
            parameters=self.parameters or NO_PARAMETERS,
            turn=self.digest,
            asked_model=self.asked_model,
            instructions=self.instructions and self.instructions.bare,
            placeholder=self.placeholder,
        )
        record = with_shared_fields(record, self.reply, ReplyFacts)
        return self.carried.listed_in(record, shown)

    def changed_cell(self, cells: Mapping[str, str]) -> str | None:
        """Return a cell that was sent along and has changed since; ``None`` for none.

        Args:
            cells: for each cell that has run, the digest of its present text for a request.
        """
        carried = {value.cell: value.sha256 for value in self.values if value.cell is not None}
        changed = (cell for cell, sha256 in carried.items() if cells.get(cell, sha256) != sha256)
        return next(changed, None)
