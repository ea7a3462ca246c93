"""Ledger of a process: its requests, the credits that each took, and its limits.

All sessions of a process share one, ``session.ledger``. It is a link that each request goes
through, in any thread. Before a request begins, each limit of the ledger may refuse it, or reserve
an amount for it until it has ended. A replay from a cassette does not enter the ledger. A request
to an emulator that this process started does, and does not count.
"""

from __future__ import annotations

import math
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from statistics import mean
from typing import Any, Final, Literal, TypeVar

from chatmagic import _started_emulators
from chatmagic._fork import Lock, belongs_to_process
from chatmagic._json import digest
from chatmagic._log import swallowed
from chatmagic.advice import Note
from chatmagic.archive.table import dataframe
from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ConnectError,
    InputError,
    NotRecordedError,
    RateLimitError,
    RequestRejectedError,
)
from chatmagic.models import Credits, Reply, Usage
from chatmagic.protocol.wire import Request
from chatmagic.safe_text import counted
from chatmagic.session.environment import Environment, of_process
from chatmagic.session.exchange import Answer, Entry, Sending
from chatmagic.session.feature import Feature
from chatmagic.session.prepare import Prepared

Sure = Literal["alone", "several", "unknown"]

EMULATOR: Final = "emulator"
KEPT: Final = 100_000
"""Largest number of kept rows, the latest."""
LATELY: Final = 10
"""Number of the last requests that an estimate uses."""
_REFUSALS: Final = (RateLimitError, RequestRejectedError, AuthenticationError)
"""Errors of requests that a service refused; without a reply they took nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One request of this kernel that was sent.

    Args:
        number: its number among the kernel's requests, from 1.
        time: time of its beginning, aware, in UTC.
        service: origin of the service, or ``emulator``.
        entry: place of the question: ``cell``, ``panel``, ``python``, ``map`` or ``doctor``;
            ``models`` is no question, but a list of models.
        cell: hash of the cell, as the turn's record has it; ``None`` without one.
        request: digest of the request, as the turn's record has it.
        reply: digest of the reply's text, as the turn's record has it; ``None`` without one.
        prompt_tokens: tokens of the request; ``None`` if unknown.
        completion_tokens: tokens of the reply.
        total_tokens: tokens of both, as the service counts them.
        before: credits left by the answer before; ``None`` is unknown.
        after: credits left by this answer.
        took: the fall of the credits, which others who share the quota may have caused in part.
        each: cost of one such request: ``took``, or the mean of several under way.
        sure: ``alone`` if no other request of this kernel had a part in ``took``, ``several`` if
            others had, ``unknown`` if the answers do not show it.
        error: name of the error that ended it; ``None`` if the reply is complete.
    """

    number: int
    time: datetime
    service: str
    entry: Entry
    cell: str | None
    request: str
    reply: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    before: int | None = None
    after: int | None = None
    took: int | None = None
    each: int | None = None
    sure: Sure = "unknown"
    error: str | None = None


@dataclass(slots=True, eq=False)
class Reservation:
    """One request that is asked within the limits.

    Args:
        endpoint: endpoint of the request.
        entry: place of the question.
        cell: hash of the cell; ``None`` without one.
        request: digest of the request.
        time: time of the reservation.
        amount: the credits that are reserved.
        row: its row of the ledger, once it has ended; ``None`` if it was not sent.
    """

    endpoint: Endpoint
    entry: Entry
    cell: str | None
    request: str
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    amount: int = 0
    row: LedgerRow | None = None

    @property
    def service(self) -> str:
        """Name of the service in the ledger."""
        return service_of(self.endpoint)

    @property
    def counts(self) -> bool:
        """Whether limits count it, as they do unless it goes to an emulator of this process.

        No answer has a part in this: a service could lift a limit by its header.
        """
        is_practice = _started_emulators.is_one(self.endpoint.origin)
        return not (is_practice or self.endpoint.is_emulator)

    @property
    def took(self) -> int | None:
        """Its cost in credits, if no other request of this kernel had a part in that."""
        return self.row.took if self.row is not None and self.row.sure == "alone" else None

    def was_sent(self, problem: BaseException | None) -> bool:
        """Return whether the request may have reached the service.

        Args:
            problem: error that ended it early; ``None`` for none.
        """
        unsent = InputError | ConnectError | NotRecordedError | BudgetError
        has_no_key = isinstance(problem, AuthenticationError) and problem.status is None
        return not (has_no_key or isinstance(problem, unsent))


@dataclass(frozen=True, slots=True)
class Figures:
    """Latest figures of an account's credits.

    Args:
        credits: the figures of an answer.
        came_at: this machine's time of the answer's arrival, aware.
    """

    credits: Credits
    came_at: datetime

    @property
    def period(self) -> tuple[object, ...]:
        """Facts that differ from one period of a quota to the next."""
        return self.credits.limit, self.credits.resets_at, self.credits.lapsed_at


