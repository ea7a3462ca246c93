"""Findings of an audit in one file: its turns, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from chatmagic._json import iso, shared
from chatmagic.models import ReplyFacts, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One turn in a notebook, or one exchange in a cassette; what was not reported is ``None``.

    Args:
        cell: the place of the cell in the notebook, or of the exchange in the cassette, from 1.
        prompt: as typed.
        model_asked: name of the model that was asked for.
        model: name of the model that answered.
        prompt_tokens: as reported.
        completion_tokens: as reported.
        total_tokens: as reported.
        credits_left: what the response said was left.
        credits_limit: of how many.
        took: about how many credits the turn took, as far as it was known then.
        finish_reason: in the service's own words.
        state: ``complete``, ``interrupted`` or ``cut off``; ``error`` in a cassette.
        origin: ``live``, ``replay`` or ``emulator``.
        date: the response's own, ISO 8601 in UTC.
        sealed: whether the record and its output are as they were sealed; ``None`` in a
            cassette, which has no seals.
        rendered: whether its HTML is what its reply is rendered as; ``None`` where it was not
            rendered again.
        in_order: whether it was asked after the turns that now stand above it; ``None``
            for a turn that is no part of the conversation, and where a cell that left no
            output may have asked what it carried.
        thread: name of its thread; ``None`` is ``main``.
    """

    cell: int
    prompt: str
    model_asked: str | None
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    credits_left: int | None
    credits_limit: int | None
    took: int | None
    finish_reason: str | None
    state: str
    origin: str
    date: str | None
    sealed: bool | None
    rendered: bool | None
    in_order: bool | None
    thread: str | None = None

    @classmethod
    def of(cls, facts: ReplyFacts, **more: Any) -> Self:
        """Return the row of a reply: facts of the same name, and its figures one by one.

        Args:
            facts: what is known of the reply.
            **more: the other fields, and those that differ.
        """
        usage, credits = facts.usage or Usage(), facts.credits
        known = {
            **shared(facts, ReplyFacts),
            **shared(usage, Usage),
            "credits_left": None if credits is None else credits.remaining,
            "credits_limit": None if credits is None else credits.limit,
            "date": iso(facts.date),
            "thread": None,
            **more,
        }
        return cls(**{item.name: known[item.name] for item in fields(cls)})


@dataclass(frozen=True, slots=True)
class Audit:
    """Findings in one notebook, or in one cassette.

    Args:
        path: as it was given.
        turns: its turns, in the order of the cells or of the file.
        problems: a line for each thing that is not in order, but for those the turns tell.
        remarks: a line for each thing worth knowing that is no fault.
        values: a line for each thing that the file would give away.
        kind: ``notebook`` or ``cassette``.
    """

    path: str
    turns: tuple[Row, ...]
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    values: tuple[str, ...]
    kind: Literal["notebook", "cassette"] = "notebook"

    @property
    def in_order(self) -> bool:
        """Whether everything agrees."""
        return not self.problems and all(turn.in_order is not False for turn in self.turns)
