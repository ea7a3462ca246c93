"""Notes of the cells that are not ours: what each says and showed, and the error that it raised."""

from __future__ import annotations

import bdb
import os
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from chatmagic._json import digest
from chatmagic._log import swallowed
from chatmagic.conversation import attachments
from chatmagic.conversation.request_facts import Value
from chatmagic.jupyter.cells import error_text
from chatmagic.jupyter.cells.execution import running
from chatmagic.jupyter.cells.shell_hooks import is_of_a_magic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell


NO_ERRORS: Final = (KeyboardInterrupt, SystemExit, bdb.BdbQuit)
"""What a person raises to stop a cell; it is nothing to correct."""
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
        lost: how many more characters it showed, which do not go along.
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
        return attachments.cell_text(
            self.source, self.output, len(self.output) + self.lost, self.trace
        )

    @cached_property
    def digest(self) -> str:
        """The digest of that text."""
        return Value.of("", self.text).sha256


def cell_run_of(
    shell: InteractiveShell, source: str, number: int | None, output: str, trace: str
) -> CellRun:
    """Return the run of the cell that has run now.

    Args:
        shell: the shell that ran it.
        source: what it says.
        number: its number on the screen.
        output: what it showed, as text.
        trace: the error that it raised, as text; empty for none.
    """
    execution = running(shell)
    names = (*labels_of(source), *execution.tags)
    key, is_lasting = execution.cell, True
    if key is None and names:
        key = digest(f"name {names[0]}")[:16]
    elif key is None:
        key, is_lasting = f"run {execution.id} {number}", False
    if is_ours(source):
        return CellRun(key, is_lasting, is_ours=True, number=number)
    kept = output[: attachments.MOST]
    lost = len(output) - len(kept)
    return CellRun(key, is_lasting, False, number, source, names, kept, lost, trace)


class KeptOutput:
    """Output of one cell as IPython keeps it, so that nothing has to be wrapped to note it.

    IPython keeps what a cell prints since its release 9.1, but in a kernel not of a cell with
    ``await``; results always; displays in a terminal, and in a kernel where the trait
    ``store_display_history`` of its display publisher is set.

    Args:
        shell: the shell, which begins to run the cell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Note what there is: without history, many cells have one number."""
        self._history: Any = shell.history_manager
        # The number of the cell, or the one behind it: that differs by release and kind of output.
        self._numbers = shell.execution_count - 1, shell.execution_count
        self._before = [
            (len(outputs), len(outputs[-1].bundle.get("stream", "")) if outputs else 0)
            for outputs in self._outputs()
        ]

    def text(self, result: ExecutionResult) -> str:
        """Return what the cell showed, as it is left to see; its result comes last.

        Args:
            result: of the cell, which has run.
        """
        error = result.error_before_exec or result.error_in_exec
        # Python itself prints an error that has a group in it; the error goes along by itself.
        trace = "" if error is None else "".join(traceback.format_exception(error))
        texts = [text.replace(trace, "") if trace else text for text in self._texts(result)]
        return "\n".join(filter(None, (attachments.as_shown(text).strip("\n") for text in texts)))

    def _outputs(self) -> list[list[Any]]:
        """Return the outputs kept under each number; none before IPython 9.1."""
        kept = getattr(self._history, "outputs", {})
        return [kept.get(number, []) for number in self._numbers]

    def _texts(self, result: ExecutionResult) -> Iterator[str]:
        new: list[Any] = []
        for (begin, printed), outputs in zip(self._before, self._outputs(), strict=True):
            # What a cell prints is added to a stream that the cell before has begun.
            for output in outputs[:begin][-1:]:
                yield "".join(output.bundle.get("stream", "")[printed:])
            new += outputs[begin:]
        for output in sorted(new, key=lambda output: output.output_type == "execute_result"):
            stream = output.bundle.get("stream")
            yield text_of(output.bundle) if stream is None else "".join(stream)
        value: object = result.result
        if value is not None and not hasattr(self._history, "outputs"):
            yield self._history.output_hist_reprs.get(self._numbers[-1], "")


def text_of(data: Mapping[str, Any]) -> str:
    """Return a display as text; a picture is named.

    Args:
        data: what was displayed, by media type.
    """
    plain = str(data.get("text/plain", ""))
    if plain.startswith("<IPython.core.display.") or not plain:
        for kind in ("text/markdown", "text/latex"):
            if isinstance(data.get(kind), str):
                return str(data[kind])
    if pictures := [kind for kind in data if kind.startswith("image/")]:
        return f"[picture, {pictures[0]}, which is not sent: {plain}]"
    return plain


def labels_of(source: str) -> tuple[str, ...]:
    """Return the labels that a cell's source gives it, as Quarto reads them.

    Args:
        source: what the cell says.
    """
    return tuple(match[2] for match in map(_LABEL.match, source.splitlines()) if match)


class CellNames:
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

    def name_of(self, file: str) -> str | None:
        """Return what to call the cell that a file's name stands for; ``None`` for a file.

        Args:
            file: its name, as a traceback has it.
        """
        if self._compile.format_code_name(file) is None:
            return None
        return "this cell" if file == self._own else "another cell"

    def put_in(self, text: str) -> str:
        """Return a text that names cells in place of their files, as a warning names them.

        Args:
            text: what a cell showed.
        """
        if _KERNEL_FOLDER not in text:
            return text
        folder = self._own.rpartition(os.sep)[0]
        files = rf"{re.escape(folder)}[\\/]\d+\.py"
        return re.sub(files, lambda match: self.name_of(match[0]) or match[0], text)

    @cached_property
    def _own(self) -> str:
        raw = self._info.raw_cell
        # IPython 8 does not tell what it ran; ipykernel names a file by what was typed.
        code = getattr(self._info, "transformed_cell", None) or raw
        name: str = self._compile.get_code_name(raw, code, self._number)
        return name


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
        """Return a cell's name for people, by its number where it has one.

        Args:
            key: of the cell, in :attr:`runs`.
        """
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
            execution = running(self._shell)
            if self._source is not None and execution.id == self._execution:
                return  # a cell that runs another one shows what that shows
            self._execution, self._source = execution.id, str(info.raw_cell)
            self._output = None
            if not is_ours(self._source):
                self._output = KeptOutput(self._shell)

    def _is_cell(self, info: ExecutionInfo) -> bool:
        """Return whether an execution is a notebook's cell, and no look-up of an editor's own."""
        if info.store_history:
            return True
        # nbval runs cells without history.
        return not info.silent and running(self._shell).audience == "machine"

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
            names = CellNames(self._shell, result)
            trace = "" if is_ours(source) else self._note_error(result, source, names)
            output = "" if kept is None else names.put_in(kept.text(result))
            if source.strip():
                self._keep(cell_run_of(self._shell, source, result.execution_count, output, trace))

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
        if error is None or isinstance(error, NO_ERRORS) or is_of_a_magic(error):
            return ""
        trace = error_text.traceback_text(error, names.name_of)
        self.error = NotedError(type(error).__name__, source, trace)
        return trace
