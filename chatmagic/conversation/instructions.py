"""Standing instructions: what a cell gives to the questions below it, and how it is sent.

The interface knows messages of ``user`` and ``assistant`` alone (fact 2), so instructions go in
front of the first message that is sent, followed by an empty line; in a message of the role
``system`` only where the user says that the server has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from chatmagic.conversation import template
from chatmagic.conversation.question import first_line
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.steering import Steering
from chatmagic.models import Message
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

_CELL: Final = r"%%chat_instructions[ \t]*$"


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
    def of(cls, text: str, file: str = "", **place: str | None) -> Self:
        """Return instructions with this text.

        Args:
            text: as it is sent; white space alone is an empty text.
            file: name of the file it was read from, as typed; empty without one.
            **place: ``owner`` and ``execution``.
        """
        return cls(Value.of(file, text if text.strip() else "", "instructions"), **place)

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
    def facts_digest(self) -> str:
        """Digest of their text."""
        return self.value.sha256

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


def in_words(instructions: Value) -> str:
    """Return a note on a question that instructions go along with it."""
    return f"with instructions{_file(instructions)} of {counted(instructions.size, 'character')}"


def _file(instructions: Value) -> str:
    """Return from which file they come, in words; empty without one."""
    file = instructions.expression
    return f" from {one_line(file)}" if file else ""


def typed_in(source: str) -> str | None:
    """Return the instructions that stand in a cell's source.

    Returns:
        ``None`` for any other cell, and where they are read from a file.
    """
    lines = source.splitlines(keepends=True)
    first = first_line(lines)
    if first is None or not re.match(_CELL, lines[first].rstrip("\r\n")):
        return None
    return Instructions.of("".join(lines[first + 1 :]).removesuffix("\n")).text
