"""The one drawing loop of a kernel: a reply under way as safe HTML, for all that show it.

Reading a reply never waits for its drawing: threads that ask only put what came into a queue,
and one thread draws. The first fragment is drawn at once, what follows after a pause that
grows with the text, so that the bytes a second stay bounded.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from chatmagic._log import swallowed
from chatmagic.conversation import continuation
from chatmagic.session.events import Began, Ended, Fragment, Sent

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.session.events import Ask, Event

    Hear = Callable[[Event | "Drawn"], object]

SECONDS_BETWEEN: Final = 0.1
BYTES_A_SECOND: Final = 60_000


@dataclass(frozen=True, slots=True)
class Drawn:
    """Event: what came of the reply under way was drawn, as safe HTML."""

    ask: Ask
    html: str


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
        self._ask: Ask | None = None
        self._pieces: list[str] = []
        self._due: float | None = None
        self._not_before = 0.0

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

    def _hear(self, event: Event) -> None:
        match event:
            case Began(ask):
                self._begin(ask)
            case Sent(ask):
                _html("", ask)  # warms the renderer while the headers are awaited
            case Fragment(text):
                self._add(text)
            case Ended(ask):
                self._end(ask)
        # Not alone, so that who joins or leaves does not wait.
        self._tell(event)

    def _tell(self, event: Event | Drawn) -> None:
        for listener in self._listeners:
            with swallowed():
                # A page that went away ends neither the reply nor what others are shown.
                listener(event)

    def _begin(self, ask: Ask) -> None:
        self._ask, self._pieces, self._due, self._not_before = ask, [], None, 0.0

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
        if self._ask is None or not self._listeners:
            return
        self._pieces = ["".join(self._pieces)]
        html = _html(self._pieces[0], self._ask)
        with self._telling:
            self._tell(Drawn(self._ask, html))
        self._not_before = time.monotonic() + pause(html)


def pause(html: str) -> float:
    """Return the seconds to wait after a drawing, so that its bytes a second stay bounded.

    Args:
        html: what was drawn.
    """
    return max(SECONDS_BETWEEN, len(html.encode()) / BYTES_A_SECOND)


def _html(text: str, ask: Ask) -> str:
    # The renderer comes with the first reply that is drawn.
    from chatmagic.render import reply_forms  # noqa: PLC0415

    if ask.part is not None:
        block = continuation.block(ask.part.reply.text, text, ask.format)
        text = text if block is None else f"{block}\n{text}"
    return reply_forms.to_html(text, ask.format, live=True)
