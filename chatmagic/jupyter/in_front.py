"""Values in front of a question, by the options of its cell: cells, and the last error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.conversation import attachments, options
from chatmagic.conversation.request_facts import Value
from chatmagic.errors import InputError
from chatmagic.text import one_line

if TYPE_CHECKING:
    from chatmagic.conversation.chat_line import ParsedLine
    from chatmagic.jupyter.cell_run import CellRun
    from chatmagic.jupyter.kernel import Kernel

NO_ERROR: Final = "No cell has raised an error since chatmagic was loaded. Nothing was sent."
_SINCE: Final = "has run since chatmagic was loaded. Nothing was sent."


def of(kernel: Kernel, parsed: ParsedLine, owner: str | None) -> tuple[Value, ...]:
    """Return what goes in front of a question, in order; a cell goes along once.

    Args:
        kernel: the kernel.
        parsed: the options of the cell that asks.
        owner: hash of that cell; ``None`` without one.

    Raises:
        InputError: there is no such cell or error; nothing is sent.
    """
    above, below = _around(kernel, owner)
    named: dict[str, str] = {}
    if parsed.above is not None:
        named |= _nearest(above, parsed.above)
    if parsed.tag is not None:
        named |= _tagged(above, below, parsed.tag)
    if parsed.cells is not None:
        named |= _numbered([*above, *below], parsed.cells)
    cells = [
        Value.of(named[run.key], run.text, "cell", run.key if run.is_lasting else None)
        for run in (*above, *below)
        if run.key in named
    ]
    return (*cells, _error(kernel)) if parsed.with_error else tuple(cells)


def _around(kernel: Kernel, owner: str | None) -> tuple[list[CellRun], list[CellRun]]:
    """Return the cells that are not ours above the one that asks and below it, in order.

    They stand as on its page where the page tells; otherwise in the order in which they ran
    first, so that a notebook that runs again finds the same cells above a question.
    """
    notes = kernel.settings.notes
    runs = {} if notes is None else notes.runs
    layout = kernel.layout(owner)
    order = list(runs)
    if layout is not None and layout.order is not None and owner in layout.order:
        order = [key for key in layout.order if key in runs or key == owner]
        # What no page lists has run elsewhere, such as in a console.
        order += [key for key in runs if key not in layout.present and key not in order]
    place = order.index(owner) if owner in order else len(order)
    above = [runs[key] for key in order[:place] if not runs[key].is_ours]
    below = [runs[key] for key in order[place + 1 :] if not runs[key].is_ours]
    return above, below


def _nearest(above: list[CellRun], count: int) -> dict[str, str]:
    """Return the names of the nearest cells above, by their keys."""
    if not above:
        raise InputError(f"No cell above this one {_SINCE}", hint="%%chat cells are not counted.")
    nearest = above[-count:]
    return {run.key: f"{len(nearest) - n} above" for n, run in enumerate(nearest)}


def _tagged(above: list[CellRun], below: list[CellRun], name: str) -> dict[str, str]:
    """Return the name of the cells that carry it, by their keys: of those above, if there are."""
    for runs in (above, below):
        if named := {run.key: name for run in runs if name in run.names}:
            return named
    raise InputError(
        f"No cell with the label or tag {one_line(name)} {_SINCE}",
        hint=f"Run the cell first; `#| label: {one_line(name)}` in its source names it.",
    )


def _numbered(runs: list[CellRun], numbers: str) -> dict[str, str]:
    """Return the names of the cells with these numbers, by their keys."""
    named: dict[str, str] = {}
    for first, last in options.ranges(numbers):
        part = {
            run.key: f"[{run.number}]"
            for run in runs
            if run.number is not None and first <= run.number <= last
        }
        if not part:
            shown = f"number {first}" if first == last else f"a number from {first} to {last}"
            raise InputError(
                f"No cell with {shown} {_SINCE}",
                hint="The number of a cell's last run counts; %%chat cells do not go along.",
            )
        named |= part
    return named


def _error(kernel: Kernel) -> Value:
    notes = kernel.settings.notes
    error = None if notes is None else notes.error
    if error is None:
        raise InputError(NO_ERROR)
    return Value.of(error.kind, attachments.error(error.source, error.trace), "error")
