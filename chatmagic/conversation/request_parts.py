"""Parts of a request with their sizes, and an estimate of their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chatmagic.text import numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.conversation.request_facts import RequestFacts, Value

MOST_TURNS: Final = 20
"""How many earlier turns have a part of their own, the newest; the others are one part."""


@dataclass(frozen=True, slots=True)
class Part:
    """Part of what a request carries.

    Args:
        name: what it is, in words.
        size: its length in characters.
    """

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class TokenRate:
    """Tokens that a service counted for the messages of a request.

    Args:
        characters: length of the messages.
        tokens: how many it counted.
    """

    characters: int
    tokens: int

    def tokens_of(self, size: int) -> int:
        """Return about how many tokens a text has."""
        return round(size * self.tokens / max(self.characters, 1))


def parts_of(
    turns: Sequence[tuple[int, int]], instructions: Value | None, asked: RequestFacts
) -> list[Part]:
    """Return the parts of a request in the order in which they are sent.

    Args:
        turns: place and size of each turn that goes along, oldest first; a turn that is not in
            the conversation any more has the place 0.
        instructions: the standing instructions that go along; ``None`` for none.
        asked: the question.
    """
    parts = [] if instructions is None else [Part(instructions.name, instructions.size)]
    older, newest = turns[:-MOST_TURNS], turns[-MOST_TURNS:]
    if older:
        size = sum(size for _, size in older)
        parts.append(Part(f"{len(older):,} earlier turns (prompts and replies)", size))
    for place, size in newest:
        name = numbered([place], "turn") if place else "a turn that is not live any more"
        parts.append(Part(f"{name} (prompt and reply)", size))
    parts += [Part(value.as_typed, value.size) for value in asked.values]
    rest = len(asked.prompt) - sum(value.size for value in asked.values if value.text is not None)
    return [*parts, Part("the rest of the prompt" if asked.values else "the prompt", rest)]
