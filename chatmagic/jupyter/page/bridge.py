"""The bridge between a notebook's page and the kernel: cells in their order, marks, status, paint.

Its part in the page is ``page/bridge.js`` of the labextension, which uses private interfaces of
JupyterLab 4 and Notebook 7. Without these, and in other front ends, turns stand in the order of
execution. Nothing of the bridge is saved in the notebook.

The messages are described in :mod:`chatmagic.jupyter.page.messages`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from chatmagic._fork import Lock
from chatmagic._version import __version__
from chatmagic.conversation.cell_order import PageReport, Pages, report_from
from chatmagic.jupyter.cells.running_cell import Execution
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.marks import PageMarks
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.page_link import Handler, PageLink
from chatmagic.jupyter.page.painting import Painting
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn
from chatmagic.jupyter.settings import KernelSettings
from chatmagic.session.ask import Ask
from chatmagic.session.events import Began, Ended, Event, Fragment, Thought, Waiting
from chatmagic.session.session import Session

STARTED: Final = "Reply started."


class AsksOnPages:
    """The asks of a kernel that are under way or wait, by their names in pages."""

    def __init__(self) -> None:
        """Begin without any."""
        self._under_way: dict[str, Began] = {}
        self._waiting: set[str] = set()
        self._started: set[str] = set()
        """The asks whose first word has arrived."""

    def follow(self, event: Event | ReplyDrawn) -> None:
        """Note an event of an ask.

        Args:
            event: the event.
        """
        match event:
            case Began(ask):
                self._under_way[ask.live] = event
            case Waiting(ask, is_over=False):
                self._waiting.add(ask.live)
            case Waiting(ask):
                self._waiting.discard(ask.live)
            case Ended(ask):
                self._under_way.pop(ask.live, None)
                self._started.discard(ask.live)
            case _:
                pass

    def is_first_word(self, ask: Ask) -> bool:
        """Return whether new text is the first of a reply, once; the panel announces its own.

        Args:
            ask: the ask of the reply.
        """
        if ask.entry == "panel" or ask.live in self._started:
            return False
        self._started.add(ask.live)
        return True

    def stop_in_background(self, live: str) -> None:
        """Stop an ask if its cell has ended.

        Args:
            live: the name of the ask in pages, or any text from a page.
        """
        began = self._under_way.get(live)
        if began is not None and began.ask.background is not None:
            began.halt.stop()

    def background_cells(self) -> dict[str, str]:
        """Return the page's name of the cell that an ask runs behind; empty for no such cell."""
        cells = dict.fromkeys(sorted(self._waiting), "")
        for live, began in self._under_way.items():
            cells[live] = began.ask.background or ""
        return cells


