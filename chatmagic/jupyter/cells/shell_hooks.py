"""Hooks into a shell's display of a cell's value, and into the last error that it keeps.

A reply displays itself, but not in the cell that has shown it already. An error of a chatmagic
command does not replace the last error of the user's own code.
"""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any, Final

from chatmagic.errors import ChatError, ChatInterrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

MAGICS: Final = "chatmagic.jupyter.magics"
"""The module whose functions stand in the traceback of a magic's error."""
LAST: Final = ("last_type", "last_value", "last_traceback", "last_exc")
"""Attributes of :mod:`sys` for the last error; ``last_exc`` exists since Python 3.12."""


class ShellHooks:
    """Hooks into one shell's handling of its cells' values and errors.

    Args:
        shell: the shell.
        has_shown: returns whether the running cell has shown this value as a reply.
    """

    def __init__(self, shell: InteractiveShell, has_shown: Callable[[object], bool]) -> None:
        """Install the hooks, also for the running cell."""
        self._shell = shell
        self._has_shown = has_shown
        self._last: dict[str, Any] = {}
        self._note_last()
        trap = shell.display_trap
        self._display: Callable[[object], object] = trap.hook
        if sys.displayhook is trap.hook:
            sys.displayhook = self.display
        trap.hook = self.display
        shell.events.register("post_run_cell", self.keep_last)

    def close(self) -> None:
        """Remove the hooks."""
        trap = self._shell.display_trap
        if trap.hook == self.display:
            trap.hook = self._display
        if sys.displayhook == self.display:
            sys.displayhook = self._display
        self._shell.events.unregister("post_run_cell", self.keep_last)

    def display(self, value: object) -> None:
        """Display a cell's value as the shell does, except a reply that the cell has shown.

        A formatter cannot do that: a terminal prints ``Out[n]:`` before it calls one.

        Args:
            value: the value of the cell's last expression.
        """
        if not self._has_shown(value):
            self._display(value)

    def keep_last(self, *_: object) -> None:
        """Keep the last error of the user's code for ``%debug``, ``%tb`` and ``sys.last_value``.

        IPython puts every error there before it asks how to show it.
        """
        if not is_of_a_magic(getattr(sys, "last_value", None)):
            self._note_last()
            return
        for name in LAST:
            if name in self._last:
                setattr(sys, name, self._last[name])
            elif hasattr(sys, name):
                delattr(sys, name)

    def _note_last(self) -> None:
        self._last = {name: getattr(sys, name) for name in LAST if hasattr(sys, name)}


def is_of_a_magic(error: object) -> bool:
    """Return whether an error of chatmagic was raised by a magic, not by the user's own call.

    Args:
        error: the exception of a cell; any other value gives ``False``.
    """
    if not isinstance(error, (ChatError, ChatInterrupted)):
        return False
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__") == MAGICS for frame, _ in frames)
