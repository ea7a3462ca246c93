"""Budgets: limits on the credits or turns of one kernel. Pure.

A budget guards against accidents, such as a loop that does not end. It reserves an amount before a
request is sent, and settles it when the request has ended. If each request takes the same, a budget
is never exceeded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, Self

from chatmagic.advice import USAGE, budget_in_turns, other_budget, sentences
from chatmagic.errors import BudgetError, InputError
from chatmagic.protocol.credits import OTHERS
from chatmagic.safe_text import counted

Unit = Literal["credits", "turns"]
NOUNS: Final[dict[Unit, str]] = {"credits": "credit", "turns": "turn"}
"""The noun of one of each unit."""

BUDGET_VARIABLE: Final = "CHATMAGIC_BUDGET"
"""The environment's variable; its value at the first import counts."""
NOTICE: Final = 0.8
"""Part of a budget at which a notice is given."""
_FORM: Final = r"(?ia)(\d[\d_,]{0,14})\s*(credits?|turns?)?"


@dataclass(frozen=True, slots=True)
class Budget:
    """Budget of one kernel.

    Args:
        most: the limit.
        unit: unit of the amount.
        setting: source of the setting, such as ``CHATMAGIC_BUDGET``, as the place here names it.
    """

    most: int
    unit: Unit
    setting: str

    @property
    def variable(self) -> str | None:
        """The environment's variable that sets it; ``None`` for the setting of a kernel."""
        return BUDGET_VARIABLE if self.setting == BUDGET_VARIABLE else None

    @classmethod
    def parse(cls, text: str, setting: str) -> Self:
        """Return the budget that a text sets: ``50``, ``50 credits`` or ``20 turns``.

        Args:
            text: the budget, as it was set.
            setting: source of the setting.

        Raises:
            InputError: the text is no budget.
        """
        match = re.fullmatch(_FORM, text.strip())
        if match is None:
            # The value is not repeated: it might be a key.
            raise InputError(f'{setting} must be "50" (credits) or "20 turns". Nothing was sent.')
        unit: Unit = "turns" if (match[2] or "").lower().startswith("turn") else "credits"
        return cls(int(re.sub("[_,]", "", match[1])), unit, setting)

    def __str__(self) -> str:
        """Return the budget in words, such as ``20 turns``."""
        return counted(self.most, NOUNS[self.unit])

    def reserve(self, used: int, dearest: int | None) -> int:
        """Return the amount to reserve for one request.

        Args:
            used: amount of the budget that is used or reserved.
            dearest: the estimated cost of the request in credits. ``None`` is unknown and reserves
                the whole rest, so that no second request begins meanwhile.

        Raises:
            BudgetError: the request exceeds the budget.
        """
        need = 1 if self.unit == "turns" else dearest or max(self.most - used, 1)
        if used + need <= self.most:
            return need
        wanted = "1 turn"
        if self.unit == "credits":
            wanted = f"{counted(dearest or 1, 'credit')}; {OTHERS}"
        raise BudgetError(
            f"The budget of {self} is not enough: {used:,} used or reserved, and this may take "
            f"{wanted}. Nothing was sent.",
            hint=sentences(USAGE, other_budget(self.variable)),
        )

    def refuse_unknown_costs(self) -> None:
        """Raise an error for a budget in credits, because answers show no cost of a request.

        Raises:
            BudgetError: the budget is in credits.
        """
        if self.unit == "credits":
            raise BudgetError(
                "The cost of a request is unknown: the answers report no credits, or credits that "
                f"cannot be compared. So a budget of {self} cannot be kept. Nothing was sent.",
                hint=budget_in_turns(self.variable),
            )

    def notice(self, used: int) -> str | None:
        """Return a line if at least 80 % of the budget are used; ``None`` otherwise.

        Args:
            used: amount of the budget that is used or reserved.
        """
        if used < NOTICE * self.most:
            return None
        return f"{used:,} of the budget of {self} are used; {OTHERS}."
