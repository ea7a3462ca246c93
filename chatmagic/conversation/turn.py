"""One question with its reply, and what a later request carries of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

from chatmagic._json import digest, shared, turn_digest
from chatmagic.conversation.prefix import Digests, Prefix, grown
from chatmagic.conversation.record import Record
from chatmagic.conversation.request_facts import NO_PARAMETERS, RequestFacts, Value
from chatmagic.models import Message, ReplyFacts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from chatmagic.models import Reply, State

_T = TypeVar("_T")

MAIN: Final = "main"
"""The thread of a turn below no start of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(RequestFacts):
    """One question and its reply.

    Args:
        reply: the reply, whole or as far as it came.
        number: its number in its conversation, never used twice; 0 until it is added.
        carried: numbers of the turns that its request carried, oldest first; 0 is a turn that
            is not known here.
        instructions: the standing instructions that its request carried, without their text.
        record: what its output keeps of it.
    """

    reply: Reply
    number: int = 0
    carried: Sequence[int] = ()
    instructions: Value | None = None
    record: Record | None = field(default=None, compare=False, repr=False)
    # Worked out once: each later request asks for them.
    _asked: Message | None = field(default=None, init=False, compare=False, repr=False)
    _replied: Message | None = field(default=None, init=False, compare=False, repr=False)
    _digest: str | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def state(self) -> State:
        """``complete``, ``interrupted`` or ``cut off``."""
        return self.reply.state

    @property
    def messages(self) -> tuple[Message, Message]:
        """The two messages by which a later request carries this turn (fact 2)."""
        if self._asked is None or self._replied is None:
            asked, replied = Message("user", self.prompt), Message("assistant", self.reply.text)
            object.__setattr__(self, "_asked", asked)
            object.__setattr__(self, "_replied", replied)
            return asked, replied
        return self._asked, self._replied

    @property
    def digest(self) -> str:
        """The digest by which a later request's record names this turn."""
        if self._digest is None:
            digest = turn_digest(self.prompt, self.reply.text)
            object.__setattr__(self, "_digest", digest)
            return digest
        return self._digest

    @property
    def recorded_digest(self) -> str:
        """The digest by which records name this turn; that of its own record is the older."""
        # A prompt whose values were not kept is another text now.
        recorded = None if self.record is None else self.record.turn
        return recorded or self.digest

    @property
    def reads(self) -> tuple[str, ...]:
        """What its cell shows of it: the prompt as typed, and the reply."""
        return self.as_typed, self.reply.text

    def to_record(self, carried: Sequence[str], request: str) -> Record:
        """Return the turn's record, with its values.

        Args:
            carried: digests of the turns that its request carried, oldest first.
            request: digest of the canonical request.
        """
        return Record(
            **shared(self.reply, ReplyFacts),
            prompt=self.as_typed,
            values=self.values,
            owner=self.owner,
            carried=carried if isinstance(carried, Digests) else tuple(carried),
            request=request,
            reply=digest(self.reply.text),
            parameters=self.parameters or NO_PARAMETERS,
            turn=self.digest,
            asked_model=self.asked_model,
            instructions=self.instructions,
        )


@dataclass(frozen=True, slots=True)
class Context:
    """Part of the conversation that a request carries.

    Args:
        turns: the turns it carries, oldest first.
        total: how many there would be without ``last``.
        instructions: the standing instructions that hold, with their text.
        thread: name of the thread that they are of.
        line: all turns that the thread has there, with those that are hidden.
    """

    turns: tuple[Turn, ...]
    total: int
    instructions: Value | None = None
    thread: str = MAIN
    line: tuple[Turn, ...] = ()

    @property
    def numbers(self) -> Prefix[int]:
        """The turns' numbers, for :attr:`Turn.carried`; the last turn's are among them."""
        before = self.turns[-1].carried if self.turns else ()
        return grown(before, [turn.number for turn in self.turns], Prefix)

    @property
    def digests(self) -> Digests:
        """The turns' digests, for the new turn's record."""
        record = self.turns[-1].record if self.turns else None
        before = () if record is None else record.carried
        return grown(before, [turn.digest for turn in self.turns], Digests)

    @property
    def shown(self) -> frozenset[str]:
        """The digests of those turns that an output of a cell shows."""
        return frozenset([turn.digest for turn in self.turns if turn.shown])

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turns' messages, oldest first."""
        return tuple(chain.from_iterable(turn.messages for turn in self.turns))

    @property
    def places(self) -> list[tuple[int, Turn]]:
        """The turns with their numbers for people, which count in their thread."""
        carried = {*self.numbers}
        return [each for each in enumerate(self.line, 1) if each[1].number in carried]

    @property
    def hidden(self) -> int:
        """How many of the thread's turns are hidden."""
        return len(self.line) - self.total

    @property
    def from_panel(self) -> int:
        """How many of the turns were asked in the panel, where Run All will not ask them."""
        return [turn.entry for turn in self.turns].count("panel")


def newest(items: Sequence[_T], last: int | None) -> Sequence[_T]:
    """Return the newest items.

    Args:
        items: oldest first.
        last: how many at most; ``None`` is all of them.
    """
    return items if last is None else items[max(0, len(items) - last) :]


def visible(turns: Sequence[Turn], hidden: Collection[int]) -> tuple[Turn, ...]:
    """Return the turns that are not hidden.

    Args:
        turns: oldest first.
        hidden: the numbers of those that are.
    """
    return tuple(turn for turn in turns if turn.number not in hidden) if hidden else tuple(turns)


def carries_others(turn: Turn, above: Sequence[Turn]) -> bool:
    """Return whether a turn would carry other turns now than it did.

    Args:
        turn: the turn.
        above: the turns that a request in its place would carry without ``last``.
    """
    now = newest(tuple(above), turn.last)
    return turn.carried != tuple(other.number for other in now)


def changed_cell(turn: Turn, cells: Mapping[str, str]) -> str | None:
    """Return a cell that went along with a turn and says or shows something else now.

    Args:
        turn: the turn.
        cells: for each cell that has run, the digest of what would go along of it now.
    """
    carried = {value.cell: value.sha256 for value in turn.values if value.cell is not None}
    changed = (cell for cell, sha256 in carried.items() if cells.get(cell, sha256) != sha256)
    return next(changed, None)


def is_instructed_otherwise(turn: Turn, instructions: Value | None) -> bool:
    """Return whether a turn would carry other instructions than it did, whatever their name.

    Args:
        turn: the turn.
        instructions: those that hold for it now.
    """
    then, now = (value and value.sha256 for value in (turn.instructions, instructions))
    return then != now
