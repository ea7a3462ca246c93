"""What changes a conversation, and how each change is taken back and done again.

Each function gives what a conversation knows after a change, from what it knew before;
the rules that it names are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from chatmagic.conversation.slots import Place, arranged, live, of_execution, ordered, with_place

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from chatmagic.conversation.cell_order import Layout
    from chatmagic.conversation.turn import Turn

Kind = Literal["ask", "re-run", "reset", "set aside", "load"]

IN_NOTEBOOK: Final = "a cell of the notebook"
UNDO_DEPTH: Final = 1000
"""How many changes can be taken back; older ones are final."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one step did to the live turns, for a message about it.

    Args:
        kind: the kind of change that was done, taken back, or done again.
        went: the turns that were live before the step and are not now, in their order.
        came: the turns that are live since the step, in their order.
    """

    kind: Kind
    went: tuple[Turn, ...]
    came: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A change that can be gone back over: the turns of the places that it touched, by key.

    A load also changes the order; ``orders`` is the places' keys before and after it.
    """

    kind: Kind
    before: Mapping[int, tuple[Turn, ...]]
    after: Mapping[int, tuple[Turn, ...]]
    orders: tuple[tuple[int, ...], tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that a conversation knows.

    ``void`` counts the undos that had nothing to take back and await a redo (rule 8);
    ``away`` are the cells that are gone, and whose turns have been set aside (rule 12).
    """

    places: tuple[Place, ...] = ()
    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()
    void: int = 0
    next_number: int = 1
    away: frozenset[str] = frozenset()


def added(now: Snapshot, turn: Turn, order: Sequence[str] | None) -> tuple[Snapshot, Change]:
    """Put a turn into its cell's place, instead of the turns of older executions (rules 3, 4)."""
    places, index = with_place(now.places, turn.owner, order)
    place = places[index]
    kept = of_execution(place, turn.execution)
    turn = replace(turn, number=now.next_number)
    places = (*places[:index], replace(place, newest=turn), *places[index + 1 :])
    turns = (*kept, turn)
    kind: Kind = "ask" if kept == place.turns else "re-run"
    then, change = _changed(replace(now, places=places), kind, {place.key: turns})
    return replace(then, next_number=now.next_number + 1), change


def reset(now: Snapshot) -> tuple[Snapshot, Change]:
    """Take every live turn out; the places stay."""
    return _changed(now, "reset", {place.key: () for place in now.places if place.turns})


def loaded(now: Snapshot, other: Snapshot) -> tuple[Snapshot, Change]:
    """Put another conversation's turns in place of the live ones (rule 11)."""
    if now == Snapshot() and other.done:
        return other, Change("load", (), live(other.places))
    keys: dict[str | None, int] = {
        place.owner: place.key for place in now.places if place.owner is not None
    }
    held = {place.key: place for place in now.places}
    after: dict[int, tuple[Turn, ...]] = {place.key: () for place in now.places if place.turns}
    for place in other.places:
        key = keys.get(place.owner, len(held))
        # Its own order counts, so what was there before moves behind it.
        held[key] = held.pop(key, Place(key, place.owner, newest=place.newest))
        after[key] = tuple(_renumbered(turn, now.next_number - 1) for turn in place.turns)
    moved = len(held) - len(other.places)
    places = tuple(held.values())
    places = (*places[moved:], *places[:moved])
    orders = tuple(place.key for place in now.places), tuple(place.key for place in places)
    then, change = _changed(replace(now, places=places), "load", after, orders)
    then = replace(then, next_number=now.next_number + other.next_number - 1)
    return then, replace(change, went=live(now.places))


def undone(now: Snapshot) -> tuple[Snapshot, Change | None]:
    """Take the last change back; where there is none, that counts as a step (rule 8)."""
    if not now.done:
        return replace(now, void=now.void + 1), None
    step = now.done[-1]
    places = now.places if step.orders is None else ordered(now.places, step.orders[0])
    places, change = _moved(places, step.kind, step.before)
    return replace(now, places=places, done=now.done[:-1], undone=(*now.undone, step)), change


def redone(now: Snapshot) -> tuple[Snapshot, Change | None]:
    """Do again what the last undo took back, if it took anything back (rule 8)."""
    if now.void or not now.undone:
        return replace(now, void=max(0, now.void - 1)), None
    step = now.undone[-1]
    places = now.places if step.orders is None else ordered(now.places, step.orders[1])
    places, change = _moved(places, step.kind, step.after)
    return replace(now, places=places, done=(*now.done, step), undone=now.undone[:-1]), change


def handed_over(now: Snapshot, number: int, owner: str) -> Snapshot:
    """Let a cell own a turn that no cell owned, now and in all that can be gone back to."""

    def handed(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        return tuple(
            replace(turn, owner=owner, entry="cell", asker=IN_NOTEBOOK, shown=True)
            if turn.number == number
            else turn
            for turn in turns
        )

    def rewritten(step: Step) -> Step:
        before, after = (
            {key: handed(turns) for key, turns in side.items()}
            for side in (step.before, step.after)
        )
        return replace(step, before=before, after=after)

    places = tuple(
        # The cell has asked nothing yet.
        replace(place, owner=owner, turns=handed(place.turns), newest=None)
        if any(turn.number == number for turn in place.turns)
        else place
        for place in now.places
    )
    done, undone = (tuple(map(rewritten, steps)) for steps in (now.done, now.undone))
    return replace(now, places=places, done=done, undone=undone)


def set_aside(now: Snapshot, owners: Collection[str]) -> tuple[Snapshot, Change | None]:
    """Take out the live turns of cells that are gone; without any, nothing has changed."""
    after: dict[int, tuple[Turn, ...]] = {
        place.key: () for place in now.places if place.turns and place.owner in owners
    }
    return _changed(now, "set aside", after) if after else (now, None)


def followed(now: Snapshot, layout: Layout) -> tuple[Snapshot, Change | None]:
    """Follow the pages: rules 13, 12 and 5, in this order."""
    if layout.order is None:
        # What was loaded has an order of its own, which counts.
        loaded = any(step.orders is not None for step in now.done)
        places = now.places if loaded else sorted(now.places, key=lambda place: place.key)
        return replace(now, places=tuple(places)), None
    now = _taken_over(now, layout)
    owners = {place.owner for place in now.places if place.owner is not None}
    for owner in (now.away - layout.gone) & owners:
        now = _brought_back(now, owner)
    now, change = set_aside(now, layout.gone - now.away)
    return replace(now, places=arranged(now.places, layout.order), away=layout.gone), change


def _renumbered(turn: Turn, by: int) -> Turn:
    """Move a turn's number, and those it carried; 0 stands for a turn that is not known."""
    carried = tuple(number + by if number else 0 for number in turn.carried)
    return replace(turn, number=turn.number + by, carried=carried)


def _taken_over(now: Snapshot, layout: Layout) -> Snapshot:
    """Give places of cells that are gone to the cells whose records name them (rule 13)."""
    places, away = list(now.places), now.away
    taken = {place.owner for place in places}
    for cell, named in layout.named.items():
        if cell in taken:
            continue
        for index, place in enumerate(places):
            owner = place.owner
            if owner is None or owner in layout.present or named not in {owner, *place.earlier}:
                continue
            places[index] = replace(place, owner=cell, earlier=place.earlier | {owner})
            # What was set aside with the cell that is gone comes back with this one.
            away = away | {cell} if owner in away else away
            break
    return replace(now, places=tuple(places), away=away)


def _brought_back(now: Snapshot, owner: str) -> Snapshot:
    """Give a cell back what was set aside when it went (rule 12)."""
    place = next(place for place in now.places if place.owner == owner)
    index = next(
        (
            index
            for index in reversed(range(len(now.done)))
            if now.done[index].kind == "reset" or place.key in now.done[index].after
        ),
        None,
    )
    if index is None or now.done[index].kind != "set aside":
        return now
    step = now.done[index]
    turns = step.before[place.key]
    before, after = (
        {key: turns for key, turns in side.items() if key != place.key}
        for side in (step.before, step.after)
    )
    left = (replace(step, before=before, after=after),) if after else ()
    places, _ = _moved(now.places, step.kind, {place.key: turns})
    done = (*now.done[:index], *left, *now.done[index + 1 :])
    return replace(now, places=places, done=done)


def _changed(
    now: Snapshot,
    kind: Kind,
    after: Mapping[int, tuple[Turn, ...]],
    orders: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> tuple[Snapshot, Change]:
    """Do something new: put these turns into these places, and remember it for undo."""
    before = {place.key: place.turns for place in now.places if place.key in after}
    places, change = _moved(now.places, kind, after)
    done = (*now.done, Step(kind, before, after, orders))[-UNDO_DEPTH:]
    return replace(now, places=places, done=done, undone=(), void=0), change


def _moved(
    places: tuple[Place, ...], kind: Kind, turns: Mapping[int, tuple[Turn, ...]]
) -> tuple[tuple[Place, ...], Change]:
    """Put these turns into these places, by key, and say which went and which came."""
    moved = tuple(
        replace(place, turns=turns[place.key]) if place.key in turns else place for place in places
    )
    before, after = live(places), live(moved)
    was, now = ({turn.number for turn in live} for live in (before, after))
    went = tuple(turn for turn in before if turn.number not in now)
    came = tuple(turn for turn in after if turn.number not in was)
    return moved, Change(kind, went, came)
