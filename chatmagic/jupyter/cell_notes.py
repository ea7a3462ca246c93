"""What is noted of the cells that are not ours, from the load of the extension on.

Light enough to be loaded in every notebook, and quick enough to run after each cell.
"""

from __future__ import annotations

import bdb
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from chatmagic import _lazy
from chatmagic._log import swallowed
from chatmagic.jupyter.results import is_of_a_magic

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

NO_ERRORS: Final = (KeyboardInterrupt, SystemExit, bdb.BdbQuit)
"""What a person raises to stop a cell; it is nothing to correct."""
_WHOLE: Final = re.compile(r"%%chat(?:_\w+)?(?!\S)")
_LINE: Final = re.compile(
    r"(?:\w+\s*=\s*)?%chat(?:_\w+)?(?!\S)|%config\s+ChatMagics\b|%(?:re|un)?load_ext\s+chatmagic\b"
)


@dataclass(frozen=True, slots=True)
class NotedError:
    """Error of a cell as it was noted after it.

    Args:
        kind: name of its class.
        source: what the cell said.
        trace: the error with its traceback, as text.
    """

    kind: str
    source: str
    trace: str


def is_ours(source: str) -> bool:
    """Return whether a cell only asks, or sets up what asks.

    Args:
        source: what the cell says.
    """
    lines = [line.strip() for line in source.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines and _WHOLE.match(lines[0]):
        return True
    return bool(lines) and all(map(_LINE.match, lines))


class CellNotes:
    """What one shell's cells left behind.

    Args:
        shell: the shell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Begin, in the cell that is running too."""
        self.error: NotedError | None = None
        """The last error of a cell that is not ours; ``None`` where none has raised one."""
        self._shell = shell
        shell.events.register("post_run_cell", self._note)

    def close(self) -> None:
        """Note nothing more."""
        self._shell.events.unregister("post_run_cell", self._note)

    def _note(self, result: ExecutionResult | None = None) -> None:
        """Take note of a cell that has run."""
        if result is None or result.info is None or not result.info.store_history:
            return
        # Nothing of this is worth an error under the user's own cell.
        with swallowed():
            self._note_error(result, str(result.info.raw_cell))

    def _note_error(self, result: ExecutionResult, source: str) -> None:
        error = result.error_before_exec or result.error_in_exec
        if error is None or isinstance(error, NO_ERRORS):
            return
        if is_of_a_magic(error) or is_ours(source):
            return
        # With the first error.
        _lazy.load("chatmagic.jupyter.error_text")
        from chatmagic.jupyter import error_text  # noqa: PLC0415

        number = result.execution_count

        def cell_of(file: str) -> str | None:
            return _cell_of(self._shell, file, number)

        self.error = NotedError(type(error).__name__, source, error_text.of(error, cell_of))


def _cell_of(shell: InteractiveShell, file: str, number: int | None) -> str | None:
    """Return what to call the cell that a file's name stands for; ``None`` for a file."""
    named: Any = shell.compile.format_code_name(file)
    if named is None:
        return None
    # A number would differ when the notebook runs again.
    return "this cell" if named[1] == f"In[{number}]" else "another cell"
