"""The chat panel and the live gauge: widgets over the kernel's one conversation.

Their pages are in ``static``: one small file each, joined here, without a build step.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import anywidget
from IPython.display import DisplayHandle, display
from traitlets import Unicode

from chatmagic.jupyter.panel import messages
from chatmagic.jupyter.panel.hub import Desk, Page
from chatmagic.render import gauge

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.jupyter.panel.hub import Kernel
    from chatmagic.session.session import Session


def _static(*names: str) -> str:
    folder = files("chatmagic") / "jupyter" / "static"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


_GAUGE_VIEW: Final = "\nexport default { render: renderGauge };\n"


class ChatPanel(anywidget.AnyWidget):
    """A chat in a page. Its history is no trait: pages ask for it, and are told what is new."""

    _esm = _static("gauge.js", "notebook.js", "log.js", "panel.js")
    _css = _static("gauge.css", "panel.css")
    draft = Unicode("", help="What is typed and not sent.").tag(sync=True)


class LiveGauge(anywidget.AnyWidget):
    """The credits in a page, after every request of this kernel."""

    _esm = _static("gauge.js") + _GAUGE_VIEW
    _css = _static("gauge.css")


class Panels:
    """The panels and live gauges of one kernel.

    Args:
        session: the kernel's session.
        kernel: what else there is to know.
    """

    def __init__(self, session: Session, kernel: Kernel) -> None:
        """Follow the session."""
        self._session = session
        self._kernel = kernel
        self._desk = Desk(session, kernel)
        self._shown: dict[tuple[str, str | None], tuple[anywidget.AnyWidget, list[Page]]] = {}

    def show_panel(self, cell: str | None) -> None:
        """Show a panel.

        Args:
            cell: hash of the cell that shows it; run again, it shows one in place of its last.
        """
        before = self._remove(("panel", cell))
        widget = ChatPanel(draft=before.draft if isinstance(before, ChatPanel) else "")
        self._show(("panel", cell), widget, messages.PANEL_ABSENT, self._saved_conversation)

    def show_gauge(self, cell: str | None) -> None:
        """Show a live gauge.

        Args:
            cell: hash of the cell that shows it.
        """
        self._remove(("gauge", cell))
        self._show(("gauge", cell), LiveGauge(), messages.GAUGE_ABSENT, self._saved_credits)

    def look(self) -> None:
        """See whether what they show is still in force, as after a cell."""
        self._desk.look()

    def close(self) -> None:
        """Take them all away."""
        for key in list(self._shown):
            self._remove(key)
        self._desk.close()

    def _show(
        self,
        key: tuple[str, str | None],
        widget: anywidget.AnyWidget,
        absent: dict[str, str],
        saved: Callable[[], tuple[str, str]],
    ) -> None:
        page = Page("panel" if key[0] == "panel" else "gauge", widget.send)
        widget.on_msg(lambda _widget, said, _buffers: self._desk.hear(page, said))
        data, _ = widget._repr_mimebundle_() or ({}, {})
        display({**data, **absent}, raw=True)
        # An output of its own: in one bundle with the widget, a page without a kernel shows
        # "model not found" instead. Where the widget lives, its style sheet hides this one.
        handle = DisplayHandle()
        handle.display(_bundle(*saved()), raw=True)
        output = Page("output", lambda _: handle.update(_bundle(*saved()), raw=True))
        self._shown[key] = widget, [page, output]
        for one in (page, output):
            self._desk.join(one)

    def _remove(self, key: tuple[str, str | None]) -> anywidget.AnyWidget | None:
        widget, pages = self._shown.pop(key, (None, []))
        for page in pages:
            self._desk.leave(page)
        if widget is not None:
            widget.close()
        return widget

    def _saved_conversation(self) -> tuple[str, str]:
        return messages.saved(self._session.conversation)

    def _saved_credits(self) -> tuple[str, str]:
        figures, took = self._session.credits, self._session.took
        # Who reads it later is told when that was, and not how long before the saving.
        now = self._kernel.now() if figures is None else figures.seen_at
        html = gauge.large_html(figures, took, now=now)
        text = gauge.large_words(figures, took, now=now)
        return f'<div class="chatmagic chatmagic-saved">{html}</div>', text


def _bundle(html: str, text: str) -> dict[str, Any]:
    return {"text/html": html, "text/plain": text}
