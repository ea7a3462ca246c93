"""The one drawing loop of a kernel: a reply under way as safe HTML, for all that show it.

Reading a reply never waits for its drawing: threads that ask only put what came into a queue,
and one thread draws. The first word is drawn at once, what follows as
:mod:`chatmagic.jupyter.page.reply_under_way` says.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from chatmagic._log import swallowed
from chatmagic.jupyter.page.reply_under_way import ReplyUnderWay
from chatmagic.session.events import Began, Ended, Fragment

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.jupyter.page.reply_under_way import Drawn
    from chatmagic.session.events import Event

    Hear = Callable[[Event | Drawn], object]


class DrawingLoop:
    """Thread that draws the reply under way, once for all views that have joined.

    The same thread tells panels, gauges and the bridge the events of the session, in order with
    what is drawn. It starts with its first use, and belongs to no cell: what it calls has to run
    in the context that it needs (:func:`contextvars.copy_context`).
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._news: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._listeners: tuple[Hear, ...] = ()
        self._telling = threading.RLock()
        self._reply: ReplyUnderWay | None = None
        self._is_painted = False

    def hear(self, event: Event) -> None:
        """Take note of how an ask goes; a follower of the session.

        Args:
            event: of an ask, in any thread; left out while nothing has joined yet.
        """
        if self._thread is not None:
            self.put(partial(self._hear, event))

    def join(self, listener: Hear) -> None:
        """Tell a listener from now on.

        Args:
            listener: called in the loop's thread with each event, and with each drawing.
        """
        with self._telling:
            self._listeners = (*self._listeners, listener)
        self._start()

    def leave(self, listener: Hear) -> None:
        """Tell a listener no more; waits for a drawing that is being shown."""
        with self._telling:
            self._listeners = tuple(other for other in self._listeners if other != listener)

    def put(self, work: Callable[[], object]) -> None:
        """Have something done in the loop's thread, in order with what is drawn.

        Args:
            work: takes no arguments; an exception of it is logged.
        """
        self._news.put(work)
        self._start()

    def join_in_order(self, listener: Hear) -> None:
        """Tell a listener from now on, and nothing of what was put before.

        Args:
            listener: as :meth:`join` takes it.
        """
        if threading.current_thread() is self._thread:
            self.join(listener)
        else:
            self.put(partial(self.join, listener))

    def draw(self) -> None:
        """Have what is new drawn at once: nothing more comes, but the last state takes its time."""
        self.put(self._draw)

    def painted(self) -> None:
        """Take note that a page paints replies, so that they need few whole updates."""
        self.put(self._painted)

    def close(self) -> None:
        """End the thread, when it has done what was put before."""
        self._news.put(None)

    def _start(self) -> None:
        with self._telling:
            # An interrupt may have come before the thread was started.
            if self._thread is None or self._thread.ident is None:
                self._thread = threading.Thread(
                    target=self._run, name="chatmagic-draw", daemon=True
                )
                self._thread.start()

    # All that follows runs in the loop's thread.

    def _run(self) -> None:
        while True:
            due = None if self._reply is None else self._reply.due
            wait = None if due is None else max(0.0, due - time.monotonic())
            try:
                work = self._news.get(timeout=wait)
            except Empty:
                work = self._draw
            if work is None:
                return
            with swallowed():
                # A reply that cannot be drawn does not end the loop.
                work()

    def _hear(self, event: Event) -> None:
        match event:
            case Began(ask):
                self._reply = ReplyUnderWay(ask, is_painted=self._is_painted)
            case Fragment(text) if self._reply is not None:
                self._reply.add(text)
                if self._reply.due is not None and time.monotonic() >= self._reply.due:
                    self._draw()
            case Ended(ask) if self._reply is not None and ask is self._reply.ask:
                self._draw(last=True)
                self._reply = None
        # Not alone, so that who joins or leaves does not wait.
        self._tell(event)

    def _tell(self, event: Event | Drawn) -> None:
        for listener in self._listeners:
            with swallowed():
                # A page that went away ends neither the reply nor what others are shown.
                listener(event)

    def _painted(self) -> None:
        self._is_painted = True
        if self._reply is not None:
            self._reply.is_painted = True

    def _draw(self, *, last: bool = False) -> None:
        if self._reply is None:
            return
        if not self._listeners:
            self._reply.due = None  # until more comes, which is drawn with it
            return
        with swallowed():
            # Of a reply that cannot be drawn all are told its events.
            drawn = self._reply.draw(time.monotonic(), last=last)
            if drawn is not None:
                with self._telling:
                    self._tell(drawn)
                self._reply.drew(drawn, time.monotonic())
