"""Alarms: functions that are called at a time, by one thread of the process for all of them."""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from time import monotonic
from typing import Final

from chatmagic._fork import belongs_to_process
from chatmagic._log import swallowed

LONGEST_WAIT: Final = 0.25
"""Seconds after which the thread looks whether there are alarms; without any it ends."""


@dataclass(slots=True, eq=False)
class Alarm:
    """Function that is called at a time, unless it is cancelled before.

    Args:
        time: the time, by ``monotonic``.
        call: the function.
    """

    time: float
    call: Callable[[], object]


class Alarms:
    """The alarms of a process; their thread runs as long as there are some, and a moment longer.

    It is not woken for each of them: a map that begins makes hundreds of connections, each with an
    alarm that is cancelled at once.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._changed = threading.Condition(threading.RLock())
        self._alarms: list[Alarm] = []
        """The alarms, the next one first."""
        self._is_running = False
        self._wakes_at = 0.0
        """The time at which the thread looks at the alarms again."""
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Have none, in a forked child: their exchanges are the parent's."""
        self._changed = threading.Condition(threading.RLock())
        self._alarms = []
        self._is_running = False

    def set(self, seconds: float, call: Callable[[], object]) -> Alarm:
        """Set an alarm.

        Args:
            seconds: the time from now.
            call: called in the thread of all alarms, so it is quick.
        """
        alarm = Alarm(monotonic() + seconds, call)
        with self._changed:
            insort(self._alarms, alarm, key=attrgetter("time"))
            if not self._is_running:
                thread = threading.Thread(target=self._run, name="chatmagic-timer", daemon=True)
                thread.start()
                self._is_running = True
            elif alarm.time < self._wakes_at:
                self._changed.notify()
        return alarm

    def cancel(self, alarm: Alarm) -> None:
        """Cancel an alarm; harmless when it is over.

        Args:
            alarm: the alarm.
        """
        with self._changed, suppress(ValueError):
            self._alarms.remove(alarm)

    def _run(self) -> None:
        """Call each function at its time, until there are no more."""
        while (alarm := self._wait()) is not None:
            with swallowed():
                alarm.call()

    def _wait(self) -> Alarm | None:
        """Wait for the next alarm, and return it; ``None`` if there are no alarms."""
        with self._changed:
            while self._alarms:
                seconds = self._alarms[0].time - monotonic()
                if seconds <= 0:
                    return self._alarms.pop(0)
                seconds = min(seconds, LONGEST_WAIT)
                self._wakes_at = monotonic() + seconds
                self._changed.wait(seconds)
            self._is_running = False
            return None


ALARMS: Final = Alarms()
