"""The bridge between a notebook's page and the kernel: cells in their order, marks, status.

A hidden widget without a view. Its half in the page is ``static/bridge.js``. That half
reads what is no public interface; where it is missing, or another front end is there,
nothing is said and everything stands in the order as run. In the page nothing is saved:
all that goes over the bridge are messages of the moment.

The messages are listed in :mod:`chatmagic.jupyter.panel.messages`: ``cells`` to the kernel, which
:func:`chatmagic.conversation.cell_order.report_from` reads, and ``marks``, ``say`` and ``tell``.
"""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, Any, Final

import anywidget
from traitlets import Unicode

from chatmagic._log import swallowed
from chatmagic.conversation.cell_order import Pages, report_from
from chatmagic.jupyter import assets
from chatmagic.session.events import HELD_BACK, Began, Ended, Fragment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmagic.conversation.conversation import Mark
    from chatmagic.jupyter.panel import messages
    from chatmagic.models import Reply
    from chatmagic.session.events import Event
    from chatmagic.session.session import Session

MARKS: Final[Mapping[Mark, str]] = {
    "stale": "Stale: what stands above has changed since. Run the cell again to renew it.",
    "taken back": "Not in the conversation any more: this reply was taken back, by an undo, a "
    "reset or a load. Run the cell again to ask anew.",
    "held back": f"This reply {HELD_BACK}.",
}
"""What a cell wears in the page."""

COPIED: Final = (
    "Not in the conversation: this reply came with a copy of its cell. Run the cell to ask."
)
STARTED: Final = "Reply started."


class _Hidden(anywidget.AnyWidget):
    """What the page knows of the bridge: its script, and messages."""

    _esm = assets.script("bridge.js")
    # A message would come before the page listens.
    first = Unicode(help="What to say when the bridge opens.").tag(sync=True)


class Bridge:
    """The kernel's end of the bridge.

    What comes from the page may come in any thread, even while a cell runs, so it is only
    noted there; a thread of its own works out the marks and sends.

    Args:
        session: the session whose conversation the marks are about.
        said: the reply that came before there was a bridge, to be announced all the same;
            ``None`` is that one has just started.
    """

    def __init__(self, session: Session, *, said: Reply | None = None) -> None:
        """Open the bridge: every page of this kernel hears of it."""
        self.pages = Pages()
        self._session = session
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._over = False
        self._opened = False
        self._to_say: list[messages.Say] = []
        if said is not None:
            self._to_say.append({"kind": "say", "text": ending(said, None), "first": True})
        self._marked: dict[str, str] | None = None
        self._quiet = True
        self._hidden = _Hidden(first=STARTED if said is None else "")
        self._hidden.on_msg(self._heard)
        self._leave = session.follow(self._follow)
        self._thread = threading.Thread(
            target=contextvars.copy_context().run,
            args=[self._work],
            name="chatmagic-bridge",
            daemon=True,
        )
        self._thread.start()

    def say(self, text: str) -> None:
        """Let the page's one status region say something, politely and once.

        Args:
            text: a short sentence. It is shown as text, whatever it holds.
        """
        if not self.pages.reports:
            # Nobody has heard the ones before, and now they are old.
            self._to_say.clear()
        self._to_say.append({"kind": "say", "text": text})
        self._news.set()

    def close(self) -> None:
        """Close the bridge; the page takes away what it has put into it."""
        self._leave()
        self._over = True
        self._news.set()
        self._thread.join()
        self._hidden.close()

    def _heard(self, _widget: object, content: Any, _buffers: object) -> None:
        """Take note of what a page says."""
        report = report_from(content)
        if report is None:
            return
        with self._lock:
            self.pages = self.pages.with_report(report)
            self._opened = self._opened or report.opened
        self._news.set()

    def _follow(self, event: Event) -> None:
        """Take note of how an ask goes; the panel says it itself."""
        if isinstance(event, Began):
            self._quiet = event.ask.entry == "panel"
        elif isinstance(event, Fragment):
            if not self._quiet:
                self._quiet = True
                self.say(STARTED)
            return
        elif isinstance(event, Ended) and event.ask.entry != "panel":
            reply = None if event.answer is None else event.answer.reply
            self.say(ending(reply, event.error))
        self._news.set()

    def _work(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            if self._over:
                return
            # A page that goes away, or a kernel that ends, must not end the asks.
            with swallowed():
                self._send_news()

    def _send_news(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, False
        if not self.pages.reports:
            return
        if opened:
            self._send({"kind": "tell"})
            self._hidden.first = ""  # a page that is loaded again has nothing to say of it
        conversation = self._session.conversation
        marks = conversation.marks(self._session.environment.layout(None))
        copies = self.pages.copies() - {turn.owner for turn in conversation}
        words = dict.fromkeys(copies, COPIED) | {cell: MARKS[mark] for cell, mark in marks.items()}
        marked = self.pages.by_id(words)
        if opened or marked != self._marked:
            self._marked = marked
            self._send({"kind": "marks", "marks": marked})
        while self._to_say:
            self._send(self._to_say.pop(0))

    def _send(self, message: messages.Marks | messages.Say | messages.Tell) -> None:
        self._hidden.send(message)


def ending(reply: Reply | None, error: BaseException | None) -> str:
    """Say how an ask ended, for somebody who listens.

    Args:
        reply: the reply, whole or in part; ``None`` without one.
        error: what ended it early, if anything did.
    """
    if reply is None:
        return str(error)
    if error is not None and reply.state == "interrupted":
        return str(error)  # it says how much came
    words = len(reply.text.split())
    what = f"Reply {reply.state}, {words:,} word{'' if words == 1 else 's'}."
    return what if error is None else f"{what} {error}"
