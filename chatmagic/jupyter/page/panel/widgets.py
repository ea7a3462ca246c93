"""The chat panel: a widget over the kernel's one conversation.

Its code in the page is ``page/panel.js`` of the labextension. Other pages than those of a Jupyter
server fetch a widget's code from a public registry, by its name; these have it by anywidget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from IPython.display import DisplayHandle, display
from ipywidgets import DOMWidget  # type: ignore[import-untyped] # it has no types
from traitlets import Int, Unicode

from chatmagic.jupyter.page.messages import PROTOCOL
from chatmagic.jupyter.page.panel.actions import Actions
from chatmagic.jupyter.page.panel.hub import Hub, Shown
from chatmagic.jupyter.transcript import PANEL_ABSENT, saved

if TYPE_CHECKING:
    from chatmagic.jupyter.page.drawing import DrawingLoop
    from chatmagic.jupyter.page.panel.hub import KernelStatus
    from chatmagic.session.session import Session

# No package registry takes a name that begins so: a page without the labextension that looks for
# the widget there, as an exported one does, finds nobody's code.
_MODULE: Final = "_chatmagic"
WIDGET_VIEW: Final = "application/vnd.jupyter.widget-view+json"


class ChatPanel(DOMWidget):  # type: ignore[misc] # as above
    """The chat panel in a page. Its history is no trait: views ask for what they lack."""

    _model_name = Unicode("PanelModel").tag(sync=True)
    _model_module = Unicode(_MODULE).tag(sync=True)
    _model_module_version = Unicode("*").tag(sync=True)
    _view_name = Unicode("PanelView").tag(sync=True)
    _view_module = Unicode(_MODULE).tag(sync=True)
    _view_module_version = Unicode("*").tag(sync=True)
    protocol = Int(PROTOCOL, help="The form of the messages.").tag(sync=True)
    draft = Unicode("", help="What is typed and not sent.").tag(sync=True)


class Panels:
    """The panels of one kernel."""

    def __init__(self, session: Session, kernel: KernelStatus, drawing: DrawingLoop) -> None:
        """Follow the session."""
        self._session = session
        self._hub = Hub(session, kernel, drawing)
        self._actions = Actions(self._hub)
        self.look = self._hub.look
        self._shown: dict[str | None, tuple[DOMWidget, Shown]] = {}

    def show(self, cell: str | None, *, form: type[DOMWidget] = ChatPanel) -> None:
        """Show a panel.

        Args:
            cell: hash of the cell that shows it; run again, it shows one in place of its last.
            form: the class of its widget.
        """
        before = self._remove(cell)
        widget = form(draft="" if before is None else before.draft)
        view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
        display({WIDGET_VIEW: view, **PANEL_ABSENT}, raw=True)
        # An output of its own: in one bundle with the widget, a page without a kernel shows
        # "model not found" instead. Where the widget lives, its style sheet hides this one.
        handle = DisplayHandle()
        handle.display(self._saved(), raw=True)
        shown = Shown(widget.send, lambda: handle.update(self._saved(), raw=True))
        widget.on_msg(lambda _widget, message, _buffers: self._actions.receive(shown, message))
        self._shown[cell] = widget, shown
        self._hub.join(shown)

    def close(self) -> None:
        """Take them all away."""
        for cell in list(self._shown):
            self._remove(cell)
        self._actions.close()
        self._hub.close()

    def _remove(self, cell: str | None) -> DOMWidget | None:
        if cell not in self._shown:
            return None
        widget, shown = self._shown.pop(cell)
        self._hub.leave(shown)
        widget.close()
        return widget

    def _saved(self) -> dict[str, str]:
        html, text = saved(self._session.conversation)
        return {"text/html": html, "text/plain": text}
