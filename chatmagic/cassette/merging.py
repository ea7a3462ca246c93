"""Identity of interactions, by which two kernels' changes to one cassette are merged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
