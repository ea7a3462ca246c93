"""``%chat_retry --stale``: the page runs the stale cells again, in order, as their reader would."""

from __future__ import annotations

import contextvars
from html import escape
from typing import TYPE_CHECKING, Final

from IPython.display import DisplayHandle

from chatmagic.archive import output
from chatmagic.errors import InputError
from chatmagic.jupyter import stale_cells, views
from chatmagic.jupyter.execution import running
from chatmagic.text import counted

if TYPE_CHECKING:
    from chatmagic.jupyter.bridge_messages import Started
    from chatmagic.jupyter.kernel import Kernel

FRESH: Final = "No cell is stale. Nothing was sent."
QUEUED: Final = "Nothing was run: other cells are running or waiting to run. Run this cell alone."


def retry_stale(kernel: Kernel) -> None:
    """Quote what asking the stale cells again takes, ask for a yes, and let the page run them.

    Args:
        kernel: the kernel.

    Raises:
        InputError: the answer is no.
    """
    execution = running(kernel.shell)
    conversation = kernel.session.conversation
    layout = kernel.layout(execution.cell)
    cells = [*conversation.causes(layout).by_cell()]
    if layout is not None and layout.order is not None:
        # A cell that asked a question above it again runs where it stands.
        place = {cell: place for place, cell in enumerate(layout.order)}
        cells.sort(key=lambda cell: place.get(cell, -1))
    cells = [cell for cell in cells if cell != execution.cell]
    names = ", ".join(map(conversation.label, cells))
    if not cells:
        _show(FRESH)
        return
    quote = f"{stale_cells.quote(kernel.session, cells)}."
    bridge = kernel.page.bridge
    if not execution.is_live or bridge is None or not bridge.has_page(execution.cell, cells):
        _show(f"{quote} Run these cells, in this order: {names}. Nothing was sent.")
        return
    if input(f"{quote}\nRun their cells again? [y/N] ").strip().lower() not in {"y", "yes"}:
        raise InputError("The stale cells were not run. Nothing was sent.")
    shown = DisplayHandle()
    context = contextvars.copy_context()

    def heard(answer: Started) -> str:
        words = _outcome(answer, names)
        data, metadata = output.note(_html(words), words)
        context.run(shown.update, data, metadata=metadata, raw=True)
        return words

    words = f"{counted(len(cells), 'cell')} for this page to run again."
    data, metadata = output.note(_html(words), words)
    # An output that is shown while the cell runs can be changed when the page has answered.
    shown.display(data, metadata=metadata, raw=True)
    bridge.run_cells(execution.cell, cells, heard)


def _outcome(answer: Started, names: str) -> str:
    """Return what became of the cells, in words."""
    if answer["outcome"] == "queued":
        return QUEUED
    cells = counted(answer["count"], "cell")
    if answer["outcome"] == "started":
        return f"Running {cells} again, in order."
    return f"This page started {cells}. Run the others by hand, of: {names}."


def _show(words: str) -> None:
    views.show_html(_html(words), words)


def _html(words: str) -> str:
    return f'<div class="chatmagic"><p>{escape(words)}</p></div>'
