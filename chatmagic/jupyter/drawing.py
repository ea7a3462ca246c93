"""The one drawing loop of a kernel: a reply under way as safe HTML, for all that show it.

Reading a reply never waits for its drawing: threads that ask only put what came into a queue,
and one thread draws. The first fragment is drawn at once, what follows after a pause that
grows with the text, so that the bytes a second stay bounded.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from chatmagic._log import swallowed
from chatmagic.session.events import Began, Ended, Fragment

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.session.events import Ask, Event

    Show = Callable[[Ask, str], object]

SECONDS_BETWEEN: Final = 0.1
BYTES_A_SECOND: Final = 60_000


class DrawingLoop:
    """Thread that draws the reply under way, once for all views that have joined.

    The same thread talks to panels, gauges and the bridge, in order with what is drawn. It
    starts with its first use, and belongs to no cell: what it calls has to run in the context
    that it needs (:func:`contextvars.copy_context`).
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._news: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._shows: tuple[Show, ...] = ()
        self._showing = threading.RLock()
        self._ask: Ask | None = None
        self._pieces: list[str] = []
        self._due: float | None = None
        self._not_before = 0.0

    def hear(self, event: Event) -> None:
        """Take note of how an ask goes; a follower of the session.

        Args:
            event: of an ask, in any thread; left out while nothing has joined yet.
        """
        if self._thread is None:
            return
        match event:
            case Began(ask):
                self.put(partial(self._begin, ask))
            case Fragment(text):
                self.put(partial(self._add, text))
            case Ended(ask):
                self.put(partial(self._end, ask))

    def join(self, show: Show) -> None:
        """Show replies from now on.

        Args:
            show: called in the loop's thread with an ask, and the HTML of what came of its
                reply.
        """
        with self._showing:
            self._shows = (*self._shows, show)
        self._start()

    def leave(self, show: Show) -> None:
        """Show no more; waits for a drawing that is being shown."""
        with self._showing:
            self._shows = tuple(other for other in self._shows if other != show)

    def put(self, work: Callable[[], object]) -> None:
        """Have something done in the loop's thread, in order with what is drawn.

        Args:
            work: takes no arguments; an exception of it is logged.
        """
        self._news.put(work)
        self._start()

    def close(self) -> None:
        """End the thread, when it has done what was put before."""
        self._news.put(None)

    def _start(self) -> None:
        with self._showing:
            # An interrupt may have come before the thread was started.
            if self._thread is None or self._thread.ident is None:
                self._thread = threading.Thread(
                    target=self._run, name="chatmagic-draw", daemon=True
                )
                self._thread.start()

    # All that follows runs in the loop's thread.

    def _run(self) -> None:
        while True:
            wait = None if self._due is None else max(0.0, self._due - time.monotonic())
            try:
                work = self._news.get(timeout=wait)
            except Empty:
                work = self._draw
            if work is None:
                return
            with swallowed():
                # A reply that cannot be drawn does not end the loop.
                work()

    def _begin(self, ask: Ask) -> None:
        self._ask, self._pieces, self._due, self._not_before = ask, [], None, 0.0
        _html("")  # warms the renderer while the headers are awaited

    def _add(self, text: str) -> None:
        self._pieces.append(text)
        if self._due is None:
            self._due = self._not_before
        if time.monotonic() >= self._due:
            self._draw()

    def _end(self, ask: Ask) -> None:
        if ask is self._ask:
            self._ask, self._pieces, self._due = None, [], None

    def _draw(self) -> None:
        self._due = None
        if self._ask is None or not self._shows:
            return
        self._pieces = ["".join(self._pieces)]
        html = _html(self._pieces[0])
        with self._showing:
            for show in self._shows:
                with swallowed():
                    # A page that went away ends neither the reply nor what others are shown.
                    show(self._ask, html)
        self._not_before = time.monotonic() + pause(html)


def pause(html: str) -> float:
    """Return the seconds to wait after a drawing, so that its bytes a second stay bounded.

    Args:
        html: what was drawn.
    """
    return max(SECONDS_BETWEEN, len(html.encode()) / BYTES_A_SECOND)


def _html(text: str) -> str:
    # The renderer comes with the first reply that is drawn.
    from chatmagic.render import markdown  # noqa: PLC0415

    return markdown.to_html(text, live=True)
