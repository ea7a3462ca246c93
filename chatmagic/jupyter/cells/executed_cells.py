"""Notes on the user's own cells: the source, the output and the error of each."""

from __future__ import annotations

import bdb
import os
import re
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from chatmagic._cached import cached_property
from chatmagic._json import digest
from chatmagic._log import swallowed
from chatmagic.conversation import cell_magics, template
from chatmagic.conversation.question import Value
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.jupyter.cells.cell_traceback import traceback_text
from chatmagic.jupyter.cells.running_cell import running

MAGICS: Final = "chatmagic.jupyter.magics"
"""The module whose functions stand in the traceback of a magic's error."""
NO_ERRORS: Final = (KeyboardInterrupt, SystemExit, bdb.BdbQuit)
"""Exceptions by which a person stops a cell; they are no errors to correct."""
_LABEL: Final = re.compile(r"""\s*#\|\s*label:\s*(["']?)(\S+)\1\s*$""")
_SETTING: Final = re.compile(r"\s*%(?:config\s+ChatMagics|(?:re|un)?load_ext\s+chatmagic)\b")


def is_ours(source: str) -> bool:
    """Return whether a cell holds only commands of chatmagic and its settings.

    Args:
        source: the cell's source.
    """
    plan = cell_magics.plan_of(source)
    others = plan.code.splitlines()
    return bool(plan.commands or others) and all(map(_SETTING.match, others))


@dataclass(frozen=True)
class CellRun:
    """Latest run of one cell: its source, its output, and its error.

    Args:
        key: key of the cell: the hash of its identity, or else of its label, or else the identity
            of the execution.
        is_lasting: whether another execution of the cell has the same key.
        is_ours: whether it holds only commands of chatmagic; then nothing else is noted.
        number: its number on the screen.
        source: its source.
        names: its labels and tags.
        output: its output, as text.
        lost: number of further characters of its output, which are not sent.
        trace: the error that it raised, as text; empty for none.
        is_markdown: whether it is a Markdown cell, which does not run.
        execution: identity of this run; ``None`` is unknown.
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
    execution: str | None = None
    is_markdown: bool = False

    @property
    def without_output(self) -> CellRun:
        """The same run without its output, to be sent along."""
        lost = self.lost + len(self.output)
        return replace(self, is_lasting=False, output="", lost=lost)

    @cached_property
    def text(self) -> str:
        """The cell's text in a request."""
        if self.is_markdown:
            return template.markdown_text(self.source)
        return template.cell_text(
            self.source, self.output, len(self.output) + self.lost, self.trace
        )

    @cached_property
    def digest(self) -> str:
        """The digest of that text."""
        return Value.of_text("", self.text).sha256


class KeptOutput:
    """Output of one cell as IPython itself keeps it; no function of the shell is wrapped.

    IPython keeps results always. Since release 9.1 it keeps printed text, but in a kernel not that
    of a cell with ``await``. It keeps displays in a terminal, and in a kernel if the trait
    ``store_display_history`` of the display publisher is set.

    Args:
        shell: the shell, which begins to run the cell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Note the outputs of earlier cells: without history, many cells have the same number."""
        self._history: Any = shell.history_manager
        # IPython keeps an output under the cell's number or the next one, by release and kind.
        self._numbers = shell.execution_count - 1, shell.execution_count
        self._before = [
            (len(outputs), len(outputs[-1].bundle.get("stream", "")) if outputs else 0)
            for outputs in self._outputs()
        ]

    def text(self, result: ExecutionResult) -> str:
        """Return the cell's output as it stands on the screen; the result comes last.

        Args:
            result: the result of the cell, which has run.
        """
        error = result.error_before_exec or result.error_in_exec
        # Python itself prints an error that has a group in it; the error is noted by itself.
        trace = "" if error is None else "".join(traceback.format_exception(error))
        texts = [text.replace(trace, "") if trace else text for text in self._texts(result)]
        return "\n".join(filter(None, (template.as_shown(text).strip("\n") for text in texts)))

    def _outputs(self) -> list[list[Any]]:
        """Return the outputs kept under each number; none before IPython 9.1."""
        kept = getattr(self._history, "outputs", {})
        return [kept.get(number, []) for number in self._numbers]

    def _texts(self, result: ExecutionResult) -> Iterator[str]:
        """Yield the texts of a cell's new outputs, its result last."""
        new: list[Any] = []
        for (begin, printed), outputs in zip(self._before, self._outputs(), strict=True):
            earlier = outputs[:begin]
            if earlier:
                # Printed text may continue a stream that the cell before has begun.
                yield "".join(earlier[-1].bundle.get("stream", "")[printed:])
            new += outputs[begin:]
        for output in sorted(new, key=lambda output: output.output_type == "execute_result"):
            stream = output.bundle.get("stream")
            yield displayed_text(output.bundle) if stream is None else "".join(stream)
        value: object = result.result
        if value is not None and not hasattr(self._history, "outputs"):
            yield self._history.output_hist_reprs.get(self._numbers[-1], "")


