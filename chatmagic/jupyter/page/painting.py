"""The kernel's end of painting: what pages are told of a reply under way, and of its last state.

A page that was loaded again while a reply came gets no update of its output any more, has maybe no
output for it, and cannot ask while the cell runs. So every few seconds it is told all that there
is, with the cell that shows it, and at the end the last state, unasked.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from chatmagic.archive import output

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.conversation.cell_order import PageReport
    from chatmagic.jupyter.page.drawing import DrawingLoop
    from chatmagic.jupyter.page.messages import Paint, Settled
    from chatmagic.jupyter.page.reply_under_way import Drawn
    from chatmagic.session.events import Ended

_MOST_KEPT: Final = 16  # replies whose last state a page can still ask for
_SECONDS_BETWEEN_WHOLE: Final = 3.0
_WHOLE_BYTES_A_SECOND: Final = 20_000
_SECONDS_TO_LOAD: Final = 60.0  # in which a page that is loaded misses how a reply ends


@dataclass(slots=True)
class Shown:
    """Reply that a cell shows, or has shown.

    Args:
        cell: the page's name of the cell; empty for none.
        replaces: whether the replies that the cell showed before go.
        is_told: whether all of it was told while it came, as a page may have been loaded meanwhile.
        ended: how its ask ended; ``None`` while it comes.
        ended_at: when, in seconds.
        is_seen: whether a page that was told the last state shows it.
    """

    cell: str = ""
    replaces: bool = False
    is_told: bool = False
    ended: Ended | None = None
    ended_at: float = 0.0
    is_seen: bool = False


class Painting:
    """The pages of one bridge that paint.

    Args:
        drawing: the kernel's drawing loop.
        send: sends all pages a message.
    """

    def __init__(self, drawing: DrawingLoop, send: Callable[[Paint | Settled], object]) -> None:
        """Wait for the first of them."""
        self._drawing = drawing
        self._send = send
        self._anew = False
        self._drawn: Drawn | None = None
        self._has_painter = False
        self._whole_due = 0.0
        self._shown: dict[str, Shown] = {}

    def show(self, live: str, cell: str, *, replaces: bool) -> None:
        """Take note which cell shows the reply to an ask that begins.

        Args:
            live: the name of the ask in pages.
            cell: the page's name of the cell.
            replaces: whether the replies that the cell showed before go.
        """
        if replaces:
            others = self._shown.items()
            self._shown = {name: other for name, other in others if other.cell != cell}
        self._keep(live, Shown(cell, replaces))

    def begin(self) -> None:
        """Take note that a page paints, and tell it all that is shown; may be called in any thread.

        It may have been loaded again, and lack what was sent before.
        """
        self._anew = self._has_painter = True
        self._drawing.painted()
        # It may take long until there is more.
        self._drawing.put(self._tell_anew)

    def greet(self) -> None:
        """Tell all that is shown with the next drawing: a page has come that may lack it."""
        self._anew = self._anew or not self._has_painter

    def tell(self, drawn: Drawn, *, has_script: bool) -> None:
        """Send what is new of a reply under way, or all of it to a page that came later.

        Args:
            drawn: the drawing.
            has_script: whether a page may have the script that paints, though none has said so.
        """
        now = time.monotonic()
        if drawn.serial == 0:
            self._whole_due = now + _SECONDS_BETWEEN_WHOLE
        self._drawn = None if drawn.last else drawn
        if self._anew or now >= self._whole_due:
            self._tell_all(drawn, now)
        elif drawn.paint and (has_script or self._has_painter):
            self._send(drawn.message)

    def end(self, ended: Ended) -> None:
        """Keep how an ask has ended, for a page that lacks its last state, and tell it."""
        shown = self._shown.get(ended.ask.live) or Shown()
        shown.ended, shown.ended_at = ended, time.monotonic()
        self._keep(ended.ask.live, shown)
        if shown.is_told:
            self.settle(ended.ask.live)

    def settle(self, live: object) -> None:
        """Send the last state of a reply, or why there is none, if its ask has ended.

        Args:
            live: the name of its ask in pages, or whatever a page says.
        """
        shown = self._shown.get(str(live))
        if shown is None or shown.ended is None:
            return
        ended = shown.ended
        data, metadata = {"text/html": f"<p>{escape(ended.words)}</p>"}, dict[str, Any]()
        if ended.answer is not None:
            data, metadata = output.of_turn(ended.answer.reply, ended.answer.record)
        self._send(
            {
                "kind": "settled",
                "live": str(live),
                "cell": shown.cell,
                "replaces": shown.replaces,
                "data": data,
                "metadata": metadata,
            }
        )

    def look(self, report: PageReport) -> None:
        """Send a page that has just been loaded the last states that no page may have shown.

        Args:
            report: the page's. It reports again when it was told one, and is believed then.
        """
        now = time.monotonic()
        for live, shown in [*self._shown.items()]:
            if shown.ended is None or not shown.cell:
                continue
            owner = shown.ended.ask.owner
            cell = report.cells.get(str(owner))
            if report.opened:
                is_new = shown.is_told or now - shown.ended_at < _SECONDS_TO_LOAD
                if is_new and not shown.is_seen:
                    self.settle(live)
            elif cell is not None and cell.owner == owner:
                shown.is_seen = True

    def _keep(self, live: str, shown: Shown) -> None:
        self._shown[live] = shown
        for old in [*self._shown][:-_MOST_KEPT]:
            del self._shown[old]

    def _tell_anew(self) -> None:
        if self._drawn is not None and self._anew:
            self._tell_all(self._drawn, time.monotonic())

    def _tell_all(self, drawn: Drawn, now: float) -> None:
        """Send all that is shown, with the cell that shows it."""
        self._anew = False
        message = drawn.anew
        shown = self._shown.get(drawn.ask.live)
        if shown is not None:
            shown.is_told = True
        if shown is not None and shown.cell:
            message |= {"cell": shown.cell, "box": drawn.empty_box, "replaces": shown.replaces}
        size = sum(len(block.encode()) for block in message["blocks"])
        self._whole_due = now + max(_SECONDS_BETWEEN_WHOLE, size / _WHOLE_BYTES_A_SECOND)
        self._send(message)
