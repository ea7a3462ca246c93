"""``%chat_credits``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmagic.jupyter import usage_view, views
from chatmagic.jupyter.command_line import read, refuse_words
from chatmagic.jupyter.execution import running
from chatmagic.jupyter.status import Status

if TYPE_CHECKING:
    from chatmagic.jupyter.kernel import Kernel


def credits(kernel: Kernel, line: str) -> None:
    """Run ``%chat_credits``."""
    execution = running(kernel.shell)
    words, given = read("chat_credits", line, "--live", "--usage")
    refuse_words("chat_credits", words)
    if "--usage" in given:
        views.show_html(*usage_view.shown(kernel.session.ledger, Status(kernel).service()))
        return
    if given and execution.is_live:
        kernel.page.panels(Status(kernel)).show_gauge(execution.cell)
        return
    views.show_html(*Status(kernel).credits())