def displayed_text(data: Mapping[str, Any]) -> str:
    """Return a display as text; a picture is only named.

    Args:
        data: the data of the display, by media type.
    """
    plain = str(data.get("text/plain", ""))
    if plain.startswith("<IPython.core.display.") or not plain:
        for kind in ("text/markdown", "text/latex"):
            if isinstance(data.get(kind), str):
                return str(data[kind])
    if pictures := [kind for kind in data if kind.startswith("image/")]:
        return f"[picture, {pictures[0]}, which is not sent: {plain}]"
    return plain


class CellNames:
    """Names of cells in place of the file names that Python has for them.

    A file name differs in each kernel, and a cell's number in each run. So there are only two
    names: "this cell" and "another cell".

    Args:
        shell: the shell that ran the cells.
        result: the result of "this cell".
    """

    def __init__(self, shell: InteractiveShell, result: ExecutionResult) -> None:
        """Find the name that the kernel gives the cell's file."""
        self._compile: Any = shell.compile
        info: Any = result.info
        # IPython 8 does not keep the source that it ran; ipykernel names a file by the typed one.
        code = getattr(info, "transformed_cell", None) or info.raw_cell
        # Without history an execution has no number, and its file has the next number.
        number = result.execution_count or shell.execution_count
        self._own: str = self._compile.get_code_name(info.raw_cell, code, number)

    def name_of(self, file: str) -> str | None:
        """Return the name of the cell for a file's name; ``None`` for a file of no cell.

        Args:
            file: the file's name in a traceback.
        """
        if self._compile.format_code_name(file) is None:
            return None
        return "this cell" if file == self._own else "another cell"

    def put_in(self, text: str) -> str:
        """Return a text, such as a warning, with cells' names in place of their files' names.

        Args:
            text: a cell's output.
        """
        folder = self._own.rpartition(os.sep)[0]
        files = rf"{re.escape(folder)}[\\/]\d+\.py"
        return re.sub(files, lambda match: self.name_of(match[0]) or match[0], text)


MOST_CELLS: Final = 1_000
"""Largest number of kept cells; without cells' names, each execution counts as a cell."""

A_CELL: Final = "a cell of the notebook"
"""Name of a cell that has not run in this kernel."""


@dataclass(frozen=True, slots=True)
class _RunningCell:
    """A cell that runs.

    Args:
        execution: identity of its execution.
        source: its source.
        output: its output as IPython keeps it; ``None`` for a cell of commands.
    """

    execution: str | None
    source: str
    output: KeptOutput | None


