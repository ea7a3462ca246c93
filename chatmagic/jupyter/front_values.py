"""What stands in front of a question: the cells above it, cells with a tag, and the last error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from chatmagic.conversation.magic_line import ParsedLine
from chatmagic.conversation.question import Value
from chatmagic.conversation.window import QuestionPlace
from chatmagic.errors import InputError
from chatmagic.jupyter.cells.cells_above import with_markdown
from chatmagic.jupyter.cells.executed_cells import CellRun
from chatmagic.jupyter.cells.running_cell import Execution
from chatmagic.jupyter.kernel import Kernel
from chatmagic.safe_text import counted, one_line

ABOVE_LIMIT: Final = 50_000
"""Default of the setting ``above_limit``, in characters."""
_NO_MARKDOWN: Final = "the Markdown cells above are not sent, as the notebook's file is not known"
_NAME_IT: Final = (
    "JPY_SESSION_NAME=FILE names the notebook (of papermill, the one that it writes); "
    "--no-markdown sends none anywhere."
)
_SINCE: Final = "since chatmagic was loaded. Nothing was sent."


@dataclass(frozen=True, slots=True)
class AskingCell:
    """The cell that asks.

    Args:
        kernel: its kernel.
        options: the options of its question.
        execution: its execution.
    """

    kernel: Kernel
    options: ParsedLine
    execution: Execution


@dataclass(frozen=True, slots=True)
class FrontValues:
    """What stands in front of a question.

    Args:
        values: the values, in the order in which they are sent.
        notes: a line on each part that was left out.
    """

    values: tuple[Value, ...] = ()
    notes: tuple[str, ...] = ()


def values_in_front(asking: AskingCell) -> FrontValues:
    """Return what stands in front of a question, as its options say.

    Args:
        asking: the cell that asks.

    Raises:
        InputError: there is no such cell or error; nothing was sent.
    """
    options = asking.options
    error = _last_error(asking.kernel) if options.with_error else ()
    if not options.above and options.tag is None:
        return FrontValues(error)
    above, below = _around(asking)
    notes: tuple[str, ...] = ()
    nearest: list[CellRun] = []
    if options.above:
        above, notes = _with_markdown(asking, above)
        nearest, left_out = _nearest(asking, above)
        notes += left_out
    names = _places_above(nearest)
    if options.tag is not None:
        names |= _tagged(above, below, options.tag)
    # The cells above go along in their shortened form.
    runs = {run.key: run for run in (*above, *below, *nearest) if run.key in names}
    cells = (_value_of(run, names[key]) for key, run in runs.items())
    return FrontValues((*cells, *error), notes)


def _last_error(kernel: Kernel) -> tuple[Value, ...]:
    """Return the last error of a cell, as the only value in front of a question."""
    notes = kernel.settings.notes
    if notes is None or notes.error is None:
        raise InputError(f"No cell has raised an error {_SINCE}")
    return (notes.error,)


def _with_markdown(
    asking: AskingCell, above: list[CellRun]
) -> tuple[list[CellRun], tuple[str, ...]]:
    """Return the cells above with the Markdown cells, and a line if these are not known.

    The line is printed, too, where the reply's output does not have it.
    """
    kernel = asking.kernel
    audience = asking.execution.audience
    if not asking.options.markdown or audience == "text":
        return above, ()
    listed = with_markdown(kernel.shell, kernel.settings.notes, above)
    if listed is not None:
        return listed, ()
    _print_without_page(asking, f"Note: {_NO_MARKDOWN}. {_NAME_IT}")
    return above, (_NO_MARKDOWN,)


def _print_without_page(asking: AskingCell, note: str) -> None:
    """Print a note on a question that is sent without a page, as its output has no notes."""
    sends = not asking.options.dry and not asking.kernel.sends_nothing()
    if asking.execution.audience == "machine" and sends:
        asking.kernel.notify(note)


def _places_above(nearest: Sequence[CellRun]) -> dict[str, str]:
    """Return the names of cells by their keys, such as ``2 above``, counted from the nearest."""
    names: dict[str, str] = {}
    count = Counter[bool]()
    for run in reversed(nearest):
        count[run.is_markdown] += 1
        names[run.key] = f"{count[run.is_markdown]} above"
    return names


def _value_of(run: CellRun, name: str) -> Value:
    """Return a cell as a value in front of a question."""
    kind: Literal["markdown", "cell"] = "markdown" if run.is_markdown else "cell"
    return Value.of_text(name, run.text, kind, run.key if run.is_lasting else None)


def _around(asking: AskingCell) -> tuple[list[CellRun], list[CellRun]]:
    """Return the cells above the asking cell, and those below it, in order.

    The order is that of the page if it is known. Otherwise it is that of the cells' first runs, so
    that a notebook that runs again finds the same cells above a question.
    """
    owner = asking.execution.cell
    notes = asking.kernel.settings.notes
    runs = {} if notes is None else notes.runs
    layout = asking.kernel.layout(owner)
    order = list(runs)
    if layout is not None and owner in layout.order:
        order = [key for key in layout.order if key in runs or key == owner]
        # A cell that no page lists has run elsewhere, such as in a console.
        order += [key for key in runs if key not in layout.present and key not in order]
    place = order.index(owner) if owner in order else len(order)
    return [runs[key] for key in order[:place]], [runs[key] for key in order[place + 1 :]]


def _nearest(asking: AskingCell, above: list[CellRun]) -> tuple[list[CellRun], tuple[str, ...]]:
    """Return the cells above to be sent along, and a line on the parts that were left out."""
    wanted = asking.options.above
    if wanted == "new":
        above = _since_last_question(asking, above)
    cells = [run for run in above if not run.is_ours]
    if isinstance(wanted, int):
        return _newest_code_cells(cells, wanted), ()
    limit = asking.kernel.settings.above_limit
    return _within(cells, ABOVE_LIMIT if limit is None else limit)


def _newest_code_cells(cells: list[CellRun], count: int) -> list[CellRun]:
    """Return the last code cells with the Markdown cells between and below them.

    Args:
        cells: the cells above, from top to bottom.
        count: number of code cells, from 1; all if there are fewer.
    """
    code_places = [place for place, run in enumerate(cells) if not run.is_markdown]
    if not code_places:
        raise InputError(
            f"No cell above this one has run {_SINCE}", hint="%%chat cells are not counted."
        )
    first = code_places[-min(count, len(code_places))]
    return cells[first:]


def _since_last_question(asking: AskingCell, above: list[CellRun]) -> list[CellRun]:
    """Return the cells above that no question above has carried."""
    conversation = asking.kernel.session.conversation
    execution = asking.execution
    place = QuestionPlace(
        execution.cell,
        execution.id,
        order=asking.kernel.order(execution.cell),
        thread=asking.options.thread,
    )
    turns = conversation.above(place)
    # A question that was asked again carried the cells above its first place alone.
    asked = [conversation.known_turns.get(turn.first, turn) for turn in turns]
    # A question of this same execution has already carried the cells above.
    if execution.id in {turn.execution for turn in asked}:
        return []
    asking_cells = {turn.owner or turn.execution for turn in asked}
    first = 0
    for number, run in enumerate(above, 1):
        if run.key in asking_cells or run.execution in asking_cells:
            first = number
    return above[first:]


def _within(runs: list[CellRun], limit: int) -> tuple[list[CellRun], tuple[str, ...]]:
    """Return cells without the oldest outputs, if they are too long, and a line on these.

    Args:
        runs: the cells, oldest first; if their sources are too long, the oldest are left out.
        limit: largest number of characters of their texts.
    """
    kept = list(runs)
    size = sum(len(run.text) for run in runs)
    outputs = 0
    for at, run in enumerate(runs):
        if size <= limit:
            break
        if run.output:
            kept[at] = run.without_output
            size -= len(run.text) - len(kept[at].text)
            outputs += 1
    while size > limit:
        size -= len(kept.pop(0).text)
    parts = ((outputs, "output"), (len(runs) - len(kept), "whole cell"))
    left_out = " and ".join(counted(count, noun) for count, noun in parts if count)
    note = f"left out of the cells above: {left_out} (above_limit is {limit:,})"
    return kept, (note,) if left_out else ()


def _tagged(above: list[CellRun], below: list[CellRun], name: str) -> dict[str, str]:
    """Return a label or tag by the keys of its cells: the cells above, or else the cells below."""
    for runs in (above, below):
        if named := {run.key: name for run in runs if not run.is_ours and name in run.names}:
            return named
    raise InputError(
        f"No cell with the label or tag {one_line(name)} has run {_SINCE}",
        hint=f"Run the cell first; `#| label: {one_line(name)}` in its source names it.",
    )
