"""Effects of a cell on the requests below it: instructions, threads, hidden turns, other replies.

The interface knows only messages of ``user`` and ``assistant`` (fact 2). So instructions go in
front of the first message, followed by an empty line. They are a message of the role ``system``
only if the user sets that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Final, Literal, Self

from chatmagic._json import (
    exact_count,
    exact_digest,
    fields_from_json,
    fields_to_json,
    json_field,
    sparse_field,
)
from chatmagic.conversation import template
from chatmagic.conversation.question import Value, switch, thread_name
from chatmagic.conversation.record import VERSION, owner_from, record_kind
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Position, Window
from chatmagic.errors import InputError
from chatmagic.models import Message
from chatmagic.safe_text import counted, one_line

SteeringKind = Literal["instructions", "thread", "hiding", "pick"]


@dataclass(frozen=True, slots=True)
class Steering(ABC):
    """Item in the slot of a cell that affects the turns below.

    Args:
        owner: hash of the cell that owns it; ``None`` without a cell.
        execution: identity of the cell's execution; ``None`` if unknown.
    """

    _: KW_ONLY
    owner: str | None = None
    execution: str | None = None

    kind: ClassVar[SteeringKind]
    """The kind's name in records and messages."""
    mark: ClassVar[str]
    """The mark of its cell in a page once the item was taken back."""

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read the output of :meth:`to_json`, or any other value from an untrusted file.

        Args:
            value: the value in an output's metadata.

        Raises:
            NewerVersionError: a later release wrote it.
            ValueError: the value is no such record.
        """
        record_kind(value)
        facts = value.get(cls.kind) if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or not isinstance(facts, Mapping):
            raise ValueError(f"its {cls.kind!r} cannot be read")
        owner = value.get("owner")
        owner = None if owner is None else owner_from(owner)
        return cls.from_facts(facts, owner)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], owner: str | None) -> Self:
        """Return the item with these :attr:`facts`; a ``ValueError`` names a fault.

        Args:
            facts: the JSON object that holds them.
            owner: as for the item.
        """
        return cls(**fields_from_json(cls, facts), owner=owner)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the item that files keep."""
        return fields_to_json(self)

    @abstractmethod
    def steer(self, place: Position) -> None:
        """Apply the effect to a place.

        Args:
            place: the place just below the item.
        """

    def numbered(self, place: Position) -> Self:  # noqa: ARG002 - only some kinds name a turn
        """Return the same item with the turn numbers of a place.

        Args:
            place: the place just above the item.
        """
        return self

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts of the item that its cell shows."""
        return self.kind, *map(str, self.facts.values())

    @property
    @abstractmethod
    def source(self) -> str:
        """The source of its cell."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """The effect in words."""

    @property
    def text(self) -> str:
        """The text in its output, below the words; empty for none."""
        return ""

    def to_json(self, kind: str = "") -> dict[str, Any]:
        """Return its record as JSON, for an output's metadata.

        Args:
            kind: the kind of the record, if it is not the item's.
        """
        place = {} if self.owner is None else {"owner": self.owner}
        return {"version": VERSION, "kind": kind or self.kind, **place, self.kind: self.facts}


@dataclass(frozen=True, slots=True)
class Instructions(Steering):
    """Standing instructions in the slot of a cell, for the turns below up to the next ones.

    Args:
        value: their text and, if it is from a file, the file's name as typed. An empty text ends
            the instructions above.
    """

    value: Value

    kind = "instructions"
    mark = (
        "No longer applied: an undo or a load removed these instructions. "
        "Run the cell again to apply them."
    )

    @classmethod
    def of_text(
        cls, text: str, file: str = "", *, owner: str | None = None, execution: str | None = None
    ) -> Self:
        """Return instructions with this text.

        Args:
            text: the text to send; white space alone is an empty text.
            file: name of its file, as typed; empty without a file.
            owner: hash of the cell that owns them; ``None`` without a cell.
            execution: identity of the cell's execution; ``None`` if unknown.
        """
        value = Value.of_text(file, text if text.strip() else "", "instructions")
        return cls(value, owner=owner, execution=execution)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], owner: str | None) -> Self:
        """Return instructions with this value; its text is required.

        Args:
            facts: the JSON object that holds the value.
            owner: as for the item.
        """
        value = Value.from_json(facts)
        if value.text is None or value.kind != "instructions":
            raise ValueError("its 'instructions' cannot be read")
        return cls(value, owner=owner)

    @property
    def facts(self) -> dict[str, Any]:
        """The value, as files keep it."""
        return self.value.to_json()

    @property
    def text(self) -> str:
        """Their text."""
        return self.value.text or ""

    def steer(self, place: Position) -> None:
        """Replace the instructions above; an empty text ends them (rule 15).

        Args:
            place: the place just below the item.
        """
        place.instructions = self.below
        place.instructed_by = self.owner

    @property
    def below(self) -> Value | None:
        """The instructions in requests below; ``None`` if they end the instructions above."""
        return self.value if self.text else None

    @property
    def source(self) -> str:
        """The source of their cell, even if they were read from a file."""
        # The cell's last line end is not part of the instructions, so their own needs another.
        end = "\n" if self.text.endswith("\n") else ""
        return f"%%chat_instructions\n{self.text}{end}"

    @property
    def in_words(self) -> str:
        """The effect in words."""
        if not self.text:
            return "No instructions for the questions below."
        size = counted(self.value.size, "character")
        return f"Instructions{_file(self.value)} for the questions below: {size}."


def instructed(
    messages: tuple[Message, ...], instructions: Value, *, system_role: bool = False
) -> tuple[Message, ...]:
    """Return the messages of a request with its instructions.

    Args:
        messages: the messages of the carried turns and the prompt, oldest first.
        instructions: the instructions, with their text.
        system_role: whether they are a separate message of the role ``system``.
    """
    if system_role:
        return (Message("system", instructions.text or ""), *messages)
    first, *others = messages
    return (replace(first, content=template.in_front([instructions], first.content)), *others)


def instructions_note(instructions: Value) -> str:
    """Return a note that a question carries instructions.

    Args:
        instructions: the instructions, with or without their text.
    """
    return f"with instructions{_file(instructions)} of {counted(instructions.size, 'character')}"


def _file(instructions: Value) -> str:
    """Return the file of the instructions, in words; empty without a file."""
    file = instructions.expression
    return f" from {one_line(file)}" if file else ""


@dataclass(frozen=True, slots=True)
class ThreadStart(Steering):
    """Start of a thread in the slot of a cell: the turns below, up to the next start, are in it.

    Args:
        name: name of the thread.
        fork: number of turns of the surrounding thread with which the thread begins; ``None`` for a
            thread that begins with none, or that continues.
    """

    name: str = json_field(thread_name, default="", required=True)
    fork: int | None = json_field(exact_count)

    kind = "thread"
    mark = (
        "No longer applied: an undo or a load removed this thread. Run the cell again to begin it."
    )

    def steer(self, place: Position) -> None:
        """Begin the thread, or continue it (rules 16 and 17).

        Args:
            place: the place just below the item.
        """
        place.begin(self.name, self.fork)

    @property
    def source(self) -> str:
        """The source of its cell."""
        fork = "" if self.fork is None else f"--fork {self.fork} "
        return f"%chat_thread {fork}{self.name}"

    @property
    def in_words(self) -> str:
        """The effect in words."""
        words = f"Thread {self.name} for the questions below."
        if self.fork is None:
            return words
        if not self.fork:
            return f"{words} It begins without turns."
        first = "turn" if self.fork == 1 else f"{self.fork:,} turns"
        return f"{words} It begins with the first {first} of the thread above."


def refuse_fork(start: ThreadStart, here: Window, own: Window) -> None:
    """Raise an error for a fork with missing turns, or with a name that already has turns.

    Args:
        start: the start of a thread, which is not added yet.
        here: the window of a request in its place.
        own: the window of a request there in the thread of its name.

    Raises:
        InputError: the fork is not possible.
    """
    if start.fork is not None and start.fork > here.index:
        raise InputError(
            f"The thread {here.thread} has {counted(here.index, 'turn')} above this cell. "
            "Nothing was changed.",
            hint="--fork takes the number of the last turn to begin with: %chat_history.",
        )
    if start.fork is not None and own.index:
        raise InputError(
            f"The thread {start.name} has turns above this cell already. Nothing was changed.",
            hint=f"Take another name, or continue it: %chat_thread {start.name}.",
        )


@dataclass(frozen=True, slots=True)
class TurnSteering(Steering):
    """Effect of a cell on the requests below it by one turn, which saved files name.

    It names the turn itself: when the turn's cell asks again, it does not apply to the new turn.

    Args:
        number: the turn's number for people, which counts in the thread where the cell stands; 0 if
            the turn is not there.
        digest: digest of the turn in records.
        turn: the turn's number in its conversation; 0 if the turn is unknown.
    """

    number: int = json_field(exact_count, default=0, required=True)
    digest: str = json_field(exact_digest, default="", required=True)
    turn: int = 0

    def numbered(self, place: Position) -> Self:
        """Return the same item with the number of its turn in a place.

        Args:
            place: the place just above the item.
        """
        return replace(self, number=place.number_of(self.turn))

    def among(self, line: Sequence[Turn]) -> Self:
        """Return the item with the number of the turn of its digest, at its number if possible.

        Args:
            line: the turns of the thread above the item.
        """
        if not self.number:
            return replace(self, turn=0)
        at_its_number = line[self.number - 1 : self.number]
        for turn in (*at_its_number, *line):
            if turn.recorded_digest == self.digest:
                return replace(self, turn=turn.number)
        return replace(self, turn=0)


@dataclass(frozen=True, slots=True)
class Hiding(TurnSteering):
    """Hiding of a turn in the slot of a cell, or its end (rule 19).

    Args:
        show: whether requests carry the turn again.
    """

    show: bool = sparse_field(switch, default=False)

    kind = "hiding"
    mark = (
        "No longer applied: an undo or a load removed this. "
        "Run the cell again to hide or show the turn."
    )

    def steer(self, place: Position) -> None:
        """Hide the turn, or show it again.

        Args:
            place: the place just below the item.
        """
        place.hidings = {**place.hidings, self.turn: not self.show}

    @property
    def source(self) -> str:
        """The source of its cell; empty for a missing turn."""
        return f"%chat_hide {'--show ' if self.show else ''}{self.number}" if self.number else ""

    @property
    def in_words(self) -> str:
        """The effect in words."""
        does = "goes along again" if self.show else "is hidden: it does not go along"
        return f"Turn {self.number:,} {does} with the questions below."


@dataclass(frozen=True, slots=True)
class Replacement(Steering):
    """Reply that stands for an earlier reply to its question, from its slot on down (rule 20).

    Its record is its turn's, which names the replaced turns by their digests.

    Args:
        turn: the turn with the reply: a new one, or an earlier one that is put back.
    """

    turn: Turn

    kind = "pick"
    source = ""
    in_words = ""

    def steer(self, place: Position) -> None:
        """Put the turn in the place of the turn above that has its question.

        Args:
            place: the place just below the item.
        """
        place.put(self.turn)

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts of the turn that its cell shows."""
        return self.turn.reads


Item = Turn | Steering
"""Item of a slot: a turn, or a steering item."""


STEERING: Final[dict[str, type[Steering]]] = {
    kind.kind: kind for kind in (Instructions, ThreadStart, Hiding)
}
"""The kinds of steering items by their names in records and messages."""
