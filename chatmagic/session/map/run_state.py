"""State of a run of a map that its threads share: whether it goes on, and why it waits."""

from __future__ import annotations

import threading
import time
from typing import Final

from chatmagic._fork import belongs_to_process

NAP: Final = 0.1
"""Seconds between two checks of the state."""


class Clock:
    """Time, and the wait for a change."""

    def now(self) -> float:
        """Return the time in seconds, by a clock that is never set back."""
        return time.monotonic()

    def wait(self, changed: threading.Condition, seconds: float) -> None:
        """Wait for a change.

        Args:
            changed: the condition, which is held.
            seconds: the longest wait.
        """
        changed.wait(seconds)


class RunState:
    """State of a run; it ends by a stop, by its first error, or with the program.

    Args:
        clock: the time.
    """

    def __init__(self, clock: Clock) -> None:
        """Go on."""
        self.is_stopped = False
        """Whether no more rows are begun."""
        self.error: BaseException | None = None
        """The error that ended it before its last row."""
        self.waiting = ""
        """The reason why no request is sent now; empty if requests are sent."""
        self.clock = clock
        """The time."""
        self.changed = threading.Condition(threading.RLock())
        """Guards the state, and wakes the threads that wait for a change of it."""
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Be free of the parent's threads, in a forked child."""
        self.changed = threading.Condition(threading.RLock())

    def stop(self) -> None:
        """Begin no more rows. Those under way continue to their end."""
        self.is_stopped = True
        with self.changed:
            self.changed.notify_all()

    def end(self, error: BaseException) -> None:
        """Begin no more rows because of an error; the first error counts.

        Args:
            error: the error.
        """
        with self.changed:
            self.error = self.error or error
        self.stop()

    def goes_on(self) -> bool:
        """Return whether rows are begun; a program that has ended ends its maps."""
        if not threading.main_thread().is_alive():
            self.end(RuntimeError("the program has ended"))
        return not self.is_stopped

    def wait(self, seconds: float) -> None:
        """Wait for a change; called while :attr:`changed` is held.

        Args:
            seconds: the longest wait.
        """
        self.clock.wait(self.changed, seconds)
