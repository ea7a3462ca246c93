"""The budgets of a process: a limit of its ledger, with their setting, their lines and notices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from chatmagic import _initial_environ
from chatmagic._log import swallowed
from chatmagic.advice import BUDGET_SETTING, Place
from chatmagic.errors import ChatError
from chatmagic.session.budget import BUDGET_VARIABLE, Budget
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.feature import Candidate, DoctorLine, Setting
from chatmagic.session.ledger import Ledger, Limit
from chatmagic.session.ledger_row import EMULATOR, Reservation


def _check(value: str | None) -> None:
    """Raise an error for the text of a setting that is no budget."""
    if value and value.strip():
        Budget.parse(value, "it")


class Budgets(Limit):
    """The budgets of a process, which hold for all its sessions together.

    Args:
        ledger: the ledger of the process.
    """

    name: ClassVar[str] = "budget"
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("budget", '"50" (credits) or "20 turns" of this kernel.', _check, is_number=True),
    )

    def __init__(self, ledger: Ledger) -> None:
        """Start with no notice given."""
        self._ledger = ledger
        self._noticed: set[Budget] = set()

    def budgets(self) -> list[Budget]:
        """Return the budgets that hold now: the environment's and the kernel's.

        Raises:
            InputError: one of them is no budget.
        """
        environment = self._ledger.environment()
        budgets: list[Budget] = []
        if text := _initial_environ.VARIABLES.get(BUDGET_VARIABLE):
            budgets.append(Budget.parse(text, BUDGET_VARIABLE))
        if text := environment.setting("budget"):
            budgets.append(Budget.parse(text, BUDGET_SETTING.at(environment.place)))
        return budgets

    def used(self, budget: Budget) -> int:
        """Return the amount of a budget that this kernel has used and reserved.

        Args:
            budget: the budget, for its unit: credits or turns.
        """
        ledger = self._ledger
        held = [request for request in ledger.under_way if request.counts]
        if budget.unit == "turns":
            return ledger.turns + len(held)
        ended = sum(meter.used for name, meter in ledger.meters.items() if name != EMULATOR)
        return ended + sum(request.amount for request in held)

    def reserve(self, reservation: Reservation) -> int:
        """Return the credits to reserve for a request; nothing is reserved.

        Args:
            reservation: the request.

        Raises:
            BudgetError: the request exceeds a budget.
            InputError: a budget cannot be read.
        """
        if not reservation.counts:
            return 0
        meter = self._ledger.meter(reservation.service)
        dearest = meter.dearest
        credits: list[int] = []
        for budget in self.budgets():
            if meter.tells_no_cost:
                budget.refuse_unknown_costs()
            amount = budget.reserve(self.used(budget), dearest)
            if budget.unit == "credits":
                credits.append(amount)
        # An unknown cost reserves the whole rest of a budget; the smallest rest is enough for all.
        return min(credits, default=dearest or 0)

    def notices(self) -> list[str]:
        """Return a line for each budget of which 80 % are used now, each once."""
        lines: list[str] = []
        with swallowed(ChatError):
            for budget in self.budgets():
                line = budget.notice(self.used(budget))
                if line is not None and budget not in self._noticed:
                    self._noticed.add(budget)
                    lines.append(line)
        return lines

    def refuse_wrong_settings(self) -> None:
        """Raise an error for a budget that cannot be read.

        Raises:
            InputError: a budget cannot be read.
        """
        self.budgets()

    def words(self) -> list[str]:
        """Return the used amount of each budget, a line each.

        Raises:
            InputError: a budget cannot be read.
        """
        practice = ""
        if self._ledger.environment().is_practice():
            practice = " The emulator's replies do not count."
        return [
            f"Budget of {budget} ({budget.setting}): {self.used(budget):,} used.{practice}"
            for budget in self.budgets()
        ]

    def check(self, candidate: Candidate) -> None:
        """Raise an error if a question of a preview exceeds a budget.

        An answer from a cassette needs none. The ledger reserves for a question that is sent, just
        before its request, as others are under way.

        Args:
            candidate: the question.

        Raises:
            BudgetError: the request exceeds a budget.
            InputError: a budget cannot be read.
        """
        if not (candidate.is_sent or candidate.is_replayable):
            prepared = candidate.prepared
            ask = prepared.ask
            self.reserve(Reservation(candidate.endpoint, ask.entry, ask.owner, prepared.digest))

    def status_rows(self, environment: ConfiguredEnvironment) -> list[tuple[str, str]]:
        """Return a row for each budget.

        Args:
            environment: the settings of the kernel, which the ledger knows.

        Raises:
            InputError: a budget cannot be read.
        """
        del environment
        return [("Budget", line) for line in self.words()]

    def examine(self, environment: ConfiguredEnvironment, place: Place) -> Iterator[DoctorLine]:
        """Yield the line on the budgets.

        Args:
            environment: the settings to examine, which the ledger knows.
            place: the place that shows the line.

        Raises:
            BudgetError: a budget is used up.
            InputError: a budget cannot be read.
        """
        del environment, place
        budgets = self.budgets()
        for budget in budgets:
            # A question that takes whatever is left is refused if nothing is left.
            budget.reserve(self.used(budget), None)
        words = (f"{budget}, {self.used(budget):,} used ({budget.setting})" for budget in budgets)
        yield DoctorLine("ok", self.name, "; ".join(words) or "none")
