"""A reply under way as its drawings: what is new of it, when it is drawn, and when as a whole.

A drawing is told as what has changed, which a page can paint; now and then it is a whole update of
the output, too. Where no page has said that it paints, whole updates come at a pace that keeps the
bytes a second bounded; where one has, when the text has doubled, and then as plain text, which the
front end draws soonest, up to a length that it lays out in no time that a reader notices. The page
puts back what it has painted.
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from chatmagic.conversation import continuation
from chatmagic.render.reply_forms import LiveReply
from chatmagic.render.sanitize import FREQUENT, frame, live_box, live_mark, packed

if TYPE_CHECKING:
    from chatmagic.jupyter.page.messages import Paint
    from chatmagic.render.live_markdown import BlockChange
    from chatmagic.session.events import Ask

SECONDS_BETWEEN: Final = 0.1
SECONDS_BETWEEN_MANY: Final = 0.13
BYTES_A_SECOND: Final = 60_000
"""Of whole updates, where no page paints."""
_CATCHES_UP: Final = 0.04  # seconds by which a drawing may come early, behind one that came late
_MOST_TIMES: Final = 4  # the bytes of its text that paints may take before they come less often
_AT_FIRST: Final = 8_000  # bytes that they may take besides
_ENVELOPE: Final = 250  # bytes of a message besides its blocks
_LEAST_WHOLE: Final = 8_000  # characters of the first whole update behind that with the first word
_MOST_WHOLE: Final = 50_000  # characters of the last one: a page takes long to lay a longer one out
_PAINTED_WITHIN: Final = 1.0  # seconds in which a page is told what there is to paint
_SETTLED: Final = 1_000  # characters that show whether a reply goes on in a block of code


@dataclass(frozen=True)
class Drawn:
    """Event: what came of the reply under way was drawn, as safe HTML.

    Args:
        ask: whose reply it is.
        reply: all of it, as it is until the next drawing.
        serial: the number of this drawing, from 0.
        keep: how many blocks of the one before stay.
        blocks: those that follow them now.
        whole: whether a whole update is due.
        paint: whether a page is told what is new; else the whole update stands in its place.
        last: whether it is the last one.
        is_painted: whether a page paints, and has painted the drawing before; then a whole update
            holds plain text, and what has changed is told in short.
        before: the block, as it was before, that stands where the first of the blocks does now.
    """

    ask: Ask
    reply: LiveReply
    serial: int
    keep: int
    blocks: list[str]
    whole: bool
    paint: bool
    last: bool
    is_painted: bool
    before: str

    @cached_property
    def html(self) -> str:
        """The whole reply in its box, by whose classes a page knows what it shows."""
        return self.reply.box(f"{self._mark} chatmagic-at-{self.serial}")

    @property
    def empty_box(self) -> str:
        """The box without its blocks, in the frame of an output."""
        return frame(live_box("", self.reply.side, f"{self._mark} chatmagic-at-{self.serial}"))

    @property
    def update(self) -> str:
        """The whole reply in its box, as an update of the output."""
        return self.reply.plain_box(self._mark) if self.is_painted else self.html

    @property
    def _mark(self) -> str:
        return live_mark(self.ask.live)

    @cached_property
    def message(self) -> Paint:
        """What has changed, for a page to paint."""
        if not (self.is_painted and self.blocks):
            return self._paint(self.keep, self.blocks)
        same = os.path.commonprefix([self.before, self.blocks[0]])  # noqa: RUF071 - no paths
        paint = self._paint(self.keep, [self.blocks[0].removeprefix(same), *self.blocks[1:]])
        # As a page counts them.
        return {**_packed(paint), "same": len(same.encode("utf-16-le")) // 2}

    @property
    def anew(self) -> Paint:
        """All that is shown, for a page that may lack what was painted before."""
        return {**_packed(self._paint(0, self.reply.blocks)), "frequent": [*FREQUENT]}

    def _paint(self, keep: int, blocks: list[str]) -> Paint:
        paint: Paint = {
            "kind": "paint",
            "live": self.ask.live,
            "serial": self.serial,
            "keep": keep,
            "blocks": blocks,
        }
        return {**paint, "last": True} if self.last else paint


class ReplyUnderWay:
    """The reply under way of one ask; it has no clock of its own.

    Args:
        ask: the ask.
        is_painted: whether a page paints it.
    """

    def __init__(self, ask: Ask, *, is_painted: bool) -> None:
        """Draw nothing yet."""
        self.ask = ask
        self.is_painted = is_painted
        self.due: float | None = None
        """When the next drawing is due; ``None`` as long as there is nothing new."""
        self._reply: LiveReply | None = None
        self._opening: str | None = None
        self._begin = ""
        self._new: list[str] = []
        self._has_words = False
        self._length = self._bytes = self._sent = 0
        self._serial = -1
        self._not_before = 0.0
        self._whole_due = 0.0
        self._whole_length = 0
        self._paint_due = 0.0

    def add(self, text: str) -> None:
        """Take what has come; white space alone is nothing to draw yet."""
        self._new.append(text)
        self._has_words = self._has_words or bool(text.strip())
        if self._has_words and self.due is None:
            self.due = self._not_before

    def draw(self, now: float, *, last: bool = False) -> Drawn | None:
        """Return what is new as a drawing; ``None`` where there is nothing to draw.

        Args:
            now: the time, in seconds.
            last: whether nothing more comes, which is told all the same.
        """
        self.due = None
        if not self._has_words or not (self._new or last):
            return None
        text, self._new = "".join(self._new), []
        self._length += len(text)
        self._bytes += len(text.encode(errors="replace"))
        self._serial += 1
        shown = [] if self._reply is None else [*self._reply.blocks]
        reply, (keep, blocks) = self._fed(text)
        is_painted = self.is_painted and self._serial > 0
        if is_painted:
            least = max(2 * self._whole_length, _LEAST_WHOLE)
            whole = least <= self._length <= _MOST_WHOLE
        else:
            whole = now >= self._whole_due
        whole = whole and not last  # the last state follows
        paint = self.is_painted or not whole or now >= self._paint_due
        return Drawn(
            ask=self.ask,
            reply=reply,
            serial=self._serial,
            keep=keep,
            blocks=blocks,
            whole=whole,
            paint=paint,
            last=last,
            is_painted=is_painted,
            before=shown[keep] if keep < len(shown) else "",
        )

    def drew(self, drawn: Drawn, now: float) -> None:
        """Find when the next drawing may be, and the next whole update.

        Args:
            drawn: the drawing that was told.
            now: when it was, in seconds.
        """
        # What was late makes nothing behind it late.
        begin = max(self._not_before, now - _CATCHES_UP)
        if drawn.whole:
            self._whole_length = self._length
            self._whole_due = begin + (0.0 if drawn.is_painted else pause(drawn.html))
        if drawn.paint:
            self._paint_due = now + _PAINTED_WITHIN
            self._sent += _ENVELOPE + sum(len(block.encode()) for block in drawn.message["blocks"])
        is_much = self._sent > _MOST_TIMES * self._bytes + _AT_FIRST
        is_much = is_much or (drawn.whole and drawn.is_painted)  # two messages at once
        self._not_before = begin + (SECONDS_BETWEEN_MANY if is_much else SECONDS_BETWEEN)

    def _fed(self, text: str) -> tuple[LiveReply, BlockChange]:
        """Render what has come; return the reply and what has changed of it."""
        part = self.ask.part
        if self._reply is None or (part is not None and self._length <= _SETTLED):
            self._begin += text
            opening = None
            if part is not None:
                opening = continuation.block_opening(part.reply.text, self._begin, self.ask.format)
            if self._reply is None or opening != self._opening:
                self._reply, self._opening = LiveReply(self.ask.format, opening or ""), opening
                text = self._begin
        return self._reply, self._reply.feed(text)


def _packed(paint: Paint) -> Paint:
    return {**paint, "blocks": list(map(packed, paint["blocks"]))}


def pause(html: str) -> float:
    """Return the seconds to wait after a whole update, which bounds the bytes a second."""
    return max(SECONDS_BETWEEN, len(html.encode()) / BYTES_A_SECOND)
