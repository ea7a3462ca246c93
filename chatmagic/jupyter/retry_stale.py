"""``%chat_retry --stale``: the page runs the stale cells again, in order, as their reader would."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from chatmagic.conversation.history import IN_NOTEBOOK
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError
from chatmagic.jupyter import stale_cells, views
from chatmagic.jupyter.execution import running
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Collection

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.staleness import Causes
    from chatmagic.jupyter.bridge_messages import Started
    from chatmagic.jupyter.kernel import Kernel

FRESH: Final = "No cell is stale. Nothing was sent."
QUEUED: Final = "Nothing was run: other cells are running or waiting to run. Run this cell alone."


def retry_stale(kernel: Kernel) -> None:
    """Quote what asking the stale cells again takes, ask for a yes, and let the page run them.

    Raises:
        InputError: the answer is no.
    """
    execution = running(kernel.shell)
    conversation = kernel.session.conversation
    layout = kernel.layout(execution.cell)
    causes = conversation.causes(layout)
    stale = causes.by_cell()
    bridge = kernel.page.bridge
    page = bridge.listed_with(execution.cell) if bridge is not None and execution.is_live else ()
    # A cell that asked a question above it again runs where it stands.
    order = page or (layout and layout.order) or stale
    passed = {turn.owner for turn in conversation.known_turns().values() if turn.entry == "panel"}
    passed.add(execution.cell)
    cells = [cell for cell in order if cell in stale and cell not in passed]
    names = ", ".join(dict.fromkeys(_name(conversation, cell) for cell in cells))
    elsewhere = _elsewhere(conversation, causes, cells, execution.cell)
    if not cells:
        _show(f"{elsewhere} Nothing was sent.".lstrip() if elsewhere else FRESH)
        return
    quote = f"{stale_cells.quote(kernel.session, cells)}.{elsewhere}"
    if bridge is None or not page:
        _show(f"{quote} Run these cells, in this order: {names}. Nothing was sent.")
        return
    if input(f"{quote}\nRun their cells again? [y/N] ").strip().lower() not in {"y", "yes"}:
        raise InputError("The stale cells were not run. Nothing was sent.")

    words = f"{counted(len(cells), 'cell')} for this page to run again."
    put = views.show_until_known(_html(words), words)

    def heard(answer: Started) -> str:
        words = f"{_outcome(answer, names)}{elsewhere}"
        put(_html(words), words)
        return words

    bridge.run_cells(execution.cell, cells, heard)


def _name(conversation: Conversation, cell: str) -> str:
    """Return a stale cell's name for people; its question, where it has not run in this kernel."""
    label = conversation.label(cell)
    if label != IN_NOTEBOOK:
        return label
    held = ((owner, item) for owner, items in conversation.slots for item in items)
    turns = ((owner, item) for owner, item in held if isinstance(item, Turn))
    prompt = next(turn.as_typed for owner, turn in turns if cell in {owner, turn.owner})
    return f"the cell of “{one_line(prompt)}”"


def _elsewhere(
    conversation: Conversation, causes: Causes, cells: Collection[str], here: str | None
) -> str:
    """Return where the stale turns were asked that some cells do not ask again, as a sentence.

    Args:
        conversation: the turns.
        causes: what made them stale.
        cells: hashes of the cells that ask others again.
        here: hash of the running cell; ``None`` where the front end names none.
    """
    asked = {*cells, *filter(None, [here])}
    turns = [turn for turn in conversation if turn.owner not in asked and causes.of(turn.number)]
    places = dict.fromkeys(
        conversation.label(turn.owner) if turn.owner and turn.entry == "cell" else turn.asker
        for turn in turns
    )
    are = "is" if len(turns) == 1 else "are"
    stale = f"asked elsewhere {are} stale, too" if cells else f"{are} stale"
    where = f"{stale}: ask again in {', '.join(places)}."
    return f" {counted(len(turns), 'turn')} {where}" if turns else ""


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
