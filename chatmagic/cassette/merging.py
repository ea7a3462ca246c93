"""Two writers of one cassette: which exchange of the one is which of the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.cassette.interaction import Recorded

Name = tuple[str, int, str | None, str]
"""That by which an exchange is the same one in another reading of its file."""
_T = TypeVar("_T")


def name(one: Recorded) -> Name:
    """Return the name of an exchange; what changes in one that stays is not in it."""
    return one.request, one.status, one.text, repr((one.headers, one.error, one.asked_model))


def named(items: Sequence[_T], exchanges: Sequence[Recorded]) -> dict[tuple[Name, int], _T]:
    """Return items by the names of their exchanges; of equal ones each has a number.

    Args:
        items: one for each exchange.
        exchanges: in the same order.
    """
    count: Counter[Name] = Counter()
    found: dict[tuple[Name, int], _T] = {}
    for item, one in zip(items, exchanges, strict=True):
        found[name(one), count[name(one)]] = item
        count[name(one)] += 1
    return found


def merged(
    base: Sequence[Recorded], mine: Sequence[Recorded], theirs: Sequence[Recorded]
) -> list[tuple[int | None, Recorded]]:
    """Return what a cassette holds when what another writer did to it is done here too.

    Args:
        base: what both began with.
        mine: what is held here.
        theirs: what the other one wrote.

    Returns:
        Each exchange with its place in ``mine``; ``None`` for one that is new there.
    """
    known, now = named(base, base), named(theirs, theirs)
    here = named(range(len(mine)), mine)
    # What is new there is put behind what it stands behind there.
    news: dict[int, list[Recorded]] = {}
    behind = -1
    for key, one in now.items():
        if key in here:
            behind = here[key]
        elif key not in known:
            news.setdefault(behind, []).append(one)
    found: list[tuple[int | None, Recorded]] = [(None, one) for one in news.get(-1, ())]
    for key, place in here.items():
        one = mine[place]
        if key in known and key in now and _marks(one) == _marks(known[key]):
            owner, superseded = _marks(now[key])
            one = replace(one, owner=owner, superseded=superseded)
        if key in now or key not in known:
            found.append((place, one))
        found += [(None, new) for new in news.get(place, ())]
    return found


def _marks(one: Recorded) -> tuple[str | None, bool]:
    """Return what changes in an exchange that stays the same one."""
    return one.owner, one.superseded
