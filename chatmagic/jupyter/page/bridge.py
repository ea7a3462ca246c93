"""The bridge between a notebook's page and the kernel: cells in their order, marks, status, paint.

Its part in the page is ``page/bridge.js`` of the labextension, which uses private interfaces of
JupyterLab 4 and Notebook 7. Without these, and in other front ends, turns stand in the order of
execution. Nothing of the bridge is saved in the notebook.

A page that is reloaded while a reply arrives gets no updates of its output, and may have none for
it. It cannot ask for the reply while the cell runs. So pages get the whole reply every few seconds,
with
the cell that shows it, and at the end the last state.

The messages are described in :mod:`chatmagic.jupyter.page.messages`.
"""

from __future__ import annotations

import contextvars
import hashlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, Final

import comm

from chatmagic._version import __version__
from chatmagic.archive import output
from chatmagic.conversation.cell_order import PageReport, Pages, report_from
from chatmagic.conversation.conversation import IN_NOTEBOOK, Conversation, reply_name
from chatmagic.jupyter import stale_cells
from chatmagic.jupyter.cells.running_cell import Execution
from chatmagic.jupyter.page.drawing_loop import DrawingLoop, Drawn
from chatmagic.jupyter.page.messages import ID, TARGET, URGENT, Message
from chatmagic.jupyter.settings import KernelSettings
from chatmagic.safe_text import one_line
from chatmagic.session.events import Began, Ended, Event, Fragment, Thought
from chatmagic.session.session import Session

_MOST_KNOWN: Final = 10_000  # replies that a page can still know as the kernel's own
_MOST_KEPT: Final = 16  # replies whose last state a page can still ask for
_SECONDS_BETWEEN_WHOLE: Final = 3.0
_WHOLE_BYTES_A_SECOND: Final = 20_000
_SECONDS_TO_LOAD: Final = 60.0  # in which a page that is loaded misses how a reply ends


@dataclass(slots=True)
class ShownReply:
    """Reply that a cell shows, or has shown.

    Args:
        cell: the page's name of the cell; empty for none.
        replaces: whether the earlier replies of the cell are removed.
        drawn: its latest drawing; ``None`` before its first words, and after its last.
        whole_due: time when the whole reply is sent again, in seconds.
        is_sent_whole: whether the whole reply was sent while it arrived, for a page that was
            reloaded.
        settled: the message with its last state, or its error; ``None`` while it arrives.
        owner: hash of the cell that asked, if the ask has ended.
        ended_at: the time of its end, in seconds.
        is_seen: whether a page reports that it shows the last state.
    """

    cell: str = ""
    replaces: bool = False
    drawn: Drawn | None = None
    whole_due: float = 0.0
    is_sent_whole: bool = False
    settled: Message | None = None
    owner: str | None = None
    ended_at: float = 0.0
    is_seen: bool = False


