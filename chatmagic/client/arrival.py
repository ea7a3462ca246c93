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

    Only what is waited for them counts, not what their reader does between them: the first
    fragment of a kernel loads what shows it.

    Args:
        clock: gives the time in seconds; read now, when the request is about to be sent.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin to wait."""
        self.events = 0
        """How many events came."""
        self._clock = clock
        self._since = clock()
        self._waiting = 0.0
        self._first = 0.0
        self._took = 0.0

    def wait_again(self) -> None:
        """Begin to wait for the next piece; the time since the last one came does not count."""
        self._since = self._clock()

    def came(self, events: int) -> None:
        """Take note of events that came together just now; of none there is only the wait."""
        now = self._clock()
        self._waiting += now - self._since
        self._since = now
        if not events:
            return
        if self.events:
            self._took += self._waiting
        else:
            self._first = self._waiting
        self._waiting = 0.0
        self.events += events

    @property
    def at_once(self) -> bool:
        """Whether they came all at once after a wait: what streams is not held back."""
        is_held = self._first > SHORT_WAIT and self._took <= SHARE * self._first
        return self.events > MOST_EVENTS and is_held
