"""Deadline that can be moved, and that does something when it has passed."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Deadline:
    """Calls a function a while after the latest sign of life.

    A socket's own time-out will not do: it begins anew with each byte, even of a keep-alive.

    Args:
        seconds: how long after the latest sign.
        action: what is called then, in a thread of its own: it cuts or stops an exchange.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        seconds: float,
        action: Callable[[], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Count nothing yet."""
        self.passed = False
        """Whether the time was up; what is read after that is a rest."""
        self._seconds = seconds
        self._action = action
        self._clock = clock
        self._until = 0.0
        self._timer: threading.Timer | None = None
        self._is_over = False

    def extend(self) -> None:
        """Count from now on, and no more from an earlier sign."""
        self._until = self._clock() + self._seconds
        if self._timer is None:
            self._wait(self._seconds)

    def stop(self) -> None:
        """Count no more."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, seconds: float) -> None:
        self._timer = timer = threading.Timer(seconds, self.look)
        timer.daemon = True
        timer.start()

    def look(self) -> None:
        """Act if the time is up; else look again when it is."""
        left = self._until - self._clock()
        if self._is_over:
            return
        if left > 0:
            self._wait(left)
        else:
            self.passed = True
            self._action()