class Painting:
    """The drawings in the pages of one bridge; all methods run in the drawing loop's thread.

    Args:
        send: sends a message to all pages.
    """

    def __init__(self, send: Callable[[Message], object]) -> None:
        """Show nothing yet."""
        self._send = send
        self._shown: dict[str, ShownReply] = {}
        self.digests: deque[str] = deque(maxlen=_MOST_KNOWN)

    def show(self, live: str, cell: str, *, replaces: bool) -> None:
        """Note the cell that shows the reply to an ask that begins.

        Args:
            live: the name of the ask in pages.
            cell: the page's name of the cell.
            replaces: whether the earlier replies of the cell are removed.
        """
        if replaces:
            self._shown = {name: other for name, other in self._shown.items() if other.cell != cell}
        self._keep(live, ShownReply(cell, replaces))

    def greet(self) -> None:
        """Send all replies under way to a new page, which may lack earlier messages."""
        for shown in self._shown.values():
            if shown.drawn is not None:
                self._tell_all(shown, shown.drawn)

    def tell(self, drawn: Drawn) -> None:
        """Send the new text of a reply under way, and from time to time the whole reply.

        Args:
            drawn: the drawing.
        """
        live = drawn.ask.live
        shown = self._shown.get(live) or self._keep(live, ShownReply())
        if shown.drawn is None:
            shown.whole_due = time.monotonic() + _SECONDS_BETWEEN_WHOLE
        shown.drawn = None if drawn.last else drawn
        if time.monotonic() >= shown.whole_due:
            self._tell_all(shown, drawn)
        else:
            self._send(drawn.message)

    def end(self, ended: Ended) -> None:
        """Keep the end of an ask, for a page that lacks its last state, and send it.

        Args:
            ended: the end of the ask.
        """
        live, outcome = ended.ask.live, ended.outcome
        shown = self._shown.pop(live, None) or ShownReply()
        self._keep(live, shown)  # as the newest ended one
        data, metadata = {"text/html": f"<p>{escape(ended.words)}</p>"}, dict[str, Any]()
        if outcome is not None:
            data, metadata = output.of_turn(outcome.reply, outcome.record)
            self.digests.append(hashlib.sha256(data["text/html"].encode()).hexdigest())
            self._send({"kind": "known", "digests": [self.digests[-1]]})
        shown.drawn, shown.owner, shown.ended_at = None, ended.ask.owner, time.monotonic()
        shown.settled = {
            "kind": "settled",
            "live": live,
            "cell": shown.cell,
            "replaces": shown.replaces,
            "data": data,
            "metadata": metadata,
        }
        if shown.is_sent_whole:
            self.settle(live)

    def settle(self, live: object) -> None:
        """Send the last state of a reply, or its error, if its ask has ended.

        Args:
            live: the name of its ask in pages, or any value from a page.
        """
        shown = self._shown.get(str(live))
        if shown is not None and shown.settled is not None:
            self._send(shown.settled)

    def look(self, report: PageReport) -> None:
        """Send a newly loaded page the last states that no page may have shown.

        Args:
            report: the page's report. A later report that lists the cell shows that the state
                arrived.
        """
        now = time.monotonic()
        for live, shown in [*self._shown.items()]:
            if shown.settled is None or not shown.cell:
                continue
            cell = report.cells.get(str(shown.owner))
            if report.opened:
                is_new = shown.is_sent_whole or now - shown.ended_at < _SECONDS_TO_LOAD
                if is_new and not shown.is_seen:
                    self.settle(live)
            elif cell is not None and cell.owner == shown.owner:
                shown.is_seen = True

    def _keep(self, live: str, shown: ShownReply) -> ShownReply:
        self._shown[live] = shown
        for old in [*self._shown][:-_MOST_KEPT]:
            del self._shown[old]
        return shown

    def _tell_all(self, shown: ShownReply, drawn: Drawn) -> None:
        """Send the whole reply so far, with the cell that shows it."""
        message = drawn.anew
        shown.is_sent_whole = True
        if shown.cell:
            message |= {"cell": shown.cell, "box": drawn.empty_box, "replaces": shown.replaces}
        size = sum(len(block.encode()) for block in message["blocks"])
        pause = max(_SECONDS_BETWEEN_WHOLE, size / _WHOLE_BYTES_A_SECOND)
        shown.whole_due = time.monotonic() + pause
        self._send(message)


MARKS: Final[Mapping[str, str]] = {
    "stale": "Stale, {}. Run the cell again to renew it.",
    "taken back": "Not in the conversation any more: this reply was taken back, by an undo, a "
    "reset or a load, or its question's own cell has run again. Run the cell again for a new "
    "reply.",
    "instructions taken back": "Not in force any more: these instructions were taken back, by an "
    "undo or a load. Run the cell again to set them.",
    "thread taken back": "Not in force any more: this thread was taken back, by an undo or a load. "
    "Run the cell again to begin it.",
    "replaced": "{} to this question is in force, asked by {}; its own reply is "
    "kept. %chat_retry --list lists all replies, and --pick puts one back.",
    "hiding taken back": "Not in force any more: this was taken back, by an undo or a load. "
    "Run the cell again to hide or show the turn.",
}
"""The marks of cells in the page; the mark of a stale cell gets its cause."""

COPIED: Final = (
    "Not in the conversation: this output came with a copy of its cell. Run the cell to renew it."
)
OLDER: Final = (
    "Not in the conversation: this output is older than the kernel. Save the notebook, and "
    "%chat_load restores its turn without asking; or run the cell again."
)
STARTED: Final = "Reply started."
ANSWERS: Final = frozenset(["coded", "started"])
"""The kinds of a page's messages that answer one of the kernel's."""
_SHOWN: Final = 40


