"""Threads: what begins one in a cell, its record, and the cell that gives it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmagic._json import exact_count, json_field
from chatmagic.conversation.request_facts import thread_name
from chatmagic.conversation.steering import Steering
from chatmagic.errors import InputError
from chatmagic.text import counted

if TYPE_CHECKING:
    from chatmagic.conversation.turn import Context


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

    @property
    def reads(self) -> tuple[str, ...]:
        """What its cell shows of it."""
        return ("thread", self.name, str(self.fork))

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
    """Return the start of a thread that a cell's one line begins; ``None`` of any other cell."""
    line = re.fullmatch(
        r"%chat_thread[ \t]+(?:--fork[ \t=]+(\d+)[ \t]+)?([^\s-]\S*)", source.strip()
    )
    return line and ThreadStart(line[2], None if line[1] is None else int(line[1]))
