"""What a response tells of its tokens and of the account's credits (interface §2.3, §8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - who reads the fields' types needs it
from typing import Any, Self

from chatmagic.scalars import iso, known, timestamp, whole_number


@dataclass(frozen=True, slots=True)
class Usage:
    """Token accounting (interface §2.3); what was not told is ``None``."""

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
    """What a response said of the account's credits (interface §8).

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