class Bridge:
    """The kernel's end of the bridge.

    Messages of the page may arrive in any thread, even while a cell runs. There they are only
    noted. Marks are computed and sent in the drawing loop's thread.

    Args:
        session: the session whose conversation the marks are about.
        drawing: the kernel's drawing loop.
        settings: the kernel's settings.
        notebook: returns the identity of the kernel's first notebook; ``None`` if unknown.
    """

    def __init__(
        self,
        session: Session,
        drawing: DrawingLoop,
        settings: KernelSettings,
        notebook: Callable[[], str | None],
    ) -> None:
        """Open the bridge in every page of this kernel."""
        self._first_notebook = notebook
        self.pages = Pages()
        self.page_version: tuple[object, str] | None = None
        """Protocol and version of the page that answered last; ``None`` before an answer."""
        self._session = session
        self._settings = settings
        self._drawing = drawing
        self._context = contextvars.copy_context()
        self._under_way: dict[str, Began] = {}
        self._started = set[str]()
        self._executions: dict[str, str | None] = {}
        self._asked = set[str | None]()
        self._marked: dict[str, Message] = {}
        self._last_key = 0
        self._awaited: dict[int, Callable[[Message], str]] = {}
        self._painting = Painting(self._send)
        self._state = self._state_now()
        self._comm = comm.create_comm(
            target_name=TARGET, comm_id=f"{ID}{secrets.token_hex(8)}", data=self._state
        )
        self._comm.on_msg(lambda message: self._heard(message["content"]["data"]))
        self._comm.on_close(self._stay_open)
        comm.get_comm_manager().register_target(URGENT, self._heard_urgent)
        settings.observe(self._publish_later, "keep_output")
        drawing.join_in_order(self._hear)

    def close(self) -> None:
        """Close the bridge; the page removes everything that it has added."""
        self._drawing.leave(self._hear)
        self._settings.unobserve(self._publish_later, "keep_output")
        comm.get_comm_manager().unregister_target(URGENT, self._heard_urgent)
        self._comm.close()

    def show_reply(self, live: str, execution: Execution) -> None:
        """Note the cell that shows the reply to an ask that begins.

        Args:
            live: the name of the ask in pages.
            execution: the execution of the cell.
        """
        # The replies to several asks of one execution are shown together.
        replaces = self._executions.get(execution.name) != execution.id
        self._executions[execution.name] = execution.id
        show = partial(self._painting.show, live, execution.name, replaces=replaces)
        self._drawing.put(show)

    def ask_page(
        self,
        owner: str | None,
        request: Callable[[PageReport], Message],
        heard: Callable[[Message], str],
    ) -> None:
        """Ask the page of a cell to put cells below it, or to run other cells.

        Args:
            owner: hash of the cell, which is running.
            request: returns the message for the page that lists the cell.
            heard: called with the page's answer, which may never arrive; returns the text for the
                status region.
        """
        if (report := self._report_with(owner)) is not None:
            key = self._last_key = self._last_key + 1
            self._awaited = {key: heard}  # a page that is gone does not answer
            cell = report.cells[str(owner)].id
            self._send({"page": report.page, "key": key, "cell": cell, **request(report)})

    def listed_with(self, owner: str | None) -> tuple[str, ...]:
        """Return the hashes of the cells that the page of a cell lists; none without a page.

        Args:
            owner: hash of the cell.
        """
        report = self._report_with(owner)
        return () if report is None else tuple(report.cells)

    def _report_with(self, owner: str | None) -> PageReport | None:
        return next((page for page in self.pages.reports[::-1] if owner in page.cells), None)

    def _heard(self, content: Any) -> None:
        """Note a page's message; may be called in any thread."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind == "hello":
            self.page_version = content.get("protocol"), str(content.get("version"))
        elif kind == "lacks":
            self._drawing.put(partial(self._painting.settle, content.get("live")))
        elif kind == "paints":
            self._drawing.painted()
            # The next drawing may take long.
            self._drawing.put(self._painting.greet)
        elif kind == "stop":
            self._stop(str(content.get("live")))
        elif kind in ANSWERS:
            heard = self._awaited.pop(content.get("key", 0), None)
            if heard is not None:
                self._say(heard(content))
                self._publish_later()
        elif (report := report_from(content, self._first_notebook())) is not None:
            self.pages = self.pages.with_report(report)
            if self._settings.notes is not None:
                self._settings.notes.edit_markdown(report.markdown)
            self._drawing.put(partial(self._painting.look, report))
            self._drawing.put(partial(self._publish, opened=report.opened))

    def _stop(self, live: str) -> None:
        """End a reply that comes in the background of its cell."""
        began = self._under_way.get(live)
        if began is not None and began.ask.background is not None:
            began.halt.stop()

    def _stay_open(self, _message: object) -> None:
        """Keep the comm for other pages: a front end without the script closes it."""
        comm.get_comm_manager().register_comm(self._comm)

    def _heard_urgent(self, _comm: object, message: Any) -> None:
        self._heard(message["content"]["data"])

    def _hear(self, event: Event | Drawn) -> None:
        """Note an event of an ask, and announce it unless the panel does."""
        match event:
            case Began(ask):
                self._under_way[ask.live] = event
                self._asked.add(ask.owner)
            case Fragment(ask) if ask.entry != "panel" and ask.live not in self._started:
                self._started.add(ask.live)
                self._say(STARTED)
                return
            case Drawn():
                self._painting.tell(event)
                return
            case Fragment() | Thought():
                return
            case Ended(ask):
                self._under_way.pop(ask.live, None)
                self._started.discard(ask.live)
                self._painting.end(event)
                if ask.entry != "panel":
                    self._say(event.words)
        self._publish_later()

    def _say(self, text: str) -> None:
        """Announce a sentence in the page's status region (ARIA ``status``: polite, once)."""
        self._drawing.put(partial(self._send, {"kind": "say", "text": text}))

    def _state_now(self) -> Message:
        return {
            "kind": "state",
            "version": __version__,
            "asks": {live: began.ask.background or "" for live, began in self._under_way.items()},
            "keep_output": self._settings.keep_output,
        }

    def _publish_later(self, *_: object) -> None:
        self._drawing.put(self._publish)

    def _publish(self, *, opened: bool = False) -> None:
        """Send the changes, or everything if a page is new; runs in the drawing loop's thread."""
        state = self._state_now()
        if opened or state != self._state:
            self._state = state
            self._send(state)
        if opened:
            self._send({"kind": "tell"})
            self._send({"kind": "known", "digests": [*self._painting.digests]})
        if self.pages.reports:
            marked = self._marks()
            for notebook, marks in marked.items():
                if opened or marks != self._marked.get(notebook):
                    self._send(marks)
            self._marked = marked

    def _marks(self) -> dict[str, Message]:
        """Return the present marks of each notebook's cells."""
        conversation = copy(self._session.conversation)  # An ask may change it meanwhile.
        layout = self._session.environment.layout(None)
        causes = conversation.causes(layout)
        by_cell = causes.by_cell()
        live = {turn.owner for turn in conversation}
        known = self._asked.union(dict(conversation.slots), conversation.cells)
        words = dict.fromkeys(self.pages.unheard(known, live), OLDER)
        words |= dict.fromkeys(self.pages.copies() - live, COPIED)
        for cell, mark in causes.marks().items():
            if mark == "replaced":
                words[cell] = _in_force(cell, conversation)
            else:
                words[cell] = MARKS[mark].format(by_cell[cell].words if mark == "stale" else "")
        marks: dict[str, Message] = {}
        for report in self.pages.reports:
            ids = {owner: cell.id for owner, cell in report.cells.items()}
            marks[report.notebook] = {
                "kind": "marks",
                "notebook": report.notebook,
                "marks": {ids[cell]: mark for cell, mark in words.items() if cell in ids},
                "below": {
                    ids[cell]: {
                        "words": f"{stale_cells.quote(self._session, cells, causes, ' below')}.",
                        "cells": [ids[each] for each in cells],
                    }
                    for cell, cells in stale_cells.below(causes, tuple(ids)).items()
                },
            }
        return marks

    def _send(self, message: Message) -> None:
        """Send a message to all pages, in the context of the cell that opened the bridge."""
        self._context.run(self._comm.send, message)


def _in_force(cell: str, conversation: Conversation) -> str:
    """Return the mark of a cell whose reply is replaced by another one."""
    turn = conversation.in_force(cell)
    if turn is None:
        return MARKS["taken back"]
    name = reply_name(turn, conversation.replies[turn.number]).capitalize()
    return MARKS["replaced"].format(name, one_line(turn.asker or IN_NOTEBOOK, _SHOWN))
