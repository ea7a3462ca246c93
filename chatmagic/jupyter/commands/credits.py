"""``%chat_credits``: the credits in large, or what requests took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.conversation.options import Option
from chatmagic.jupyter import usage_view, views
from chatmagic.jupyter.commands.command import Command
from chatmagic.jupyter.execution import running
from chatmagic.jupyter.status import Status

if TYPE_CHECKING:
    from chatmagic.jupyter.commands.command import Arguments
    from chatmagic.jupyter.kernel import Kernel


def _credits(kernel: Kernel, given: Arguments) -> None:
    """Show the credits large: what is left, what the last turn took, as of when."""
    execution = running(kernel.shell)
    if "--usage" in given.options:
        views.show_html(*usage_view.shown(kernel.session.ledger, Status(kernel).service()))
        return
    if given.options and execution.is_live:
        kernel.page.panels(Status(kernel)).show_gauge(execution.cell)
        return
    views.show_html(*Status(kernel).credits())


CREDITS: Final = Command(
    "chat_credits",
    _credits,
    (
        Option(("--live",), "show a gauge that follows every request of this kernel"),
        Option(("--usage",), "show what its requests took, how many turns are left, the budget"),
    ),
    waits=False,
)
