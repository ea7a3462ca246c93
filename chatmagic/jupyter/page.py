"""Live pages of one kernel: the drawing loop, the bridge, panels and gauges."""

from __future__ import annotations

import contextvars
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chatmagic._log import swallowed
from chatmagic.jupyter.drawing import DrawingLoop
from chatmagic.jupyter.reply_under_way import Drawn
from chatmagic.session.events import Began, Ended, Fragment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.jupyter.bridge import Bridge
    from chatmagic.jupyter.cells.execution import Execution
    from chatmagic.jupyter.panel.hub import KernelStatus
    from chatmagic.jupyter.panel.widgets import Panels
    from chatmagic.jupyter.settings import KernelSettings
    from chatmagic.session.events import Event
    from chatmagic.session.session import Session


class LivePage:
    """The parts of one kernel's pages; each is loaded with its first use."""

    def __init__(self, shell: InteractiveShell, session: Session, settings: KernelSettings) -> None:
        """Follow the session, to draw its replies."""
        self.drawing = DrawingLoop()
        self.bridge: Bridge | None = None
        """What pages tell of their cells; ``None`` before the first reply in one."""
        self._shell = shell
        self._session = session
        self._settings = settings
        self._panels: Panels | None = None
        self._unfollow = session.follow(self.drawing.hear)

    def panels(self, status: KernelStatus) -> Panels:
        """Return the kernel's panels and gauges."""
        if self._panels is None:
            from chatmagic.jupyter.panel.widgets import Panels  # noqa: PLC0415 - ipywidgets takes its time

            self._panels = Panels(self._session, status, self.drawing)
            # Any cell may have set what they show, the environment too.
            self._shell.events.register("post_run_cell", self._panels.look)
        return self._panels

    @contextmanager
    def following(self, execution: Execution) -> Iterator[None]:
        """Context in which a cell of a page asks: its reply opens the bridge.

        Behind the reply's first word, or after the reply where a panel shows it; by then
        there is a page that has seen a word of a reply. In the background it opens before the
        question is sent: it has the button that stops it.
        """
        if not execution.is_live or self.bridge is not None:
            yield
            return
        ends: list[str] = []
        begins: list[Began] = []
        context = contextvars.copy_context()

        def follow(event: Event) -> None:
            if isinstance(event, Began):
                begins.append(event)
                if event.ask.background is not None:
                    self.open_bridge(None, event)
                else:
                    self.drawing.join(open_behind)
            elif isinstance(event, Ended) and event.answer is not None:
                ends.append(event.words)

        def open_behind(event: Event | Drawn) -> None:
            if self._panels is not None or not isinstance(event, Fragment | Drawn):
                return
            # Just behind a drawing the page has time.
            if isinstance(event, Drawn):
                self.drawing.leave(open_behind)
                context.run(self.open_bridge, None, begins[-1])

        unfollow = self._session.follow(follow)
        try:
            yield
        finally:
            unfollow()
            self.drawing.leave(open_behind)
        for words in ends[-1:]:
            self.open_bridge(words)

    def open_bridge(self, ended: str | None, began: Began | None = None) -> None:
        """Open the bridge, if it is not open; without it all works in the order as run.

        Args:
            ended: as :class:`chatmagic.jupyter.bridge.Bridge` takes it.
            began: the same.
        """
        if self.bridge is not None:
            return
        with swallowed():
            from chatmagic.jupyter.bridge import Bridge  # noqa: PLC0415 - as the panels

            self.bridge = Bridge(
                self._session, self.drawing, self._settings, ended=ended, began=began
            )

    def close(self) -> None:
        """Close what was opened in the pages; the conversation stays."""
        if self._panels is not None:
            self._shell.events.unregister("post_run_cell", self._panels.look)
            self._panels.close()
            self._panels = None
        if self.bridge is not None:
            self.bridge.close()
            self.bridge = None
        self._unfollow()
        self.drawing.close()
