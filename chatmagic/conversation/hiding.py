"""Hiding: a turn that the requests below a cell leave out, or carry again; its record and cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from chatmagic._json import exact_count, exact_digest, json_field
from chatmagic.conversation.request_facts import switch, where_on
from chatmagic.conversation.steering import Steering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.conversation.turn import Turn


@dataclass(frozen=True, slots=True)
class Hiding(Steering):
    """Hiding of a turn in the slot of a cell, or its end; it holds for the requests below.

    Args:
        number: the turn's number for people, which counts in the thread where the cell stands; 0
            is a turn that is not there.
        digest: the digest by which records name the turn.
        show: whether it is carried again.
        turn: the turn's number in its conversation; 0 is a turn that is not known.
    """

    number: int = json_field(exact_count, default=0, required=True)
    digest: str = json_field(exact_digest, default="", required=True)
    show: bool = json_field(switch, where_on, default=False)
    turn: int = 0

    kind = "hiding"

    @property
    def reads(self) -> tuple[str, ...]:
        """What its cell shows of it."""
        return ("hiding", str(self.number), str(self.show))

    @property
    def source(self) -> str:
        """The source of its cell; empty for a turn that is not there."""
        return f"%chat_hide {'--show ' if self.show else ''}{self.number}" if self.number else ""

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
