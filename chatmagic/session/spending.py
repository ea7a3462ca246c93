"""Owner of a session's ledger and budgets: each request is begun and ended here.

A session has one, ``session.spending``; whatever sends a request does so between the two::

    reservation = spending.begin(
        endpoint, entry="map", cell=None, request=request.digest()
    )                                              # raises BudgetError; nothing was sent
    try:
        …                                          # send, read the reply to its end
    finally:
        spending.end(reservation, reply, problem)  # settles; again it does nothing

Any thread may call it. ``begin`` refuses where used + reserved + estimate is more than the
budget. While no answer has told a cost yet, the first request reserves all that is left, so a
second one is refused until the first has ended: who runs several waits for its own to end and
tries again, and gives up where none of its own is under way.
``spending.ledger.estimate(service_of(endpoint))`` is what a request takes lately.
What a cassette answers is not begun here; what the emulator answers is, and counts nothing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from chatmagic import _startup
from chatmagic._json import digest
from chatmagic._log import swallowed
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    InputError,
    NotRecordedError,
)
from chatmagic.models import Reply, Usage
from chatmagic.session.budget import Budget, Tally
from chatmagic.session.day_file import DayFile
from chatmagic.session.ledger import Cost, Ledger, LedgerRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.client.endpoint import Endpoint
    from chatmagic.models import Credits
    from chatmagic.session.environment import Environment
    from chatmagic.session.ledger import Entry

EMULATOR: Final = "emulator"
OTHERS: Final = "others may share the quota"
SETTING: Final = "%config ChatMagics.budget"


@dataclass(slots=True, eq=False)
class Reservation:
    """One request that was begun.

    Args:
        service: origin of the service, or ``emulator``.
        entry: where it was asked.
        cell: hash of the cell; ``None`` without one.
        request: digest of the request.
        time: when it was begun.
        is_daily: whether it is counted for the day, too.
        estimate: what it takes, where that is known before.
    """

    service: str
    entry: Entry
    cell: str | None
    request: str
    time: datetime
    is_daily: bool = False
    estimate: int | None = None

    @property
    def counts(self) -> bool:
        """Whether budgets count it."""
        return self.service != EMULATOR

    @property
    def day(self) -> str:
        """The UTC day that it counts for."""
        return self.time.date().isoformat()


class Spending:
    """The ledger of one session, and what its budgets are charged with.

    Args:
        environment: returns the session's environment, which knows the budget that is set.
        file: what this user's kernels used today; ``None`` is the one in the state folder.
    """

    def __init__(self, environment: Callable[[], Environment], file: DayFile | None = None) -> None:
        """Begin with nothing used."""
        self.ledger = Ledger()
        self._settled = Tally()
        self._held: dict[Reservation, int] = {}
        self._environment = environment
        self._file = file
        self._lock = threading.Lock()
        self._news: list[str] = []
        self._noticed: set[tuple[Budget, str]] = set()
        self._ask: Reservation | None = None

    @property
    def under_way(self) -> tuple[Reservation, ...]:
        """The requests that were begun and have not ended."""
        return tuple(self._held)

    @property
    def tally(self) -> Tally:
        """What this kernel used, and what it has reserved."""
        held = [amount for each, amount in self._held.copy().items() if each.counts]
        return self._settled.plus(sum(held), len(held))

    @property
    def file(self) -> DayFile:
        """The file of what this user's kernels used."""
        self._file = self._file or DayFile()
        return self._file

    def budgets(self) -> list[Budget]:
        """Return the budgets that hold now: the environment's and the kernel's.

        Raises:
            InputError: one of them is no budget.
        """
        texts = [
            (_startup.BUDGET, _startup.BUDGET_VARIABLE),
            (self._environment().budget(), SETTING),
        ]
        return [Budget.parse(text, setting) for text, setting in texts if text]

    def used(self, budget: Budget, service: str) -> Tally:
        """Return what is used and reserved of a budget.

        Args:
            budget: the budget.
            service: origin of the service, which a day's budget is kept for.
        """
        return self.file.read(service, _today()) if budget.daily else self.tally

    def in_words(self, service: str) -> list[str]:
        """Return how much of each budget is used, a line each.

        Args:
            service: origin of the service that is asked now.

        Raises:
            ChatError: a budget, or the file of the day's, cannot be read.
        """
        return [
            f"Budget of {budget} ({budget.setting}): "
            f"{budget.used(self.used(budget, service)):,} used; {OTHERS}."
            for budget in self.budgets()
        ]

    def news(self) -> list[str]:
        """Return the notices that no cell has shown, and forget them."""
        news, self._news = self._news, []
        return news

    def begin(
        self, endpoint: Endpoint, *, entry: Entry, cell: str | None, request: str
    ) -> Reservation:
        """Reserve what a request may take; called just before it is sent.

        Args:
            endpoint: where it goes.
            entry: where it was asked.
            cell: hash of the cell; ``None`` without one.
            request: digest of the request.

        Raises:
            BudgetError: it does not go into a budget; nothing was sent.
            ChatError: a budget, or the file of the day's, cannot be used.
        """
        reservation = Reservation(service_of(endpoint), entry, cell, request, datetime.now(UTC))
        with self._lock:
            if entry != "map":
                # A session asks one question at a time: the one before has ended, also where an
                # interrupt came before that was noted.
                before, self._ask = self._ask, reservation
                if before in self._held:
                    self._settle(before, Reply(""), ChatInterrupted("Interrupted."))
            amount = self._reserve(reservation) if reservation.counts else 0
            alone = all(each.service != reservation.service for each in self._held)
            self.ledger.meter(reservation.service).begin(alone=alone)
            self._held[reservation] = amount
        return reservation

    def _reserve(self, reservation: Reservation) -> int:
        """Return the credits to reserve for a request, which are reserved for the day, too."""
        service = reservation.service
        dearest = self.ledger.estimate(service).dearest
        budgets = self.budgets()
        if self.ledger.meter(service).is_blind(dearest):
            for budget in budgets:
                budget.refuse_blind()
        own = [budget for budget in budgets if not budget.daily]
        daily = [budget for budget in budgets if budget.daily]
        needs = _needs(own, self.tally, dearest)

        def reserve(today: Tally) -> Tally:
            reservation.estimate = dearest or today.dearest
            needs.extend(_needs(daily, today, reservation.estimate))
            return today.plus(min(needs, default=dearest or 0), 1)

        if daily:
            self.file.change(service, reservation.day, reserve)
        reservation.is_daily = bool(daily)
        return min(needs, default=dearest or 0)

    def end(
        self,
        reservation: Reservation | None,
        reply: Reply | None = None,
        problem: BaseException | None = None,
    ) -> None:
        """Enter a request that has ended into the ledger, and settle what it took.

        Args:
            reservation: the request; ``None``, or one that has ended, does nothing.
            reply: the reply as far as it came.
            problem: what ended it early; of a request that was not sent nothing is kept.
        """
        with self._lock:
            if reservation not in self._held:
                return
            self._settle(reservation, reply or Reply(""), problem)
            notices = self._notices(reservation) if reservation.counts else []
        if reservation.entry == "panel":  # what is printed now would stand in some cell
            self._news += notices
            return
        for notice in notices:
            with swallowed():  # a warning may be an error here; the reply is not to be lost
                self._environment().notify(notice)

    def _settle(
        self, reservation: Reservation, reply: Reply, problem: BaseException | None
    ) -> None:
        charge, turns = self._enter(reservation, reply, problem)
        more = charge - self._held.pop(reservation)
        if not reservation.counts:
            return
        self._settled = self._settled.plus(charge, turns)
        if reservation.is_daily:
            # What cannot be written stays as it was reserved.
            dearest = self.ledger.estimate(reservation.service).dearest

            def change(day: Tally) -> Tally:
                return replace(day.plus(more, turns - 1), dearest=dearest or day.dearest)

            with swallowed(ChatError):
                self.file.change(reservation.service, reservation.day, change)

    def _enter(
        self, reservation: Reservation, reply: Reply, problem: BaseException | None
    ) -> tuple[int, int]:
        """Enter a request into the ledger; return the credits and requests that it counts."""
        ledger, service = self.ledger, reservation.service
        meter = ledger.meter(service)
        if not _was_sent(problem):
            return 0, 0
        seen: Credits | None = getattr(problem, "credits", None) or reply.credits
        text, usage = reply.text, reply.usage or Usage()
        is_question = reservation.entry != "models"
        is_reply = bool(text) or (problem is None and reply.state == "complete")
        meter.answers += is_reply and is_question
        is_refused = (getattr(problem, "status", None) or 0) >= HTTPStatus.BAD_REQUEST
        if seen is None and (is_refused or not is_question):
            cost = Cost()  # refused, or no question: it took nothing, as far as is told
        else:
            cost = meter.end(seen, ledger.estimate(service).dearest or reservation.estimate)
        ledger.add(
            LedgerRow(
                number=ledger.count + 1,
                time=reservation.time,
                service=service,
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
        )
        return (0, 0) if reply.origin == EMULATOR else (cost.charge, 1)

    def _notices(self, reservation: Reservation) -> list[str]:
        """Return the lines on budgets that are used to 80 % now, each once."""
        notices = []
        with swallowed(ChatError):
            for budget in self.budgets():
                key = budget, reservation.day if budget.daily else ""
                line = budget.notice(self.used(budget, reservation.service))
                if line is not None and key not in self._noticed:
                    self._noticed.add(key)
                    notices.append(line)
        return notices


def service_of(endpoint: Endpoint) -> str:
    """Return what the ledger calls the service of an endpoint.

    Args:
        endpoint: where requests go.
    """
    return EMULATOR if endpoint.is_emulator else endpoint.origin


def _needs(budgets: list[Budget], tally: Tally, dearest: int | None) -> list[int]:
    """Return the credits that each budget in credits reserves for one request.

    Raises:
        BudgetError: the request does not go into one of the budgets, in whatever unit.
    """
    needs = [(budget.unit, budget.reserve(tally, dearest)) for budget in budgets]
    return [need for unit, need in needs if unit == "credits"]


def _was_sent(problem: BaseException | None) -> bool:
    """Return whether a request may have reached the service."""
    if isinstance(problem, AuthenticationError):
        return problem.status is not None
    return not isinstance(problem, InputError | ConnectError | NotRecordedError | BudgetError)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
