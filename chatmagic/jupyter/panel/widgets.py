"""The chat panel and the live gauge: widgets over the kernel's one conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.display import DisplayHandle, display
from traitlets import Unicode

from chatmagic.jupyter import assets
from chatmagic.jupyter.page_widget import PageWidget
from chatmagic.jupyter.panel.actions import Actions
from chatmagic.jupyter.panel.hub import Hub, Shown
from chatmagic.jupyter.transcript import GAUGE_ABSENT, PANEL_ABSENT, saved
from chatmagic.render import gauge

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.jupyter.drawing import DrawingLoop
    from chatmagic.jupyter.panel.hub import KernelStatus, Role
    from chatmagic.session.session import Session

    _Key = tuple[Role, str | None]


class ChatPanel(PageWidget):
    """The chat panel in a page. Its history is no trait: views ask for what they lack."""

    _esm = assets.script("panel.js")
    _css = assets.styles("gauge.css", "code.css", "panel.css")
    draft = Unicode("", help="What is typed and not sent.").tag(sync=True)


class LiveGauge(PageWidget):
    """The credits in a page, after every request of this kernel."""

    _esm = assets.script("gauge_widget.js")
    _css = assets.styles("gauge.css")


class Panels:
    """The panels and live gauges of one kernel."""

    def __init__(self, session: Session, kernel: KernelStatus, drawing: DrawingLoop) -> None:
        """Follow the session."""
        self._session = session
        self._kernel = kernel
        self._hub = Hub(session, kernel, drawing)
        self._actions = Actions(self._hub)
        self.look = self._hub.look
        self._shown: dict[_Key, tuple[PageWidget, Shown]] = {}

    def show_panel(self, cell: str | None) -> None:
        """Show a panel.

        Args:
            cell: hash of the cell that shows it; run again, it shows one in place of its last.
        """
        before = self._remove(("panel", cell))
        widget = ChatPanel(draft=before.draft if isinstance(before, ChatPanel) else "")
        self._show(("panel", cell), widget, PANEL_ABSENT, self._saved_conversation)

    def show_gauge(self, cell: str | None) -> None:
        """Show a live gauge.

        Args:
            cell: hash of the cell that shows it.
        """
        self._remove(("gauge", cell))
        self._show(("gauge", cell), LiveGauge(), GAUGE_ABSENT, self._saved_credits)

    def close(self) -> None:
        """Take them all away."""
        for key in list(self._shown):
            self._remove(key)
        self._actions.close()
        self._hub.close()

    def _show(
        self,
        key: _Key,
        widget: PageWidget,
        absent: dict[str, str],
        content: Callable[[], tuple[str, str]],
    ) -> None:
        role, _ = key
        data, _ = widget._repr_mimebundle_() or ({}, {})
        display({**data, **absent}, raw=True)
        # An output of its own: in one bundle with the widget, a page without a kernel shows
        # "model not found" instead. Where the widget lives, its style sheet hides this one.
        handle = DisplayHandle()
        handle.display(_bundle(*content()), raw=True)
        shown = Shown(role, widget.send, lambda: handle.update(_bundle(*content()), raw=True))
        widget.on_msg(lambda _widget, message, _buffers: self._actions.receive(shown, message))
        self._shown[key] = widget, shown
        self._hub.join(shown)

    def _remove(self, key: _Key) -> PageWidget | None:
        if key not in self._shown:
            return None
        widget, shown = self._shown.pop(key)
        self._hub.leave(shown)
        widget.close()
        return widget

    def _saved_conversation(self) -> tuple[str, str]:
        return saved(self._session.conversation)

    def _saved_credits(self) -> tuple[str, str]:
        state = self._session.credit_state
        # A saved page shows the time itself, and not how long ago it was when it was saved.
        now = self._kernel.now() if state.credits is None else state.credits.seen_at
        html = gauge.large_html(state.credits, self._session.took, now=now)
        text = gauge.large_words(state.credits, self._session.took, now=now)
        return f'<div class="chatmagic chatmagic-saved">{html}</div>', text


def _bundle(html: str, text: str) -> dict[str, Any]:
    return {"text/html": html, "text/plain": text}
