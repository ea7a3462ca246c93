"""When the events of one stream came, and whether something on the way held them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_EVENTS: Final = 20
"""Most events that may come at once from a service that streams."""

SHORT_WAIT: Final = 2.0
"""Longest wait for a first event, in seconds, after which none was held back."""

SHARE: Final = 0.01
"""Part of the wait for the first event within which the others were there before."""


class Arrival:
    """When the events of one stream came, by a clock that is handed in.

    Only what is waited for them counts, not what their reader does between them: the first
    fragment of a kernel loads what shows it.

    Args:
        clock: returns the time in seconds; read now, when the request is about to be sent.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start waiting."""
        self.events = 0
        """How many events came."""
        self._clock = clock
        self._since = clock()
        self._waiting = 0.0
        self._first = 0.0
        self._took = 0.0

    def wait_again(self) -> None:
        """Start waiting for the next piece; the time since the last one does not count."""
        self._since = self._clock()

    def came(self, events: int) -> None:
        """Count events that came together just now.

        Args:
            events: how many; 0 counts the wait alone.
        """
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
