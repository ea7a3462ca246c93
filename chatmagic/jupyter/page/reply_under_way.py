"""A reply under way, drawn part by part for pages; times are arguments, no thread is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chatmagic._cached import cached_property
from chatmagic.conversation import continuation
from chatmagic.jupyter.page.messages import Message
from chatmagic.protocol.thoughts import CLOSE, split_unopened
from chatmagic.render.live_markdown import BlockChange, LiveMarkdown
from chatmagic.render.reply_forms import live_reply
from chatmagic.render.sanitize import frame, live_box, live_mark
from chatmagic.safe_text import counted
from chatmagic.session.ask import Ask

SECONDS_BETWEEN: Final = 0.1
PARTIAL: Final = '<p class="chatmagic-partial"><em>Not complete yet.</em></p>'
"""Line below a reply under way, for a file that is saved meanwhile; the labextension hides it."""
BYTES_A_SECOND: Final = 60_000
"""Largest rate of whole updates, if no page paints."""
SECONDS_OF_THOUGHT: Final = 1.0
"""Seconds between two drawings of the model's thinking time."""
_SETTLED: Final = 1_000
"""Characters that show whether a reply continues in a block of code."""


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
        return self._message_with(self.keep, self.blocks)

    @property
    def whole_message(self) -> Message:
        """The whole drawing, for a page that may lack earlier ones."""
        return self._message_with(0, [*self.reply.blocks])

    def _message_with(self, keep: int, blocks: list[str]) -> Message:
        """Return the message for a page to paint blocks behind the first ones that stay."""
        message: Message = {
            "kind": "paint",
            "live": self.ask.live,
            "serial": self.serial,
            "keep": keep,
            "blocks": blocks,
        }
        if self.last:
            message["last"] = True
        return message


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


class RenderedReply:
    """HTML of a reply whose text comes in parts.

    Args:
        ask: the ask of the reply.
    """

    def __init__(self, ask: Ask) -> None:
        """Render nothing yet."""
        self._ask = ask
        self._html: LiveMarkdown | None = None
        self._opening: str | None = None
        """The line that opens the block of code in which the reply continues; ``None`` for none."""
        self._beginning = ""
        """The first text, rendered again while it may prove to continue in a block of code."""
        self._length = 0
        self._thoughts = UnopenedThoughts() if ask.part is None else None

    def feed(self, text: str) -> tuple[LiveMarkdown, BlockChange]:
        """Render new text; return the whole reply and what has changed in it.

        Args:
            text: the new text.
        """
        self._length += len(text)
        after_thoughts = None if self._thoughts is None else self._thoughts.reply_after(text)
        if after_thoughts is not None:
            # What was rendered as the reply were thoughts, which stand folded at the end.
            self._html = live_reply(self._ask.format, "")
            return self._html, self._html.feed(after_thoughts)
        part = self._ask.part
        if self._html is None or (part is not None and self._length <= _SETTLED):
            self._beginning += text
            opening = None
            if part is not None:
                opening = continuation.block_opening(
                    part.reply.text, self._beginning, self._ask.format
                )
            if self._html is None or opening != self._opening:
                self._html = live_reply(self._ask.format, opening or "")
                self._opening = opening
                text = self._beginning
        return self._html, self._html.feed(text)


class ThinkingTime:
    """Time and words of the model's thoughts before its reply; their text is not kept."""

    def __init__(self) -> None:
        """Begin before the first thought."""
        self._words = WordCount()
        self._since: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether there was a thought."""
        return self._since is not None

    def add(self, text: str, now: float) -> None:
        """Count the words of thoughts.

        Args:
            text: the new text.
            now: the time, in seconds of a monotonic clock.
        """
        if self._since is None:
            self._since = now
        self._words.add(text)

    def line(self, now: float) -> tuple[LiveMarkdown, BlockChange]:
        """Return a line in place of the reply, with the time and the words.

        Args:
            now: as for :meth:`add`.
        """
        seconds = 0.0 if self._since is None else now - self._since
        words = counted(self._words.count, "word")
        line = live_reply("markdown")
        return line, line.feed(f"*Thinking · {seconds:.0f} s · {words}*")


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
        self._rendered = RenderedReply(ask)
        self._thinking = ThinkingTime()
        self._new: list[str] = []
        """The text that is not drawn yet."""
        self._has_words = False
        self._serial = -1
        self._not_before = 0.0
        """Time before which no text is drawn."""
        self._thoughts_due = 0.0
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
        self._thinking.add(text, now)
        if not self._has_words and self.due is None:
            self.due = self._thoughts_due

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
            reply, (keep, blocks) = self._rendered.feed(text)
        elif self._thinking.has_begun and not (self._has_words or last):
            reply, (keep, blocks) = self._thinking.line(now)
            self._thoughts_due = now + SECONDS_OF_THOUGHT
        else:
            return None
        self._serial += 1
        is_painted = is_painted and self._serial > 0
        # The last state follows the last drawing.
        whole = not (last or is_painted) and now >= self._whole_due
        drawn = ReplyDrawn(
            ask=self.ask,
            reply=reply,
            serial=self._serial,
            keep=keep,
            blocks=blocks,
            whole=whole,
            last=last,
            is_painted=is_painted,
        )
        self._not_before = now + SECONDS_BETWEEN
        if whole:
            self._whole_due = now + pause(drawn.html)
        return drawn


def pause(html: str) -> float:
    """Return the seconds to wait after a whole update, to limit the bytes a second.

    Args:
        html: the HTML of the update.
    """
    return max(SECONDS_BETWEEN, len(html.encode()) / BYTES_A_SECOND)
