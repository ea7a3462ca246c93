"""Wait that is told: after a minute, and each time that it is twice as long."""

from __future__ import annotations

import pytest
from jobs import FakeClock

from chatmagic.session.map.long_wait import LongWait

REASON = "limit reached"


@pytest.fixture
def clock() -> FakeClock:
    """Give a clock that a test sets."""
    return FakeClock()


def test_a_wait_is_told_each_time_that_it_is_twice_as_long(clock: FakeClock) -> None:
    """So that hours have a few lines, and a short one has none."""
    told: list[str] = []
    wait = LongWait(told.append, clock.now)
    for second in range(0, 3601, 10):
        clock.seconds = second
        wait.look(REASON)
    lengths = ["1 minute", *(f"{minutes} minutes" for minutes in (2, 4, 8, 16, 32))]
    assert told == [f"The map has waited for {length}: {REASON}." for length in lengths]


def test_the_next_wait_begins_anew(clock: FakeClock) -> None:
    """Once something was sent."""
    told: list[str] = []
    wait = LongWait(told.append, clock.now)
    for second, reason in [(0, REASON), (50, REASON), (55, ""), (70, REASON), (120, REASON)]:
        clock.seconds = second
        wait.look(reason)
    assert told == []
    clock.seconds = 130
    wait.look("another task asks the same rows")
    assert told == ["The map has waited for 1 minute: another task asks the same rows."]
