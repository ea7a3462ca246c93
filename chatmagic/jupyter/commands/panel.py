"""``%chat_panel``: the chat beside the cells."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from IPython.display import display

from chatmagic.jupyter import reply_views
from chatmagic.jupyter.cells.running_cell import running
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.page import panel_saved
from chatmagic.jupyter.page.panel_status import PanelStatus

NEEDS_ANYWIDGET: Final = (
    "Here the chat panel needs anywidget: pip install 'chatmagic[anywidget]', and restart the "
    "kernel. %%chat works without it."
)


def _panel(kernel: Kernel, _: Arguments) -> None:
    """Show the chat panel: the same conversation, beside the cells.

    It needs a live page with widgets, such as JupyterLab's or Notebook 7's.
    """
    execution = running(kernel.shell)
    if execution.is_live and execution.has_labextensions:
        kernel.page.panels(PanelStatus(kernel)).show(execution.cell)
        return
    if execution.is_live and find_spec("anywidget") is not None:
        from chatmagic.jupyter.page.anywidget_panel import AnywidgetPanel  # noqa: PLC0415 - an extra

        kernel.page.panels(PanelStatus(kernel)).show(execution.cell, form=AnywidgetPanel)
        return
    if execution.audience == "text":
        print(panel_saved.NEEDS_A_PAGE)
        return
    if execution.is_live:
        print(NEEDS_ANYWIDGET)
    display(panel_saved.PANEL_ABSENT, raw=True)
    reply_views.show_html(*panel_saved.saved(kernel.session.conversation))


PANEL: Final = Command("chat_panel", _panel, waits=False)
