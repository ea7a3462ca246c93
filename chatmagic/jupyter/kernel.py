"""One kernel: its cells and pages, beside its settings."""

from __future__ import annotations

import builtins
import io
import re
import sys
from functools import reduce
from typing import Final

from IPython.core.interactiveshell import InteractiveShell

from chatmagic._cached import cached_property
from chatmagic._log import log_swallowed
from chatmagic.conversation.cell_order import Layout, Pages
from chatmagic.conversation.likely_mistakes import refuse_thread_and_ask
from chatmagic.conversation.question import is_model_name
from chatmagic.conversation.window import QuestionPlace, Window
from chatmagic.errors import InputError
from chatmagic.jupyter.background import Background
from chatmagic.jupyter.cells.running_cell import (
    Execution,
    cell_source,
    code_above,
    is_redirected,
    page_of,
    running,
)
from chatmagic.jupyter.map_bar import PageBar
from chatmagic.jupyter.page.live_page import LivePage
from chatmagic.jupyter.settings import KernelSettings
from chatmagic.models import Reply
from chatmagic.safe_text import one_line
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.current import current_session
from chatmagic.session.events import Changed
from chatmagic.session.features import sends_nothing
from chatmagic.session.map.progress import BarView
from chatmagic.session.session import Session

_ASKS_AT_END: Final = re.compile(r"(?m)^[ \t]*%?chat(?:_fix)?[ \t][^\n]*\s*\Z")
"""The last line of a cell that asks."""


