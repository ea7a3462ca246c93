"""Use of a cassette since it was inserted, counted for the line that tells it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from chatmagic.cassette.item import CassetteItem


@dataclass(slots=True)
class CassetteUse:
    """Numbers of requests since a cassette was inserted.

    Args:
        answered: those that it answered.
        recorded: those whose answer it recorded.
        other_markdown: those that it answered, though other Markdown cells were recorded.
    """

    answered: int = 0
    recorded: int = 0
    other_markdown: int = 0

    def words(self) -> str:
        """Return the numbers in one line."""
        words = f"{self.answered:,} answered from it, {self.recorded:,} recorded"
        if self.other_markdown:
            words += f"; {self.other_markdown:,} with other Markdown cells than recorded"
        return f"{words}."


def refresh_words(items: Iterable[CassetteItem]) -> str:
    """Return the number of interactions by their state in a refresh, in one line.

    Args:
        items: the interactions of the cassette.
    """
    count = Counter(item.outcome for item in items)
    return (
        f"{count['kept']:,} kept word for word, {count['changed']:,} changed, "
        f"{count['new']:,} new, {count['not asked again']:,} not asked again, which stay."
    )
