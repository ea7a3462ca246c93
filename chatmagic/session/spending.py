"""Owner of the ledger and the budgets: each request is begun and ended here.

All sessions of a process have one, ``session.spending``; who sends does so between the two::

    reservation = Reservation(endpoint, "map", None, request.digest())
    try:
        spending.begin(reservation)                # raises BudgetError; nothing was sent
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

import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from chatmagic import _startup
from chatmagic._json import digest
from chatmagic._log import swallowed
from chatmagic.errors import ChatError
from chatmagic.models import Reply, Usage
from chatmagic.session.budget import OTHERS, Budget, Tally
from chatmagic.session.day_file import DayFile
from chatmagic.session.ledger import Cost, Figures, Ledger, LedgerRow
from chatmagic.session.reservation import EMULATOR, service_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.client.endpoint import Endpoint
    from chatmagic.models import Credits
    from chatmagic.session.environment import Environment
    from chatmagic.session.reservation import Reservation

SETTING: Final = "%config ChatMagics.budget"


class Spending:
    """The ledger of one process, and what its budgets are charged with.

    Args:
        environment: returns the kernel's environment, which knows the budget that is set.
        file: what this user's kernels used today; ``None`` is the one in the state folder.
    """

    def __init__(self, environment: Callable[[], Environment], file: DayFile | None = None) -> None:
        """Begin with nothing used."""
        self.ledger = Ledger()
        self._settled = Tally()
        self._held: set[Reservation] = set()
        self._environment = environment
        self._file = file
        self._lock = threading.Lock()
        self._news: list[str] = []
        self._noticed: set[tuple[Budget, str]] = set()

    @property
    def under_way(self) -> tuple[Reservation, ...]:
        """The requests that were begun and have not ended."""
        return tuple(self._held)

    @property
    def tally(self) -> Tally:
        """What this kernel used, and what it has reserved."""
        held = [each.amount for each in self._held.copy() if each.counts]
        return self._settled.plus(sum(held), len(held))

    @property
    def file(self) -> DayFile:
        """The file of what this user's kernels used."""
        if self._file is None:
            self._file = DayFile()
        return self._file

    def figures(self, endpoint: Endpoint) -> Figures | None:
        """Return the latest figures of an account's credits; ``None`` before the first."""
        return self.ledger.meter(service_of(endpoint)).latest.get(endpoint.account)

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

    def begin(self, reservation: Reservation) -> None:
        """Reserve what a request may take; called just before it is sent.

        Raises:
            BudgetError: it does not go into a budget; nothing was sent.
            ChatError: a budget, or the file of the day's, cannot be used.
        """
        try:
            with self._lock:
                if reservation.counts:
                    self._reserve(reservation)
                alone = all(each.service != reservation.service for each in self._held)
                self.ledger.meter(reservation.service).begin(alone=alone)
                self._held.add(reservation)
                reservation.is_begun = True
        except BaseException:
            # An interrupt may come when the file has it.
            with self._lock:
                self._held.discard(reservation)
                self._settle_day(reservation, None)
            raise

    def _reserve(self, reservation: Reservation) -> None:
        """Reserve the credits for a request, of the kernel's budgets and of the day's."""
        service = reservation.service
        dearest = self.ledger.estimate(service).dearest
        budgets = self.budgets()
        meter = self.ledger.meter(service)
        for budget in budgets if meter.is_blind(dearest) else ():
            budget.refuse_blind(tells=bool(meter.latest))
        daily = [budget for budget in budgets if budget.daily]
        needs = _needs([budget for budget in budgets if not budget.daily], self.tally, dearest)

        def reserve(today: Tally) -> int:
            reservation.estimate = dearest or today.dearest
            needs.extend(_needs(daily, today, reservation.estimate))
            reservation.amount, reservation.is_daily = min(needs, default=dearest or 0), True
            return reservation.amount

        if daily:
            self.file.reserve(service, reservation.day, reservation.name, reserve)
        reservation.amount = min(needs, default=dearest or 0)

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
        try:
            # An interrupt strikes the main thread alone: in another one all of it is done.
            if threading.current_thread() is not threading.main_thread():
                self._end(reservation, reply, problem)
            elif reservation in self._held:
                arguments = reservation, reply, problem
                settling = threading.Thread(target=self._end, args=arguments)
                settling.start()
                settling.join()
        except KeyboardInterrupt:
            self._end(reservation, reply, problem)
            raise
        self.tell()

    def _end(
        self,
        reservation: Reservation | None,
        reply: Reply | None,
        problem: BaseException | None,
    ) -> None:
        """Do what :meth:`end` does, once; a second call waits until the first has done it."""
        with self._lock:
            if reservation is not None and reservation in self._held:
                self._settle(reservation, reply or Reply(""), problem)
                if reservation.counts:
                    self._news += self._notices(reservation)

    def settled(self, reservation: Reservation | None, reply: Reply) -> Reply:
        """Return a reply that has come with what it took.

        Args:
            reservation: its request; ``None`` where none was sent.
            reply: the reply; one that is not whole is ended by its problem.
        """
        if reply.state == "complete":
            self.end(reservation, reply)
        return replace(reply, took=None if reservation is None else reservation.took)

    def tell(self) -> None:
        """Show the notices that no cell has shown; in the main thread, where cells run.

        What another thread prints would stand in the output of whichever cell runs.
        """
        if threading.current_thread() is threading.main_thread():
            for notice in self.news():
                with swallowed():  # a warning may be an error here; the reply is not to be lost
                    self._environment().notify(notice)

    def _settle(
        self, reservation: Reservation, reply: Reply, problem: BaseException | None
    ) -> None:
        cost = self._enter(reservation, reply, problem)
        self._held.discard(reservation)
        if reservation.counts and cost is not None:
            self._settled = self._settled.plus(cost.charge + cost.late, 1)
        self._settle_day(reservation, cost)

    def _settle_day(self, reservation: Reservation, cost: Cost | None) -> None:
        """Settle a request in the file of the day; what cannot be written stays reserved."""
        if reservation.is_daily:
            service = reservation.service
            nothing = Tally(dearest=self.ledger.estimate(service).dearest)
            taken = nothing if cost is None else nothing.plus(cost.charge, 1)
            is_priced = cost is None or cost.is_priced
            with swallowed(ChatError):
                self.file.settle(
                    service, reservation.day, reservation.name, taken if is_priced else None
                )

    def _enter(
        self, reservation: Reservation, reply: Reply, problem: BaseException | None
    ) -> Cost | None:
        """Enter a request into the ledger; return its cost, ``None`` where it counts nothing."""
        ledger, service = self.ledger, reservation.service
        meter = ledger.meter(service)
        if not reservation.was_sent(problem):
            return None
        seen: Credits | None = getattr(problem, "credits", None) or reply.credits
        text, usage = reply.text, reply.usage or Usage()
        is_question = reservation.entry != "models"
        is_reply = bool(text) or (problem is None and reply.state == "complete")
        meter.answers += is_reply and is_question
        is_refused = (getattr(problem, "status", None) or 0) >= HTTPStatus.BAD_REQUEST
        if seen is None and (is_refused or not is_question):
            cost = Cost()  # refused, or no question: it took nothing, as far as is told
        else:
            figures = None if seen is None else Figures(seen, datetime.now(UTC))
            dearest = ledger.estimate(service).dearest or reservation.estimate
            cost = meter.end(figures, dearest, reservation.endpoint.account)
        row = reservation.row = LedgerRow(
            number=ledger.count + 1,
            time=reservation.time,
            service=sys.intern(service),
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
        ledger.add(row)
        return None if reply.origin == EMULATOR else cost

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


def _needs(budgets: list[Budget], tally: Tally, dearest: int | None) -> list[int]:
    """Return the credits that each budget in credits reserves for one request.

    Raises:
        BudgetError: the request does not go into one of the budgets, in whatever unit.
    """
    needs = [(budget.unit, budget.reserve(tally, dearest)) for budget in budgets]
    return [need for unit, need in needs if unit == "credits"]


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
