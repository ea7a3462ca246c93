"""State of a conversation that follows the cells of its pages (rules 5, 12 and 13).

The rules are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.slots import Slot, arranged
from chatmagic.conversation.state import Change, State
from chatmagic.conversation.steering import Item
from chatmagic.conversation.undo_history import UndoStep


def followed(state: State, layout: Layout) -> tuple[State, Change | None]:
    """Return the state that follows the pages, and the change if turns were left out.

    Cells first take over slots (rule 13), then turns come back or are left out (rule 12), and at
    last the slots move (rule 5).

    Args:
        state: the state before.
        layout: the order of the cells.
    """
    now = _taken_over(state, layout)
    owners = {slot.owner for slot in now.slots if slot.owner is not None}
    for owner in (now.away - layout.gone) & owners:
        now = _brought_back(now, owner)
    newly_gone = layout.gone - now.away
    emptied: dict[int, tuple[Item, ...]] = {
        slot.key: () for slot in now.slots if slot.items and slot.owner in newly_gone
    }
    change = None
    if emptied:
        now, change = now.changed("removal", emptied)
    return replace(now, slots=arranged(now.slots, layout.order), away=layout.gone), change


def _taken_over(state: State, layout: Layout) -> State:
    """Return the state in which cells take over the slots that their records name (rule 13)."""
    slots = list(state.slots)
    away = state.away
    known = {slot.owner for slot in slots}
    for cell, named in layout.named.items():
        index = None if cell in known else _index_of_missing(slots, named, layout.present)
        if index is None:
            continue
        if slots[index].owner in away:
            # The items that were left out with the old cell come back with the new one.
            away |= {cell}
        slots[index] = slots[index].of_cell(cell)
    return replace(state, slots=tuple(slots), away=away)


def _index_of_missing(slots: Sequence[Slot], named: str, present: Collection[str]) -> int | None:
    """Return the index of the slot that a cell had which is on no page; ``None`` for none.

    Args:
        slots: the slots.
        named: hash of the cell: the slot's present one, or an earlier one.
        present: hashes of the cells of all pages.
    """
    for index, slot in enumerate(slots):
        is_missing = slot.owner is not None and slot.owner not in present
        if is_missing and named in {slot.owner, *slot.earlier}:
            return index
    return None


def _brought_back(state: State, owner: str) -> State:
    """Return the state with the items that were left out with a cell (rule 12)."""
    slot = next(slot for slot in state.slots if slot.owner == owner)
    done = state.history.done
    index = _index_of_last(done, slot.key)
    if index is None or done[index].kind != "removal":
        return state
    removal = done[index]
    now, _ = state.moved(removal.kind, {slot.key: removal.before[slot.key]})
    # The removal of the other cells' items is still there to undo.
    others = {key: items for key, items in removal.before.items() if key != slot.key}
    rest = [replace(removal, before=others, after=dict.fromkeys(others, ()))] if others else []
    history = replace(state.history, done=(*done[:index], *rest, *done[index + 1 :]))
    return replace(now, history=history)


def _index_of_last(steps: Sequence[UndoStep], key: int) -> int | None:
    """Return the index of the last step that changed a slot, or was a reset; ``None`` for none."""
    for index in reversed(range(len(steps))):
        if steps[index].kind == "reset" or key in steps[index].after:
            return index
    return None
