"""Merging of two kernels' changes to one cassette."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmagic.cassette.interaction import Interaction

Identity = tuple[str, int, str | None, str]
"""What identifies an interaction in every reading of its file."""


def identity(recorded: Interaction) -> Identity:
    """Return the identity of an interaction; its owner and ``superseded`` may change.

    Args:
        recorded: the interaction.
    """
    unhashable = repr((recorded.headers, recorded.error, recorded.asked_model))
    return recorded.request, recorded.status, recorded.text, unhashable


def numbered(interactions: Iterable[Interaction]) -> dict[tuple[Identity, int], Interaction]:
    """Return interactions by their identities; equal ones are numbered.

    Args:
        interactions: in their order.
    """
    count: Counter[Identity] = Counter()
    by_identity: dict[tuple[Identity, int], Interaction] = {}
    for recorded in interactions:
        key = identity(recorded)
        by_identity[key, count[key]] = recorded
        count[key] += 1
    return by_identity


def missing(
    interactions: Iterable[Interaction], held: Iterable[Interaction]
) -> tuple[Interaction, ...]:
    """Return the interactions that are not among others; of equal ones those in excess.

    Args:
        interactions: in their order.
        held: the others.
    """
    present = numbered(held)
    return tuple(item for key, item in numbered(interactions).items() if key not in present)


def merged(
    base: Sequence[Interaction], mine: Sequence[Interaction], theirs: Sequence[Interaction]
) -> list[tuple[int | None, Interaction]]:
    """Return the interactions of a cassette with the changes of two kernels.

    Args:
        base: the state that both began with.
        mine: the state here.
        theirs: the state that the other kernel saved.

    Returns:
        Each interaction with its index in ``mine``; ``None`` for one that is new in ``theirs``.
    """
    known, now, here = numbered(base), numbered(theirs), numbered(mine)
    places = {key: at for at, key in enumerate(here)}
    # What is new there follows what it follows there.
    added: dict[int, list[tuple[int | None, Interaction]]] = {}
    behind = -1
    for key, recorded in now.items():
        behind = places.get(key, behind)
        if key not in here and key not in known:
            added.setdefault(behind, []).append((None, recorded))
    result = added.get(-1, [])
    for key, recorded in here.items():
        if key in now or key not in known:
            kept = recorded
            if key in now and key in known and _marks(recorded) == _marks(known[key]):
                owner, superseded = _marks(now[key])
                kept = replace(recorded, owner=owner, superseded=superseded)
            result.append((places[key], kept))
        result += added.get(places[key], [])
    return result


def _marks(recorded: Interaction) -> tuple[str | None, bool]:
    """Return what changes in an interaction that stays the same one."""
    return recorded.owner, recorded.superseded
