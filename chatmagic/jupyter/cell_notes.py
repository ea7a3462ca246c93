"""Notes of the cells that are not ours, from the load of the extension on.

Light enough to be loaded in every notebook, and quick enough to run after each cell.
"""

from __future__ import annotations

import bdb
import os
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from chatmagic import _lazy
from chatmagic._json import digest
from chatmagic._log import swallowed
from chatmagic.conversation import blocks
from chatmagic.jupyter.output_capture import OutputCapture
from chatmagic.jupyter.results import is_of_a_magic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

    from chatmagic.jupyter.execution import Execution

NO_ERRORS: Final = (KeyboardInterrupt, SystemExit, bdb.BdbQuit)
"""What a person raises to stop a cell; it is nothing to correct."""
MOST_CELLS: Final = 1_000
"""How many cells are kept; where a front end names none, each execution is another one."""

A_CELL: Final = "a cell of the notebook"
"""Name of a cell that has not run in this kernel."""

_KERNEL_FOLDER: Final = "ipykernel_"
_LABEL: Final = re.compile(r"""\s*#\|\s*label:\s*(["']?)(\S+)\1\s*$""")
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


@dataclass(frozen=True)
class CellRun:
    """Latest run of one cell: its source, its output, and its error.

    Args:
        key: what tells it from other cells: the hash of its identity, or else of its label, or
            the identity of the execution.
        is_lasting: whether another execution of the cell has the same key.
        is_ours: whether it only asks; then nothing else of it is noted.
        number: its number on the screen.
        source: what it said.
        names: its labels and tags.
        output: what it showed, as text.
        lost: how many characters of that were not noted.
        trace: the error that it raised, as text; empty for none.
    """

    key: str
    is_lasting: bool
    is_ours: bool
    number: int | None
    source: str = ""
    names: tuple[str, ...] = ()
    output: str = ""
    lost: int = 0
    trace: str = ""

    @cached_property
    def text(self) -> str:
        """The cell as the model reads it."""
        return blocks.cell(self.source, self.output, len(self.output) + self.lost, self.trace)

    @cached_property
    def digest(self) -> str:
        """The digest of that text."""
        # Loaded with the first digest, not with the extension.
        from chatmagic.conversation.request_facts import Value  # noqa: PLC0415

        return Value.of("", self.text).sha256


