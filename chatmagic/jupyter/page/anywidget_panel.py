"""The panel by anywidget, for pages of VS Code and Colab, which have no labextensions."""

from __future__ import annotations

from anywidget import AnyWidget
from traitlets import Unicode

from chatmagic.jupyter.page.joined_module import script, source


class AnywidgetPanel(AnyWidget):
    """The chat panel, as :class:`chatmagic.jupyter.page.panel.ChatPanel`."""

    _esm = script("panel.js")
    _css = source("style.css")
    draft = Unicode("", help="The typed text that was not sent.").tag(sync=True)
