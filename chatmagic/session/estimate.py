"""Estimate of what a request takes lately, and forecasts from it. Pure.

All of it holds for requests like the last ones: a range of numbers is where the truth is in
about nine of ten cases, if what comes varies as what was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import linear_regression, stdev
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    Lasts = Literal["yes", "no", "perhaps"]


LATELY: Final = 10
"""How many of the last requests an estimate goes by."""
FEWEST: Final = 5
"""How many it takes for a forecast."""
_T: Final = (3.75, 3.36, 3.14, 3.00, 2.90, 2.82)
"""Student's t for 98 %, for 5 to 10 values."""

_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Estimate:
    """Costs of the last requests.

    Args:
        costs: credits that each took, oldest first; ten at most.
    """

    costs: tuple[int, ...] = ()

    @property
    def cheapest(self) -> int | None:
        """The least that one took; ``None`` where no cost is known."""
        return min(self.costs, default=None)

    @property
    def dearest(self) -> int | None:
        """The most that one took, at least 1: what a budget reserves; ``None`` is unknown."""
        return max(1, *self.costs) if self.costs else None

    def about(self, requests: int) -> int | None:
        """Return about how many credits requests take, by the mean; ``None`` is unknown."""
        return math.ceil(requests * _mean(self.costs)) if self.costs else None

    def turns_left(self, remaining: int) -> tuple[int, int] | None:
        """Return between how many and how many more such requests the credits allow.

        Where the last ones took more and more, as in a conversation that grows, the fewest are
        those that go on to grow so.

        Args:
            remaining: the credits that are left.

        Returns:
            ``None`` for fewer than five costs, and where they were all 0.
        """
        if len(self.costs) < FEWEST or not any(self.costs):
            return None
        low, high = mean_range(self.costs, remaining / _mean(self.costs))
        fewest, most = int(remaining / high), int(remaining / low)
        return min(fewest, _growing(self.costs, remaining, most)), most

    def lasts(self, remaining: int, gaps: Sequence[float], seconds: float) -> Lasts | None:
        """Return whether the credits last for a time, if requests go on at their pace.

        Args:
            remaining: the credits that are left.
            gaps: seconds between one request and the next, lately.
            seconds: the time.

        Returns:
            ``None`` where there are too few costs or gaps.
        """
        left = self.turns_left(remaining)
        if left is None or len(gaps) < FEWEST or not any(gaps):
            return None
        fewest, most = left
        low, high = mean_range(gaps, fewest)
        if fewest * low >= seconds:
            return "yes"
        return "no" if (most + 1) * high < seconds else "perhaps"


def mean_range(values: Sequence[float], count: float) -> tuple[float, float]:
    """Return the range in which the mean of the next values will most likely be.

    Student's prediction interval, as a factor: costs and times are above 0, and now and then
    far above what they mostly are.

    Args:
        values: the last ones, at least five, not all 0; the last ten of them count.
        count: how many will come.
    """
    values = values[-LATELY:]
    mean = _mean(values)
    spread = _T[len(values) - FEWEST] * stdev(values) / mean
    factor = math.exp(spread * math.sqrt(1 / len(values) + 1 / max(count, 1)))
    return mean / factor, mean * factor


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _growing(costs: Sequence[int], remaining: int, most: int) -> int:
    """Return how many requests the credits allow if each takes more, by the trend of the last.

    Args:
        costs: what the last ones took, at least five of them.
        remaining: the credits that are left.
        most: what to return where they do not seem to grow.
    """
    count = len(costs)
    slope, first = linear_regression(range(count), costs)
    errors = [cost - first - slope * place for place, cost in enumerate(costs)]
    places = (count**3 - count) / 12  # the sum of the squares of their distances from the middle
    doubt = _T[count - FEWEST] * math.sqrt(sum(e * e for e in errors) / (count - 2) / places)
    if slope <= doubt / 2:  # about one in ten of those that do not grow looks as if it did
        return most
    more = slope + doubt
    next_one = first + slope * (count - 1) + more / 2
    return int((math.sqrt(next_one**2 + 2 * more * remaining) - next_one) / more + _ROUNDING)


def rounded(low: int, high: int) -> tuple[int, int]:
    """Return a range with two digits that count, rounded outwards.

    Args:
        low: the lower end.
        high: the upper end; where both are the same they stay as they are.
    """
    if low == high:
        return low, high
    below, above = (int(10 ** max(len(str(end)) - 2, 0)) for end in (low, high))
    return low // below * below, -(-high // above) * above
