"""Bar of a map in a page: an output of the running cell, which is empty once the map has ended."""

from __future__ import annotations

from typing import Final

from chatmagic.jupyter.reply_views import OutputPlace
from chatmagic.render import gauge
from chatmagic.session.map.progress import Bar

_COLUMNS: Final = 80
"""Largest number of characters of the bar as text, for a page that shows no HTML."""


class PageBar:
    """View of a map's bar in the output of the running cell."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._place = OutputPlace()

    def show(self, bar: Bar) -> None:
        """Show a bar in place of the one before.

        Args:
            bar: the bar.
        """
        self._place.note(gauge.progress(bar.share, bar.words), bar.line(_COLUMNS))

    def remove(self) -> None:
        """Leave an output without data, which no page shows and no comparison of outputs counts."""
        self._place.show({}, {})
