"""The places of a conversation, where its turns stand, and their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.conversation.turn import Turn


@dataclass(frozen=True, slots=True)
class Place:
    """A place: its key for life, the cell it belongs to, and what is live there.

    ``earlier`` are the cells that it belonged to before (rule 13); ``newest`` is the turn
    that its cell asked last, live or not (rule 14).
    """

    key: int
    owner: str | None
    turns: tuple[Turn, ...] = ()
    earlier: frozenset[str] = frozenset()
    newest: Turn | None = None

    @property
    def lacks_newest(self) -> bool:
        """Whether what its cell asked last is not live here, nor a turn that reads the same."""
        return self.newest is not None and all(
            (turn.as_typed, turn.reply.text) != (self.newest.as_typed, self.newest.reply.text)
            for turn in self.turns
        )


def live(places: Sequence[Place]) -> tuple[Turn, ...]:
    """Give the turns that are live in these places, in their order."""
    return tuple(turn for place in places for turn in place.turns)


def of_execution(place: Place, execution: str | None) -> tuple[Turn, ...]:
    """Give the place's turns that belong to this execution (rule 3)."""
    if execution is None:
        return ()
    return tuple(turn for turn in place.turns if turn.execution == execution)


def with_place(
    places: tuple[Place, ...], owner: str | None, order: Sequence[str] | None
) -> tuple[tuple[Place, ...], int]:
    """Give the places, arranged, with one for the owner's next turn, and say which it is."""
    if order is not None:
        places = arranged(places, order)
    owners = [place.owner for place in places]
    if owner is not None and owner in owners:
        return places, owners.index(owner)
    index = len(places)
    if owner is not None and order is not None and owner in order:
        below = set(order[order.index(owner) :])
        index = next((i for i, other in enumerate(owners) if other in below), index)
    return (*places[:index], Place(len(places), owner), *places[index:]), index


def arranged(places: tuple[Place, ...], order: Sequence[str]) -> tuple[Place, ...]:
    """Sort the places as the page does; one not on the page goes with the one before it."""
    on_page: dict[str | None, int] = {owner: rank for rank, owner in enumerate(order)}
    return _sorted(places, [on_page.get(place.owner) for place in places])


def ordered(places: tuple[Place, ...], keys: Sequence[int]) -> tuple[Place, ...]:
    """Sort the places as they stood once; a newer one goes with the one before it."""
    stood = {key: rank for rank, key in enumerate(keys)}
    return _sorted(places, [stood.get(place.key) for place in places])


def _sorted(places: tuple[Place, ...], given: Sequence[int | None]) -> tuple[Place, ...]:
    """Sort the places by their ranks; one without goes with the one before it."""
    ranks: dict[int, int] = {}
    last = -1
    for place, rank in zip(places, given, strict=True):
        last = ranks[place.key] = last if rank is None else rank
    return tuple(sorted(places, key=lambda place: ranks[place.key]))
