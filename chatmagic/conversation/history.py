"""How a conversation is changed, and how each change is taken back and done again.

Each function takes the snapshot before a change as ``now``, and returns the one after it with the
:class:`~chatmagic.conversation.changes.Change`, or with ``None`` where nothing changed. The rules
that they name are those of :mod:`chatmagic.conversation.conversation`, whose methods say what the
other arguments are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from chatmagic.conversation.changes import Change, Snapshot, Step
from chatmagic.conversation.slots import (
    Slot,
    arranged,
    live,
    of_execution,
    ordered,
    renumbered,
    with_slot,
    with_turns,
)
from chatmagic.conversation.standings import standings
from chatmagic.conversation.steering import STEERING, Instructions
from chatmagic.conversation.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from chatmagic.conversation.cell_order import Layout
    from chatmagic.conversation.changes import Kind
    from chatmagic.conversation.prefix import Known
    from chatmagic.conversation.request_facts import Value
    from chatmagic.conversation.slots import Item

IN_NOTEBOOK: Final = "a cell of the notebook"
UNDO_DEPTH: Final = 1000
"""How many changes can be taken back; older ones are final."""


def added(now: Snapshot, item: Item, order: Sequence[str] | None) -> tuple[Snapshot, Change]:
    """Put an item into its cell's slot, instead of those of older executions (rules 3, 4).

    Args:
        now: the conversation before.
        item: the new turn, instructions, the start of a thread, or a hiding.
        order: hashes of the page's cells from top to bottom, where the page tells them.
    """
    slots, index = with_slot(now.slots, item.owner, order)
    slot = slots[index]
    kept = of_execution(slot, item.execution)
    is_turn = isinstance(item, Turn)
    item = replace(item, number=now.next_number) if isinstance(item, Turn) else item
    replies = slot.asked(item, kept) if isinstance(item, Turn) else slot.replies
    slots = (*slots[:index], replace(slot, newest=item, replies=replies), *slots[index + 1 :])
    asks: Kind = "ask" if kept == slot.items else "re-run"
    kind = asks if isinstance(item, Turn) else item.kind
    then, change = changed(replace(now, slots=slots), kind, {slot.key: (*kept, item)})
    return replace(then, next_number=now.next_number + is_turn), change


def known_turns(now: Snapshot) -> dict[int, Turn]:
    """Return by number the turns that are live, and all replies to choose from."""
    replies = (turn for slot in now.slots for each in slot.replies for turn in each)
    return {turn.number: turn for turn in (*replies, *live(now.slots))}


def known_instructions(now: Snapshot) -> dict[str, Value]:
    """Return by digest the instructions that are live, and those of the changes that are kept."""
    sides = [side for step in (*now.done, *now.undone) for side in (step.before, step.after)]
    lists = [*(items for side in sides for items in side.values()), *(s.items for s in now.slots)]
    given = (item.value for items in lists for item in items if isinstance(item, Instructions))
    return {value.sha256: value for value in given}


def reset(now: Snapshot) -> tuple[Snapshot, Change]:
    """Take every live turn out; the slots stay, and instructions hold on (rule 15)."""
    return _without(now, "reset", {turn.number for turn in live(now.slots)})


def deleted(now: Snapshot, name: str) -> tuple[Snapshot, Change]:
    """Take out the turns that a thread has of its own; its starts stay (rule 18)."""
    own = {each.turn.number for each in standings(now.slots) if each.thread == name}
    return _without(now, "deletion", own)


def _without(now: Snapshot, kind: Kind, numbers: Collection[int]) -> tuple[Snapshot, Change]:
    """Take out the live turns of these numbers."""
    after = {
        slot.key: tuple(
            item for item in slot.items if not isinstance(item, Turn) or item.number not in numbers
        )
        for slot in now.slots
        if not {turn.number for turn in slot.turns}.isdisjoint(numbers)
    }
    return changed(now, kind, after)


def loaded(now: Snapshot, other: Snapshot) -> tuple[Snapshot, Change]:
    """Put another conversation's turns and instructions in place of the live ones (rule 11)."""
    if now == Snapshot() and other.done:
        return other, Change("load", (), live(other.slots))
    keys: dict[str | None, int] = {
        slot.owner: slot.key for slot in now.slots if slot.owner is not None
    }
    held = {slot.key: slot for slot in now.slots}
    after: dict[int, tuple[Item, ...]] = {slot.key: () for slot in now.slots if slot.items}
    known: Known[int] = {}
    numbers: dict[int, int] = {}

    def shared(number: int) -> int:
        # Each turn's number is in the list of what those below it carried, and many are a key.
        return numbers.setdefault(number, number)

    def new(number: int) -> int:
        # 0 stands for a turn that is not known.
        return shared(number + now.next_number - 1) if number else 0

    is_first = now.next_number == 1
    for slot in (each if is_first else renumbered(each, new, known) for each in other.slots):
        key = keys.get(slot.owner, shared(len(held)))
        mine = held.pop(key, Slot(key, slot.owner, newest=slot.newest))
        # Its own order counts, so what was there before moves behind it; and its replies.
        held[key] = replace(mine, replies=slot.replies + mine.replies)
        after[key] = slot.items
    moved = len(held) - len(other.slots)
    slots = tuple(held.values())
    slots = (*slots[moved:], *slots[:moved])
    orders = tuple(slot.key for slot in now.slots), tuple(slot.key for slot in slots)
    then, change = changed(replace(now, slots=slots), "load", after, orders)
    then = replace(then, next_number=now.next_number + other.next_number - 1)
    return then, replace(change, went=live(now.slots))


