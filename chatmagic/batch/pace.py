"""Pace of a job: the pauses that the credits and requests left require. Pure.

Times are seconds of a clock that never jumps. The time until a reset is taken from the service's
own answer, counted from its arrival: the clocks of the two machines are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chatmagic.errors import RateLimitError
from chatmagic.models import Credits
from chatmagic.protocol.credits import RequestLimit
from chatmagic.text import counted

SHORT: Final = 60.0
"""Longest pause, in seconds, whose end a job waits for by default."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Reason not to send now.

    Args:
        why: the reason, as a sentence.
        until: the time to continue; ``None`` if unknown.
        is_waited_for: whether the job waits for the end of the pause; otherwise the pause ends the
            job.
    """

    why: str
    until: float | None
    is_waited_for: bool = False


@dataclass(slots=True)
class Pace:
    """Credits and requests that are left, by the latest answers.

    Args:
        waits: whether the job waits for pauses longer than a minute, too.
    """

    waits: bool = False
    _credits: Credits | None = None
    _credits_until: float | None = None
    _window: RequestLimit | None = None
    _requests_until: float | None = None
    _refused: Pause | None = None

    @property
    def credits_left(self) -> int | None:
        """The credits that are left; ``None`` is unknown."""
        return None if self._credits is None else self._credits.remaining

    def note(self, credits: Credits | None, window: RequestLimit | None, now: float) -> None:
        """Note the figures of an answer.

        Args:
            credits: the latest figures; ``None`` is unknown.
            window: the requests that are left; ``None`` is unknown.
            now: time of its arrival.
        """
        if credits is not None and credits != self._credits:
            self._credits = credits
            self._credits_until = _later(now, credits.seen_at, credits.resets_at)
        if window is not None and window != self._window:
            self._window = window
            self._requests_until = _later(now, window.seen_at, window.ends_at)

    def refuse(self, error: RateLimitError, now: float, wall: datetime) -> Pause:
        """Note a refusal for the limit, and return the pause that it requires.

        Args:
            error: the refusal.
            now: time of its arrival.
            wall: the same time by the calendar, aware.
        """
        until = _later(now, wall, error.retry_after)
        if until is None and error.credits is not None:
            until = _later(now, error.credits.seen_at, error.credits.resets_at)
        self._refused = self._pause_until(error.message, until, now)
        return self._refused

    def pause(self, under_way: int, cost: int, now: float) -> Pause | None:
        """Return the pause before the next request; ``None`` if it may be sent now.

        Args:
            under_way: number of requests under way, which the figures may not count yet.
            cost: the credits that a request takes, at least 1.
            now: the time.
        """
        if self._refused is not None and _is_ahead(self._refused.until, now):
            return self._refused
        credits = self.credits_left
        requests = None if self._window is None else self._window.remaining
        is_used_up = requests is not None and requests <= under_way
        if is_used_up and _is_ahead(self._requests_until, now):
            return self._pause_until(
                "No requests are left in this window.", self._requests_until, now
            )
        has_reset = self._credits_until is not None and now >= self._credits_until
        if credits is None or credits > under_way * cost or has_reset:
            return None
        if under_way:
            # The answers under way may have newer figures.
            left = f"{counted(credits, 'credit')} left"
            return Pause(
                f"{left}, which the requests under way may take.", None, is_waited_for=True
            )
        return self._pause_until("No credits are left.", self._credits_until, now)

    def _pause_until(self, why: str, until: float | None, now: float) -> Pause:
        is_waited_for = until is not None and (self.waits or until - now <= SHORT)
        return Pause(why, until, is_waited_for=is_waited_for)


def _later(now: float, seen_at: datetime, when: datetime | None) -> float | None:
    return None if when is None else now + max((when - seen_at).total_seconds(), 0.0)


def _is_ahead(until: float | None, now: float) -> bool:
    return until is not None and now < until


def waiting_words(pause: Pause | None, today: datetime, now: float) -> str:
    """Return words for the end of a job's pause; empty if it is unknown or there is no pause.

    Args:
        pause: the pause that it waits for; ``None`` for none.
        today: the date and time, in UTC.
        now: the same moment, by the clock of the pause in seconds.
    """
    if pause is None or pause.until is None:
        return ""
    until = today + timedelta(seconds=pause.until - now)
    return f"waiting until {until:%Y-%m-%d %H:%M:%S} UTC"
