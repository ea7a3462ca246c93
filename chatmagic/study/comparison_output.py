"""A comparison as text for a terminal, and as JSON."""

from __future__ import annotations

from typing import Any, Final

from chatmagic._json import iso
from chatmagic.safe_text import columns, counted, one_line, to_terminal
from chatmagic.study.asked import Asked
from chatmagic.study.causes import answer_of
from chatmagic.study.compare import Comparison, Pair
from chatmagic.study.marked_words import EXCERPT, Mark, marked_excerpt

VERSION: Final = 1
_LONGEST: Final = 200


def comparison_text(comparison: Comparison, *, every: bool = False) -> str:
    """Return a comparison for a terminal: a line of numbers, and a table.

    Args:
        comparison: the comparison.
        every: whether the table has the questions that do not differ, too.
    """
    counts = [f"{words}: {count:,}" for words, count in comparison.counts.items() if count]
    names = f"{one_line(comparison.old, _LONGEST)} -> {one_line(comparison.new, _LONGEST)}"
    total = counted(len(comparison.pairs), "question")
    lines = [f"{names}: {'; '.join([total, *counts])}."]
    lines += [f"! {one_line(note, _LONGEST)}" for note in comparison.notes]
    shown = [pair for pair in comparison.pairs if every or pair.differs]
    if shown:
        grid: list[tuple[str, ...]] = [("cause", "prompt", "", "words", "model", "date")]
        for pair in shown:
            grid += _rows(pair)
        lines += columns(grid)
    return to_terminal("\n".join(lines))


def _rows(pair: Pair) -> list[tuple[str, ...]]:
    """Return the lines of a question: of its old answer, and of its new one."""
    sides: tuple[tuple[Mark, Asked | None], ...] = (("old", pair.old), ("new", pair.new))
    lines = [_row(pair, side, asked) for side, asked in sides if asked is not None]
    # The cause is said once, in the first line.
    return [(one_line(_cause(pair), 60), *lines[0]), *(("", *line) for line in lines[1:])]


def _cause(pair: Pair) -> str:
    """Return the causes of a difference, in words."""
    if pair.old is None:
        return "only in the new one"
    if pair.new is None:
        return "only in the old one"
    return "; ".join(map(str, pair.changes))


def _row(pair: Pair, side: Mark, asked: Asked) -> tuple[str, ...]:
    """Return prompt, side, answer, model and date of one side of a pair."""
    answer = one_line(answer_of(asked), EXCERPT)
    words = marked_excerpt(pair.words, side) if pair.words else answer
    prompt = one_line(f"{asked.where}: {asked.typed or asked.prompt or ''}", 36)
    model = one_line(asked.model or asked.asked_model or "not reported", 32)
    date = "not reported" if asked.date is None else f"{asked.date:%Y-%m-%d}"
    return prompt, side, words, model, date


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON, with the whole texts.

    Args:
        comparison: the comparison.
    """
    return {
        "version": VERSION,
        "old": comparison.old,
        "new": comparison.new,
        "counts": comparison.counts,
        "notes": [*comparison.notes],
        "questions": [
            {
                "causes": [
                    {"cause": change.cause, "detail": change.detail} for change in pair.changes
                ],
                "old": None if pair.old is None else _facts(pair.old),
                "new": None if pair.new is None else _facts(pair.new),
                "words": [[mark, text] for mark, text in pair.words],
            }
            for pair in comparison.pairs
        ],
    }


def _facts(asked: Asked) -> dict[str, Any]:
    """Return a question with what is compared of it, and where it stands."""
    return {
        "file": asked.file,
        "place": asked.where,
        "prompt": asked.typed,
        "settings": dict(asked.settings),
        "asked_model": asked.asked_model,
        "model": asked.model,
        "system_fingerprint": asked.system_fingerprint,
        "response_id": asked.response_id,
        "date": iso(asked.date),
        "text": asked.text,
        "error": asked.error,
    }
