"""Wait that is told where nobody watches a bar, so that no job stands still in silence."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from chatmagic.safe_text import counted

TOLD_AFTER: Final = 60.0
"""Seconds of a wait after which it is told; it is told again each time that it is twice as long."""


class LongWait:
    """Waits of a job, whose reasons are told once they are long.

    Args:
        tell: shows a line to the user.
        now: returns the time in seconds, by a clock that is never set back.
    """

    def __init__(self, tell: Callable[[str], object], now: Callable[[], float] = monotonic) -> None:
        """Wait for nothing yet."""
        self._tell = tell
        self._now = now
        self._began: float | None = None
        self._told_after = TOLD_AFTER

    def look(self, reason: str) -> None:
        """Tell the reason of a wait if it is a long one; called again and again.

        Args:
            reason: the reason in words; empty if there is no wait now.
        """
        now = self._now()
        if not reason:
            self._began = None
            return
        if self._began is None:
            self._began = now
            self._told_after = TOLD_AFTER
        seconds = now - self._began
        if seconds >= self._told_after:
            self._told_after = 2 * seconds
            minutes = counted(int(seconds) // 60, "minute")
            self._tell(f"The map has waited for {minutes}: {reason}.")
