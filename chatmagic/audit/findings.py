"""Findings of an audit in one file, and a table of them for a terminal or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from chatmagic._json import iso
from chatmagic.archive.table import figures
from chatmagic.conversation.turn import MAIN
from chatmagic.text import columns, counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.models import ReplyFacts


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
        known = {**figures(facts), "date": iso(facts.date), "thread": None, **more}
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


EXCERPT: Final = 32
WIDEST: Final = 300
EARLY: Final = ("interrupted", "cut off", "error")


def table(audits: Sequence[Audit], *, values: bool) -> str:
    """Return the findings as a table for a terminal.

    Args:
        audits: of each file.
        values: whether to say what the files would give away.
    """
    parts = [_of_one(audit, values=values) for audit in audits]
    wrong = sum(not audit.in_order for audit in audits)
    if len(audits) > 1:
        words = f"{wrong:,} of them not in order" if wrong else "all in order"
        parts.append(f"{len(audits):,} files, {words}.")
    return "\n\n".join(parts)


def as_json(audits: Sequence[Audit], *, values: bool) -> str:
    """Return the findings as JSON: a list of files.

    Args:
        audits: one for each file.
        values: whether the values that were put into prompts are shown, too.
    """
    files = []
    for audit in audits:
        value: dict[str, Any] = {**asdict(audit), "in_order": audit.in_order}
        if not values:
            del value["values"]
        files.append(value)
    return json.dumps(files, indent=1)


def _of_one(audit: Audit, *, values: bool) -> str:
    lines = [one_line(audit.path, WIDEST)]
    what, after = _WORDS[audit.kind]
    if audit.turns:
        grid = [(what, *_HEAD), *map(_cells, audit.turns)]
        if any(turn.thread for turn in audit.turns):
            threads = ["thread", *(turn.thread or MAIN for turn in audit.turns)]
            grid = [(*row, thread) for row, thread in zip(grid, threads, strict=True)]
        lines += columns(grid)
        lines.append(_totals(audit.turns))
    elif not audit.problems:
        lines.append("No turn of a conversation.")
    lines += [f"! {one_line(line, WIDEST)}" for line in audit.problems]
    lines += [
        f"! {what} {turn.cell}: it {after}." for turn in audit.turns if turn.in_order is False
    ]
    lines += audit.remarks
    if values:
        lines.append("What the file would give away:" if audit.values else "No values, no paths.")
        lines += [f"  {one_line(line, WIDEST)}" for line in audit.values]
    return "\n".join(lines)


_WORDS: Final = {
    "notebook": ("cell", "was asked after other turns than those above it now"),
    "cassette": ("exchange", "carried a turn that is recorded below it"),
}
_HEAD: Final = (
    "prompt",
    "model",
    "tokens",
    "credits",
    "took",
    "ended",
    "origin",
    "agrees",
    "order",
)


def _cells(row: Row) -> tuple[str, ...]:
    tokens = (row.prompt_tokens, row.completion_tokens)
    counts = [f"{count:,}" for count in tokens if count is not None]
    total = "?" if row.total_tokens is None else f"{row.total_tokens:,}"
    left, limit = row.credits_left, row.credits_limit
    figures = "?" if left is None else f"{left:,}" + ("" if limit is None else f" of {limit:,}")
    ended = row.state if row.state != "complete" else row.finish_reason or "?"
    order = {None: "-", True: "yes", False: "NO"}[row.in_order]
    return (
        f"{row.cell:,}",
        one_line(row.prompt, EXCERPT),
        one_line(_model(row), EXCERPT),
        " + ".join(counts) if len(counts) == len(tokens) else total,
        figures,
        "?" if row.took is None else f"{row.took:,}",
        one_line(ended, EXCERPT),
        row.origin,
        "NO" if row.sealed is False else "yes",
        order,
    )


def _model(row: Row) -> str:
    """Return the model that answered, and before it the one that was asked for if it differs."""
    name = row.model or "?"
    return name if row.model_asked in {None, name} else f"{row.model_asked} -> {name}"


def _totals(turns: Sequence[Row]) -> str:
    count = len(turns)
    parts = [counted(count, "turn")]
    early = {state: sum(turn.state == state for turn in turns) for state in EARLY}
    parts += [f"{number:,} {state}" for state, number in early.items() if number]
    tokens = [turn.total_tokens for turn in turns if turn.total_tokens is not None]
    took = [turn.took for turn in turns if turn.took is not None]
    if tokens:
        parts.append(f"{sum(tokens):,} tokens, reported for {len(tokens):,}")
    if took:
        count = sum(took)
        parts.append(f"about {counted(count, 'credit')}, known for {len(took):,}")
    return ", ".join(parts) + "."