def undone(now: Snapshot) -> tuple[Snapshot, Change | None]:
    """Take the last change back; where there is none, that counts as a step (rule 8)."""
    if not now.done:
        return replace(now, void=now.void + 1), None
    step = now.done[-1]
    slots = now.slots if step.orders is None else ordered(now.slots, step.orders[0])
    slots, change = _moved(slots, step.kind, step.before)
    return replace(now, slots=slots, done=now.done[:-1], undone=(*now.undone, step)), change


def redone(now: Snapshot) -> tuple[Snapshot, Change | None]:
    """Do again what the last undo took back, if it took anything back (rule 8)."""
    if now.void or not now.undone:
        return replace(now, void=max(0, now.void - 1)), None
    step = now.undone[-1]
    slots = now.slots if step.orders is None else ordered(now.slots, step.orders[1])
    slots, change = _moved(slots, step.kind, step.after)
    return replace(now, slots=slots, done=(*now.done, step), undone=now.undone[:-1]), change


def handed_over(now: Snapshot, number: int, owner: str) -> Snapshot:
    """Let a cell own a turn that no cell owned, now and in all that can be gone back to.

    Args:
        now: the conversation before.
        number: the turn's number.
        owner: the cell's hash.
    """

    def handed(turn: Turn) -> Turn:
        if turn.number != number:
            return turn
        return replace(turn, owner=owner, entry="cell", asker=IN_NOTEBOOK, shown=True)

    def rewritten(step: Step) -> Step:
        held = (
            (key, with_turns(before, handed), with_turns(after, handed))
            for key, before, after in step.held
        )
        return replace(step, held=tuple(held))

    slots = tuple(
        # The cell has asked nothing yet.
        replace(slot.with_turns(handed), owner=owner, newest=None)
        if any(turn.number == number for turn in slot.turns)
        else slot
        for slot in now.slots
    )
    done, undone = (tuple(map(rewritten, steps)) for steps in (now.done, now.undone))
    return replace(now, slots=slots, done=done, undone=undone)


def set_aside(now: Snapshot, owners: Collection[str]) -> tuple[Snapshot, Change | None]:
    """Take out what is live of cells that are gone; without any, nothing has changed.

    Args:
        now: the conversation before.
        owners: hashes of the cells that are gone.
    """
    after: dict[int, tuple[Item, ...]] = {
        slot.key: () for slot in now.slots if slot.items and slot.owner in owners
    }
    return changed(now, "set aside", after) if after else (now, None)


