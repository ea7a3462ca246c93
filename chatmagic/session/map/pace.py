"""Pace of a map's requests: how many may be under way, and when the next one may begin.

A refusal makes all requests wait, for the time that it names. If it names none, they wait 1, 2, 4 …
seconds until one is answered. At a refusal the number of requests under way is halved, and each
answer adds one, so a service that takes few requests at once refuses few.

The object is not safe for threads, and knows no clock: the caller holds a lock and passes the time.
"""

from __future__ import annotations

import math
from typing import Final

from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    NotConnectedError,
    NotRecordedError,
    NotUnderstoodError,
    RateLimitError,
    RequestTimeoutError,
    ServiceError,
)

SHORT: Final = 60.0
"""Seconds: the longest wait for the end of a limit, and without an answer, unless a map waits."""
_PAYMENT_REQUIRED: Final = 402
_FORBIDDEN: Final = 403
_REFUSED: Final = 400
_SERVERS_FAULT: Final = 500
_NOTHING_DONE: Final = {425, 503, 529}
"""Statuses of a service that is overloaded or not ready, or that refused too early a request."""
_PERHAPS_DONE: Final = {408, 409, 424}
"""Statuses of a refusal after which a part of the work may have been done."""

Problem = ChatError | ChatInterrupted


class Pace:
    """Pace of a map's requests.

    Args:
        workers: the largest number of requests under way.
        waits: whether the map waits for any limit, however long it lasts.
    """

    def __init__(self, workers: int, *, waits: bool = False) -> None:
        """Start at full pace."""
        self.under_way = 0
        """Number of requests under way."""
        self.paused_until = 0.0
        """Time at which the next request may begin."""
        self._workers = workers
        self._waits = waits
        self._most = workers
        self.unanswered = 0
        """Number of pauses since the last answer."""
        self._pauses = 0
        self._refused_since = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may begin; infinite until one has ended.

        Args:
            now: the time, as for all methods, by a clock that is never set back.
        """
        if self.under_way >= self._most:
            return math.inf
        return max(self.paused_until - now, 0.0)

    def begin(self) -> int:
        """Count a request that begins; return the number of pauses before it, for its refusal."""
        self.under_way += 1
        return self._pauses

    def answered(self) -> None:
        """Take note of an answer, which ends the refusals and lets one more request begin."""
        self.unanswered = 0
        self._most = min(self._most + 1, self._workers)

    def refused(
        self, pauses: int, wait: float | None, now: float, soonest: float | None = None
    ) -> bool:
        """Let all requests wait because of a refusal; return whether the map goes on.

        Args:
            pauses: number of pauses before the request, by :meth:`begin`.
            wait: the seconds that the refusal names; ``None`` or 0 and less if it names none.
            now: the time.
            soonest: the seconds if ``wait`` is in fact milliseconds; they are tried first, once.
        """
        is_first = not self.unanswered or pauses < self._pauses
        if soonest is not None and is_first:
            wait = soonest
        wait = 0.0 if wait is None else wait
        if wait > SHORT and not self._waits:
            return False
        if pauses < self._pauses:
            # Its request was sent before the present pause, which only becomes longer.
            self.paused_until = max(self.paused_until, now + wait)
            return True
        if not self.unanswered:
            self._refused_since = now
        left = math.inf if self._waits else self._refused_since + SHORT - now
        if left <= 0:
            return False
        self._pauses += 1
        self.unanswered += 1
        self._most = max(self._most // 2, 1) if wait > 0 else 1
        self.paused_until = now + self._pause(wait, left)
        return True

    def _pause(self, wait: float, left: float) -> float:
        """Return the length of a pause.

        Args:
            wait: the seconds that the refusal names; 0 for none.
            left: the seconds until the map ends without an answer.
        """
        # A time that was named and did not help is doubled, too.
        repeated = self.unanswered - (2 if wait > 0 else 1)
        doubled = 0.0 if repeated < 0 else min(2.0 ** min(repeated, 6), SHORT)
        return max(wait, min(doubled, left))


def is_refusal(problem: Problem | None) -> bool:
    """Return whether an error says that nothing was done, so that a request may be sent again.

    These are limits, a service that is overloaded or not ready, and a connection that was not made.

    Args:
        problem: the error; ``None`` for none.
    """
    if problem is None or problem.reply is not None:
        return False
    if isinstance(problem, RateLimitError):
        return _status(problem) != _PAYMENT_REQUIRED
    if isinstance(problem, RequestTimeoutError):
        return problem.which == "connect"
    if isinstance(problem, ConnectError):
        return not isinstance(problem, NotConnectedError)
    return isinstance(problem, ServiceError) and _status(problem) in _NOTHING_DONE


def may_be_paid(problem: Problem | None) -> bool:
    """Return whether an error is one of the network or the server, which may have been paid for.

    Args:
        problem: the error; ``None`` for none.
    """
    if isinstance(problem, ServiceError):
        status = _status(problem)
        return status is None or status >= _SERVERS_FAULT or status in _PERHAPS_DONE
    return isinstance(problem, CutOffError | RequestTimeoutError)


def is_of_the_service(problem: Problem | None) -> bool:
    """Return whether other rows would probably have an error, too: key, address, network, server.

    Args:
        problem: the error; ``None`` for none.
    """
    if isinstance(problem, CutOffError):
        return problem.reply is None  # a service that answers with text is there
    if isinstance(problem, ServiceError):
        # With a status of success it is about the request, as of a filter of content.
        status = _status(problem)
        return status is None or status >= _REFUSED
    services = AuthenticationError | ConnectError | NotUnderstoodError | RequestTimeoutError
    return isinstance(problem, services | RateLimitError)


def is_of_its_row(problem: Problem | None) -> bool:
    """Return whether an error is about its row alone, where the service has answered other rows.

    These are answers with a success status and without a reply, as of a filter of content.

    Args:
        problem: the error; ``None`` for none.
    """
    if not isinstance(problem, NotUnderstoodError) or problem.status is None:
        return False
    return problem.holds_json and problem.status < _REFUSED


def ends_all(problem: Problem | None) -> bool:
    """Return whether all other rows would have an error, too, and nothing was answered.

    Args:
        problem: the error; ``None`` for none.
    """
    if isinstance(problem, AuthenticationError):
        # A service may refuse a row's content with this status, too.
        return _status(problem) != _FORBIDDEN
    if isinstance(problem, RateLimitError):
        return problem.reply is None
    return isinstance(problem, BudgetError | NotConnectedError | NotRecordedError)


def _status(problem: Problem) -> int | None:
    """Return the status of a failure; an error in a reply names its own."""
    status = problem.status
    is_failure = status is not None and status >= _REFUSED
    return status if is_failure or problem.body_status is None else problem.body_status
