"""Hooks into the value that a shell shows for a cell, and the error that it keeps of one.

A reply displays itself, but not in the cell that has shown it already; and an error of a
magic of ours does not take the place of the last error of the user's own code.
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
"""Where :mod:`sys` tells of the last error; the last of them since Python 3.12."""


class ShellHooks:
    """Hooks into what one shell does with the values and errors of its cells.

    Args:
        shell: the shell.
        has_shown: returns whether the running cell has shown this value as a reply.
    """

    def __init__(self, shell: InteractiveShell, has_shown: Callable[[object], bool]) -> None:
        """Begin, in the cell that is running too."""
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
        """Leave all as it was."""
        trap = self._shell.display_trap
        if trap.hook == self.display:
            trap.hook = self._display
        if sys.displayhook == self.display:
            sys.displayhook = self._display
        self._shell.events.unregister("post_run_cell", self.keep_last)

    def display(self, value: object) -> None:
        """Display a cell's value as the shell does, except a reply that the cell has shown.

        A formatter cannot do that: a terminal has printed ``Out[n]:`` before it asks one.

        Args:
            value: of the cell's last expression.
        """
        if not self._has_shown(value):
            self._display(value)

    def keep_last(self, *_: object) -> None:
        """Keep the last error of the user's code for ``%debug``, ``%tb`` and ``sys.last_value``.

        IPython has put every error there before it asks how to show it.
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
    """Return whether an error of ours came out of a magic, and not of the user's own call.

    Args:
        error: what a cell raised.
    """
    if not isinstance(error, (ChatError, ChatInterrupted)):
        return False
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__") == MAGICS for frame, _ in frames)
