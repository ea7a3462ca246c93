"""What steers the turns below a cell without being a turn: instructions, threads, hidden turns.

The interface knows messages of ``user`` and ``assistant`` alone (fact 2), so instructions go in
front of the first message that is sent, followed by an empty line; in a message of the role
``system`` only where the user says that the server has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Final, Literal, Self

from chatmagic._json import (
    digest,
    exact_count,
    exact_digest,
    fields_from_json,
    fields_to_json,
    json_field,
    sparse_field,
)
from chatmagic.conversation import template
from chatmagic.conversation.record import VERSION, kind_of, owner_from
from chatmagic.conversation.request_facts import Value, switch, thread_name
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Position, Window
from chatmagic.errors import InputError
from chatmagic.models import Message
from chatmagic.text import counted, one_line

SteeringKind = Literal["instructions", "thread", "hiding"]


@dataclass(frozen=True, slots=True)
class Steering(ABC):
    """Item in the slot of a cell that holds for the turns below.

    Args:
        owner: hash of the cell that owns it; ``None`` without one.
        execution: what tells one execution of the cell from another; ``None`` is unknown.
    """

    _: KW_ONLY
    owner: str | None = None
    execution: str | None = None

    kind: ClassVar[SteeringKind]
    """The kind, as records and messages name it."""

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote, or any other value from an untrusted file.

        Args:
            value: the value in an output's metadata.

        Raises:
            NewerVersionError: a later release wrote it.
            ValueError: it is no such record.
        """
        kind_of(value)
        facts = value.get(cls.kind) if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or not isinstance(facts, Mapping):
            raise ValueError(f"its {cls.kind!r} cannot be read")
        owner = value.get("owner")
        owner = None if owner is None else owner_from(owner)
        return cls(**cls.facts_from(facts), owner=owner)

    @classmethod
    def facts_from(cls, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Read :attr:`facts`; a ``ValueError`` says what is wrong with them.

        Args:
            facts: the JSON object that holds them.
        """
        return fields_from_json(cls, facts)

    @property
    def facts(self) -> dict[str, Any]:
        """What files keep of it."""
        return fields_to_json(self)

    @property
    def facts_digest(self) -> str:
        """Digest of what files keep of it."""
        return digest(self.facts)

    @abstractmethod
    def steer(self, place: Position) -> None:
        """Let what it does hold in a place, which stands just below its own.

        Args:
            place: the place.
        """

    def numbered(self, place: Position) -> Self:  # noqa: ARG002 - for kinds that name a turn
        """Return the same as it reads in a place.

        Args:
            place: the place, which stands just above its own.
        """
        return self

    def renumbered(self, by: int) -> Self:  # noqa: ARG002 - the same
        """Return the same for a conversation in which the turns have other numbers.

        Args:
            by: how much is added to each number; 0 stands for a turn that is not known.
        """
        return self

    @property
    def reads(self) -> tuple[str, ...]:
        """What its cell shows of it."""
        return self.kind, *map(str, self.facts.values())

    @property
    @abstractmethod
    def source(self) -> str:
        """The source of the cell that gives it."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What it does, in words."""

    @property
    def text(self) -> str:
        """A text that it holds, which its output shows below the words; empty for none."""
        return ""

    @property
    def heading(self) -> str:
        """The heading of what it does in a conversation as Markdown; empty for none."""
        return ""

    def to_json(self, kind: str = "") -> dict[str, Any]:
        """Return its record, as an output's metadata keep it.

        Args:
            kind: what its cell did, where that is not to give it.
        """
        place = {} if self.owner is None else {"owner": self.owner}
        return {"version": VERSION, "kind": kind or self.kind, **place, self.kind: self.facts}


@dataclass(frozen=True, slots=True)
class Instructions(Steering):
    """Standing instructions in the slot of a cell; they hold below it, up to the next ones.

    Args:
        value: their text and, where it was read from a file, the file's name as typed; an empty
            text ends the instructions above.
    """

    value: Value

    kind = "instructions"

    @classmethod
    def of_text(cls, text: str, file: str = "", **place: str | None) -> Self:
        """Return instructions with this text.

        Args:
            text: as it is sent; white space alone is an empty text.
            file: name of the file it was read from, as typed; empty without one.
            **place: ``owner`` and ``execution``.
        """
        return cls(Value.of_text(file, text if text.strip() else "", "instructions"), **place)

    @classmethod
    def facts_from(cls, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Read the value; its text has to be there."""
        value = Value.from_json(facts)
        if value.text is None or value.kind != "instructions":
            raise ValueError("its 'instructions' cannot be read")
        return {"value": value}

    @property
    def facts(self) -> dict[str, Any]:
        """The value, as files keep it."""
        return self.value.to_json()

    @property
    def text(self) -> str:
        """Their text."""
        return self.value.text or ""

    @property
    def heading(self) -> str:
        """One word."""
        return "Instructions"

    def steer(self, place: Position) -> None:
        """Hold in place of those above; an empty text ends them (rule 15)."""
        place.instructions, place.instructed_by = self.in_force, self.owner

    @property
    def in_force(self) -> Value | None:
        """What requests below them carry; ``None`` where they end the instructions above."""
        return self.value if self.text else None

    @property
    def source(self) -> str:
        """The source of the cell that gives them, also where they were read from a file."""
        # A cell's last line end is not part of them.
        end = "\n" if self.text.endswith("\n") else ""
        return f"%%chat_instructions\n{self.text}{end}"

    @property
    def in_words(self) -> str:
        """What they do, in words."""
        if not self.text:
            return "No instructions for the questions below."
        size = counted(self.value.size, "character")
        return f"Instructions{_file(self.value)} for the questions below: {size}."


def instructed(
    messages: tuple[Message, ...], instructions: Value, *, system_role: bool = False
) -> tuple[Message, ...]:
    """Return the messages of a request with the instructions that hold for it.

    Args:
        messages: of the turns that go along and the prompt, oldest first.
        instructions: with their text.
        system_role: whether they are a message of their own, of the role ``system``.
    """
    if system_role:
        return (Message("system", instructions.text or ""), *messages)
    first, *others = messages
    return (replace(first, content=template.in_front([instructions], first.content)), *others)


def instructions_note(instructions: Value) -> str:
    """Return a note on a question that instructions go along with it.

    Args:
        instructions: the instructions, with or without their text.
    """
    return f"with instructions{_file(instructions)} of {counted(instructions.size, 'character')}"


def _file(instructions: Value) -> str:
    """Return from which file they come, in words; empty without one."""
    file = instructions.expression
    return f" from {one_line(file)}" if file else ""


@dataclass(frozen=True, slots=True)
class ThreadStart(Steering):
    """Start of a thread in the slot of a cell: what stands below, up to the next, is in it.

    Args:
        name: the thread's.
        fork: how many turns of the thread that it stands in are the first ones of its own;
            ``None`` where it begins with none, or goes on with those above.
    """

    name: str = json_field(thread_name, default="", required=True)
    fork: int | None = json_field(exact_count)

    kind = "thread"

    def steer(self, place: Position) -> None:
        """Begin the thread, or go on with it (rules 16 and 17)."""
        place.begin(self.name, self.fork)

    @property
    def heading(self) -> str:
        """Its name."""
        return f"Thread {self.name}"

    @property
    def source(self) -> str:
        """The source of the cell that begins it."""
        fork = "" if self.fork is None else f"--fork {self.fork} "
        return f"%chat_thread {fork}{self.name}"

    @property
    def in_words(self) -> str:
        """What it does, in words."""
        words = f"Thread {self.name} for the questions below."
        if self.fork is None:
            return words
        if not self.fork:
            return f"{words} It begins anew."
        first = "turn" if self.fork == 1 else f"{self.fork:,} turns"
        return f"{words} It begins with the first {first} of the thread above."


def refuse_fork(start: ThreadStart, here: Window, own: Window) -> None:
    """Refuse a fork of turns that are not there, or of a name that has turns already.

    Args:
        start: the start of a thread, which is not added yet.
        here: what a request in its place would carry.
        own: what a request there would carry in the thread of its name.

    Raises:
        InputError: it is such a fork.
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
            hint=f"Take another name, or go on with it: %chat_thread {start.name}.",
        )


@dataclass(frozen=True, slots=True)
class TurnMark(Steering):
    """Mark of one turn, which holds for the requests below a cell.

    It names the turn itself: asked again, its cell has a new turn, of which it does not hold.

    Args:
        number: the turn's number for people, which counts in the thread where the cell stands; 0
            is a turn that is not there.
        digest: the digest by which records name the turn.
        turn: the turn's number in its conversation; 0 is a turn that is not known.
    """

    number: int = json_field(exact_count, default=0, required=True)
    digest: str = json_field(exact_digest, default="", required=True)
    turn: int = 0

    def numbered(self, place: Position) -> Self:
        """Return the same with the number that its turn has in a place."""
        return replace(self, number=place.number_of(self.turn))

    def renumbered(self, by: int) -> Self:
        """Return the same for a conversation in which the turns have other numbers."""
        return replace(self, turn=self.turn and self.turn + by)

    def among(self, line: Sequence[Turn]) -> Self:
        """Return the same with the turn that its digest names: at its number, else elsewhere.

        Args:
            line: the turns of the thread above it.
        """
        turns = (*line[self.number - 1 : self.number], *line) if self.number else ()
        named = (turn.number for turn in turns if turn.recorded_digest == self.digest)
        return replace(self, turn=next(named, 0))


@dataclass(frozen=True, slots=True)
class Hiding(TurnMark):
    """Hiding of a turn in the slot of a cell, or its end (rule 19).

    Args:
        show: whether the turn is carried again.
    """

    show: bool = sparse_field(switch, default=False)

    kind = "hiding"

    def steer(self, place: Position) -> None:
        """Leave the turn out, or carry it again."""
        place.hidden = place.hidden - {self.turn} if self.show else place.hidden | {self.turn}

    @property
    def source(self) -> str:
        """The source of its cell; empty for a turn that is not there."""
        return f"%chat_hide {'--show ' if self.show else ''}{self.number}" if self.number else ""

    @property
    def in_words(self) -> str:
        """What it does, in words."""
        does = "goes along again" if self.show else "is hidden: it does not go along"
        return f"Turn {self.number:,} {does} with the questions below."


Item = Turn | Steering
"""What may stand in a slot: a turn, or what steers the turns below without being one."""


STEERING: Final[dict[str, type[Steering]]] = {
    each.kind: each for each in (Instructions, ThreadStart, Hiding)
}
"""The kinds of what steers the turns below, as records and messages name them."""