class CellNotes(Mapping[str, str]):
    """Notes on the cells that one shell has run: a mapping of each to the digest of its text.

    Args:
        shell: the shell.
        has_run_again: called with the key of a cell that shows something else than before.
    """

    def __init__(self, shell: InteractiveShell, has_run_again: Callable[[str], object]) -> None:
        """Begin, in the cell that is running too."""
        self.error: NotedError | None = None
        """The last error of a cell that is not ours; ``None`` where none has raised one."""
        self.runs: dict[str, CellRun] = {}
        """The last run of each cell, in the order in which they ran first."""
        self._shell = shell
        self._has_run_again = has_run_again
        self._capture: OutputCapture | None = None
        self._execution: str | None = None
        self._source: str | None = None
        """What the running cell says; ``None`` between two cells."""
        self._is_interrupted = False
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._note)

    def close(self) -> None:
        """Note nothing more."""
        self._stop()
        self._shell.events.unregister("pre_run_cell", self._begin)
        self._shell.events.unregister("post_run_cell", self._note)

    def __getitem__(self, key: str) -> str:
        """Return the digest of what a cell says and shows."""
        return self.runs[key].digest

    def __iter__(self) -> Iterator[str]:
        """Go through the cells."""
        return iter(self.runs)

    def __len__(self) -> int:
        """Count the cells."""
        return len(self.runs)

    def label(self, key: str) -> str:
        """Return a cell's name for people, by its number where it has one.

        Args:
            key: the cell's.
        """
        run = self.runs.get(key)
        return A_CELL if run is None or run.number is None else f"cell [{run.number}]"

    def quiet(self) -> AbstractContextManager[None]:
        """Return a context in which what is printed is not noted."""
        return nullcontext() if self._capture is None else self._capture.quiet()

    def raise_interrupt(self) -> None:
        """Raise the interrupt that came while the notes of this cell began.

        Raises:
            KeyboardInterrupt: IPython itself lets no interrupt of a hook out, and the cell runs.
        """
        if self._is_interrupted:
            self._is_interrupted = False
            raise KeyboardInterrupt

    def _begin(self, info: ExecutionInfo | None = None) -> None:
        """Begin to note what a cell shows; keep an interrupt for the cell that asks."""
        try:
            self._is_interrupted = False
            if info is not None and self._is_cell(info):
                self._note_from_here(info)
        except KeyboardInterrupt:
            self._is_interrupted = True

    def _note_from_here(self, info: ExecutionInfo) -> None:
        """Note what a cell shows from here on."""
        with swallowed():
            execution = _running(self._shell)
            if self._source is not None and execution.id == self._execution:
                return  # a cell that runs another one shows what that shows
            self._stop()
            self._execution, self._source = execution.id, str(info.raw_cell)
            if not is_ours(self._source):
                self._capture = OutputCapture(self._shell)
                self._capture.start()

    def _is_cell(self, info: ExecutionInfo) -> bool:
        """Return whether an execution is a notebook's cell, and no look-up of an editor's own."""
        if info.store_history:
            return True
        # nbval runs cells without history.
        return not info.silent and _running(self._shell).audience == "machine"

    def _stop(self) -> None:
        if self._capture is not None:
            self._capture.stop()
        self._capture = self._source = None

    def _note(self, result: ExecutionResult | None = None) -> None:
        """Take note of a cell that has run."""
        if result is None or result.info is None or not self._is_cell(result.info):
            return
        # Nothing of this is worth an error under the user's own cell.
        with swallowed():
            source = str(result.info.raw_cell)
            if self._source not in {None, source}:
                return  # of a cell that another one has run
            capture = self._capture
            self._stop()
            names = _CellNames(self._shell, result)
            trace = "" if is_ours(source) else self._note_error(result, source, names)
            output, lost = ("", 0) if capture is None else (capture.text, capture.lost)
            shown = names.put_in(output), lost, trace
            if source.strip():
                self._keep(self._run(source, result.execution_count, shown))

    def _run(self, source: str, number: int | None, shown: tuple[str, int, str]) -> CellRun:
        """Return the run of the cell that has run now, with what it showed, lost and raised."""
        execution = _running(self._shell)
        names = (*labels_of(source), *execution.tags)
        key, is_lasting = execution.cell, True
        if key is None and names:
            key = digest(f"name {names[0]}")[:16]
        elif key is None:
            key, is_lasting = f"run {execution.id} {number}", False
        if is_ours(source):
            return CellRun(key, is_lasting, is_ours=True, number=number)
        return CellRun(key, is_lasting, False, number, source, names, *shown)

    def _keep(self, run: CellRun) -> None:
        before = self.runs.get(run.key)
        runs = {**self.runs, run.key: run}
        while len(runs) > MOST_CELLS:
            del runs[next(iter(runs))]
        self.runs = runs
        if before is not None and before.digest != run.digest:
            self._has_run_again(run.key)

    def _note_error(self, result: ExecutionResult, source: str, names: _CellNames) -> str:
        """Note the error of a cell that is not ours, and return it as text; empty for none."""
        error = result.error_before_exec or result.error_in_exec
        if error is None or isinstance(error, NO_ERRORS) or is_of_a_magic(error):
            return ""
        # With the first error.
        _lazy.load("chatmagic.jupyter.error_text")
        from chatmagic.jupyter import error_text  # noqa: PLC0415

        trace = error_text.of(error, names.of)
        self.error = NotedError(type(error).__name__, source, trace)
        return trace


def labels_of(source: str) -> tuple[str, ...]:
    """Return the labels that a cell's source gives it, as Quarto reads them.

    Args:
        source: what the cell says.
    """
    return tuple(match[2] for match in map(_LABEL.match, source.splitlines()) if match)


class _CellNames:
    """Names of cells, which Python knows by files that are others in each kernel.

    A cell's number would be another one when the notebook runs again.

    Args:
        shell: the shell that ran them.
        result: of "this cell".
    """

    def __init__(self, shell: InteractiveShell, result: ExecutionResult) -> None:
        """Look up nothing yet."""
        self._compile: Any = shell.compile
        self._info: Any = result.info
        # Without history an execution has no number, and its file has the one that comes next.
        self._number = result.execution_count or shell.execution_count

    def of(self, file: str) -> str | None:
        """Return what to call the cell that a file's name stands for; ``None`` for a file."""
        if self._compile.format_code_name(file) is None:
            return None
        return "this cell" if file == self._own else "another cell"

    def put_in(self, text: str) -> str:
        """Return a text that names cells in place of their files, as a warning names them."""
        if _KERNEL_FOLDER not in text:
            return text
        folder = self._own.rpartition(os.sep)[0]
        files = rf"{re.escape(folder)}[\\/]\d+\.py"
        return re.sub(files, lambda match: self.of(match[0]) or match[0], text)

    @cached_property
    def _own(self) -> str:
        raw = self._info.raw_cell
        # IPython 8 does not tell what it ran; ipykernel names a file by what was typed.
        code = getattr(self._info, "transformed_cell", None) or raw
        name: str = self._compile.get_code_name(raw, code, self._number)
        return name


def _running(shell: InteractiveShell) -> Execution:
    """Return the running execution; what that takes is loaded with the first cell that is noted."""
    _lazy.load("chatmagic.jupyter.execution")
    from chatmagic.jupyter.execution import running  # noqa: PLC0415

    return running(shell)
