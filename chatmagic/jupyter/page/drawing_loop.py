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
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias

from chatmagic._cached import cached_property
from chatmagic._fork import Lock, belongs_to_process
from chatmagic._log import swallowed
from chatmagic.conversation import continuation
from chatmagic.jupyter.page.messages import Message
from chatmagic.protocol.thoughts import CLOSE, split_unopened
from chatmagic.render.live_markdown import BlockChange, LiveMarkdown
from chatmagic.render.reply_forms import live_reply
from chatmagic.render.sanitize import frame, live_box, live_mark
from chatmagic.safe_text import counted
from chatmagic.session.events import Ask, Began, Ended, Event, Fragment, Thought

SECONDS_BETWEEN: Final = 0.1
PARTIAL: Final = '<p class="chatmagic-partial"><em>Not complete yet.</em></p>'
"""Line below a reply under way, for a file that is saved meanwhile; the labextension hides it."""
BYTES_A_SECOND: Final = 60_000
"""Largest rate of whole updates, if no page paints."""
SECONDS_OF_THOUGHT: Final = 1.0
"""Seconds between two drawings of the model's thinking time."""
_SETTLED: Final = 1_000  # characters that show whether a reply continues in a block of code


@dataclass(frozen=True)
class ReplyDrawn:
    """Event: the reply so far was drawn, as safe HTML.

    Args:
        ask: the ask of the reply.
        reply: the whole reply so far; it changes with the next drawing.
        serial: the number of this drawing, from 0.
        keep: number of the first blocks of the previous drawing that stay.
        blocks: the blocks after them.
        whole: whether a whole update is due.
        last: whether it is the last drawing.
        is_painted: whether a page paints, and painted the previous drawing.
    """

    ask: Ask
    reply: LiveMarkdown
    serial: int
    keep: int
    blocks: list[str]
    whole: bool
    last: bool
    is_painted: bool

    @cached_property
    def html(self) -> str:
        """The whole reply in its box; a page recognizes the content by the box's classes."""
        return self.reply.box(self._mark) + PARTIAL

    @property
    def empty_box(self) -> str:
        """The box without its blocks, in the frame of an output."""
        return frame(live_box("", self.reply.side, self._mark) + PARTIAL)

    @property
    def _mark(self) -> str:
        """The classes that name the ask and the last drawing in a box."""
        return f"{live_mark(self.ask.live)} chatmagic-at-{self.serial}"

    @cached_property
    def message(self) -> Message:
        """The changes for a page to paint."""
        return self._paint(self.keep, self.blocks)

    @property
    def anew(self) -> Message:
        """The whole drawing, for a page that may lack earlier ones."""
        return self._paint(0, [*self.reply.blocks])

    def _paint(self, keep: int, blocks: list[str]) -> Message:
        """Return the message for a page to paint blocks."""
        paint: Message = {
            "kind": "paint",
            "live": self.ask.live,
            "serial": self.serial,
            "keep": keep,
            "blocks": blocks,
        }
        return {**paint, "last": True} if self.last else paint


class WordCount:
    """Number of the words of a text that comes in fragments; no text is kept."""

    def __init__(self) -> None:
        """Start before the first fragment."""
        self.count = 0
        self._in_word = False

    def add(self, text: str) -> None:
        """Count the words of a fragment; a word that it continues is counted already.

        Args:
            text: the fragment.
        """
        if not text:
            return
        self.count += len(text.split())
        if self._in_word and not text[0].isspace():
            self.count -= 1
        self._in_word = not text[-1].isspace()


class UnopenedThoughts:
    """Text of a reply that may prove to be thoughts whose beginning the service left out."""

    def __init__(self) -> None:
        """Begin without text."""
        self._parts: list[str] = []
        self._have_ended = False

    def reply_after(self, text: str) -> str | None:
        """Return the reply so far if new text ends the thoughts, else ``None``.

        Args:
            text: the new text.
        """
        if self._have_ended:
            return None
        end = "".join(self._parts[-len(CLOSE) :])[-len(CLOSE) :]
        self._parts.append(text)
        if CLOSE not in end + text:
            return None
        thoughts, reply = split_unopened("".join(self._parts))
        if not thoughts:
            return None
        self._have_ended = True
        self._parts = []
        return reply


