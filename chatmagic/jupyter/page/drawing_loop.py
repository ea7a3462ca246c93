"""The drawing loop of a kernel, which draws each reply under way once for all its views.

A reply under way is sent as drawings: its new text, which a page can paint, and the whole, as an
update of its output. Until a page reports that it paints, whole updates are sent at a pace that
limits the bytes a second. After that only the first whole update is sent.

A thread that asks does not draw, because the reading of the reply would wait for the drawing. The
text goes into a queue, and one thread draws it: the first word at once, later text when it is due.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeAlias

from chatmagic._fork import Lock, belongs_to_process
from chatmagic._log import swallowed
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn, ReplyUnderWay
from chatmagic.session.ask import Ask
from chatmagic.session.events import Began, Ended, Event, Fragment, Thought

DrawingListener: TypeAlias = "Callable[[Event | ReplyDrawn], object]"


class DrawingLoop:
    """Thread that draws the replies under way, once for all views that have joined.

    The same thread sends the events of the session to panels, gauges and the bridge, in order with
    the drawings. It starts at its first use, and belongs to no cell. So its calls must bring the
    context that they need (:func:`contextvars.copy_context`).
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._news: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._listeners: tuple[DrawingListener, ...] = ()
        self._telling = Lock()
        self._replies: dict[str, ReplyUnderWay] = {}
        self._is_painted = False
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Draw nothing, in a forked child: the pages are the parent's."""
        self._news = SimpleQueue()
        self._thread = None
        self._listeners = ()
        self._replies = {}

    def hear(self, event: Event) -> None:
        """Note an event of an ask; a follower of the session.

        Args:
            event: the event, in any thread; it is ignored before the first listener.
        """
        if self._thread is not None:
            self.put(partial(self._hear, event))

    def join(self, listener: DrawingListener) -> None:
        """Send events to a listener from now on.

        Args:
            listener: called in the loop's thread with each event, and with each drawing.
        """
        with self._telling:
            self._listeners = (*self._listeners, listener)
        self._start()

    def join_in_order(self, listener: DrawingListener) -> None:
        """Send a listener all events from now on, and none of the earlier ones.

        Args:
            listener: as for :meth:`join`.
        """
        if threading.current_thread() is self._thread:
            self.join(listener)
        else:
            self.put(partial(self.join, listener))

    def leave(self, listener: DrawingListener) -> None:
        """Stop sending to a listener, after a drawing that is being shown.

        Args:
            listener: the listener to remove.
        """
        with self._telling:
            self._listeners = tuple(other for other in self._listeners if other != listener)

    def put(self, work: Callable[[], object]) -> None:
        """Call a function in the loop's thread, in order with the drawings.

        Args:
            work: function without arguments; its exception is logged.
        """
        self._news.put(work)
        self._start()

    def draw(self, ask: Ask) -> None:
        """Draw the new text of a reply at once, because only its last state follows.

        Args:
            ask: the ask whose reply is drawn.
        """
        self.put(partial(self._draw, ask.live))

    def painted(self) -> None:
        """Note that a page paints replies, so that they need few whole updates."""
        self._is_painted = True

    def close(self) -> None:
        """End the thread after its earlier tasks."""
        self._news.put(None)

    def _start(self) -> None:
        """Start the thread, unless it runs."""
        with self._telling:
            # An interrupt may have come before the thread was started.
            if self._thread is None or self._thread.ident is None:
                self._thread = threading.Thread(
                    target=self._run, name="chatmagic-draw", daemon=True
                )
                self._thread.start()

    # All that follows runs in the loop's thread.

    def _run(self) -> None:
        """Do the tasks, and draw what is due, until the loop is closed."""
        while True:
            due = [reply.due for reply in self._replies.values() if reply.due is not None]
            wait = max(0.0, min(due) - time.monotonic()) if due else None
            try:
                work = self._news.get(timeout=wait)
            except Empty:
                work = self._draw_due
            if work is None:
                return
            with swallowed():
                # A reply that cannot be drawn does not end the loop.
                work()

    def _hear(self, event: Event) -> None:
        """Follow an event of an ask, and tell it to the listeners."""
        match event:
            case Began(ask):
                self._replies[ask.live] = ReplyUnderWay(ask)
            case Thought(ask, text) if (reply := self._replies.get(ask.live)) is not None:
                reply.think(text, time.monotonic())
                self._draw_due()
            case Fragment(ask, text) if (reply := self._replies.get(ask.live)) is not None:
                reply.add(text)
                self._draw_due()
            case Ended(ask):
                self._draw(ask.live, last=True)
                self._replies.pop(ask.live, None)
        # Without the lock, so that a listener that joins or leaves does not wait.
        self._tell(event)

    def _tell(self, event: Event | ReplyDrawn) -> None:
        """Give all listeners an event or a drawing."""
        for listener in self._listeners:
            with swallowed():
                # A page that went away stops neither the reply nor other displays.
                listener(event)

    def _draw_due(self) -> None:
        """Draw the replies whose drawing is due."""
        now = time.monotonic()
        for live, reply in self._replies.items():
            if reply.due is not None and reply.due <= now:
                self._draw(live)

    def _draw(self, live: str, *, last: bool = False) -> None:
        """Draw the new text of a reply, and show the drawing to the listeners."""
        reply = self._replies.get(live)
        if reply is None:
            return
        if not self._listeners:
            reply.due = None  # until more text arrives
            return
        with swallowed():
            # If a reply cannot be drawn, its events are still sent to all.
            drawn = reply.draw(time.monotonic(), last=last, is_painted=self._is_painted)
            if drawn is not None:
                with self._telling:
                    self._tell(drawn)
