"""Hiding: a turn that the requests below a cell leave out, or carry again; its record and cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from chatmagic._json import exact_count, exact_digest, fields_from_json, fields_to_json, json_field
from chatmagic.conversation.record import VERSION, kind_of, owner_from
from chatmagic.conversation.request_facts import switch, where_on

if TYPE_CHECKING:
    from chatmagic.conversation.turn import Turn


@dataclass(frozen=True, slots=True)
class Hiding:
    """Hiding of a turn in the slot of a cell, or its end; it holds for the requests below.

    Args:
        number: the turn's number for people, which counts in the thread where the cell stands; 0
            is a turn that is not there.
        digest: the digest by which records name the turn.
        show: whether it is carried again.
        turn: the turn's number in its conversation; 0 is a turn that is not known.
        owner: hash of the cell that owns it; ``None`` without one.
        execution: what tells one execution of the cell from another; ``None`` is unknown.
    """

    number: int = json_field(exact_count, default=0, required=True)
    digest: str = json_field(exact_digest, default="", required=True)
    show: bool = json_field(switch, where_on, default=False)
    turn: int = 0
    owner: str | None = None
    execution: str | None = None

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote, or any other value from an untrusted file.

        Raises:
            NewerVersionError: a later release wrote it.
            ValueError: it is no such record.
        """
        if kind_of(value) != "hiding" or not isinstance(value, Mapping):
            raise ValueError("it is not the record of a hiding")
        facts, owner = value.get("hiding"), value.get("owner")
        if not isinstance(facts, Mapping):
            raise ValueError("its 'hiding' cannot be read")
        owner = None if owner is None else owner_from(owner)
        return cls(**fields_from_json(cls, facts), owner=owner)

    @property
    def facts(self) -> dict[str, Any]:
        """What files keep of it."""
        return fields_to_json(self)

    @property
    def reads(self) -> tuple[str, ...]:
        """What its cell shows of it."""
        return ("hiding", str(self.number), str(self.show))

    @property
    def source(self) -> str:
        """The source of the cell that gives it."""
        return f"%chat_hide {'--show ' if self.show else ''}{self.number}"

    @property
    def in_words(self) -> str:
        """What it does, in words."""
        does = "goes along again" if self.show else "is hidden: it does not go along"
        return f"Turn {self.number:,} {does} with the questions below."

    def among(self, line: Sequence[Turn]) -> Self:
        """Return the same with the turn that its digest names: at its number, else elsewhere.

        Args:
            line: the turns of the thread above it.
        """
        turns = (*line[self.number - 1 : self.number], *line) if self.number else ()
        named = (turn.number for turn in turns if turn.recorded_digest == self.digest)
        return replace(self, turn=next(named, 0))

    def to_json(self) -> dict[str, Any]:
        """Return its record, as an output's metadata keep it."""
        place = {} if self.owner is None else {"owner": self.owner}
        return {"version": VERSION, "kind": "hiding", **place, "hiding": self.facts}
