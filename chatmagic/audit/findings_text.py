"""The findings of an audit as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from chatmagic._json import iso
from chatmagic.audit.findings import UNITS, Audit, AuditedTurn
from chatmagic.conversation.turn import MAIN
from chatmagic.safe_text import columns, counted, one_line

EXCERPT: Final = 32
WIDEST: Final = 300


def findings_text(audits: Sequence[Audit], *, values: bool, summary: bool = False) -> str:
    """Return the findings for a terminal: a line for each file, then a table of each.

    Args:
        audits: the audit of each file.
        values: whether to list the private texts in the files.
        summary: whether to leave out the tables.
    """
    heads = columns([_head(audit) for audit in audits])
    bodies = [] if summary else ["\n".join(_of_one(audit, values=values)) for audit in audits]
    if len(audits) == 1:
        return "\n".join([*heads, *bodies])
    counts = Counter(audit.in_order for audit in audits)
    words = []
    if counts[False]:
        words.append(f"{counts[False]:,} of them with problems")
    if counts[None]:
        words.append(f"{counts[None]:,} not checked in every cell")
    all_words = ", ".join(words) or "no problem"
    heads = [*heads, f"{len(audits):,} files, {all_words}.", *_pairs(audits)]
    parts = [
        f"{one_line(audit.path, WIDEST)}\n{body}"
        for audit, body in zip(audits, bodies, strict=False)
    ]
    return "\n\n".join(["\n".join(heads), *parts])


def problems_text(audits: Sequence[Audit]) -> str:
    """Return the problems of files for a terminal, a line each, and the number of files.

    Args:
        audits: the audit of each file.
    """
    lines = [
        f"{one_line(audit.path, WIDEST)}: {one_line(line, WIDEST)}"
        for audit in audits
        for line in audit.problems
    ]
    count = counted(len(audits), "file")
    problems = counted(len(lines), "problem") if lines else "no secret"
    return "\n".join([*lines, f"{count}, {problems}."])


def _pairs(audits: Sequence[Audit]) -> list[str]:
    """Return a line for each two notebooks with the same replies of a service."""
    pairs = {
        tuple(sorted((audit.path, other))): len(cells)
        for audit in audits
        for other, cells in audit.copies.items()
    }
    return [
        f"{one_line(first, WIDEST)} and {one_line(second, WIDEST)} have the same "
        f"{'reply' if count == 1 else f'{count:,} replies'} of a service."
        for (first, second), count in pairs.items()
    ]


def as_json(audits: Sequence[Audit], *, values: bool) -> str:
    """Return the findings as JSON: a list of files.

    Args:
        audits: one for each file.
        values: whether the values that were put into prompts are shown, too.
    """
    files = [
        {**asdict(audit), "unchecked": sorted(audit.unchecked), "in_order": audit.in_order}
        for audit in audits
    ]
    if not values:
        for file in files:
            del file["values"]
    return json.dumps(files, indent=1, default=iso)


def _head(audit: Audit) -> tuple[str, ...]:
    """Return the line of one file."""
    parts = [counted(len(audit.problems), "problem").upper()] if audit.problems else []
    if audit.unchecked:
        parts.append(f"{counted(len(audit.unchecked), UNITS[audit.kind])} not checked")
    origins = Counter(row.origin or "?" for row in audit.turns)
    turns = counted(len(audit.turns), "turn")
    if origins:
        names = ", ".join(f"{count:,} {origin}" for origin, count in origins.items())
        turns += f" ({names})"
    return one_line(audit.path, WIDEST), ", ".join(parts) or "no problem", turns


def _of_one(audit: Audit, *, values: bool) -> list[str]:
    """Return the lines on the turns of one file, and on its faults."""
    lines = _table(audit.turns, UNITS[audit.kind])
    if not audit.turns and not audit.problems:
        lines.append("No turn of a conversation.")
    lines += [f"! {one_line(line, WIDEST)}" for line in audit.problems]
    lines += audit.remarks
    if values:
        lines.append("Private texts in the file:" if audit.values else "No values, no paths.")
        lines += [f"  {one_line(line, WIDEST)}" for line in audit.values]
    return lines


def _table(turns: Sequence[AuditedTurn], unit: str) -> list[str]:
    """Return a table of turns; with their threads and replies if there are several."""
    if not turns:
        return []
    has_threads = any(turn.thread not in {None, MAIN} for turn in turns)
    has_replies = any((turn.reply_count or 0) > 1 for turn in turns)
    rows = []
    for turn in turns:
        row = _cells(turn, unit)
        if has_threads:
            row["thread"] = turn.thread or MAIN
        if has_replies:
            count = turn.reply_count or 0
            row["reply"] = f"{turn.reply_number} of {count}" if count > 1 else ""
        rows.append(row)
    return columns([tuple(rows[0]), *(tuple(row.values()) for row in rows)])


def _cells(row: AuditedTurn, unit: str) -> dict[str, str]:
    """Return the cells of a turn's line, by the heads of their columns."""
    ended = (row.finish_reason if row.state == "complete" else row.state) or "?"
    checked = {None: "-", True: "yes", False: "NO"}
    return {
        unit: f"{row.cell_number:,}",
        "prompt": one_line(row.prompt or "", EXCERPT),
        "model": one_line(_model(row), EXCERPT),
        "tokens": _tokens(row),
        "credits": _credits(row),
        "cost": "?" if row.took is None else f"{row.took:,}",
        "ended": one_line(ended, EXCERPT),
        "origin": row.origin or "?",
        "as asked": checked[row.agrees],
        "order": checked[row.in_order],
    }


def _credits(row: AuditedTurn) -> str:
    """Return the credits that were left, with their limit if it is known."""
    if row.credits_left is None:
        return "?"
    limit = "" if row.credits_limit is None else f" of {row.credits_limit:,}"
    return f"{row.credits_left:,}{limit}"


def _model(row: AuditedTurn) -> str:
    """Return the model that answered; before it the requested model, if that differs."""
    name = row.model or "?"
    return name if row.asked_model in {None, name} else f"{row.asked_model} -> {name}"


def _tokens(row: AuditedTurn) -> str:
    """Return the token counts of a turn, or their total."""
    counts = {"sent": row.prompt_tokens, "received": row.completion_tokens}
    known = [f"{count:,} {word}" for word, count in counts.items() if count is not None]
    total = "?" if row.total_tokens is None else f"{row.total_tokens:,}"
    return ", ".join(known) or total
