"""Marks of cells in the pages: stale turns, turns that were taken back, copies, older outputs."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Final

from chatmagic.conversation.cell_order import PageReport, Pages
from chatmagic.conversation.conversation import Conversation, reply_name
from chatmagic.conversation.staleness import Causes
from chatmagic.conversation.steering import STEERING
from chatmagic.conversation.turn import IN_NOTEBOOK
from chatmagic.jupyter import stale_cells
from chatmagic.jupyter.page.messages import Message
from chatmagic.safe_text import one_line
from chatmagic.session.session import Session

MARKS: Final[Mapping[str, str]] = {
    "stale": "Stale, {}. Run the cell again to renew it.",
    "taken back": "No longer in the conversation: an undo, a reset or a load removed this reply, "
    "or its question's own cell has run again. Run the cell again for a new reply.",
    "replaced": "The reply to this question is now {}, asked by {}. This cell's own reply is "
    "kept. %chat_retry --list lists all replies, and --pick chooses one.",
    **{f"{kind} taken back": item.mark for kind, item in STEERING.items()},
}
"""The marks of cells in the page; the mark of a stale cell gets its cause."""

COPIED: Final = (
    "Not in the conversation: this output came with a copy of its cell. Run the cell to renew it."
)
OLDER: Final = (
    "Not in the conversation: this output is older than the kernel. Save the notebook, and "
    "%chat_load restores its turn without asking; or run the cell again."
)
_SHOWN: Final = 40  # characters of the asker of the current reply


class PageMarks:
    """The marks of the cells in the pages of one kernel.

    All methods but :meth:`add` run in the drawing loop's thread.

    Args:
        session: the session whose conversation the marks are about.
    """

    def __init__(self, session: Session) -> None:
        """Mark nothing yet."""
        self._session = session
        self._asked = set[str | None]()
        self._sent: dict[str, Message] = {}

    def add(self, owner: str | None) -> None:
        """Note that a cell has asked in this kernel, whatever became of its reply.

        Args:
            owner: hash of the cell.
        """
        self._asked.add(owner)

    def changed(self, pages: Pages, *, opened: bool) -> list[Message]:
        """Return the marks of the notebooks to which they are new.

        Args:
            pages: the latest reports of the pages.
            opened: whether a page is new, which needs all marks.
        """
        present = self._present(pages)
        changed = [
            marks
            for notebook, marks in present.items()
            if opened or marks != self._sent.get(notebook)
        ]
        self._sent = present
        return changed

    def _present(self, pages: Pages) -> dict[str, Message]:
        """Return the present marks of each notebook's cells."""
        conversation = copy(self._session.conversation)  # An ask may change it meanwhile.
        causes = conversation.causes(self._session.environment.layout(None))
        words = self._words(pages, conversation, causes)
        return {report.notebook: self._of_page(report, words, causes) for report in pages.reports}

    def _words(
        self, pages: Pages, conversation: Conversation, causes: Causes
    ) -> dict[str | None, str]:
        """Return the words of the marks, by the hash of the cell."""
        live = {turn.owner for turn in conversation}
        known = self._asked.union(dict(conversation.slots), conversation.cells)
        words: dict[str | None, str] = dict.fromkeys(pages.unheard(known, live), OLDER)
        words |= dict.fromkeys(pages.copies() - live, COPIED)
        stale = causes.by_cell()
        for cell, mark in causes.marks().items():
            if mark == "replaced":
                words[cell] = _current_reply(cell, conversation)
            elif mark == "stale":
                words[cell] = MARKS[mark].format(stale[cell].words)
            else:
                words[cell] = MARKS[mark]
        return words

    def _of_page(
        self, report: PageReport, words: Mapping[str | None, str], causes: Causes
    ) -> Message:
        """Return the marks of one page's cells, by the page's ids."""
        ids = {owner: cell.id for owner, cell in report.cells.items()}
        below = stale_cells.below(causes, tuple(ids))
        return {
            "kind": "marks",
            "notebook": report.notebook,
            "marks": {ids[cell]: mark for cell, mark in words.items() if cell in ids},
            "below": {
                ids[owner]: {
                    "words": f"{stale_cells.in_words(self._session, cells, causes, ' below')}.",
                    "cells": [ids[cell] for cell in cells],
                }
                for owner, cells in below.items()
            },
        }


def _current_reply(cell: str, conversation: Conversation) -> str:
    """Return the mark of a cell whose reply is replaced by another one."""
    turn = conversation.current_turn_of(cell)
    if turn is None:
        return MARKS["taken back"]
    name = reply_name(turn, conversation.replies[turn.number])
    return MARKS["replaced"].format(name, one_line(turn.asker or IN_NOTEBOOK, _SHOWN))
