"""The painting of replies in the pages of one kernel: parts, whole replies, last states.

A page that is reloaded while a reply arrives gets no updates of its output, and may have none for
it. It cannot ask for the reply while the cell runs. So pages get the whole reply every few seconds,
with the cell that shows it, and at the end the last state.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from chatmagic.archive import output
from chatmagic.conversation.cell_order import PageReport
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn
from chatmagic.session.events import Ended

_MOST_KNOWN: Final = 10_000  # replies that a page can still know as the kernel's own
_MOST_KEPT: Final = 16  # replies whose last state a page can still ask for
_SECONDS_BETWEEN_WHOLE: Final = 3.0
_WHOLE_BYTES_A_SECOND: Final = 20_000
_SECONDS_TO_LOAD: Final = 60.0  # in which a page that is loaded misses how a reply ends


@dataclass(slots=True)
class ShownReply:
    """Reply that a cell shows, or has shown.

    Args:
        cell: the page's name of the cell; empty for none.
        replaces: whether the earlier replies of the cell are removed.
        drawn: its latest drawing; ``None`` before its first words, and after its last.
        whole_due: time when the whole reply is sent again, in seconds.
        is_sent_whole: whether the whole reply was sent while it arrived, for a page that was
            reloaded.
        settled: the message with its last state, or its error; ``None`` while it arrives.
        owner: hash of the cell that asked, if the ask has ended.
        ended_at: the time of its end, in seconds.
        is_seen: whether a page reports that it shows the last state.
    """

    cell: str = ""
    replaces: bool = False
    drawn: ReplyDrawn | None = None
    whole_due: float = 0.0
    is_sent_whole: bool = False
    settled: Message | None = None
    owner: str | None = None
    ended_at: float = 0.0
    is_seen: bool = False


class Painting:
    """The drawings in the pages of one bridge; all methods run in the drawing loop's thread.

    Args:
        send: sends a message to all pages.
    """

    def __init__(self, send: Callable[[Message], object]) -> None:
        """Show nothing yet."""
        self._send = send
        self._shown: dict[str, ShownReply] = {}
        self.digests: deque[str] = deque(maxlen=_MOST_KNOWN)

    def show(self, live: str, cell: str, *, replaces: bool) -> None:
        """Note the cell that shows the reply to an ask that begins.

        Args:
            live: the name of the ask in pages.
            cell: the page's name of the cell.
            replaces: whether the earlier replies of the cell are removed.
        """
        if replaces:
            self._shown = {name: other for name, other in self._shown.items() if other.cell != cell}
        self._keep(live, ShownReply(cell, replaces))

    def send_under_way(self) -> None:
        """Send all replies under way to a new page, which may lack earlier messages."""
        for shown in self._shown.values():
            if shown.drawn is not None:
                self._send_whole(shown, shown.drawn)

    def paint(self, drawn: ReplyDrawn) -> None:
        """Send the new text of a reply under way, and from time to time the whole reply.

        Args:
            drawn: the drawing.
        """
        live = drawn.ask.live
        shown = self._shown.get(live) or self._keep(live, ShownReply())
        if shown.drawn is None:
            shown.whole_due = time.monotonic() + _SECONDS_BETWEEN_WHOLE
        shown.drawn = None if drawn.last else drawn
        if time.monotonic() >= shown.whole_due:
            self._send_whole(shown, drawn)
        else:
            self._send(drawn.message)

    def end(self, ended: Ended) -> None:
        """Keep the end of an ask, for a page that lacks its last state, and send it.

        Args:
            ended: the end of the ask.
        """
        live = ended.ask.live
        shown = self._shown.pop(live, None) or ShownReply()
        self._keep(live, shown)  # as the newest ended one
        shown.drawn = None
        shown.owner = ended.ask.owner
        shown.ended_at = time.monotonic()
        shown.settled = _last_state(shown, ended)
        if ended.outcome is not None:
            html = shown.settled["data"]["text/html"]
            self.digests.append(hashlib.sha256(html.encode()).hexdigest())
            self._send({"kind": "known", "digests": [self.digests[-1]]})
        if shown.is_sent_whole:
            self.settle(live)

    def settle(self, live: object) -> None:
        """Send the last state of a reply, or its error, if its ask has ended.

        Args:
            live: the name of its ask in pages, or any value from a page.
        """
        shown = self._shown.get(str(live))
        if shown is not None and shown.settled is not None:
            self._send(shown.settled)

    def take_report(self, report: PageReport) -> None:
        """Send a newly loaded page the last states that no page may have shown.

        Args:
            report: the page's report. A later report that lists the cell shows that the state
                arrived.
        """
        ended = [
            (live, shown)
            for live, shown in self._shown.items()
            if shown.settled is not None and shown.cell
        ]
        if report.opened:
            for live, shown in ended:
                if not shown.is_seen and _may_be_missed(shown):
                    self.settle(live)
            return
        for _, shown in ended:
            cell = report.cells.get(str(shown.owner))
            if cell is not None and cell.owner == shown.owner:
                shown.is_seen = True

    def _keep(self, live: str, shown: ShownReply) -> ShownReply:
        """Keep a reply that is shown, in place of the oldest if there are many."""
        self._shown[live] = shown
        for old in [*self._shown][:-_MOST_KEPT]:
            del self._shown[old]
        return shown

    def _send_whole(self, shown: ShownReply, drawn: ReplyDrawn) -> None:
        """Send the whole reply so far, with the cell that shows it."""
        message = drawn.whole_message
        if shown.cell:
            place = {"cell": shown.cell, "box": drawn.empty_box, "replaces": shown.replaces}
            message = {**message, **place}
        size = sum(len(block.encode()) for block in message["blocks"])
        seconds = max(_SECONDS_BETWEEN_WHOLE, size / _WHOLE_BYTES_A_SECOND)
        shown.is_sent_whole = True
        shown.whole_due = time.monotonic() + seconds
        self._send(message)


def _may_be_missed(shown: ShownReply) -> bool:
    """Return whether a page that is loaded now may have missed how a reply ended."""
    return shown.is_sent_whole or time.monotonic() - shown.ended_at < _SECONDS_TO_LOAD


def _last_state(shown: ShownReply, ended: Ended) -> Message:
    """Return the message with the last state of a reply, or with its error."""
    data = {"text/html": f"<p>{escape(ended.words)}</p>"}
    metadata: dict[str, Any] = {}
    if ended.outcome is not None:
        data, metadata = output.of_turn(ended.outcome.reply, ended.outcome.record)
    return {
        "kind": "settled",
        "live": ended.ask.live,
        "cell": shown.cell,
        "replaces": shown.replaces,
        "data": data,
        "metadata": metadata,
    }
