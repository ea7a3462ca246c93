"""Clock of one exchange: a time for each phase, and one for all of it."""

from __future__ import annotations

from functools import partial

from chatmagic.client.alarms import ALARMS, Alarm
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt
from chatmagic.errors import Which


class ExchangeClock:
    """Clock of one exchange, which stops it when the time of its present phase is up.

    Each read ends at the phase's deadline. Connecting, which has many steps, and the whole exchange
    have an alarm each.

    Args:
        timeout: the timeout of each phase.
        halt: the halt that stops the exchange.
    """

    def __init__(self, timeout: Timeout, halt: Halt) -> None:
        """Start nothing yet."""
        self.timeout = timeout
        self.halt = halt
        self.which: Which = "connect"
        self._alarms: dict[str, Alarm] = {}

    def start(self) -> None:
        """Start the total timeout."""
        self._count("total")

    def enter(self, which: Which) -> None:
        """Begin a phase, whose timeout replaces the previous phase's.

        Args:
            which: the phase, by its name in :class:`Timeout`.
        """
        if (before := self._alarms.pop("connect", None)) is not None:
            ALARMS.cancel(before)
        self.which = which
        self.halt.settimeout(getattr(self.timeout, which))
        if which == "connect":
            self._count(which)

    def renew(self) -> None:
        """Give the next piece of the answer the whole time of the phase."""
        self.halt.allow(getattr(self.timeout, self.which))

    def stop(self) -> None:
        """Stop all timeouts."""
        for alarm in self._alarms.values():
            ALARMS.cancel(alarm)
        self._alarms.clear()

    def _count(self, which: Which) -> None:
        seconds = getattr(self.timeout, which)
        if seconds is not None:
            self._alarms[which] = ALARMS.set(seconds, partial(self.halt.stop, which))
