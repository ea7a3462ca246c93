"""The bridge between a notebook's page and the kernel: cells in their order, marks, status.

A hidden widget without a view. Its half in the page is ``static/bridge.js``, which reads what is
no public interface of JupyterLab 4 and Notebook 7; where that is missing, and in other front ends,
everything stands in the order as run. Nothing of the bridge is saved in the notebook.

The messages are listed in :mod:`chatmagic.jupyter.bridge_messages`.
"""

from __future__ import annotations

import contextvars
import threading
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ipywidgets.comm import get_comm_manager  # type: ignore[import-untyped] # it has no types
from traitlets import Bool, List, Unicode, dlink

from chatmagic.conversation.cell_order import Pages, report_from
from chatmagic.conversation.conversation import IN_NOTEBOOK
from chatmagic.errors import GOES_ON
from chatmagic.jupyter import assets, stale_cells
from chatmagic.jupyter.page_widget import PageWidget
from chatmagic.jupyter.painting import Painting
from chatmagic.jupyter.reply_under_way import Drawn
from chatmagic.render.sanitize import FREQUENT
from chatmagic.session.events import HELD_BACK, Began, Ended, Fragment
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chatmagic.conversation.cell_order import PageReport
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.staleness import Cause
    from chatmagic.jupyter.bridge_messages import (
        CodeCell,
        Coded,
        Say,
        StaleBelow,
        Started,
        ToBridge,
    )
    from chatmagic.jupyter.drawing import DrawingLoop
    from chatmagic.jupyter.settings import KernelSettings
    from chatmagic.session.events import Event
    from chatmagic.session.session import Session

MARKS: Final[Mapping[str, str]] = {
    "stale": "Stale, {}. Run the cell again to renew it.",
    "taken back": "Not in the conversation any more: this reply was taken back, by an undo, a "
    "reset or a load. Run the cell again to ask anew.",
    "instructions taken back": "Not in force any more: these instructions were taken back, by an "
    "undo or a load. Run the cell again to give them anew.",
    "thread taken back": "Not in force any more: this thread was taken back, by an undo or a load. "
    "Run the cell again to begin it anew.",
    "replaced": "{} to this question is in force, asked by {}; what this cell shows is "
    "kept. %chat_retry --list tells them all, and --pick puts one back.",
    "hiding taken back": "Not in force any more: this was taken back, by an undo or a load. "
    "Run the cell again to hide or show the turn anew.",
    "held back": f"This reply {HELD_BACK}.",
    "at its limit": f"This reply reached its limit of tokens. {GOES_ON}",
}
"""The mark of a cell in the page; of a stale one with its cause."""

COPIED: Final = (
    "Not in the conversation: this output came with a copy of its cell. Run the cell to renew it."
)
OLDER: Final = (
    "Not in the conversation: this output is older than the kernel. Save the notebook, and "
    "%chat_load takes up what it shows, without asking; or run the cell again."
)
STARTED: Final = "Reply started."
STOP: Final = "chatmagic.stop"
"""Target of the comm that a page opens to end the reply in the background.

What a page says to a widget waits behind the cells that run, one of which may wait for the reply.
"""
ANSWERS: Final = frozenset(["coded", "started"])
"""The kinds of a page's messages that answer one of the kernel's."""
_SHOWN: Final = 40


class _Hidden(PageWidget):
    """The bridge's widget: a script, and messages."""

    _esm = assets.script("bridge.js")
    _css = assets.styles("code.css")
    frequent = List(Unicode(), [*FREQUENT], help="What the marks in paints stand for.").tag(
        sync=True
    )
    # A message would come before the page listens.
    first = Unicode(help="What to say when the bridge opens.").tag(sync=True)
    asking = Unicode(help="The cell that has ended while its reply comes.").tag(sync=True)
    keep_output = Bool(help="Whether to tag cells with a record, for nbstripout.").tag(sync=True)