class CellNotes(Mapping[str, str]):
    """Notes on the cells that one shell has run: a mapping from each key to a digest of the cell.

    Args:
        shell: the shell.
        on_change: called with the key of a cell whose source, output or error has changed.
    """

    def __init__(self, shell: InteractiveShell, on_change: Callable[[str], object]) -> None:
        """Start with the running cell."""
        self.error: Value | None = None
        """The last error of one of the user's cells, to be sent along; ``None`` for none."""
        self.runs: dict[str, CellRun] = {}
        """The last run of each cell, in the order of their first runs."""
        self.sources: deque[tuple[str, str]] = deque(maxlen=MOST_CELLS)
        """Key and source of each run, in order."""
        self.markdown: dict[str, CellRun] = {}
        """The Markdown cells that were listed above a question."""
        self._shell = shell
        self._on_change = on_change
        self._running: _RunningCell | None = None
        """The running cell; ``None`` between two cells."""
        self._is_interrupted = False
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._note)

    def close(self) -> None:
        """Note nothing more."""
        self._shell.events.unregister("pre_run_cell", self._begin)
        self._shell.events.unregister("post_run_cell", self._note)

    def __getitem__(self, key: str) -> str:
        """Return the digest of a cell's source, output and error."""
        return (self.runs.get(key) or self.markdown[key]).digest

    def __iter__(self) -> Iterator[str]:
        """Iterate over the cells' keys."""
        return iter({**self.runs, **self.markdown})

    def __len__(self) -> int:
        """Return the number of cells."""
        return len({**self.runs, **self.markdown})

    def label(self, key: str) -> str:
        """Return a cell's name for people, with its number if it has one.

        Args:
            key: the cell's key in :attr:`runs`.
        """
        run = self.runs.get(key)
        if key in self.markdown:
            return "a Markdown cell"
        return A_CELL if run is None or run.number is None else f"cell [{run.number}]"

    def raise_interrupt(self) -> None:
        """Raise the interrupt that arrived while the notes of this cell began.

        Raises:
            KeyboardInterrupt: the interrupt, which IPython swallows in a hook, so that the cell
                goes on.
        """
        if self._is_interrupted:
            self._is_interrupted = False
            raise KeyboardInterrupt

    def _begin(self, info: ExecutionInfo | None = None) -> None:
        """Note the cell that begins; keep an interrupt for :meth:`raise_interrupt`."""
        try:
            self._is_interrupted = False
            with swallowed():
                if info is None or not self._is_cell(info):
                    return
                execution = running(self._shell)
                if self._running is not None and execution.id == self._running.execution:
                    return  # this cell runs inside another one, which gets its outputs
                source = str(info.raw_cell)
                output = None if is_ours(source) else KeptOutput(self._shell)
                self._running = _RunningCell(execution.id, source, output)
        except KeyboardInterrupt:
            self._is_interrupted = True

    def _is_cell(self, info: ExecutionInfo) -> bool:
        """Return whether an execution is a notebook's cell, and no query of an editor."""
        if info.store_history:
            return True
        # nbval runs cells without history.
        return not info.silent and running(self._shell).audience == "machine"

    def _note(self, result: ExecutionResult | None = None) -> None:
        """Note a cell that has run."""
        if result is None or result.info is None or not self._is_cell(result.info):
            return
        # A failure here must not become an error of the user's own cell.
        with swallowed():
            source = str(result.info.raw_cell)
            cell = self._running
            if cell is not None and cell.source != source:
                return  # this cell ran inside another one
            self._running = None
            names = CellNames(self._shell, result)
            trace = "" if is_ours(source) else self._note_error(result, source, names)
            output = ""
            if cell is not None and cell.output is not None:
                output = names.put_in(cell.output.text(result))
            if source.strip():
                run = self._run_of(source, result.execution_count, output, trace)
                self.sources.append((run.key, source))
                self._keep(run)

    def _run_of(self, source: str, number: int | None, output: str, trace: str) -> CellRun:
        """Return the run of the cell that has just run; for a cell of commands, only its place."""
        execution = running(self._shell)
        labels = [match[2] for match in map(_LABEL.match, source.splitlines()) if match]
        names = (*labels, *execution.tags)
        key = execution.cell or (digest(f"name {names[0]}")[:16] if names else None)
        is_lasting = key is not None
        key = key or f"run {execution.id} {number}"
        run = CellRun(key, is_lasting, is_ours(source), number, execution=execution.id)
        if run.is_ours:
            return run
        kept = output[: template.MOST]
        lost = max(0, len(output) - template.MOST)
        return replace(run, source=source, names=names, output=kept, lost=lost, trace=trace)

    def _keep(self, run: CellRun) -> None:
        """Keep the last run of a cell, and tell that a known cell has another content."""
        before = self.runs.get(run.key)
        runs = {**self.runs, run.key: run}
        while len(runs) > MOST_CELLS:
            del runs[next(iter(runs))]
        self.runs = runs
        if before is not None and before.digest != run.digest:
            self._on_change(run.key)

    def edit_markdown(self, sources: Mapping[str, str]) -> None:
        """Note the new sources of Markdown cells, if they were listed above a question.

        Args:
            sources: the new sources, by the cells' keys.
        """
        known = self.markdown
        self.take_markdown(
            replace(known[key], source=text) for key, text in sources.items() if key in known
        )

    def take_markdown(self, cells: Iterable[CellRun]) -> None:
        """Note the present text of Markdown cells.

        Args:
            cells: the Markdown cells, or some of them.
        """
        for cell in cells:
            before = self.markdown.get(cell.key)
            # Other threads read the mapping meanwhile.
            self.markdown = {**self.markdown, cell.key: cell}
            if before is not None and before.source != cell.source:
                self._on_change(cell.key)

    def _note_error(self, result: ExecutionResult, source: str, names: CellNames) -> str:
        """Note the error of one of the user's cells, and return it as text; empty for none."""
        error = result.error_before_exec or result.error_in_exec
        if error is None or isinstance(error, NO_ERRORS) or is_of_a_magic(error):
            return ""
        trace = traceback_text(error, names.name_of)
        text = template.error_text(source, trace)
        self.error = Value.of_text(type(error).__name__, text, "error")
        return trace


def is_of_a_magic(error: object) -> bool:
    """Return whether an error of chatmagic was raised by a magic, not by the user's own call.

    Args:
        error: the exception of a cell; any other value gives ``False``.
    """
    if not isinstance(error, (ChatError, ChatInterrupted)):
        return False
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__") == MAGICS for frame, _ in frames)