def followed(now: Snapshot, layout: Layout) -> tuple[Snapshot, Change | None]:
    """Follow the pages: rules 13, 12 and 5, in this order."""
    if layout.order is None:
        # What was loaded has an order of its own, which counts.
        loaded = any(step.orders is not None for step in now.done)
        slots = now.slots if loaded else sorted(now.slots, key=lambda slot: slot.key)
        return replace(now, slots=tuple(slots)), None
    now = _taken_over(now, layout)
    owners = {slot.owner for slot in now.slots if slot.owner is not None}
    for owner in (now.away - layout.gone) & owners:
        now = _brought_back(now, owner)
    now, change = set_aside(now, layout.gone - now.away)
    return replace(now, slots=arranged(now.slots, layout.order), away=layout.gone), change


def _taken_over(now: Snapshot, layout: Layout) -> Snapshot:
    """Return slots of cells that are gone to the cells whose records name them (rule 13)."""
    slots, away = list(now.slots), now.away
    taken = {slot.owner for slot in slots}
    for cell, named in layout.named.items():
        if cell in taken:
            continue
        for index, slot in enumerate(slots):
            owner = slot.owner
            if owner is None or owner in layout.present or named not in {owner, *slot.earlier}:
                continue
            slots[index] = replace(slot, owner=cell, earlier=slot.earlier | {owner})
            # What was set aside with the cell that is gone comes back with this one.
            away = away | {cell} if owner in away else away
            break
    return replace(now, slots=tuple(slots), away=away)


def _brought_back(now: Snapshot, owner: str) -> Snapshot:
    """Return a cell back what was set aside when it went (rule 12)."""
    slot = next(slot for slot in now.slots if slot.owner == owner)
    index = next(
        (
            index
            for index in reversed(range(len(now.done)))
            if now.done[index].kind == "reset" or slot.key in now.done[index].after
        ),
        None,
    )
    if index is None or now.done[index].kind != "set aside":
        return now
    step = now.done[index]
    items = step.before[slot.key]
    others = tuple(each for each in step.held if each[0] != slot.key)
    left = (replace(step, held=others),) if others else ()
    slots, _ = _moved(now.slots, step.kind, {slot.key: items})
    done = (*now.done[:index], *left, *now.done[index + 1 :])
    return replace(now, slots=slots, done=done)


def changed(
    now: Snapshot,
    kind: Kind,
    after: Mapping[int, tuple[Item, ...]],
    orders: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> tuple[Snapshot, Change]:
    """Put these items into these slots, by key, as a new change to undo."""
    indexes = _indexes(now.slots, after).items()
    held = tuple((key, now.slots[at].items, after[key]) for key, at in indexes)
    slots, change = _moved(now.slots, kind, after)
    done = (*now.done, Step(kind, held, orders))[-UNDO_DEPTH:]
    return replace(now, slots=slots, done=done, undone=(), void=0), change


def _moved(
    slots: tuple[Slot, ...], kind: Kind, items: Mapping[int, tuple[Item, ...]]
) -> tuple[tuple[Slot, ...], Change]:
    """Put these items into these slots, by key, and say which turns went and which came."""
    then = [*slots]
    for key, at in (indexes := _indexes(slots, items)).items():
        then[at] = replace(slots[at], items=items[key])
    # Of many turns, few are in slots that a change touches.
    touched = range(len(slots)) if len(indexes) > 1 else [*indexes.values()]
    old, new = ([each[at] for at in touched] for each in (slots, then))
    before, after = live(old), live(new)
    was, now = ({turn.number for turn in live} for live in (before, after))
    went = tuple(turn for turn in before if turn.number not in now)
    came = tuple(turn for turn in after if turn.number not in was)
    steered = tuple(each for each in STEERING if _of(each, old) != _of(each, new))
    return tuple(then), Change(kind, went, came, steered)


def _indexes(slots: Sequence[Slot], keys: Collection[int]) -> dict[int, int]:
    """Return where the slots with these keys stand, in their order, by the keys."""
    if len(keys) == 1:
        (key,) = keys
        # Most stand where they came to be.
        if key < len(slots) and slots[key].key == key:
            return {key: key}
    return {slot.key: at for at, slot in enumerate(slots) if slot.key in keys}


def _of(kind: str, slots: Sequence[Slot]) -> list[Item]:
    """Return the items of a kind that are live in these slots, in their order."""
    items = (item for slot in slots for item in slot.items)
    return [item for item in items if not isinstance(item, Turn) and item.kind == kind]
