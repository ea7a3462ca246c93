"""The requests of pages to the panel's part of the kernel, by a table of handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from chatmagic._log import log_swallowed
from chatmagic.conversation.question import A_MODEL, is_model_name, unquoted
from chatmagic.jupyter.page import panel_content
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.panel_changes import PanelChanges
from chatmagic.jupyter.page.panel_feed import PanelFeed, Shown
from chatmagic.jupyter.page.panel_log import PanelLog
from chatmagic.jupyter.page.panel_questions import PanelQuestions
from chatmagic.jupyter.page.task_thread import TaskThread
from chatmagic.jupyter.page.view_request import ViewRequest
from chatmagic.safe_text import one_line
from chatmagic.session.session import Session

UNDER_WAY: Final = "A question from the panel is under way: its thread is shown until it ends."
FAILED: Final = "{what}: the panel's part of the kernel failed ({error}). %%chat still works."
MODEL: Final = "Model of the panel's questions: {}."
NO_MODEL: Final = f"Model takes {A_MODEL}, without spaces, not {{!r}}. Nothing was changed."

Handler = Callable[[ViewRequest], object]


class PanelRequests:
    """The requests of pages to the panels of one kernel.

    A handler runs in the drawing loop's thread. One that may have to wait for a reply's end runs in
    the thread ``chatmagic-ask``, so that the kernel stays free.

    Args:
        session: the kernel's session.
        log: the content of the panels.
        feed: what all panels are sent.
        drawing: the kernel's drawing loop.
    """

    def __init__(
        self, session: Session, log: PanelLog, feed: PanelFeed, drawing: DrawingLoop
    ) -> None:
        """Start the thread for slow work."""
        self._session = session
        self._log = log
        self._feed = feed
        self._drawing = drawing
        self._work = TaskThread("chatmagic-ask")
        questions = PanelQuestions(session, log, feed, drawing, self._work)
        changes = PanelChanges(session, log, drawing)
        self._handlers: Mapping[str, Handler] = {
            "ping": self._ping,
            "sync": self._sync,
            "want": self._want,
            "save": self._save,
            "put": self._put,
            "thread": self._thread,
            "model": self._model,
            "ask": questions.offer,
            "go": questions.go,
            "stop": questions.stop,
        }
        self._slow_handlers: Mapping[str, Handler] = {
            "step": changes.step,
            "pick": changes.pick,
            "placed": changes.hand_over,
        }

    def take(self, shown: Shown, message: Message) -> None:
        """Do what a page asks for.

        Args:
            shown: the panel whose view asks.
            message: the page's message.
        """
        request = ViewRequest(shown, message, self._feed.send)
        kind = str(message.get("kind"))
        if kind in self._handlers:
            self._try(self._handlers[kind], request)
        elif kind in self._slow_handlers:
            self._work.put(partial(self._try, self._slow_handlers[kind], request))

    def close(self) -> None:
        """End the thread for slow work."""
        self._work.close()

    def _try(self, handler: Handler, request: ViewRequest) -> None:
        """Do what a page asks for; report a failure by the error's type, which quotes nothing."""
        try:
            handler(request)
        except Exception as error:  # noqa: BLE001 - a page waits for an answer
            log_swallowed(error)
            is_ask = request.message.get("kind") == "ask"
            what = "Nothing was sent" if is_ask else "That was not done"
            words = FAILED.format(what=what, error=type(error).__name__)
            self._drawing.put(partial(request.refuse, words))

    # What a view shows.

    def _ping(self, request: ViewRequest) -> None:
        """Tell a view that the kernel is there."""
        self._feed.send(request.shown, {"kind": "pong"})

    def _sync(self, request: ViewRequest) -> None:
        """Send a view a snapshot."""
        count = request.message.get("count")
        # A view that shows turns already asks for the entries that it lacks.
        known: dict[int, str] | None = {} if count is None else None
        snapshot = self._log.snapshot(known, count or 0)
        snapshot["reloaded"] = request.message.get("first", False) and request.shown.greeted
        request.shown.greeted = True
        request.answer(snapshot)

    def _want(self, request: ViewRequest) -> None:
        """Send a view the entries that it lacks."""
        entries = self._log.entries().draw(set(request.message["ids"]))
        request.answer({"kind": "entries", "entries": entries})

    def _save(self, request: ViewRequest) -> None:
        """Send a view the output that is saved beside it."""
        request.answer({"kind": "saved", "data": self._log.saved()})

    def _put(self, request: ViewRequest) -> None:
        """Send a page turns of the panel as cells."""
        turns = self._session.conversation.turns
        message = request.message
        cells = panel_content.cells_for_turns(turns, message["turns"], message["cells"])
        request.answer({"kind": "insert", "cells": cells})

    # The choices for all panels.

    def _thread(self, request: ViewRequest) -> None:
        """Show another thread, unless a question of the panel is under way."""
        if self._log.asks.is_asking():
            request.notify(UNDER_WAY)
            return
        self._log.thread = request.message["thread"]
        self._feed.publish()

    def _model(self, request: ViewRequest) -> None:
        """Ask another model from now on, or that of the cells."""
        typed = request.message["model"]
        name = unquoted(typed)
        # A cell that is made of the turn names it as a word behind -m.
        if name and (" " in name or not is_model_name(name)):
            request.notify(NO_MODEL.format(one_line(typed, 40)))
        else:
            self._log.model = name
            request.notify(MODEL.format(name or "the model of the cells"))
        self._feed.publish()