class Bridge:
    """The kernel's end of the bridge.

    Messages of the page may come in any thread, even while a cell runs, so they are only
    noted there; marks are worked out and sent in the drawing loop's thread.

    Args:
        session: the session whose conversation the marks are about.
        drawing: the kernel's drawing loop.
        settings: the kernel's.
        ended: how the reply ended that came before there was a bridge, to be announced all the
            same; ``None`` announces that a reply has started.
        began: how the ask began that is under way; ``None`` for none.
    """

    def __init__(
        self,
        session: Session,
        drawing: DrawingLoop,
        settings: KernelSettings,
        *,
        ended: str | None = None,
        began: Began | None = None,
    ) -> None:
        """Open the bridge in every page of this kernel."""
        self.pages = Pages()
        self._session = session
        self._lock = threading.Lock()
        self._drawing = drawing
        self._context = contextvars.copy_context()
        self._opened = False
        self._to_say: list[Say] = []
        if ended is not None:
            self._to_say.append({"kind": "say", "text": ended, "first": True})
        self._began = began
        self._asked = set[str | None]() if began is None else {began.ask.owner}
        self._marked: dict[str, str] | None = None
        self._below: dict[str, StaleBelow] = {}
        self._last_key = 0
        self._awaited: dict[int, Callable[[Any], str]] = {}
        # No page may be able to report before a reply ended.
        self._is_first = True
        # In the background nothing of the reply has come yet.
        self._quiet = began is None or began.ask.background is None
        first = STARTED if ended is None and self._quiet else ""
        self._hidden = _Hidden(first=first, keep_output=settings.keep_output, asking=_asking(began))
        get_comm_manager().register_target(STOP, self._stop)
        self._painting = Painting(drawing, lambda message: self._context.run(self._send, message))
        self._keeps = dlink((settings, "keep_output"), (self._hidden, "keep_output"))
        self._hidden.on_msg(self._heard)
        drawing.join_in_order(self._hear)

    def close(self) -> None:
        """Close the bridge; the page takes away what it has put into it."""
        self._drawing.leave(self._hear)
        self._keeps.unlink()
        get_comm_manager().unregister_target(STOP, self._stop)
        self._painting.close()
        self._hidden.close()

    def put_code(
        self,
        owner: str | None,
        digest: str,
        cells: list[CodeCell],
        heard: Callable[[Coded], str],
    ) -> None:
        """Let the page put cells below one of its cells.

        Args:
            owner: hash of the cell.
            digest: of the cells to put.
            cells: in their order.
            heard: called with the page's answer, which may never come; returns what the status
                region says.
        """
        report = self._report_with(owner)
        if report is None:
            return
        self._send(
            {
                "kind": "code",
                "page": report.page,
                "key": self._awaiting(heard),
                "cell": report.cells[str(owner)].id,
                "digest": digest,
                "cells": cells,
            }
        )

    def run_cells(
        self, owner: str | None, cells: Sequence[str], heard: Callable[[Started], str]
    ) -> None:
        """Let the page of a cell run others of its cells, in order.

        Args:
            owner: hash of the cell, which is running.
            cells: hashes of the others.
            heard: as :meth:`put_code` has it.
        """
        report = self._report_with(owner)
        if report is None:
            return
        self._send(
            {
                "kind": "run",
                "page": report.page,
                "key": self._awaiting(heard),
                "cell": report.cells[str(owner)].id,
                "cells": [report.cells[cell].id for cell in cells],
            }
        )

    def _awaiting(self, heard: Callable[[Any], str]) -> int:
        """Return the key of a message that is to be answered."""
        key = self._last_key = self._last_key + 1
        self._awaited = {key: heard}  # a page that is gone does not answer
        return key

    def listed_with(self, owner: str | None) -> tuple[str, ...]:
        """Return the hashes of the cells that the page of a cell lists; none without a page."""
        report = self._report_with(owner)
        return () if report is None else tuple(report.cells)

    def _report_with(self, owner: str | None) -> PageReport | None:
        return next((page for page in self.pages.reports[::-1] if owner in page.cells), None)

    def _heard(self, _widget: object, content: Any, _buffers: object) -> None:
        """Take note of a page's message."""
        report = report_from(content)
        if isinstance(content, dict) and content.get("kind") == "lacks":
            self._drawing.put(partial(self._painting.settle, content.get("live")))
        if report is None and isinstance(content, dict) and content.get("kind") in ANSWERS:
            heard = self._awaited.pop(content.get("key", 0), None)
            if heard is not None:
                self._say(heard(content))
                self._publish_later()
        if report is None:
            return
        with self._lock:
            self.pages = self.pages.with_report(report)
            self._opened = self._opened or report.opened
        if report.opened:
            self._painting.greet()
        self._publish_later()

    def _hear(self, event: Event | Drawn) -> None:
        """Take note of how an ask goes; the panel says it itself."""
        match event:
            case Began(ask):
                self._began = event
                self._asked.add(ask.owner)
                self._quiet = ask.entry == "panel"
            case Fragment() if not self._quiet:
                self._quiet = True
                self._say(STARTED)
            case Drawn():
                self._painting.tell(event, has_script=bool(self.pages.reports) or self._is_first)
                return
            case Fragment():
                return
            case Ended(ask):
                self._began, self._is_first = None, False
                self._painting.end(event)
                if ask.entry != "panel":
                    self._say(event.words)
        self._publish_later()

    def _stop(self, *_: object) -> None:
        """End the reply that comes in the background; may be called in any thread."""
        if (began := self._began) is not None and began.ask.background is not None:
            began.halt.stop()

    def _say(self, text: str) -> None:
        """Announce a sentence in the page's status region (ARIA ``status``: polite, once)."""
        self._to_say.append({"kind": "say", "text": text})

    def _publish_later(self) -> None:
        self._drawing.put(partial(self._context.run, self._publish))

    def _publish(self) -> None:
        """Send what has changed, in the drawing loop's thread."""
        self._hidden.asking = _asking(self._began)
        with self._lock:
            opened, self._opened = self._opened, False
        if opened or not self.pages.reports:
            # No page was there for the sentences before the last, and now they are old.
            del self._to_say[:-1]
        if not self.pages.reports:
            return
        if opened:
            self._send({"kind": "tell"})
            self._hidden.first = ""  # a page that is loaded again has nothing to say of it
        conversation = copy(self._session.conversation)  # An ask may change it meanwhile.
        layout = self._session.environment.layout(None)
        marks = conversation.marks(layout)
        causes = conversation.causes(layout).by_cell() if "stale" in marks.values() else {}
        self._publish_below(causes, opened=opened)
        live = {turn.owner for turn in conversation}
        known = self._asked.union(dict(conversation.slots), conversation.cells)
        words = dict.fromkeys(self.pages.unheard(known, live), OLDER)
        words |= dict.fromkeys(self.pages.copies() - live, COPIED)
        for cell, mark in marks.items():
            if mark == "replaced":
                words[cell] = _in_force(cell, conversation)
                continue
            words[cell] = MARKS[mark].format(causes[cell].words if mark == "stale" else "")
        marked = self.pages.by_id(words)
        if opened or marked != self._marked:
            self._marked = marked
            self._send({"kind": "marks", "marks": marked})
        while self._to_say:
            self._send(self._to_say.pop(0))

    def _publish_below(self, causes: Mapping[str, Cause], *, opened: bool) -> None:
        """Send the stale cells below those that made them stale."""
        below: dict[str, StaleBelow] = {}
        for report in self.pages.reports:
            for cell, cells in stale_cells.below(causes, tuple(report.cells)).items():
                below[report.cells[cell].id] = {
                    "words": f"{stale_cells.quote(self._session, cells, ' below')}.",
                    "cells": [report.cells[each].id for each in cells],
                }
        if below != self._below or (below and opened):
            self._below = below
            self._send({"kind": "below", "below": below})

    def _send(self, message: ToBridge) -> None:
        self._hidden.send(message)


def _asking(began: Began | None) -> str:
    """Return the page's name of the cell that has ended while its reply comes; empty for none."""
    return "" if began is None else began.ask.background or ""


def _in_force(cell: str, conversation: Conversation) -> str:
    """Return which reply is in force in place of the one that a cell shows, and whose it is."""
    turn = conversation.in_force(cell)
    if turn is None:
        return MARKS["taken back"]
    name = conversation.replies(turn.number).name(turn.number).capitalize()
    return MARKS["replaced"].format(name, one_line(turn.asker or IN_NOTEBOOK, _SHOWN))
