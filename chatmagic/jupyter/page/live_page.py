"""Live pages of one kernel: the drawing loop, the bridge and the panels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell

from chatmagic._log import swallowed
from chatmagic.jupyter.cells.running_cell import first_notebook
from chatmagic.jupyter.page.bridge import Bridge
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.settings import KernelSettings
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from chatmagic.jupyter.page.panel import Panels
    from chatmagic.jupyter.page.panel_log import KernelStatus


class LivePage:
    """The parts of one kernel's pages; each is made at its first use."""

    def __init__(self, shell: InteractiveShell, session: Session, settings: KernelSettings) -> None:
        """Follow the session, to draw its replies."""
        self.drawing = DrawingLoop()
        self.bridge: Bridge | None = None
        """The pages' reports of their cells; ``None`` before the first question in a page."""
        self._shell = shell
        self._session = session
        self._settings = settings
        self._panels: Panels | None = None
        self._unfollow = session.followers.add(self.drawing.hear)

    def panels(self, status: KernelStatus) -> Panels:
        """Return the kernel's panels.

        Args:
            status: reads the status of the kernel.
        """
        if self._panels is None:
            from chatmagic.jupyter.page.panel import Panels  # noqa: PLC0415 - ipywidgets takes its time

            self._panels = Panels(self._session, status, self.drawing)
            # Any cell may have changed the panels' content, or the environment.
            self._shell.events.register("post_run_cell", self._panels.look)
        return self._panels

    def open_bridge(self) -> Bridge | None:
        """Return the bridge, which is opened once; ``None`` if it cannot be opened."""
        if self.bridge is None:
            with swallowed():
                self.bridge = Bridge(
                    self._session,
                    self.drawing,
                    self._settings,
                    partial(first_notebook, self._shell),
                )
        return self.bridge

    def close(self) -> None:
        """Close everything that was opened in the pages; the conversation stays."""
        if self._panels is not None:
            self._shell.events.unregister("post_run_cell", self._panels.look)
            self._panels.close()
        if self.bridge is not None:
            self.bridge.close()
        self._unfollow()
        self.drawing.close()
