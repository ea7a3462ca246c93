"""The commands of one kernel, put together; the magics hand their lines to them.

Loaded with the first command that is used, so that loading the extension stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmagic.archive import output
from chatmagic.jupyter import views
from chatmagic.jupyter.ask_command import AskCommand
from chatmagic.jupyter.cassette_command import CassetteCommand
from chatmagic.jupyter.connect_command import ConnectCommands
from chatmagic.jupyter.execution import running
from chatmagic.jupyter.history_commands import HistoryCommands, refuse_words
from chatmagic.jupyter.page import LivePage
from chatmagic.jupyter.status import Status

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.jupyter.environment import KernelEnvironment
    from chatmagic.jupyter.settings import KernelSettings
    from chatmagic.models import Reply
    from chatmagic.session.session import Session


class Commands:
    """The commands of one kernel, by what they do.

    Args:
        shell: the kernel's shell.
        session: its session.
        settings: the settings, read at each use.
        environment: where the session runs.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        session: Session,
        settings: KernelSettings,
        environment: KernelEnvironment,
    ) -> None:
        """Send nothing."""
        self.session = session
        self._shell = shell
        self.cassette = CassetteCommand(session, environment, settings)
        self.connecting = ConnectCommands(shell, session, environment, settings)
        self.status = Status(shell, session, settings, self.cassette, environment)
        self.page = LivePage(shell, session, environment, self.status)
        self.history = HistoryCommands(session, environment, settings)
        self.asking = AskCommand(shell, session, settings, self.page, self.status)

    def credits(self, line: str) -> None:
        """Run ``%chat_credits``."""
        execution = running(self._shell)
        if line.strip() == "--live" and execution.audience == "page":
            self.page.panels().show_gauge(execution.cell)
            return
        refuse_words("chat_credits", line.replace("--live", "", 1))
        views.show_html(*self.status.credits())

    def panel(self, line: str) -> None:
        """Run ``%chat_panel``; a machine is shown what a page with the panel saves."""
        refuse_words("chat_panel", line)
        execution = running(self._shell)
        if execution.audience == "page":
            self.page.panels().show_panel(execution.cell)
            return
        from chatmagic.jupyter.panel import saved  # noqa: PLC0415 - the renderer comes with it

        if execution.audience == "machine":
            views.show_data(saved.PANEL_ABSENT)
            views.show_html(*saved.saved(self.session.conversation))
            return
        print(saved.NEEDS_A_PAGE)

    def shown(self, kind: str, reply: Reply) -> str:
        """Return a reply that is a cell's value as one of a bundle's types.

        Args:
            kind: ``text/html`` or ``text/plain``.
            reply: the value of a cell.
        """
        if kind == "text/plain" and running(self._shell).audience == "text":
            return views.printable(reply.text)
        return str(output.bundle(reply)[kind])