class Bridge:
    """The kernel's end of the bridge: its link to the pages, the painting and the marks.

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
        self.pages = Pages()
        self._reporting = Lock()
        self.page_version: tuple[object, str] | None = None
        """Protocol and version of the page that answered last; ``None`` before an answer."""
        self._drawing = drawing
        self._settings = settings
        self._first_notebook = notebook
        self._asks = AsksOnPages()
        self._executions: dict[str, str | None] = {}
        self._link = PageLink(self._handlers())
        self._painting = Painting(self._link.send)
        self._marks = PageMarks(session)
        self._state = self._state_now()
        self._link.open(self._state)
        settings.observe(self._publish_later, "keep_output")
        drawing.join_in_order(self._hear)

    def _handlers(self) -> dict[str, Handler]:
        """Return the functions that take the messages of pages, by their kinds."""
        return {
            "hello": self._take_hello,
            "paints": self._take_paints,
            "lacks": self._take_lacks,
            "stop": self._take_stop,
            "cells": self._take_cells,
        }

    def close(self) -> None:
        """Close the bridge; the page removes everything that it has added."""
        self._drawing.leave(self._hear)
        self._settings.unobserve(self._publish_later, "keep_output")
        self._link.close()

    def use_page(self, page: str) -> None:
        """Note the page that asks: of several tabs of a notebook, its order counts from now on.

        Args:
            page: name of the page; empty if it is unknown.
        """
        with self._reporting:
            self.pages = self.pages.with_newest(page)

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
        words_on: Callable[[Message], str],
        page: str = "",
    ) -> None:
        """Ask the page of a cell to put cells below it, or to run other cells.

        Args:
            owner: hash of the cell, which is running.
            request: returns the message for the page that lists the cell.
            words_on: called with the page's answer, which may never arrive; returns the text for
                the status region.
            page: name of the page that runs the cell; empty takes the newest that lists it.
        """
        report = None if owner is None else self.pages.report_with(owner, page)
        if report is None:
            return

        def take_answer(answer: Message) -> None:
            """Announce the page's answer, and publish what it changed."""
            self._say(words_on(answer))
            self._publish_later()

        cell = report.cells[str(owner)].id
        self._link.ask({"page": report.page, "cell": cell, **request(report)}, take_answer)

    def listed_with(self, owner: str | None, page: str = "") -> tuple[str, ...]:
        """Return the hashes of the cells that the page of a cell lists; none without a page.

        Args:
            owner: hash of the cell.
            page: as for :meth:`ask_page`.
        """
        report = None if owner is None else self.pages.report_with(owner, page)
        return () if report is None else tuple(report.cells)

    # Messages of pages, in any thread.

    def _take_hello(self, message: Message) -> None:
        """Note the version of a page."""
        self.page_version = message.get("protocol"), str(message.get("version"))

    def _take_paints(self, _message: Message) -> None:
        """Note that a page paints, and send it the replies under way."""
        self._drawing.painted()
        # The next drawing may take long.
        self._drawing.put(self._painting.send_under_way)

    def _take_lacks(self, message: Message) -> None:
        """Send a page the last state that it lacks."""
        self._drawing.put(partial(self._painting.settle, message.get("live")))

    def _take_stop(self, message: Message) -> None:
        """End a reply that arrives in the background of its cell."""
        self._asks.stop_in_background(str(message.get("live")))

    def _take_cells(self, message: Message) -> None:
        """Note the cells of a page."""
        report = report_from(message, self._first_notebook())
        if report is None:
            return
        with self._reporting:
            self.pages = self.pages.with_report(report)
        if self._settings.notes is not None:
            self._settings.notes.edit_markdown(report.markdown)
        self._drawing.put(partial(self._painting.take_report, report))
        self._drawing.put(partial(self._publish, opened=report.opened))

    # All that follows runs in the drawing loop's thread.

    def _hear(self, event: Event | ReplyDrawn) -> None:
        """Note an event of an ask, and announce it unless the panel does."""
        self._asks.follow(event)
        match event:
            case ReplyDrawn():
                self._painting.paint(event)
            case Fragment(ask):
                if self._asks.is_first_word(ask):
                    self._say(STARTED)
            case Thought():
                pass
            case Began(ask):
                self._marks.add(ask.owner)
                self._publish_later()
            case Ended(ask):
                self._painting.end(event)
                if ask.entry != "panel":
                    self._say(event.words)
                self._publish_later()
            case _:
                self._publish_later()

    def _say(self, text: str) -> None:
        """Announce a sentence in the page's status region (ARIA ``status``: polite, once)."""
        self._drawing.put(partial(self._link.send, {"kind": "say", "text": text}))

    def _state_now(self) -> Message:
        """Return the message on the present state of the kernel."""
        return {
            "kind": "state",
            "version": __version__,
            "asks": self._asks.background_cells(),
            "keep_output": self._settings.keep_output,
        }

    def _publish_later(self, *_: object) -> None:
        """Publish the changes, in order with the drawings."""
        self._drawing.put(self._publish)

    def _publish(self, *, opened: bool = False) -> None:
        """Send the changes, or everything if a page is new."""
        state = self._state_now()
        if opened or state != self._state:
            self._state = state
            self._link.send(state)
        if opened:
            self._link.send({"kind": "tell"})
            self._link.send({"kind": "known", "digests": [*self._painting.digests]})
        if self.pages.reports:
            for marks in self._marks.changed(self.pages, opened=opened):
                self._link.send(marks)
