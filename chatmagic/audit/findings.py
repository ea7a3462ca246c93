"""Findings in one notebook or in one cassette, and the rows of its turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from chatmagic.archive.table import TurnRow
from chatmagic.audit.cell_settings import Finding
from chatmagic.safe_text import numbered

LONGEST_NAME: Final = 100


UNITS: Final = {"notebook": "cell", "cassette": "exchange"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedTurn(TurnRow):
    """Row of one turn of a notebook, or of one exchange of a cassette, with the checks.

    Args:
        agrees: whether the record, its output and the source of its cell agree; ``None`` for a cell
            whose code may ask.
        in_order: whether it was asked after the turns that stood above it then; ``None`` if
            unknown, or if the turn is no part of the conversation.
        reply_number: its number among the replies to its question.
        reply_count: the number of replies to its question.
    """

    agrees: bool | None = None
    in_order: bool | None = None
    reply_number: int | None = None
    reply_count: int | None = None


@dataclass(slots=True)
class Audit:
    """Findings in one notebook, or in one cassette.

    Args:
        path: the path, as it was given.
        kind: ``notebook`` or ``cassette``.
        turns: its turns, in the order of the cells or of the file.
        problems: a line for each fault.
        remarks: a line for each other notable point.
        values: a line for each private text in the file.
        unchecked: numbers of the cells whose replies could not be judged.
        copies: cells whose replies another notebook has, too, by the path of that notebook.
    """

    path: str
    kind: Literal["notebook", "cassette"] = "notebook"
    turns: list[AuditedTurn] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    unchecked: set[int] = field(default_factory=set)
    copies: dict[str, list[int]] = field(default_factory=dict)

    @property
    def in_order(self) -> bool | None:
        """Whether there is no problem; ``None`` if there is none where it was checked."""
        if self.problems:
            return False
        return None if self.unchecked else True

    def wrong(self, place: int, words: str) -> None:
        """Add a problem of one cell, or of one exchange.

        Args:
            place: number of the cell or the exchange.
            words: the fault.
        """
        self.problems.append(f"{UNITS[self.kind]} {place}: {words}.")

    def add(self, finding: Finding) -> None:
        """Add a fault, a remark, or a note that cells were not checked.

        Args:
            finding: the finding.
        """
        if finding.is_fault:
            self.wrong(finding.cells[0], finding.words)
        elif finding.is_checked:
            self.remark(finding.cells, finding.words)
        else:
            self.not_checked(finding.cells, finding.words)

    def not_checked(self, places: Sequence[int], words: str) -> None:
        """Note that some cells could not be judged, which is neither a pass nor a problem.

        Args:
            places: their numbers.
            words: the reason.
        """
        if places:
            self.unchecked |= {*places}
            self.remarks.append(f"not checked: {numbered(places, UNITS[self.kind])}: {words}.")

    def remark(self, places: Sequence[int], words: str) -> None:
        """Add a remark on some cells; none if there are no cells.

        Args:
            places: their numbers.
            words: the remark.
        """
        if places:
            self.remarks.append(f"{numbered(places, UNITS[self.kind])}: {words}.")
