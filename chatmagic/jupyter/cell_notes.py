"""Notes of the cells that are not ours, from the load of the extension on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from chatmagic._log import swallowed
from chatmagic.jupyter import cell_run, error_text
from chatmagic.jupyter.results import is_of_a_magic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

    from chatmagic.jupyter.cell_run import CellNames, CellRun, KeptOutput, NotedError

MOST_CELLS: Final = 1_000
"""How many cells are kept; where a front end names none, each execution is another one."""

A_CELL: Final = "a cell of the notebook"
"""Name of a cell that has not run in this kernel."""


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
        self._output: KeptOutput | None = None
        self._execution: str | None = None
        self._source: str | None = None
        """What the running cell says; ``None`` between two cells."""
        self._is_interrupted = False
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._note)

    def close(self) -> None:
        """Note nothing more."""
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
        """Return a cell's name for people, by its number where it has one."""
        run = self.runs.get(key)
        return A_CELL if run is None or run.number is None else f"cell [{run.number}]"

    def raise_interrupt(self) -> None:
        """Raise the interrupt that came while the notes of this cell began.

        Raises:
            KeyboardInterrupt: IPython itself lets no interrupt of a hook out, and the cell runs.
        """
        if self._is_interrupted:
            self._is_interrupted = False
            raise KeyboardInterrupt

    def _begin(self, info: ExecutionInfo | None = None) -> None:
        """Note which cell begins; keep an interrupt for the cell that asks."""
        try:
            self._is_interrupted = False
            if info is not None and self._is_cell(info):
                self._note_begin(info)
        except KeyboardInterrupt:
            self._is_interrupted = True

    def _note_begin(self, info: ExecutionInfo) -> None:
        """Note the cell that begins, and where its outputs do."""
        with swallowed():
            execution = cell_run.running(self._shell)
            if self._source is not None and execution.id == self._execution:
                return  # a cell that runs another one shows what that shows
            self._execution, self._source = execution.id, str(info.raw_cell)
            self._output = None
            if not cell_run.is_ours(self._source):
                self._output = cell_run.KeptOutput(self._shell)

    def _is_cell(self, info: ExecutionInfo) -> bool:
        """Return whether an execution is a notebook's cell, and no look-up of an editor's own."""
        if info.store_history:
            return True
        # nbval runs cells without history.
        return not info.silent and cell_run.running(self._shell).audience == "machine"

    def _note(self, result: ExecutionResult | None = None) -> None:
        """Take note of a cell that has run."""
        if result is None or result.info is None or not self._is_cell(result.info):
            return
        # Nothing of this is worth an error under the user's own cell.
        with swallowed():
            source = str(result.info.raw_cell)
            if self._source not in {None, source}:
                return  # of a cell that another one has run
            kept, self._output, self._source = self._output, None, None
            names = cell_run.CellNames(self._shell, result)
            trace = "" if cell_run.is_ours(source) else self._note_error(result, source, names)
            output = "" if kept is None else names.put_in(kept.text(result))
            if source.strip():
                self._keep(cell_run.of(self._shell, source, result.execution_count, output, trace))

    def _keep(self, run: CellRun) -> None:
        before = self.runs.get(run.key)
        runs = {**self.runs, run.key: run}
        while len(runs) > MOST_CELLS:
            del runs[next(iter(runs))]
        self.runs = runs
        if before is not None and before.digest != run.digest:
            self._has_run_again(run.key)

    def _note_error(self, result: ExecutionResult, source: str, names: CellNames) -> str:
        """Note the error of a cell that is not ours, and return it as text; empty for none."""
        error = result.error_before_exec or result.error_in_exec
        if error is None or isinstance(error, cell_run.NO_ERRORS) or is_of_a_magic(error):
            return ""
        trace = error_text.of(error, names.of)
        self.error = cell_run.NotedError(type(error).__name__, source, trace)
        return trace
