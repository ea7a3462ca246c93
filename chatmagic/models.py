"""The values a user holds: messages, replies, usage and credits (facts 2 to 5, 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - who reads the fields' types needs it
from typing import Any, Literal, Self

from chatmagic._json import iso, known, timestamp, whole_number

State = Literal["complete", "interrupted", "cut off"]
Origin = Literal["live", "replay", "emulator"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation (fact 2).

    Args:
        role: who wrote it: ``user``, ``assistant``, or what else the service takes.
        content: its text.
    """

    role: str
    content: str

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a message.

        Raises:
            ValueError: ``value`` is not an object with two strings.
        """
        if isinstance(value, Mapping):
            role, content = value.get("role"), value.get("content")
            if isinstance(role, str) and isinstance(content, str):
                return cls(role, content)
        raise ValueError("a message is an object with the strings 'role' and 'content'")

    def to_json(self) -> dict[str, Any]:
        """Give the message as the interface writes it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class Usage:
    """Token accounting (fact 5); what was not told is ``None``."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Read a usage object; anything that tells no count is ``None``."""
        if not isinstance(value, Mapping):
            return None
        counts = [
            whole_number(value.get(name))
            for name in ("prompt_tokens", "completion_tokens", "total_tokens")
        ]
        return None if counts == [None, None, None] else cls(*counts)

    def to_json(self) -> dict[str, Any]:
        """Give the counts that are known."""
        return known(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            total_tokens=self.total_tokens,
        )


@dataclass(frozen=True, slots=True)
class Credits:
    """What a response said of the account's credits (fact 10).

    Args:
        limit: the credit limit; ``None`` is unknown.
        remaining: credits left; ``None`` is unknown.
        used: credits used; ``None`` is unknown.
        resets_at: when the limit resets, aware, in UTC; ``None`` is unknown.
        seen_at: the time these figures are of, aware, in UTC.
        lapsed_at: what was told for ``resets_at`` though it had passed by then; the next
            reset is unknown.
    """

    limit: int | None
    remaining: int | None
    used: int | None
    resets_at: datetime | None
    seen_at: datetime
    lapsed_at: datetime | None = None

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: it is not such an object.
        """
        if not isinstance(value, Mapping):
            raise ValueError("credits are a JSON object")
        seen_at = timestamp(value.get("seen_at"))
        if seen_at is None:
            raise ValueError("credits without the time they were seen at")
        return cls(
            limit=whole_number(value.get("limit")),
            remaining=whole_number(value.get("remaining")),
            used=whole_number(value.get("used")),
            resets_at=timestamp(value.get("resets_at")),
            seen_at=seen_at,
            lapsed_at=timestamp(value.get("lapsed_at")),
        )

    def to_json(self) -> dict[str, Any]:
        """Give the figures that are known."""
        return known(
            limit=self.limit,
            remaining=self.remaining,
            used=self.used,
            resets_at=iso(self.resets_at),
            seen_at=iso(self.seen_at),
            lapsed_at=iso(self.lapsed_at),
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, whole or as far as it came (fact 4).

    Args:
        text: the text, exactly as it came.
        model: name of the model, where it was told.
        finish_reason: in the service's own words; ``stop`` is a normal end.
        usage: token counts, where they were told.
        credits: what this response said of the credits.
        state: ``complete``, ``interrupted`` or ``cut off``.
        refusal: what a model said instead of answering (compatible servers).
        date: the response's own ``Date``, aware, in UTC.
        origin: ``live``, ``replay`` or ``emulator``.
        recorded: of a replayed reply, who answered when it was recorded.
        by_order: whether it was replayed for its place, as the request was another one.
        held_back: whether its stream came all at once, and nobody was told of that before; it
            is of this run alone, so no record and no file has it.
    """

    text: str
    model: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    credits: Credits | None = None
    state: State = "complete"
    refusal: str | None = None
    date: datetime | None = None
    origin: Origin = "live"
    recorded: Origin | None = None
    by_order: bool = False
    held_back: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Give the text."""
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Give the body of a reply as the interface writes it (fact 4)."""
        return {
            "model": self.model,
            "choices": [
                {
                    "message": Message("assistant", self.text).to_json(),
                    "finish_reason": self.finish_reason,
                }
            ],
            "usage": None if self.usage is None else self.usage.to_json(),
        }
