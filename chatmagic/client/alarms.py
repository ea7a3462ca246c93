"""Alarms: work that is done after some time, unless it is cancelled; all by one thread.

To start a thread for each, as :class:`threading.Timer` does, takes longer than the rest of a
short turn. No lock is taken here: an interrupt could leave it taken for ever.
"""

from __future__ import annotations

import contextlib
import heapq
import queue
import threading
from collections import deque
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Final

from chatmagic._log import swallowed

LONGEST: Final = 3_600.0
"""Longest sleep, in seconds: not every system knows longer ones."""


class Alarm:
    """Work that is due at a time.

    Args:
        at: when, by ``monotonic``.
        work: what is done then, by another thread.

    Attributes:
        work: ``None`` once it was done or cancelled.
    """

    __slots__ = ("at", "work")

    def __init__(self, at: float, work: Callable[[], object]) -> None:
        """Wait."""
        self.at = at
        self.work: Callable[[], object] | None = work

    def __lt__(self, other: Alarm) -> bool:
        """Return whether this one is due before another."""
        return self.at < other.at

    def cancel(self) -> None:
        """Do not do it any more; harmless once it was done."""
        self.work = None


class _Thread(threading.Thread):
    """Thread that waits for the alarms that it is given."""

    def __init__(self) -> None:
        super().__init__(name="chatmagic-alarms", daemon=True)
        self._given: deque[Alarm] = deque()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._sleeps_until = 0.0

    def give(self, alarm: Alarm) -> None:
        """Wait for an alarm, too; the thread is woken only if it would sleep longer."""
        self._given.append(alarm)
        # Read after the alarm was given; the thread looks for one after this was written.
        if alarm.at < self._sleeps_until:
            self._wake.put(None)

    def run(self) -> None:
        waiting: list[Alarm] = []
        while True:
            now = monotonic()
            self._sleeps_until = min(waiting[0].at if waiting else inf, now + LONGEST)
            if not self._given:
                with contextlib.suppress(queue.Empty):
                    self._wake.get(timeout=max(self._sleeps_until - now, 0.0))
            while self._given:
                heapq.heappush(waiting, self._given.popleft())
            while waiting and (waiting[0].work is None or waiting[0].at <= monotonic()):
                alarm = heapq.heappop(waiting)
                work, alarm.work = alarm.work, None
                if work is not None:
                    with swallowed():
                        work()


_threads: Final[list[_Thread]] = []


def after(seconds: float, work: Callable[[], object]) -> Alarm:
    """Return an alarm.

    Args:
        seconds: how long from now.
        work: what is done then; it is short, as other alarms wait for it.
    """
    alarm = Alarm(monotonic() + seconds, work)
    thread = _threads[-1] if _threads else None
    # A process that was forked off has none that lives.
    if thread is None or not thread.is_alive():
        thread = _Thread()
        thread.start()
        # Not before it runs: of two that begin at once, each has a thread that lives.
        _threads[:] = [thread]
    thread.give(alarm)
    return alarm
