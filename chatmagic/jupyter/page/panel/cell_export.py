"""Turns of the panel as cells of the notebook, which can then be run again.

The page makes the cells, beside those whose turns stand beside theirs, with the reply as
their output. When they stand, each takes over the turn that it shows: run, it replaces
it, and no request ever carries both.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmagic.archive import output
from chatmagic.conversation import chat_cell, options
from chatmagic.conversation.record import owner_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from chatmagic.conversation.record import Record
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.page.messages import NewCell


def planned(
    turns: Sequence[Turn],
    wanted: Collection[int] | None,
    on_page: Sequence[str],
) -> list[NewCell]:
    """Return the cells to make, in order, and where.

    Args:
        turns: the live turns, in order.
        wanted: numbers of the panel's turns that are wanted; ``None`` is all.
        on_page: ids of the page's cells, from top to bottom.
    """
    ids: dict[str | None, str] = {owner_of(id): id for id in on_page}
    owners = [turn.owner for turn in turns]
    put = [turn.entry == "panel" and (wanted is None or turn.number in wanted) for turn in turns]
    shown = {
        turn.recorded_digest
        for turn, is_put in zip(turns, put, strict=True)
        if is_put or turn.shown
    }
    new: list[NewCell] = []
    for place, turn in enumerate(turns):
        if not put[place]:
            continue
        above = [ids[owner] for owner in owners[:place] if owner in ids]
        below = [ids[owner] for owner in owners[place + 1 :] if owner in ids]
        own = str(uuid.uuid4())
        ids[turn.owner] = own
        record = turn.record
        if record is not None:
            record = replace(record, owner=owner_of(own)).listing(turn.carried, shown)
        cell: NewCell = {"turn": turn.number, "cell": _cell(turn, own, record)}
        if above:
            cell["after"] = above[-1]
        elif below:
            cell["before"] = below[0]
        new.append(cell)
    return new


def _cell(turn: Turn, own: str, record: Record | None) -> dict[str, Any]:
    data, metadata = (
        (output.bundle(turn.reply), {}) if record is None else output.of_turn(turn.reply, record)
    )
    return {
        "cell_type": "code",
        "id": own,
        "source": chat_cell.source_for(turn.as_typed, *options.typed_options(turn)),
        "metadata": {},
        "outputs": [{"output_type": "display_data", "data": data, "metadata": metadata}],
        "execution_count": None,
    }
