"""Standing instructions: what a cell gives to the questions below it, and how it is sent.

The interface knows messages of ``user`` and ``assistant`` alone (fact 2), so instructions go in
front of the first message that is sent, followed by an empty line; in a message of the role
``system`` only where the user says that the server has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from chatmagic.conversation import template
from chatmagic.conversation.question import ABOVE
from chatmagic.conversation.record import VERSION, kind_of, owner_from
from chatmagic.conversation.request_facts import Value
from chatmagic.models import Message
from chatmagic.text import counted, one_line

_SHOWN: Final = 60
_CELL: Final = r"%%chat_instructions[ \t]*$"


@dataclass(frozen=True, slots=True)
class Instructions:
    """Standing instructions in the slot of a cell; they hold below it, up to the next ones.

    Args:
        value: their text and, where it was read from a file, the file's name as typed; an empty
            text ends the instructions above.
        owner: hash of the cell that owns them; ``None`` without one.
        execution: what tells one execution of the cell from another; ``None`` is unknown.
    """

    value: Value
    owner: str | None = None
    execution: str | None = None

    @classmethod
    def of(cls, text: str, file: str = "", **place: str | None) -> Self:
        """Return instructions with this text.

        Args:
            text: as it is sent; white space alone is an empty text.
            file: name of the file it was read from, as typed; empty without one.
            **place: ``owner`` and ``execution``.
        """
        return cls(Value.of(file, text if text.strip() else "", "instructions"), **place)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote, or any other value from an untrusted file.

        Raises:
            NewerVersionError: a later release wrote it.
            ValueError: it is no such record, or its text is not there.
        """
        if kind_of(value) != "instructions" or not isinstance(value, Mapping):
            raise ValueError("it is not the record of instructions")
        read = Value.from_json(value.get("instructions"))
        if read.text is None or read.kind != "instructions":
            raise ValueError("its 'instructions' cannot be read")
        owner = value.get("owner")
        return cls(read, owner=None if owner is None else owner_from(owner))

    @property
    def text(self) -> str:
        """Their text."""
        return self.value.text or ""

    @property
    def in_force(self) -> Value | None:
        """What requests below them carry; ``None`` where they end the instructions above."""
        return self.value if self.text else None

    @property
    def reads(self) -> tuple[str, ...]:
        """What their cell shows of them."""
        return (self.text,)

    def to_json(self) -> dict[str, Any]:
        """Return their record, as an output's metadata keep it."""
        place = {} if self.owner is None else {"owner": self.owner}
        return {
            "version": VERSION,
            "kind": "instructions",
            **place,
            "instructions": self.value.to_json(),
        }


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


def in_words(instructions: Value) -> str:
    """Return a note on a question that instructions go along with it."""
    file = f" from {one_line(instructions.expression, _SHOWN)}" if instructions.expression else ""
    return f"with instructions{file} of {counted(instructions.size, 'character')}"


def typed_in(source: str) -> str | None:
    """Return the instructions that stand in a cell's source.

    Args:
        source: what the cell says.

    Returns:
        ``None`` for any other cell, and where they are read from a file.
    """
    lines = source.splitlines(keepends=True)
    first = next((number for number, line in enumerate(lines) if not re.match(ABOVE, line)), None)
    if first is None or not re.match(_CELL, lines[first].rstrip("\r\n")):
        return None
    return Instructions.of("".join(lines[first + 1 :]).removesuffix("\n")).text


def source(instructions: Instructions) -> str:
    """Return the source of the cell that gives instructions.

    Args:
        instructions: with their text, which stands in the cell also if it was read from a file.
    """
    # A cell's last line end is not part of them.
    end = "\n" if instructions.text.endswith("\n") else ""
    return f"%%chat_instructions\n{instructions.text}{end}"