@dataclass(slots=True)
class Meter:
    """Fall of one service's credits over the requests of this kernel, even simultaneous ones.

    Answers overtake one another: until the reset the lowest figure is the latest.

    Args:
        latest: the latest figures of each account, by the account's identity.
        batch: number of requests that were begun since none was under way.
        fallen: the fall of the figure since then.
        figures: number of answers since then with a figure.
        answers: number of replies.
        falls: total fall of the figures.
        unknown: number of requests whose cost no figure shows.
        awaited: number of requests whose cost the next figure shows.
        is_emulator: whether it is an emulator of this process, which takes nobody's credits.
        costs: known costs of the last ten requests in credits, oldest first.
    """

    latest: dict[object, Figures] = field(default_factory=dict)
    batch: int = 0
    fallen: int = 0
    figures: int = 0
    answers: int = 0
    falls: int = 0
    unknown: int = 0
    awaited: int = 0
    is_emulator: bool = False
    costs: deque[int] = field(default_factory=lambda: deque(maxlen=LATELY))

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the account that last had some; ``None`` before the first."""
        latest = max(tuple(self.latest.values()), key=lambda figures: figures.came_at, default=None)
        return None if latest is None else latest.credits

    @property
    def dearest(self) -> int | None:
        """Largest recent cost of a request in credits, at least 1; ``None`` is unknown."""
        return max(1, *self.costs) if self.costs else None

    @property
    def used(self) -> int:
        """Credits that a limit counts: the falls, and the estimate for the other requests."""
        estimated = (self.unknown + self.awaited) * (self.dearest or 1)
        return 0 if self.is_emulator else self.falls + estimated

    def about(self, requests: int) -> int | None:
        """Return the approximate cost of requests in credits, by the mean; ``None`` if unknown.

        Args:
            requests: number of requests.
        """
        return math.ceil(requests * mean(self.costs)) if self.costs else None

    def turns_left(self, remaining: int) -> int | None:
        """Return the approximate number of requests that the credits allow, by the mean cost.

        Args:
            remaining: the credits that are left.

        Returns:
            The number; ``None`` if no cost is known, or if all costs were 0.
        """
        return int(remaining / mean(self.costs)) if any(self.costs) else None

    @property
    def tells_no_cost(self) -> bool:
        """Whether the answers so far do not show the cost of a request."""
        return self.answers >= (3 if self.latest else 1) and not self.costs

    def begin(self, *, alone: bool) -> None:
        """Count a request that begins.

        Args:
            alone: whether no other request is under way.
        """
        if alone:
            self.batch = self.fallen = self.figures = 0
        self.batch += 1

    def end(self, row: LedgerRow, seen: Figures | None, account: object) -> LedgerRow:
        """Return the row of a request that has ended, with its cost as far as that is known.

        Args:
            row: the request.
            seen: its answer's figures; ``None`` for none.
            account: identity of its account.
        """
        after = None if seen is None else seen.credits.remaining
        last = self.latest.get(account)
        if seen is None or after is None:
            self.unknown += last is None
            self.awaited += last is not None
            return row
        is_alone = self.batch == 1
        before = None if last is None else last.credits.remaining
        is_lower = before is not None and after <= before
        is_comparable = last is not None and last.period == seen.period
        if before is None or not is_comparable or (is_alone and not is_lower):
            self.latest[account] = seen
            self.fallen = 0
            self.figures = 0
            self.unknown += self.awaited + 1
            self.awaited = 0
            return replace(row, after=after)
        # The fall of an overtaken answer counts as 0, so the sum of all falls is right.
        took = 0
        awaited = self.awaited
        if is_lower:
            took = before - after
            self.latest[account] = seen
            self.awaited = 0
        self.falls += took
        self.fallen += took
        self.figures += 1
        row = replace(row, before=before, after=after, took=took, sure="several")
        if is_alone and awaited:
            return row
        # Rounded up: the ended requests have taken no more than the whole fall.
        share = took if is_alone else -(-self.fallen // self.figures)
        row = replace(row, each=share, sure="alone" if is_alone else "several")
        if row.entry != "models":  # no question
            # A later mean of a batch is more exact, and no earlier one was too low.
            for at in range(-min(self.figures - 1, len(self.costs)), 0):
                self.costs[at] = min(self.costs[at], share)
            self.costs.append(share)
        return row

    def refuse(self, row: LedgerRow, seen: Figures, account: object) -> LedgerRow:
        """Return the row of a refused request, which took nothing; its figures are the latest.

        If credits have fallen since, others took them: elsewhere, or requests that are under way.

        Args:
            row: the request.
            seen: its answer's figures.
            account: identity of its account.
        """
        after = seen.credits.remaining
        last = self.latest.get(account)
        before = None if last is None else last.credits.remaining
        if after is None:
            return row
        is_comparable = last is not None and last.period == seen.period
        if is_comparable and before is not None:
            fall = before - after
            if fall < 0 and self.batch > 1:
                return replace(row, after=after)  # an answer that was overtaken
            self.falls += max(0, min(fall, (self.batch - 1) * (self.dearest or 1)))
        self.unknown += self.awaited
        self.awaited = 0
        self.latest[account] = seen
        return replace(row, after=after)


class Limit(Feature):
    """Limit on the requests of a process, which its ledger asks before each; this one allows all.

    Args:
        ledger: the ledger of the process.
    """

    def __init__(self, ledger: Ledger) -> None:
        """Limit nothing."""

    def reserve(self, reservation: Reservation) -> int:
        """Return the credits to reserve for a request; nothing is reserved.

        Args:
            reservation: the request.

        Raises:
            ChatError: the limit refuses the request.
        """
        del reservation
        return 0

    def notices(self) -> list[str]:
        """Return new lines for the user; called when a request has ended."""
        return []

    def refuse_wrong_settings(self) -> None:
        """Raise an error if the limit cannot be read.

        Raises:
            InputError: it cannot be read.
        """

    def words(self) -> list[str]:
        """Return the used amount of the limit, in lines.

        Raises:
            InputError: it cannot be read.
        """
        return []


_LimitT = TypeVar("_LimitT", bound=Limit)


class Ledger(Feature):
    """The process's latest requests, oldest first, and the limits that they keep to.

    Args:
        environment: returns the environment of the process.
        limits: the kinds of its limits.
    """

    def __init__(
        self,
        environment: Callable[[], Environment] = of_process,
        limits: Iterable[type[Limit]] = (),
    ) -> None:
        """Start with nothing used."""
        self.rows: deque[LedgerRow] = deque(maxlen=KEPT)
        """A row for each request that has ended."""
        self.token_rate: float | None = None
        """Tokens for each character of the latest request with known tokens; ``None`` before it."""
        self._count = 0
        self.meters: dict[str, Meter] = {}
        self.turns = 0
        """Number of sent requests that limits count."""
        self._held: set[Reservation] = set()
        self.environment = environment
        self._lock = Lock()
        self._news: list[str] = []
        self.limits: tuple[Limit, ...] = tuple(kind(self) for kind in limits)
        """The limits, each of which may refuse a request before it begins."""
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Count the requests under way as ended, in a forked child, which does not see their end.

        Their cost is unknown here.
        """
        for reservation in self.under_way:
            self.turns += reservation.counts
            self.meter(reservation.service).unknown += 1
        self._held.clear()
        self._news.clear()

    def __iter__(self) -> Iterator[LedgerRow]:
        """Return the rows as they are now, oldest first."""
        return iter(tuple(self.rows))

    def __len__(self) -> int:
        """Return the number of kept rows."""
        return len(self.rows)

    def __repr__(self) -> str:
        """Return the number of rows, which may be large."""
        return f"<Ledger of {counted(len(self), 'request')}>"

    def to_dataframe(self) -> Any:
        """Return the rows as a pandas DataFrame, times in UTC.

        Raises:
            ImportError: pandas is not installed.
        """
        return dataframe(LedgerRow, self)

    def meter(self, service: str) -> Meter:
        """Return the meter of a service.

        Args:
            service: its origin, or ``emulator``.
        """
        return self.meters.setdefault(service, Meter())

    def figures(self, endpoint: Endpoint) -> Figures | None:
        """Return the latest figures of an account's credits; ``None`` before the first.

        Args:
            endpoint: the service, and the key of the account.
        """
        return self.meter(service_of(endpoint)).latest.get(endpoint.account)

    @property
    def under_way(self) -> tuple[Reservation, ...]:
        """The requests that were begun and have not ended."""
        return tuple(self._held.copy())

    # --- Limits --------------------------------------------------------------------------------

    def limit(self, kind: type[_LimitT]) -> _LimitT:
        """Return the limit of a kind.

        Args:
            kind: its class.
        """
        return next(limit for limit in self.limits if isinstance(limit, kind))

    def refuse_wrong_limits(self) -> None:
        """Raise an error for a limit that cannot be read.

        Raises:
            InputError: a limit cannot be read.
        """
        for limit in self.limits:
            limit.refuse_wrong_settings()

    def limit_words(self) -> list[str]:
        """Return the used amount of each limit, a line each.

        Raises:
            InputError: a limit cannot be read.
        """
        return [line for limit in self.limits for line in limit.words()]

    def news(self) -> list[Note]:
        """Return the notices that no cell has shown, and forget them."""
        news: list[Note] = [*self._news]
        self._news = []
        return news

    def tell(self) -> None:
        """Show the notices that no cell has shown, if this is the main thread, where cells run.

        Printed text of another thread would stand in the output of the running cell.
        """
        if threading.current_thread() is threading.main_thread():
            for notice in self.news():
                with swallowed():  # a warning may be an error, which must not lose the reply
                    self.environment().notify(notice)

    # --- Requests ------------------------------------------------------------------------------

    def begin(self, reservation: Reservation) -> None:
        """Reserve the amount of a request; called just before it is sent.

        Args:
            reservation: the request.

        Raises:
            ChatError: a limit refuses it; nothing was sent.
        """
        with self._lock:
            amounts = [limit.reserve(reservation) for limit in self.limits]
            reservation.amount = max(amounts, default=0)
            alone = all(held.service != reservation.service for held in self._held)
            self.meter(reservation.service).begin(alone=alone)
            self._held.add(reservation)

    def __call__(self, sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        """Send a request within the limits, and enter it.

        Args:
            sending: the request.
            proceed: the next step.

        Raises:
            ChatError: a limit refuses it; nothing was sent.
        """
        reservation = Reservation(
            sending.client.endpoint, sending.entry, sending.cell, sending.digest
        )
        self.begin(reservation)
        try:
            answer = proceed(sending)
        except BaseException as error:
            self.end(reservation, problem=error)
            raise
        self.end(reservation, answer.reply, answer.problem)
        is_sent = reservation.was_sent(answer.problem)
        return replace(answer, took=reservation.took, is_sent=is_sent)

    def end(
        self,
        reservation: Reservation,
        reply: Reply | None = None,
        problem: BaseException | None = None,
    ) -> None:
        """Enter a request that has ended, and settle its cost.

        Args:
            reservation: the request.
            reply: the reply so far; ``None`` for none.
            problem: error that ended it early; a request that was not sent is not entered.
        """
        reply = reply or Reply("")
        with self._lock:
            if reservation.was_sent(problem):
                self._enter(reservation, reply, problem)
                self.turns += reservation.counts
            self._held.discard(reservation)
            if reservation.counts:
                self._news += [line for limit in self.limits for line in limit.notices()]

    def take_reply(self, prepared: Prepared, reply: Reply) -> None:
        """Note the tokens of a question.

        Args:
            prepared: the question.
            reply: its reply, whole or in part.
        """
        self.note_tokens(prepared.request, reply)

    def note_tokens(self, request: Request, reply: Reply) -> None:
        """Note the tokens that a service counted for a request, if its answer has them.

        Args:
            request: the request.
            reply: its reply.
        """
        if reply.usage is not None and reply.usage.prompt_tokens is not None:
            size = sum(len(message.content) for message in request.messages)
            self.token_rate = reply.usage.prompt_tokens / max(size, 1)

    def _enter(self, reservation: Reservation, reply: Reply, problem: BaseException | None) -> None:
        """Enter a request that was sent."""
        meter = self.meter(reservation.service)
        seen: Credits | None = getattr(problem, "credits", None) or reply.credits
        text = reply.text
        usage = reply.usage or Usage()
        is_question = reservation.entry != "models"
        is_reply = bool(text) or (problem is None and reply.state == "complete")
        meter.answers += is_reply and is_question
        meter.is_emulator = not reservation.counts
        self._count += 1
        row = LedgerRow(
            number=self._count,
            time=reservation.time,
            service=sys.intern(reservation.service),
            entry=reservation.entry,
            cell=reservation.cell,
            request=reservation.request,
            reply=digest(text) if text else None,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            total_tokens=usage.total_tokens,
            error=None if problem is None else type(problem).__name__,
        )
        is_refused = (getattr(problem, "status", None) or 0) >= HTTPStatus.BAD_REQUEST
        # Refused requests, and those without a question, took nothing if their answer has no
        # figure.
        figures = None if seen is None else Figures(seen, datetime.now(UTC))
        account = reservation.endpoint.account
        if figures is not None and isinstance(problem, _REFUSALS) and not text:
            row = meter.refuse(row, figures, account)
        elif figures is not None or (is_question and not is_refused):
            row = meter.end(row, figures, account)
        reservation.row = row
        self.rows.append(row)


def service_of(endpoint: Endpoint) -> str:
    """Return the name of a service in the ledger.

    Args:
        endpoint: endpoint of the request.
    """
    return EMULATOR if endpoint.is_emulator else endpoint.origin
