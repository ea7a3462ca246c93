"""Threads: what begins one in a cell, its record, and the cell that gives it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from chatmagic._json import exact_count, fields_from_json, fields_to_json, json_field
from chatmagic.conversation.record import VERSION, kind_of, owner_from
from chatmagic.conversation.request_facts import thread_name
from chatmagic.errors import InputError
from chatmagic.text import counted

if TYPE_CHECKING:
    from chatmagic.conversation.turn import Context

Kind = Literal["thread", "deletion"]
"""What a cell may do with a thread: begin it, or delete it."""

_ANEW: Final = " It begins anew."


@dataclass(frozen=True, slots=True)
class ThreadStart:
    """Start of a thread in the slot of a cell: what stands below, up to the next, is in it.

    Args:
        name: the thread's.
        fork: how many turns of the thread that it stands in are the first ones of its own;
            ``None`` where it begins with none, or goes on with those above.
        owner: hash of the cell that owns it; ``None`` without one.
        execution: what tells one execution of the cell from another; ``None`` is unknown.
    """

    name: str = json_field(thread_name, default="", required=True)
    fork: int | None = json_field(exact_count)
    owner: str | None = None
    execution: str | None = None

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote, or any other value from an untrusted file.

        Raises:
            NewerVersionError: a later release wrote it.
            ValueError: it is no such record.
        """
        if kind_of(value) not in {"thread", "deletion"} or not isinstance(value, Mapping):
            raise ValueError("it is not the record of a thread")
        facts, owner = value.get("thread"), value.get("owner")
        if not isinstance(facts, Mapping):
            raise ValueError("its 'thread' cannot be read")
        owner = None if owner is None else owner_from(owner)
        return cls(**fields_from_json(cls, facts), owner=owner)

    @property
    def facts(self) -> dict[str, Any]:
        """Its name and its fork, as files keep them."""
        return fields_to_json(self)

    @property
    def reads(self) -> tuple[str, ...]:
        """What its cell shows of it."""
        return ("thread", self.name, str(self.fork))

    def to_json(self, kind: Kind = "thread") -> dict[str, Any]:
        """Return its record, as an output's metadata keep it.

        Args:
            kind: what its cell did with the thread: began it, or deleted it.
        """
        place = {} if self.owner is None else {"owner": self.owner}
        return {"version": VERSION, "kind": kind, **place, "thread": self.facts}


def in_words(start: ThreadStart) -> str:
    """Return what a start does, in words."""
    words = f"Thread {start.name} for the questions below."
    if start.fork is not None:
        first = "turn" if start.fork == 1 else f"{start.fork:,} turns"
        words += f" It begins with the first {first} of the thread above." if start.fork else _ANEW
    return words


def refuse_fork(start: ThreadStart, here: Context, own: Context) -> None:
    """Refuse a fork of turns that are not there, or of a name that has turns already.

    Args:
        start: the start of a thread, which is not added yet.
        here: what a request in its place would carry.
        own: what a request there would carry in the thread of its name.

    Raises:
        InputError: it is such a fork.
    """
    if start.fork is not None and start.fork > len(here.line):
        raise InputError(
            f"The thread {here.thread} has {counted(len(here.line), 'turn')} above this cell. "
            "Nothing was changed.",
            hint="--fork takes the number of the last turn to begin with: %chat_history.",
        )
    if start.fork is not None and own.line:
        raise InputError(
            f"The thread {start.name} has turns above this cell already. Nothing was changed.",
            hint=f"Take another name, or go on with it: %chat_thread {start.name}.",
        )


def typed_in(source: str) -> ThreadStart | None:
    """Return the start of a thread that a cell's one line begins; ``None`` of any other cell.

    Args:
        source: what the cell says.
    """
    line = re.fullmatch(
        r"%chat_thread[ \t]+(?:--fork[ \t=]+(\d+)[ \t]+)?([^\s-]\S*)", source.strip()
    )
    return line and ThreadStart(line[2], None if line[1] is None else int(line[1]))


def source(start: ThreadStart) -> str:
    """Return the source of the cell that begins a thread."""
    return f"%chat_thread {'' if start.fork is None else f'--fork {start.fork} '}{start.name}"
