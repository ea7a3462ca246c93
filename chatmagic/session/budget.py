"""Budgets: how many credits or turns may be used, in a kernel or in a day. Pure.

A budget guards against accidents, such as a loop that does not end. It reserves before a
request is sent, and what was reserved is settled when it has ended: where each request takes
the same, a budget is never passed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from chatmagic.errors import BudgetError, InputError
from chatmagic.text import counted

if TYPE_CHECKING:
    from typing import Literal

    Unit = Literal["credits", "turns"]

OTHERS: Final = "others may share the quota"
NOTICE: Final = 0.8
"""Part of a budget at which a notice is given."""
_FORM: Final = r"(?ia)(\d[\d_,]{0,14})\s*(?:(credits?|turns?))?(\s*(?:a|per)\s+day)?"


@dataclass(frozen=True, slots=True)
class Tally:
    """What was used, and what is reserved for requests under way.

    Args:
        credits: credits.
        turns: requests.
        dearest: the latest estimate of what a request takes, which other kernels of the day go
            by while they know none; ``None`` is unknown.
    """

    credits: int = 0
    turns: int = 0
    dearest: int | None = None

    def plus(self, credits: int, turns: int) -> Tally:
        """Return the tally with more, or less, in it; never below 0.

        Args:
            credits: credits to add; below 0 to take back.
            turns: requests to add.
        """
        return Tally(max(self.credits + credits, 0), max(self.turns + turns, 0), self.dearest)


@dataclass(frozen=True, slots=True)
class Budget:
    """Budget that was set.

    Args:
        most: how much may be used.
        unit: of what.
        daily: whether it holds for all kernels of this user in a UTC day, else for this kernel.
        setting: what set it, such as ``CHATMAGIC_BUDGET``.
    """

    most: int
    unit: Unit
    daily: bool
    setting: str

    @classmethod
    def parse(cls, text: str, setting: str) -> Self:
        """Read a budget: ``50``, ``20 turns``, ``50 a day`` or ``20 turns a day``.

        Args:
            text: as it was set.
            setting: what set it.

        Raises:
            InputError: it is none.
        """
        match = re.fullmatch(_FORM, text.strip())
        if match is None:
            raise InputError(
                # What was set is not repeated: it might be a key.
                f'{setting} is "50" (credits), "20 turns", "50 a day" or "20 turns a day"; it is '
                "something else. Nothing was sent.",
            )
        unit: Unit = "turns" if (match[2] or "").lower().startswith("turn") else "credits"
        return cls(int(re.sub("[_,]", "", match[1])), unit, match[3] is not None, setting)

    def __str__(self) -> str:
        """Return it in words, such as ``20 turns a day``."""
        return counted(self.most, self.unit.removesuffix("s")) + (" a day" if self.daily else "")

    def used(self, tally: Tally) -> int:
        """Return how much of it is used or reserved.

        Args:
            tally: what was used, of the kernel or of the day.
        """
        return tally.credits if self.unit == "credits" else tally.turns

    def reserve(self, tally: Tally, dearest: int | None) -> int:
        """Return how much to reserve for one request.

        Args:
            tally: what was used and reserved, of the kernel or of the day.
            dearest: the estimate of what the request takes in credits; ``None`` is unknown,
                which reserves the rest, so that no second request begins meanwhile.

        Raises:
            BudgetError: it does not go into the budget.
        """
        used = self.used(tally)
        need = 1 if self.unit == "turns" else dearest or max(self.most - used, 1)
        if used + need <= self.most:
            return need
        wanted = "1 turn"
        if self.unit == "credits":
            wanted = f"{counted(dearest or 1, 'credit')}; {OTHERS}"
        raise BudgetError(
            f"The budget of {self} is not enough: {used:,} used or reserved, and this may take "
            f"{wanted}. Nothing was sent.",
            hint=self._hint,
        )

    @property
    def _hint(self) -> str:
        where = "%chat_credits --usage shows what was used."
        if self.setting.startswith("%"):
            return f"{where} {self.setting} sets another budget."
        return f"{where} {self.setting} counts as it was when chatmagic was first imported."

    def refuse_blind(self, *, tells: bool) -> None:
        """Refuse a budget in credits, as answers do not tell what a request takes.

        Args:
            tells: whether they tell credits, which cannot be compared.

        Raises:
            BudgetError: it is in credits.
        """
        if self.unit == "credits":
            why = "The answers tell no credits"
            if tells:
                why = (
                    "The credits in the answers do not tell what a request takes, as their reset "
                    "moves with each, or they rise"
                )
            another = "20 turns a day" if self.daily else "20 turns"
            raise BudgetError(
                f"{why}, so a budget of {self} cannot be kept. Nothing was sent.",
                hint=f'Set one in turns: {self.setting} = "{another}".',
            )

    def notice(self, tally: Tally) -> str | None:
        """Return a line where 80 % of it, or more, are used; ``None`` otherwise.

        Args:
            tally: what was used, of the kernel or of the day.
        """
        used = self.used(tally)
        if used < NOTICE * self.most:
            return None
        return f"{used:,} of the budget of {self} are used; {OTHERS}."
