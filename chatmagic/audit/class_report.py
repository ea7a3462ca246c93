"""Report on the notebooks of a class: a page for a teacher, and the same table as CSV."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from chatmagic._files import content_of, replace_content
from chatmagic.archive import notebook
from chatmagic.archive.notebook import Notebook, SavedOutput
from chatmagic.audit.findings import LONGEST_NAME, UNITS, Audit, AuditedTurn
from chatmagic.conversation.record import Record
from chatmagic.errors import ChatError, InputError
from chatmagic.render.class_page import BEGINNING, Question, Student, class_page
from chatmagic.safe_text import counted, numbered, one_line

_HEADS: Final = (
    "Questions",
    "From a service",
    "Replayed",
    "Practice",
    "Not as asked",
    "Not checked",
    "Same replies as",
    "Asked again",
    "Failed or cut",
    "Repeated",
    "Credits",
)
LIMITS: Final = (
    "Asked again: by %chat_retry or %chat_continue.",
    "Failed or cut: replies that did not end, and cells that ask and show an error.",
    "Repeated: the same words once more, in a cell of their own.",
    "Credits: the approximate cost of the replies, where the service reports it.",
    "The page shows what the files hold, and no question that was deleted without a trace.",
    "It shows nothing that was asked in another tool.",
    "A person who knows the code can make another seal.",
)
"""Sentences on the columns, and on what the page cannot show."""
_MOST_COMMON: Final = 20
"""Largest number of questions that are listed as asked in several notebooks."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a text that a spreadsheet would compute."""


def write_report(path: Path, audits: Sequence[Audit]) -> list[Path]:
    """Write the page and, beside it, the table as CSV; return both files.

    Args:
        path: the page, whose name ends in ``.html``.
        audits: the audit of each file; cassettes are left out.

    Raises:
        InputError: the name is another one, or a file there is not an earlier report.
        ChatError: a file cannot be written.
    """
    if path.suffix.lower() != ".html":
        raise InputError("--html takes a file whose name ends in .html. Nothing was written.")
    table = path.with_suffix(".csv")
    _refuse_other_file(path, BEGINNING)
    _refuse_other_file(table, ",".join(("Notebook", *_HEADS)))
    students, common = students_of([audit for audit in audits if audit.kind == "notebook"])
    try:
        replace_content(path, class_page(students, common, LIMITS).encode())
        replace_content(table, as_csv(students).encode())
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ChatError(f"{error.filename or path} cannot be written: {why}.") from None
    return [path, table]


def _refuse_other_file(path: Path, beginning: str) -> None:
    """Raise an error for a file that is there and is no earlier report, by its beginning."""
    content = content_of(path)
    if content is not None and not content.startswith(beginning.encode()):
        raise InputError(
            f"{path} is there, and is no report of an audit. Nothing was written.",
            hint="Name another file.",
        )


def students_of(audits: Sequence[Audit]) -> tuple[list[Student], list[tuple[str, int]]]:
    """Return the notebooks, and the questions that several of them have.

    Args:
        audits: the audit of each notebook.
    """
    students = []
    for audit in audits:
        read = None
        with contextlib.suppress(InputError):  # which is a problem of the audit already
            read = notebook.read_notebook(Path(audit.path))
        students.append(_student(audit, read))
    return students, _common_questions(audits)


def _common_questions(audits: Sequence[Audit]) -> list[tuple[str, int]]:
    """Return the questions that several notebooks have, and in how many, the most common first."""
    holders: dict[str, set[str]] = defaultdict(set)
    prompts: dict[str, str] = {}
    for audit in audits:
        for row in audit.turns:
            key = _folded(row.prompt)
            holders[key].add(audit.path)
            prompts.setdefault(key, row.prompt or "")
    counts = Counter({key: len(paths) for key, paths in holders.items() if key})
    return [(prompts[key], count) for key, count in counts.most_common(_MOST_COMMON) if count > 1]


def as_csv(students: Sequence[Student]) -> str:
    """Return the table of notebooks as CSV.

    Args:
        students: the notebooks.
    """
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(("Notebook", *_HEADS))
    for student in students:
        values = (student.name, *(value for _, value in student.figures))
        writer.writerow([_plain(value) for value in values])
    return lines.getvalue()


def _plain(value: int | str) -> int | str:
    """Return a value that no spreadsheet computes."""
    if isinstance(value, str):
        text = one_line(value, LONGEST_NAME * 3)
        return f"'{text}" if text.startswith(_FORMULA) else text
    return value


def _student(audit: Audit, read: Notebook | None) -> Student:
    """Return the row, the notes and the questions of one notebook."""
    failed = [row.cell_number or 0 for row in audit.turns if row.state != "complete"]
    if read is not None:
        failed += [cell.number for cell in read.cells if cell.plan.asks and "error" in cell.others]
    turns = [] if read is None else read.turns
    figures = _figures(audit, [record for _, record in turns], len({*failed}))
    questions = [
        _question(row, saved, record)
        for row, (saved, record) in zip(audit.turns, turns, strict=False)
    ]
    notes = [*audit.problems, *audit.remarks]
    if failed:
        places = numbered(sorted({*failed}), UNITS["notebook"])
        notes.append(f"stuck: {places}: no whole reply.")
    return Student(audit.path, figures, notes, questions)


def _figures(audit: Audit, records: Sequence[Record], failed: int) -> list[tuple[str, int | str]]:
    """Return the figures of one notebook, in the order of the columns."""
    rows = audit.turns
    origins = Counter(row.origin for row in rows)
    prompts = Counter(_folded(record.prompt) for record in records if _is_new(record))
    return [
        ("Questions", len(rows)),
        ("From a service", origins["live"]),
        ("Replayed", origins["replay"]),
        ("Practice", origins["emulator"]),
        ("Not as asked", len({row.cell_number for row in rows if _is_fault(row)})),
        ("Not checked", len(audit.unchecked)),
        ("Same replies as", ", ".join(sorted(audit.copies))),
        ("Asked again", sum(not _is_new(record) for record in records)),
        ("Failed or cut", failed),
        ("Repeated", sum(count - 1 for count in prompts.values())),
        ("Credits", sum(row.took for row in rows if row.took is not None)),
    ]


def _question(row: AuditedTurn, saved: SavedOutput, record: Record) -> Question:
    """Return a question with its reply, as the page shows them."""
    return Question(
        cell=saved.cell,
        prompt=record.prompt,
        reply=saved.text,
        format=str(record.parameters.get("format") or "markdown"),
        facts=_facts(row),
        is_fault=_is_fault(row),
    )


def _is_new(record: Record) -> bool:
    """Return whether a record is of a question of its own, and no other reply to one above."""
    return not record.in_place_of and record.continues is None


def _is_fault(row: AuditedTurn) -> bool:
    """Return whether a turn was not asked as its cell asks, or after other turns."""
    return row.agrees is False or row.in_order is False


def _facts(row: AuditedTurn) -> str:
    """Return what is known of a reply, in words."""
    parts = [
        row.origin or "",
        row.model or "",
        "" if row.state == "complete" else (row.state or ""),
        "" if row.took is None else f"about {counted(row.took, 'credit')}",
        "its source does not ask for it" if row.agrees is False else "",
        "asked after other turns than those above it" if row.in_order is False else "",
    ]
    return " · ".join(part for part in parts if part)


def _folded(prompt: str | None) -> str:
    """Return a prompt by which the same question is known: without case and white space."""
    return re.sub(r"\s+", " ", (prompt or "").casefold()).strip(" .?!")
