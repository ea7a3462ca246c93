"""The meter: what requests took, one after the other and several at once, and estimates."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from accounts import NOW
from hypothesis import given as examples
from hypothesis import strategies as st

from chatmagic.models import Credits
from chatmagic.session.meter import Figures, Meter

RESET = datetime(2026, 1, 2, tzinfo=UTC)


def seen(remaining: int | None, resets_at: datetime = RESET) -> Figures:
    """Return an answer's figures."""
    return Figures(Credits(1_000, remaining, None, resets_at, NOW), NOW)


def run(meter: Meter, *figures: Figures | None) -> list[tuple[int | None, str, int]]:
    """End a request for each figure, one after the other.

    Returns:
        For each what it took, how sure that is, and the credits that a budget counts by then.
    """
    costs: list[tuple[int | None, str, int]] = []
    for figure in figures:
        meter.begin(alone=True)
        row = meter.end(figure, None)
        costs.append((row.took, row.sure, meter.used))
    return costs


LATER = RESET + timedelta(1)


@pytest.mark.parametrize(
    ("figures", "costs"),
    [
        # The first has nothing to compare with: the estimate counts, once there is one.
        (
            [seen(97), seen(94), seen(90)],
            [(None, "unknown", 1), (3, "alone", 3 + 3), (4, "alone", 7 + 4)],
        ),
        # What was taken across a reset, or a rise, is not known.
        (
            [seen(97), seen(94), seen(999, LATER), seen(996, LATER), seen(998, LATER)],
            [
                (None, "unknown", 1),
                (3, "alone", 3 + 3),
                (None, "unknown", 3 + 6),
                (3, "alone", 6 + 6),
                (None, "unknown", 6 + 9),
            ],
        ),
        # The fall behind an answer without figures holds what that took, and is nobody's alone.
        (
            [seen(97), seen(94), None, seen(88)],
            [
                (None, "unknown", 1),
                (3, "alone", 3 + 3),
                (None, "unknown", 3 + 6),
                (6, "several", 9 + 3),
            ],
        ),
        ([None, seen(None)], [(None, "unknown", 1), (None, "unknown", 2)]),
    ],
)
def test_a_request_took_what_the_figures_fell(
    figures: list[Figures | None], costs: list[tuple[int | None, str, int]]
) -> None:
    """Where they can be compared; otherwise the estimate counts."""
    assert run(Meter(), *figures) == costs


def test_each_account_has_figures_of_its_own() -> None:
    """Those of another one are not compared; what a request takes is known of both."""
    meter, later = Meter(), replace(seen(40), came_at=NOW + timedelta(1))
    assert meter.credits is None
    for account, figures, cost in [
        ("a", seen(97), (None, "unknown", 1)),
        ("b", seen(43), (None, "unknown", 2)),
        ("a", seen(94), (3, "alone", 3 + 2 * 3)),
        ("b", later, (3, "alone", 6 + 2 * 3)),
    ]:
        meter.begin(alone=True)
        row = meter.end(figures, account)
        assert (row.took, row.sure, meter.used) == cost
    assert meter.credits == later.credits


def test_a_cost_is_unknown_after_answers_that_tell_none() -> None:
    """After one answer without figures, or three that cannot be compared."""
    told: dict[object, Figures] = {None: Figures(Credits(1_000, 97, None, None, NOW), NOW)}
    for answers, latest, tells_no_cost in [
        (0, {}, False),
        (1, {}, True),
        (2, told, False),
        (3, told, True),
    ]:
        meter = Meter(dict(latest), answers=answers)
        assert meter.tells_no_cost == tells_no_cost
        meter.costs.append(3)
        assert not meter.tells_no_cost


@examples(
    cost=st.integers(1, 9),
    workers=st.integers(2, 32),
    seed=st.integers(0, 10_000),
    requests=st.integers(2, 120),
)
def test_several_at_once_are_summed_and_never_too_cheap(
    cost: int, workers: int, seed: int, requests: int
) -> None:
    """In whatever order answers come: the sum is the account's, each at least the cost."""
    luck = Random(seed)  # noqa: S311 - a seeded run
    meter, left, asked = Meter(), 10**6, requests + 1
    run(meter, seen(left))
    under_way: list[int] = []
    took = 0
    while requests or under_way:
        if requests and len(under_way) < workers and luck.random() < 0.6:
            requests -= 1
            left -= cost
            meter.begin(alone=not under_way)
            under_way.append(left)
        elif under_way:
            row = meter.end(seen(under_way.pop(luck.randrange(len(under_way)))), None)
            took += row.took or 0
            assert (row.each or 0) >= cost or row.sure == "alone"
    assert took == meter.falls == 10**6 - left
    assert meter.used >= asked * cost


def test_an_estimate_goes_by_the_last_ten_costs() -> None:
    """Of several at once an earlier mean counts no more than a later one."""
    meter = Meter()
    run(meter, *(seen(900 - number) for number in range(20)), seen(800), seen(800), None)
    assert [*meter.costs] == [*[1] * 8, 81, 0]
    for number in range(3):
        meter.begin(alone=not number)
    for left in (791, 790, 788):
        meter.end(seen(left), None)
    assert [*meter.costs] == [*[1] * 5, 81, 0, 4, 4, 4]


def with_costs(*costs: int) -> Meter:
    """Return a meter of requests that took so many credits."""
    return Meter(costs=deque(costs))


def test_few_costs_tell_little() -> None:
    """Without costs there is no dearest one, and costs of 0 last for ever."""
    assert (Meter().dearest, Meter().about(2), with_costs(1, 2).about(3)) == (None, None, 5)
    assert Meter().turns_left(100) is with_costs(0, 0).turns_left(100) is None
    assert (with_costs(0, 0).dearest, with_costs(1, 2).turns_left(10)) == (1, 6)
