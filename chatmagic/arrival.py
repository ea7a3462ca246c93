"""When the events of one stream came, and whether something on the way held them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_EVENTS: Final = 20
"""So many events may come at once without anybody holding them back."""

SHORT_WAIT: Final = 2.0
"""Who waited no longer than this, in seconds, has missed nothing."""

SHARE: Final = 0.01
"""Of the time waited: what comes within this part of it was there before."""


class Arrival:
    """When the events of one stream came, by a clock that is handed in.

    Args:
        clock: gives the time in seconds; read now, when the request is about to be sent.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin to wait."""
        self.events = 0
        """How many events came."""
        self._clock = clock
        self._asked = self._first = self._last = clock()

    def came(self, events: int) -> None:
        """Take note of events that came together just now; of none there is nothing to note."""
        if not events:
            return
        self._last = self._clock()
        if not self.events:
            self._first = self._last
        self.events += events

    @property
    def at_once(self) -> bool:
        """Whether they came all at once after a wait: what streams is not held back."""
        waited = self._first - self._asked
        took = self._last - self._first
        return self.events > MOST_EVENTS and waited > SHORT_WAIT and took <= SHARE * waited
