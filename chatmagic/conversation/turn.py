"""One question with its reply, and what a later request carries of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from chatmagic._json import digest, turn_digest
from chatmagic.conversation.record import Record
from chatmagic.models import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmagic.conversation.record import Value
    from chatmagic.models import Reply, State

Entry = Literal["cell", "panel", "python"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question and its reply.

    Args:
        prompt: the question as it was sent.
        reply: the reply, whole or as far as it came.
        number: its number in its conversation, never used twice; 0 until it is added.
        owner: hash of the cell that owns it; ``None`` without one.
        execution: what tells one execution of the cell from another; ``None`` is unknown.
        entry: where it was asked: in a ``cell``, in the ``panel``, or from ``python``.
        asker: who asked it, in words.
        carried: numbers of the turns that its request carried, oldest first; 0 is a turn that
            is not known here.
        typed: the question as typed, with its ``{{ }}``; ``None`` where nothing was put in.
        values: what was put in.
        max_tokens: the request's limit on generated tokens; ``None`` where not set.
        temperature: the request's sampling temperature; ``None`` where not set.
        last: at most this many turns were to be carried; ``None`` where not set.
        stream: whether the reply was asked for as a stream.
        took: about how many credits it took, as far as known.
        asked_model: name of the model that was asked for; ``None`` where none was.
        shown: whether an output of a cell shows it, with its record.
        record: what its output keeps of it.
    """

    prompt: str
    reply: Reply
    number: int = 0
    owner: str | None = None
    execution: str | None = None
    entry: Entry = "cell"
    asker: str = ""
    carried: tuple[int, ...] = ()
    typed: str | None = None
    values: tuple[Value, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    last: int | None = None
    stream: bool = True
    took: int | None = None
    asked_model: str | None = None
    shown: bool = False
    record: Record | None = field(default=None, compare=False, repr=False)

    @property
    def state(self) -> State:
        """``complete``, ``interrupted`` or ``cut off``."""
        return self.reply.state

    @property
    def as_typed(self) -> str:
        """The question as typed, with its ``{{ }}`` where it had some."""
        return self.prompt if self.typed is None else self.typed

    @property
    def messages(self) -> tuple[Message, Message]:
        """The two messages by which a later request carries this turn (fact 2)."""
        return Message("user", self.prompt), Message("assistant", self.reply.text)

    @property
    def digest(self) -> str:
        """The digest by which a later request's record names this turn."""
        return turn_digest(self.prompt, self.reply.text)

    @property
    def missing(self) -> tuple[str, ...]:
        """The expressions whose values were not kept, so that the prompt only names them."""
        return tuple(value.expression for value in self.values if value.text is None)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that were set, as a record keeps them."""
        given = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "last": self.last,
            "stream": None if self.stream else False,
        }
        return {name: value for name, value in given.items() if value is not None}

    def to_record(self, carried: Iterable[str], request: str) -> Record:
        """Give the turn's record, with its values.

        Args:
            carried: digests of the turns that its request carried, oldest first.
            request: digest of the canonical request.
        """
        reply = self.reply
        return Record(
            prompt=self.as_typed,
            values=self.values,
            state=reply.state,
            owner=self.owner,
            carried=tuple(carried),
            request=request,
            reply=digest(reply.text),
            parameters=self.parameters,
            model=reply.model,
            usage=reply.usage,
            credits=reply.credits,
            took=self.took,
            finish_reason=reply.finish_reason,
            date=reply.date,
            origin=reply.origin,
            turn=self.digest,
            refusal=reply.refusal,
            recorded=reply.recorded,
            by_order=reply.by_order,
            asked_model=self.asked_model,
        )


@dataclass(frozen=True, slots=True)
class Context:
    """What a request carries of the conversation.

    Args:
        turns: the turns it carries, oldest first.
        total: how many there would be without ``last``.
    """

    turns: tuple[Turn, ...]
    total: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """The turns' numbers, for :attr:`Turn.carried`."""
        return tuple(turn.number for turn in self.turns)

    @property
    def digests(self) -> tuple[str, ...]:
        """The turns' digests, for the new turn's record."""
        return tuple(turn.digest for turn in self.turns)

    @property
    def shown(self) -> frozenset[str]:
        """The digests of those turns that an output of a cell shows."""
        return frozenset(turn.digest for turn in self.turns if turn.shown)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turns' messages, oldest first."""
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def from_panel(self) -> int:
        """How many of the turns were asked in the panel, where Run All will not ask them."""
        return sum(turn.entry == "panel" for turn in self.turns)


def newest(items: tuple[_T, ...], last: int | None) -> tuple[_T, ...]:
    """Give at most so many items, the newest; ``None`` is all of them."""
    return items if last is None else items[max(0, len(items) - last) :]


def is_stale(turns: tuple[Turn, ...], index: int) -> bool:
    """Tell whether a turn would be asked otherwise now, by the turns that stand before it."""
    turn = turns[index]
    now = newest(turns[:index], turn.last)
    return turn.carried != tuple(other.number for other in now)
