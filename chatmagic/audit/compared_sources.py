"""Sources of cells, compared with the outputs below them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from chatmagic.archive.notebook import Notebook, NotebookCell, SavedOutput
from chatmagic.audit.cell_code import Asking, may_display
from chatmagic.audit.cell_settings import AskedCell, CellSettings
from chatmagic.audit.findings import Audit
from chatmagic.conversation.cell_magics import MagicCall
from chatmagic.conversation.magic_line import typed_fields
from chatmagic.conversation.steering import Instructions, Steering


class SourceComparison:
    """Comparison of each cell's source with the outputs below it.

    Attributes:
        agrees: for each output with a record, whether a source asks for it; ``None`` for a cell
            whose code may ask.
        commands: the magics that left the outputs.
        lost: numbers of the cells whose turn is not in the file.

    Args:
        audit: gets the differences.
        notebook: the notebook.
        code: the cells whose code may ask.
        settings: the settings at each cell.
    """

    def __init__(
        self, audit: Audit, notebook: Notebook, code: Asking, settings: CellSettings
    ) -> None:
        """Compare nothing yet."""
        self.agrees: dict[SavedOutput, bool | None] = {}
        self.commands: dict[SavedOutput, MagicCall] = {}
        self.lost = [*notebook.unreadable]
        self._audit = audit
        self._notebook = notebook
        self._code = code
        self._settings = settings
        self._asked: list[AskedCell] = []

    def compare(self) -> None:
        """Compare all cells, and add the differences to the audit."""
        shown: dict[int, list[SavedOutput]] = defaultdict(list)
        for saved in self._notebook.outputs:
            shown[saved.cell].append(saved)
        for cell in self._notebook.cells:
            self._compare_cell(cell, shown[cell.number])
        for finding in self._settings.findings(self._asked):
            self._audit.add(finding)

    def _compare_cell(self, cell: NotebookCell, outputs: Sequence[SavedOutput]) -> None:
        """Compare a cell with its outputs."""
        pending = [command for command in cell.plan.commands if _must_leave_record(command)]
        """The magics whose output is not found yet."""
        repeatable = self._repeatable(cell)
        for saved in outputs:
            command = _first_fit(pending, saved)
            if command is not None:
                self._note_match(saved, command)
            elif (repeated := _first_fit(repeatable, saved)) is not None:
                self._note_match(saved, repeated)
            elif cell.number in self._code.shows:
                self.agrees[saved] = None
            else:
                command = next((other for other in pending if other.recorded == saved.kind), None)
                self._note_difference(saved, command)
            pending = [other for other in pending if other is not command]
        self._judge_rest(cell, outputs, pending)

    def _repeatable(self, cell: NotebookCell) -> list[MagicCall]:
        """Return the magics that may leave outputs of a cell, any number of times."""
        commands = []
        if cell.number in self._code.runs:
            commands += _functions_of(cell)
        if cell.number in self._code.calls:  # a function that another cell defines may ask here
            commands += [
                command for other in self._notebook.cells for command in _functions_of(other)
            ]
        return commands

    def _note_difference(self, saved: SavedOutput, command: MagicCall | None) -> None:
        """Note an output that no magic asks for; one that was edited has its fault already.

        Args:
            saved: the output.
            command: the magic that may have left it before an edit; ``None`` for none.
        """
        self.agrees[saved] = False
        if not saved.fault:
            self._audit.wrong(saved.cell, _difference(command, saved))

    def _note_match(self, saved: SavedOutput, command: MagicCall) -> None:
        """Note the magic that left an output."""
        self.agrees[saved] = True
        self.commands[saved] = command
        typed = command.parsed() if command.asks else None
        if typed is not None and saved.record is not None:
            implied = {"format"} if typed.schema is not None else set()
            fields = frozenset({*typed_fields(command.line), *implied})
            self._asked.append(AskedCell(saved.cell, saved.record, fields))

    def _judge_rest(
        self, cell: NotebookCell, outputs: Sequence[SavedOutput], pending: Sequence[MagicCall]
    ) -> None:
        """Judge the outputs of a cell without a record, and its magics that left none.

        Args:
            cell: the cell.
            outputs: its outputs with a record.
            pending: its magics without an output.
        """
        if self._settings.may_be_quiet(cell.number):
            pending = [command for command in pending if not command.asks]
        if any(command.asks for command in pending) or "reply" in cell.others:
            self.lost.append(cell.number)
        has_fault = cell.number in self._notebook.unreadable or any(
            saved.fault for saved in outputs
        )
        _judge_others(self._audit, cell, is_gone=bool(pending) and not has_fault)


def _judge_others(audit: Audit, cell: NotebookCell, *, is_gone: bool) -> None:
    """Add faults of a cell's outputs without a record, and of missing ones.

    Args:
        audit: gets the faults.
        cell: the cell.
        is_gone: whether a magic of it has left no output, and no other fault explains that.
    """
    others = cell.others
    plan = cell.plan
    is_ours = bool(plan.commands) and not plan.code
    shows = any(not command.recorded and not command.is_quiet for command in plan.commands)
    if "reply" in others and not may_display(cell.source):
        audit.wrong(cell.number, "its reply has no record: it was removed, or pasted")
    elif "output" in others and is_ours and not shows:
        audit.wrong(cell.number, "it shows something that chatmagic did not write")
    elif "error" in others and is_gone:
        audit.remark([cell.number], "it ended in an error, without a reply")
    elif is_gone and "live" not in others:
        words = "the output of its question is missing: not run, stripped, or cleared"
        audit.wrong(cell.number, words)
    if "warning" in others and is_ours:
        audit.remark([cell.number], "it shows a warning, which has no seal")


def _must_leave_record(command: MagicCall) -> bool:
    """Return whether a magic of a cell leaves a record when the cell runs."""
    return command.is_once and bool(command.recorded)


def _functions_of(cell: NotebookCell) -> list[MagicCall]:
    """Return the magics of a cell that run any number of times, as in a function or a loop."""
    return [command for command in cell.plan.commands if not command.is_once]


def _first_fit(commands: Sequence[MagicCall], saved: SavedOutput) -> MagicCall | None:
    """Return the first magic that leaves such an output; ``None`` without one."""
    return next((command for command in commands if _fits(command, saved)), None)


def _fits(command: MagicCall, saved: SavedOutput) -> bool:
    """Return whether a magic leaves such an output."""
    record = saved.record
    if command.recorded != saved.kind:
        return False
    if record is None or record.picked:
        return _is_typed(command, saved.steering)
    if not command.asks:
        is_rest = record.continues is not None
        return bool(record.in_place_of) and is_rest == (command.name == "chat_continue")
    parsed = command.parsed(record.parameters)
    if parsed is None or record.in_place_of or parsed.prompt != record.prompt.rstrip("\n"):
        return False
    has_values = any(value.kind is None for value in record.values)
    # A question for JSON takes the nearest schema above it.
    asked = parsed.parameters
    if parsed.format == "json" and record.parameters.get("schema") is not None:
        asked.setdefault("schema", record.parameters["schema"])
    return asked == record.parameters and not (parsed.raw and has_values)


def _is_typed(command: MagicCall, steering: Steering | None) -> bool:
    """Return whether a magic has the text of an output, if the output has one."""
    if re.search(r"(?<!\S)(?:\S*=)?[${]\w", command.line):
        return True  # a variable may hold any word
    if isinstance(steering, Instructions):
        file = steering.value.expression
        typed = Instructions.of_text(command.body or "").text
        return file in command.line if file else steering.text == typed
    words = re.sub("[=\"']|--delete\\b", " ", command.line).split()
    return steering is None or sorted(words) == sorted(steering.source.split()[1:])


def _difference(command: MagicCall | None, saved: SavedOutput) -> str:
    """Return the difference between an output and the magic that may have left it, in words."""
    if command is None or saved.record is None or not command.asks:
        noun = "reply" if saved.record is not None else saved.kind
        return f"its source does not ask for the {noun} below it: edited, moved, or pasted"
    parsed = command.parsed(saved.record.parameters)
    is_same = parsed is not None and parsed.prompt == saved.record.prompt.rstrip("\n")
    return f"its {'options were' if is_same else 'question was'} edited after it was asked"