class Kernel(ConfiguredEnvironment):
    """One kernel, which the commands are run in, and the environment of its session.

    Args:
        shell: the kernel's shell.
        settings: its settings, read at each use.
    """

    def __init__(self, shell: InteractiveShell, settings: KernelSettings) -> None:
        """Choose, load and start nothing yet."""
        super().__init__(settings)
        self.shell = shell
        self.shown: tuple[str | None, Reply] | None = None
        """The reply that was shown last, and the execution that showed it."""
        self.background = Background()
        """The questions that cells have asked in the background."""
        self.threads_read: dict[str, str] = {}
        """The thread in which each cell without a slot first ran, if no page reports an order."""
        self._has_person = False

    def resume(self, earlier: ConfiguredEnvironment) -> None:
        """Keep what belongs to the conversation, which outlives the extension in this kernel.

        Args:
            earlier: the kernel before the extension was loaded again.
        """
        super().resume(earlier)
        if isinstance(earlier, Kernel):
            self.threads_read = earlier.threads_read

    @property
    def session(self) -> Session:
        """The session of this process; its turns become stale when this kernel's cells change."""
        session = current_session()
        if self.settings.notes is not None:
            session.conversation.cells = self.settings.notes
            session.conversation.label = self.settings.notes.label
        return session

    @cached_property
    def page(self) -> LivePage:
        """The kernel's live pages."""
        return LivePage(self.shell, self.session, self.settings)

    def sends_nothing(self) -> bool:
        """Return whether nothing can be sent: in a replay, or by a wrong setting."""
        return sends_nothing(self)

    # --- Requests of a session ---------------------------------------------------------------

    def cell(self) -> tuple[str | None, str | None]:
        """Return the hash of the running cell, and the identity of its execution.

        Raises:
            InputError: the cell begins a thread, and asks as well.
        """
        refuse_thread_and_ask(cell_source(self.shell))
        execution = running(self.shell)
        return execution.cell, execution.id

    def layout(self, owner: str | None) -> Layout | None:
        """Return the order of the cells on the page of a cell; ``None`` if no page reports it.

        The page that runs a cell lists the cells above it in its request, or at least names itself:
        another page of the notebook may have them in another order.

        Args:
            owner: the hash of the cell; ``None`` takes the page that reported last.
        """
        if owner is None or owner != running(self.shell).cell:
            return self.pages.layout(owner)
        return self.pages.layout(owner, page_of(self.shell), code_above(self.shell))

    def order(self, owner: str | None) -> tuple[str, ...] | None:
        """Return the hashes of the cells in the order of a page; ``None`` if no page reports it.

        Args:
            owner: the hash of a cell on the page; ``None`` takes the page that reported last.
        """
        layout = self.layout(owner)
        return None if layout is None else layout.order

    def named(self, name: str) -> object:
        """Return the value of a name in the user's namespace.

        Args:
            name: an identifier, or several with dots between them.

        Raises:
            InputError: there is no such name.
        """
        try:
            return self._value_of(name)
        except Exception as error:  # noqa: BLE001 - an attribute may be the user's own code
            log_swallowed(error)
            raise InputError(
                f"There is no {one_line(name)} in this notebook yet. Nothing was sent.",
                hint="Run the cell that defines the schema.",
            ) from None

    def _value_of(self, name: str) -> object:
        """Return the value of a name; nothing is evaluated, because a loaded file may name it."""
        first, *attributes = name.split(".")
        names = {**vars(builtins), **self.shell.user_ns}
        return reduce(getattr, attributes, names[first])

    def is_watched(self) -> bool:
        """Return whether a person sees what the running cell shows while it runs."""
        execution = running(self.shell)
        if execution.audience == "machine" or execution.piped:
            return False
        # Prints may be captured, or go from a terminal into a file. A kernel's own stream is shown,
        # though it is no terminal.
        is_own = not isinstance(sys.stderr, io.StringIO | io.TextIOWrapper)
        return is_own or self.updates(execution) or super().is_watched()

    def bar_view(self) -> BarView:
        """Return the place of a map's bar: the page, or the printed text."""
        return PageBar() if self.updates(running(self.shell)) else super().bar_view()

    def updates(self, execution: Execution) -> bool:
        """Return whether a display of an execution is updated while it is shown.

        Args:
            execution: the execution.
        """
        stream = self.settings.stream
        is_live = stream == "updates" or (stream == "auto" and execution.is_live)
        return is_live and not is_redirected(self.shell, execution)

    def has_person(self) -> bool:
        """Return whether a person has run a cell here."""
        # A question of the panel does not show whether a person is there, but earlier cells did.
        if running(self.shell).audience != "machine":
            self._has_person = True
        return self._has_person

    # --- What the commands show and change -----------------------------------------------------

    def window(self, last: int | None = None, *, owns: bool = False) -> Window:
        """Return the window of a question in the running cell, in the page's present order.

        If no page reports an order, a cell without a slot stands below all turns of the thread in
        which it first ran. So its numbers mean the same turns when all cells run again.

        Args:
            last: largest number of turns, the newest; ``None`` for all.
            owns: whether the cell will get a slot, which is below all if it has none yet.
        """
        owner, execution = self.cell()
        self.session.changes.follow_pages(owner)
        order = self.order(owner)
        conversation = self.session.conversation
        thread = None
        has_slot = owns or owner in dict(conversation.slots)
        if owner is not None and order is None and not has_slot:
            first_thread = self.threads_read.setdefault(owner, conversation.window().thread)
            if first_thread in conversation.threads:
                thread = first_thread
        at = QuestionPlace(owner, execution, order=order, thread=thread)
        return conversation.window(at, last=last)

    @property
    def pages(self) -> Pages:
        """The latest reports of the kernel's pages; empty without the bridge."""
        bridge = self.page.bridge
        return Pages() if bridge is None else bridge.pages

    def known_models(self) -> list[str]:
        """Return the models that the server listed last, and those that this notebook asked."""
        used = (turn.asked_model for turn in self.session.conversation.known_turns.values())
        return [*dict.fromkeys((*self.settings.listed_models, *filter(is_model_name, used)))]

    def report_change(self, cell: str) -> None:
        """Report to the pages that a cell shows another output, if a turn carries it.

        Args:
            cell: hash of the cell.
        """
        session = self.session
        if any(value.cell == cell for turn in session.conversation for value in turn.values):
            session.followers.tell(Changed())

    def has_shown(self, value: object) -> bool:
        """Return whether the running cell has shown this reply, or asked quietly on its last line.

        Args:
            value: value of the cell's last expression.
        """
        if not isinstance(value, Reply):
            return False
        # In the cell that loads the extension, a line that asks still has a value.
        if _ASKS_AT_END.search(cell_source(self.shell)) is not None:
            return True
        if self.shown is None:
            return False
        execution, reply = self.shown
        return reply is value and execution == running(self.shell).id

    def close(self) -> None:
        """Close the pages, and stop the emulator."""
        if "page" in vars(self):
            self.page.close()
        super().close()
