"""Gate that each request of a map passes: it waits there for its turn and for limits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from chatmagic.advice import sentences
from chatmagic.errors import (
    BudgetError,
    ConnectError,
    RateLimitError,
    ReplyFormatError,
    RequestRejectedError,
    RequestTimeoutError,
)
from chatmagic.session.map.job_file import JobFile
from chatmagic.session.map.pace import SHORT, Pace, Problem
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.run_state import NAP, RunState

LONGEST_NAP: Final = 1.0
"""Seconds after which a request that waits checks whether the program has ended."""


@dataclass(frozen=True, slots=True)
class Passage:
    """State of the gate when a request passed it.

    Args:
        pauses: number of pauses before it.
        sent: number of requests that had been sent.
    """

    pauses: int
    sent: int


class Gate:
    """Gate of a run's requests, for all its threads.

    Args:
        pace: the number of requests under way, and the pauses.
        run: the state of the run.
        sender: knows the pause that other processes share.
        file: makes room for the line of each request under way.
    """

    def __init__(self, pace: Pace, run: RunState, sender: RowSender, file: JobFile) -> None:
        """Have let no request pass."""
        self.sent = 0
        """Number of requests that were sent."""
        self.run = run
        """The state of the run."""
        self._pace = pace
        self._sender = sender
        self._file = file

    @property
    def under_way(self) -> int:
        """Number of requests under way."""
        return self._pace.under_way

    def enter(self) -> Passage | None:
        """Wait until a request may begin; return ``None`` if the run is stopped.

        Raises:
            ChatError: the disk has no room for the line of its reply.
        """
        run = self.run
        with run.changed:
            while run.goes_on():
                seconds = self._pace.wait(run.clock.now())
                if seconds <= 0 and (seconds := self._sender.pause_left()) > 0:
                    run.waiting = "limit reached by another process"
                if seconds <= 0:
                    run.waiting = ""
                    self._file.make_room(self._pace.under_way + 1)
                    return Passage(self._pace.begin(), self.sent)
                run.wait(min(seconds, LONGEST_NAP))
        return None

    def leave(self, problem: Problem | None) -> None:
        """Take note of the end of a request.

        Args:
            problem: the error that ended it; ``None`` for a reply.
        """
        with self.run.changed:
            self._pace.under_way -= 1
            if not isinstance(problem, BudgetError):
                self.sent += 1
            if problem is None or isinstance(problem, ReplyFormatError | RequestRejectedError):
                self._pace.answered()
            self.run.changed.notify(2)

    def pause(self, problem: Problem, passage: Passage) -> bool:
        """Let all requests wait because of a failure; return whether they do.

        Args:
            problem: the failure; if it is not waited for, its advice says so.
            passage: the passage of its request.
        """
        wait = _seconds_until(problem.retry_after)
        soonest = _seconds_until(problem.retry_soonest)
        with self.run.changed:
            now = self.run.clock.now()
            if self._pace.refused(passage.pauses, wait, now, soonest):
                pause = timedelta(seconds=self._pace.paused_until - now)
                self.run.waiting = f"{_reason(problem)}: waiting until {_second(pause)} UTC"
                return True
        reason = "No row was answered for a minute. wait=True goes on."
        if wait is not None and wait > SHORT:
            reason = "wait=True waits for the reset."
        problem.advice = sentences(problem.advice, reason)
        return False

    @property
    def refuses_all(self) -> bool:
        """Whether the last pause did not help: nothing was answered after it."""
        return self._pace.unanswered > 1

    def wait_for_another(self, passage: Passage) -> bool:
        """Wait for another request to end, whose cost may leave room; return whether one was sent.

        Until the cost of a request is known, a single one may reserve all that is left.

        Args:
            passage: the passage of a request that a budget refused.
        """
        with self.run.changed:
            is_any = self._pace.under_way > 0 or self.sent > passage.sent
            if is_any:
                self.run.wait(NAP)
            return is_any


def _seconds_until(when: datetime | None) -> float | None:
    """Return the seconds until a time; ``None`` for none."""
    return None if when is None else (when - datetime.now(UTC)).total_seconds()


def _reason(problem: Problem) -> str:
    """Return the reason for a wait in words."""
    if isinstance(problem, RateLimitError):
        return "limit reached"
    is_unconnected = isinstance(problem, ConnectError | RequestTimeoutError)
    return "no connection" if is_unconnected else "service failed"


def _second(pause: timedelta) -> str:
    """Return the second at which a pause ends, in UTC."""
    return f"{datetime.now(UTC) + pause:%Y-%m-%d %H:%M:%S}"
