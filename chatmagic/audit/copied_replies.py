"""Replies of a service that stand in two cells, of one notebook or of two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from chatmagic.archive.notebook import Notebook
from chatmagic.audit.findings import LONGEST_NAME, UNITS, Audit
from chatmagic.safe_text import numbered, one_line


def judge_copies(files: Sequence[tuple[Audit, Notebook]]) -> None:
    """Add a fault for each reply of a service that stands in two cells, of one file or of two.

    The same request, reply, date, credits and duration are one answer. A replay and the emulator
    repeat theirs.
    """
    answers: dict[tuple[object, ...], dict[Path, tuple[Audit, int]]] = defaultdict(dict)
    # A file may be given twice, by its name and by its folder.
    unique = {notebook.path.resolve(): (audit, notebook) for audit, notebook in reversed(files)}
    for path, (audit, notebook) in unique.items():
        for saved, record in notebook.turns:
            if record.origin != "live" or record.date is None:
                continue
            facts = record.request, record.reply, record.date, record.credits, record.seconds
            holders = answers[facts]
            _, first = holders.setdefault(path, (audit, saved.cell))
            if first != saved.cell:
                audit.wrong(saved.cell, f"its reply is that of cell {first}")
    for holders in answers.values():
        for path, (audit, cell) in holders.items():
            for other in holders.keys() - {path}:
                audit.copies.setdefault(holders[other][0].path, []).append(cell)
    for audit, _ in files:
        for name, cells in sorted(audit.copies.items()):
            places = numbered(sorted(cells), UNITS[audit.kind])
            words = "has the same replies of a service, of the same requests and dates"
            audit.problems.append(f"{places}: {one_line(name, LONGEST_NAME)} {words}.")
