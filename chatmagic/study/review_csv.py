"""CSV file of a review: the texts of the drawn rows, with labels and notes to fill in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chatmagic.errors import InputError

_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet computes."""


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """What a line of the file has besides the row's text.

    Args:
        id: the row's name.
        label: the label; empty for none.
        note: the note.
    """

    id: str
    label: str
    note: str


def row_id(key: str) -> str:
    """Return a row's name in the file; no spreadsheet takes it for a number.

    Args:
        key: its name in the file of the review.
    """
    return f"row-{key[:16]}"


def csv_text(
    names: Sequence[str], texts: Sequence[Sequence[str]], rows: Sequence[ReviewRow]
) -> str:
    """Return the content of a file.

    Args:
        names: names of the columns that a person reads.
        texts: their texts, row by row.
        rows: the rows' names, labels and notes.
    """
    lines = io.StringIO()
    writer = csv.writer(lines)
    writer.writerow(["id", *(f"text: {name}" for name in names), "label", "note"])
    for shown, row in zip(texts, rows, strict=True):
        writer.writerow([row.id, *map(_inert, (*shown, row.label, row.note))])
    return lines.getvalue()


def filled_in_rows(content: bytes, name: str) -> Iterator[tuple[int, ReviewRow]]:
    """Yield the rows of a filled-in file, each with the number of its line.

    Args:
        content: its content; commas, semicolons or tabs are between the cells.
        name: its name.

    Raises:
        InputError: it is no such file.
    """
    text = content.decode("utf-8-sig", "replace")
    head = text.partition("\n")[0]
    mark = max(",;\t", key=head.count)
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=mark))
    if not rows or not {"id", "label"} <= rows[0].keys():
        raise InputError(
            f"{name} has no columns id and label.",
            hint="review.to_csv(…) writes a file to fill in.",
        )
    for number, row in enumerate(rows, start=2):
        yield number, ReviewRow(row["id"] or "", row["label"] or "", row.get("note") or "")


def _inert(text: str) -> str:
    """Return a text that no spreadsheet computes."""
    return f"'{text}" if text.startswith(_FORMULAS) else text


def typed_text(text: str) -> str:
    """Return the text of a cell without blanks at its ends, and without the mark before a formula.

    Args:
        text: the cell.
    """
    typed = text.strip()
    return typed[1:] if typed.startswith("'") and typed[1:].startswith(_FORMULAS) else typed
