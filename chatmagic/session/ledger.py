"""Ledger of a process: its requests, the credits that each took, and its limits.

All sessions of a process share one, ``session.ledger``. It is a link that each request goes
through, in any thread. Before a request begins, each limit of the ledger may refuse it, or reserve
an amount for it until it has ended. A replay from a cassette does not enter the ledger. A request
to an emulator that this process started does, and does not count.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, TypeVar

from chatmagic._fork import Lock, belongs_to_process
from chatmagic._json import digest
from chatmagic._log import swallowed
from chatmagic.advice import Note
from chatmagic.archive.table import dataframe
from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import (
    AuthenticationError,
    RateLimitError,
    RequestRejectedError,
)
from chatmagic.models import Credits, Reply, Usage
from chatmagic.protocol.request import Request
from chatmagic.safe_text import counted
from chatmagic.session.environment import Environment, of_process
from chatmagic.session.exchange import Answer, Sending
from chatmagic.session.feature import Feature
from chatmagic.session.ledger_row import LedgerRow, Reservation, service_of
from chatmagic.session.meter import UNKNOWN, Figures, Meter
from chatmagic.session.prepare import Prepared

KEPT: Final = 100_000
"""Largest number of kept rows, the latest."""
_REFUSALS: Final = (RateLimitError, RequestRejectedError, AuthenticationError)
"""Errors of requests that a service refused; without a reply they took nothing."""


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
            self._end_with_unknown_cost(reservation)
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
        known = self.meters.get(service)
        return self.meters.setdefault(service, Meter()) if known is None else known

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
        try:
            self.begin(reservation)
            answer = self._proceed(reservation, sending, proceed)
        finally:
            # An error between these lines, such as an interrupt, leaves nothing reserved.
            if reservation in self._held:
                self._end_with_unknown_cost(reservation)
        return Answer(
            answer.reply,
            answer.problem,
            took=reservation.took,
            is_sent=reservation.was_sent(answer.problem),
            has_removed_key=answer.has_removed_key,
        )

    def _proceed(
        self, reservation: Reservation, sending: Sending, proceed: Callable[[Sending], Answer]
    ) -> Answer:
        """Return the answer to a request whose amount is reserved, and enter the request."""
        try:
            answer = proceed(sending)
        except BaseException as error:
            self.end(reservation, problem=error)
            raise
        self.end(reservation, answer.reply, answer.problem)
        return answer

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

    def _end_with_unknown_cost(self, reservation: Reservation) -> None:
        """Count a request that may have been sent, and whose end is not known here."""
        self.turns += reservation.counts
        self.meter(reservation.service).unknown += 1
        self._held.discard(reservation)

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
        is_refused = (getattr(problem, "status", None) or 0) >= HTTPStatus.BAD_REQUEST
        # Refused requests, and those without a question, took nothing if their answer has no
        # figure.
        figures = None if seen is None else Figures(seen, datetime.now(UTC))
        account = reservation.endpoint.account
        cost = UNKNOWN
        if figures is not None and isinstance(problem, _REFUSALS) and not text:
            cost = meter.refuse(figures, account)
        elif figures is not None or (is_question and not is_refused):
            cost = meter.end(figures, account, is_question=is_question)
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
            before=cost.before,
            after=cost.after,
            took=cost.took,
            each=cost.each,
            sure=cost.sure,
            error=None if problem is None else type(problem).__name__,
        )
        reservation.row = row
        self.rows.append(row)
