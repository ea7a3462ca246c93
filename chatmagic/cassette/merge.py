"""Merge of this kernel's items with the changes of another kernel in the cassette's file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chatmagic.archive.interaction import Interaction, by_identity
from chatmagic.cassette.item import CassetteItem


@dataclass(frozen=True, slots=True)
class MergedItems:
    """Items of this kernel after a merge with the file.

    Args:
        items: the items; those of the file come first.
        lost: number of interactions that the file has held and no longer has. They stay items.
    """

    items: list[CassetteItem]
    lost: int


def merged_with_file(
    items: Sequence[CassetteItem], base: Iterable[Interaction], now: Iterable[Interaction]
) -> MergedItems:
    """Return the items of this kernel with the changes of another one.

    An interaction that this kernel has removed does not come back. Those that it has stay, even if
    the file no longer has them.

    Args:
        items: the items of this kernel.
        base: the interactions of the file when this kernel read or wrote it last.
        now: the interactions of the file now.
    """
    in_base = by_identity(base)
    item_keys = by_identity(item.recorded for item in items)
    remaining = dict(zip(item_keys, items, strict=True))
    merged = []
    for key, recorded in by_identity(now).items():
        item = remaining.pop(key, None)
        if item is not None:
            item.recorded = recorded
            item.was_saved = True
            merged.append(item)
        elif key not in in_base:
            merged.append(CassetteItem(recorded, was_saved=True))
    lost = sum(item.was_saved for item in remaining.values())
    return MergedItems([*merged, *remaining.values()], lost)
