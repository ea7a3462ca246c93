"""Estimates cover the truth of an account that is simulated, whose truth is known."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.session.estimate import Estimate, mean_range, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = 200
COVERED = 0.9
COSTS: dict[str, Callable[[Random], int]] = {
    "varying": lambda luck: luck.randint(2, 5),
    "mostly small": lambda luck: luck.choice([1, 1, 1, 2, 2, 4]),
    "below one credit": lambda luck: int(luck.random() < 0.4),
    "others ask, too": lambda luck: 3 + luck.choice([0, 0, 0, 2, 4]),
    "others ask in turn": lambda luck: 3 + luck.choice([1, 2, 3]),
}


@given(cost=st.integers(1, 50), remaining=st.integers(0, 10_000), count=st.integers(5, 10))
def test_a_constant_cost_is_forecast_exactly(cost: int, remaining: int, count: int) -> None:
    """So many requests go into what remains, and no more."""
    assert Estimate((cost,) * count).turns_left(remaining) == (remaining // cost, remaining // cost)


@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize(("remaining", "count"), [(40, 10), (300, 10), (1_000, 10), (300, 5)])
def test_the_forecast_covers_an_accounts_truth(kind: str, remaining: int, count: int) -> None:
    """In nine of ten runs the number of turns that the account allows is in the range."""
    covered = 0
    for seed in range(SEEDS):
        luck = Random(seed)  # noqa: S311 - a seeded run
        estimate = Estimate(tuple(COSTS[kind](luck) for _ in range(count)))
        low, high = estimate.turns_left(remaining) or (0, remaining)
        left, turns = remaining, 0
        while (left := left - COSTS[kind](luck)) >= 0:
            turns += 1
        covered += low <= turns <= high
    assert covered >= COVERED * SEEDS


@pytest.mark.parametrize("growth", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("remaining", [40, 300, 1_000])
def test_the_forecast_covers_a_conversation_that_grows(growth: float, remaining: int) -> None:
    """Each turn takes more than the one before, and some of it is luck."""
    covered = 0
    for seed in range(SEEDS):
        luck = Random(seed)  # noqa: S311 - a seeded run
        costs = (int(2 + growth * number) + luck.randint(0, 2) for number in itertools.count())
        estimate = Estimate(tuple(itertools.islice(costs, 10)))
        low, high = estimate.turns_left(remaining) or (0, remaining)
        left, turns = remaining, 0
        while (left := left - next(costs)) >= 0:
            turns += 1
        covered += low <= turns <= high
    assert covered >= COVERED * SEEDS


@pytest.mark.parametrize("cost", [1, 4])
@pytest.mark.parametrize("until_reset", [600, 3_000, 30_000])
def test_whether_it_lasts_is_told_as_it_comes(cost: int, until_reset: int) -> None:
    """At a steady pace "yes" and "no" are true; near the border it is "perhaps"."""
    for seed in range(SEEDS):
        luck = Random(seed)  # noqa: S311 - a seeded run
        gaps = [luck.uniform(20, 40) for _ in range(9)]
        lasts = Estimate((cost,) * 10).lasts(200, gaps, until_reset)
        left, time = 200, 0.0
        while left >= cost and time < until_reset:
            left, time = left - cost, time + luck.uniform(20, 40)
        truth = "yes" if time >= until_reset else "no"
        assert lasts in {truth, "perhaps"}


def test_few_costs_tell_nothing() -> None:
    """Four costs are no forecast, nor is 0; and without costs there is no dearest one."""
    assert Estimate().dearest is Estimate().cheapest is None
    assert Estimate((3, 3, 3, 3)).turns_left(100) is None
    assert (Estimate().about(2), Estimate((1, 2)).about(3)) == (None, 5)
    assert Estimate((0,) * 5).turns_left(100) is None
    assert (Estimate((0, 0)).dearest, Estimate((2, 5, 0)).cheapest) == (1, 0)
    assert Estimate((3,) * 5).lasts(100, [1.0], 60) is None
    assert Estimate((3,) * 5).lasts(100, [0.0] * 5, 60) is None
    assert Estimate((3,)).lasts(100, [1.0] * 5, 60) is None


def test_the_last_ten_count() -> None:
    """What was long ago tells nothing of what comes."""
    assert mean_range([1_000.0, *[2.0] * 10], 5) == (2, 2)


@given(low=st.integers(0, 10**9), more=st.integers(0, 10**6))
def test_a_range_is_rounded_outwards(low: int, more: int) -> None:
    """To two digits; where both ends are the same, as it is."""
    lower, upper = rounded(low, low + more)
    assert lower <= low <= low + more <= upper


def test_a_range_has_two_digits_that_count() -> None:
    """And what is known exactly keeps all of its own."""
    assert rounded(617, 894) == (610, 900)
    assert rounded(617, 617) == (617, 617)
