"""The chat panel: a widget for the kernel's conversation, and the kernel's part of it.

Its code in the page is ``page/panel.js`` of the labextension. Pages of other servers fetch a
widget's code from a public registry, by its name; anywidget brings the code to these pages.

Threads that ask, and threads that bring a page's message (any of the kernel), only put work into
the kernel's drawing loop. The loop's thread does the work, and it alone sends to pages. So messages
are in order, and need no lock.
"""

from __future__ import annotations

import contextvars
from functools import partial
from typing import Final

from IPython.display import DisplayHandle, display
from ipywidgets import DOMWidget  # type: ignore[import-untyped] # it has no types
from traitlets import Int, Unicode

from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.messages import PROTOCOL, Message
from chatmagic.jupyter.page.panel_asks import PanelAsks
from chatmagic.jupyter.page.panel_feed import PanelFeed, Shown
from chatmagic.jupyter.page.panel_log import KernelStatus, PanelLog
from chatmagic.jupyter.page.panel_requests import PanelRequests
from chatmagic.jupyter.page.panel_saved import PANEL_ABSENT
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn
from chatmagic.session.events import Began, Changed, Ended, Event
from chatmagic.session.session import Session

# No package registry accepts a name that begins with an underscore. A page without the
# labextension, such as an exported one, looks there for the widget's code, and finds none.
_MODULE: Final = "_chatmagic"
WIDGET_VIEW: Final = "application/vnd.jupyter.widget-view+json"


class ChatPanel(DOMWidget):  # type: ignore[misc] # as above
    """The chat panel in a page. Its history is no trait: views ask for missing entries."""

    _model_name = Unicode("PanelModel").tag(sync=True)
    _model_module = Unicode(_MODULE).tag(sync=True)
    _model_module_version = Unicode("*").tag(sync=True)
    _view_name = Unicode("PanelView").tag(sync=True)
    _view_module = Unicode(_MODULE).tag(sync=True)
    _view_module_version = Unicode("*").tag(sync=True)
    protocol = Int(PROTOCOL, help="The form of the messages.").tag(sync=True)
    draft = Unicode("", help="The typed text that was not sent.").tag(sync=True)


class Panels:
    """The panels of one kernel, which follow its session.

    Args:
        session: the kernel's session.
        kernel: the status of the kernel.
        drawing: the kernel's drawing loop, whose thread serves the pages, too.
    """

    def __init__(self, session: Session, kernel: KernelStatus, drawing: DrawingLoop) -> None:
        """Follow the session; show no panel yet."""
        self._kernel = kernel
        self._drawing = drawing
        self._asks = PanelAsks()
        self._log = PanelLog(session, kernel, self._asks)
        self._feed = PanelFeed(self._log)
        self._requests = PanelRequests(session, self._log, self._feed, drawing)
        self._widgets: dict[str | None, tuple[DOMWidget, Shown]] = {}
        drawing.join_in_order(self._hear)

    def show(self, cell: str | None, *, form: type[DOMWidget] = ChatPanel) -> None:
        """Show a panel.

        Args:
            cell: hash of the cell that shows it; a later run of the cell replaces its panel.
            form: the class of its widget.
        """
        before = self._remove(cell)
        widget = form(draft="" if before is None else before.draft)
        view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
        display({WIDGET_VIEW: view, **PANEL_ABSENT}, raw=True)
        # The saved text is an output of its own. In the bundle of the widget, a page without a
        # kernel would show "model not found" instead. The style sheet of a live widget hides this
        # output.
        handle = DisplayHandle()
        handle.display(self._log.saved(), raw=True)
        shown = Shown(widget.send, lambda: handle.update(self._log.saved(), raw=True))
        widget.on_msg(lambda _widget, message, _buffers: self.receive(shown, message))
        self._widgets[cell] = widget, shown
        self.join(shown)

    def join(self, shown: Shown) -> None:
        """Send to a panel from now on.

        Args:
            shown: the panel to send to.
        """
        self._feed.join(shown)

    def leave(self, shown: Shown) -> None:
        """Stop sending to a panel.

        Args:
            shown: the panel to remove.
        """
        self._feed.leave(shown)

    def look(self, *_: object) -> None:
        """Publish the present settings, if they have changed; any thread may call this.

        Args:
            *_: the event, which is not needed.
        """
        self._drawing.put(self._feed.publish_changes)

    def receive(self, shown: Shown, message: object) -> None:
        """Take a page's message; may be called in any thread.

        Args:
            shown: the panel of the page's view.
            message: any value from the page.
        """
        if isinstance(message, dict):
            context = contextvars.copy_context()
            self._drawing.put(partial(self._receive, shown, message, context))

    def close(self) -> None:
        """Remove all panels, and end the thread for slow work."""
        for cell in list(self._widgets):
            self._remove(cell)
        self._drawing.leave(self._hear)
        self._requests.close()

    def _remove(self, cell: str | None) -> DOMWidget | None:
        """Remove the panel of a cell; return its widget, if there was one."""
        if cell not in self._widgets:
            return None
        widget, shown = self._widgets.pop(cell)
        self.leave(shown)
        widget.close()
        return widget

    # All that follows runs in the drawing loop's thread.

    def _receive(self, shown: Shown, message: Message, context: contextvars.Context) -> None:
        """Take a message of a panel."""
        # Messages are sent in the context of a page's last message. Then ipykernel passes the
        # page's next message to this thread, past a running cell.
        self._feed.context = context
        self._requests.take(shown, message)

    def _hear(self, event: Event | ReplyDrawn) -> None:
        """Follow an event of the session."""
        match event:
            case Began():
                self._feed.show_ask(self._asks.begin(event))
            case ReplyDrawn():
                self._draw(event)
            case Ended():
                self._end(event)
            case Changed():
                self._feed.publish()

    def _draw(self, drawn: ReplyDrawn) -> None:
        """Show the reply under way: first its box, then its new parts."""
        pending = self._asks.under_way.get(drawn.ask.live)
        if pending is None or not self._kernel.streams():
            return
        is_first = pending.drawn is None
        pending.drawn = drawn
        if is_first:
            self._feed.show_ask(pending)
        else:
            self._feed.paint(pending, drawn)

    def _end(self, ended: Ended) -> None:
        """Publish the end of an ask, with what became of it."""
        pending = self._asks.end(ended, self._log.conversation().turns)
        if pending is None:
            return  # its cell shows that it failed
        answered = ended.outcome is not None
        result = pending.ended(ended.words, answered=answered, fine=ended.error is None)
        self._feed.publish(result if self._log.shows(pending) else None)
