"""``%chat_panel``; what the panel is and does is in the folder ``panel``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.display import display

from chatmagic.jupyter import transcript, views
from chatmagic.jupyter.command_line import refuse_words
from chatmagic.jupyter.execution import running
from chatmagic.jupyter.status import Status

if TYPE_CHECKING:
    from chatmagic.jupyter.kernel import Kernel


def panel(kernel: Kernel, line: str) -> None:
    """Run ``%chat_panel``; others than live pages are shown what a page with the panel saves."""
    refuse_words("chat_panel", line)
    execution = running(kernel.shell)
    if execution.is_live:
        kernel.page.panels(Status(kernel)).show_panel(execution.cell)
        return
    if execution.audience == "text":
        print(transcript.NEEDS_A_PAGE)
        return
    display(transcript.PANEL_ABSENT, raw=True)
    views.show_html(*transcript.saved(kernel.session.conversation))