class ReplyUnderWay:
    """The reply under way of one ask; times are arguments.

    Args:
        ask: the ask.
    """

    def __init__(self, ask: Ask) -> None:
        """Draw nothing yet."""
        self.ask = ask
        self.due: float | None = None
        """Time at which the next drawing is due; ``None`` if there is nothing new."""
        self._reply: LiveMarkdown | None = None
        self._opening: str | None = None
        self._begin = ""
        self._thoughts = UnopenedThoughts() if ask.part is None else None
        self._new: list[str] = []
        self._has_words = False
        self._words = WordCount()
        self._thinks_since: float | None = None
        self._length = 0
        self._serial = -1
        self._not_before = 0.0
        self._thought_due = 0.0
        self._whole_due = 0.0

    def add(self, text: str) -> None:
        """Add text; white space alone is not drawn yet.

        Args:
            text: the new text.
        """
        self._new.append(text)
        if not self._has_words and text.strip():
            self._has_words = True
            self.due = None
        if self._has_words and self.due is None:
            self.due = self._not_before

    def think(self, text: str, now: float) -> None:
        """Add reasoning, whose words are counted until the reply begins.

        Args:
            text: the new text.
            now: the time, in seconds of a monotonic clock.
        """
        self._thinks_since = now if self._thinks_since is None else self._thinks_since
        self._words.add(text)
        if not self._has_words and self.due is None:
            self.due = self._thought_due

    def draw(
        self, now: float, *, last: bool = False, is_painted: bool = False
    ) -> ReplyDrawn | None:
        """Return the new text as a drawing; ``None`` if there is none.

        Args:
            now: the time, in seconds.
            last: whether it is the last drawing, which is sent in any case.
            is_painted: whether a page paints replies.
        """
        self.due = None
        if self._has_words and (self._new or last):
            text = "".join(self._new)
            self._new = []
            self._length += len(text)
            reply, (keep, blocks) = self._fed(text)
        elif self._thinks_since is not None and not (self._has_words or last):
            self._thought_due = now + SECONDS_OF_THOUGHT
            reply, (keep, blocks) = self._thinking(now - self._thinks_since)
        else:
            return None
        self._serial += 1
        is_painted = is_painted and self._serial > 0
        whole = not (last or is_painted) and now >= self._whole_due  # the last state follows
        drawn = ReplyDrawn(self.ask, reply, self._serial, keep, blocks, whole, last, is_painted)
        self._not_before = now + SECONDS_BETWEEN
        if whole:
            self._whole_due = now + pause(drawn.html)
        return drawn

    def _thinking(self, seconds: float) -> tuple[LiveMarkdown, BlockChange]:
        """Return the time and the words of the model's thoughts, in place of the reply."""
        words = counted(self._words.count, "word")
        reply = live_reply("markdown")
        return reply, reply.feed(f"*Thinking · {seconds:.0f} s · {words}*")

    def _fed(self, text: str) -> tuple[LiveMarkdown, BlockChange]:
        """Render the new text; return the reply and its changes."""
        part = self.ask.part
        after_thoughts = None if self._thoughts is None else self._thoughts.reply_after(text)
        if after_thoughts is not None:
            # What was drawn as the reply were thoughts, which stand folded at the end.
            self._reply = live_reply(self.ask.format, "")
            return self._reply, self._reply.feed(after_thoughts)
        if self._reply is None or (part is not None and self._length <= _SETTLED):
            self._begin += text
            opening = None
            if part is not None:
                opening = continuation.block_opening(part.reply.text, self._begin, self.ask.format)
            if self._reply is None or opening != self._opening:
                self._reply = live_reply(self.ask.format, opening or "")
                self._opening = opening
                text = self._begin
        return self._reply, self._reply.feed(text)


def pause(html: str) -> float:
    """Return the seconds to wait after a whole update, to limit the bytes a second.

    Args:
        html: the HTML of the update.
    """
    return max(SECONDS_BETWEEN, len(html.encode()) / BYTES_A_SECOND)


Hear: TypeAlias = "Callable[[Event | ReplyDrawn], object]"


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
        self._listeners: tuple[Hear, ...] = ()
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

    def join(self, listener: Hear) -> None:
        """Send events to a listener from now on.

        Args:
            listener: called in the loop's thread with each event, and with each drawing.
        """
        with self._telling:
            self._listeners = (*self._listeners, listener)
        self._start()

    def join_in_order(self, listener: Hear) -> None:
        """Send a listener all events from now on, and none of the earlier ones.

        Args:
            listener: as for :meth:`join`.
        """
        if threading.current_thread() is self._thread:
            self.join(listener)
        else:
            self.put(partial(self.join, listener))

    def leave(self, listener: Hear) -> None:
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
