"""The pace of a job, by what answers tell of credits, requests and resets."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chatmagic.batch.pace import Pace, Pause
from chatmagic.client.credit_tracker import CreditState
from chatmagic.errors import RateLimitError
from chatmagic.models import Credits
from chatmagic.protocol.ratelimit import RequestLimit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def credits(remaining: int | None, resets_at: datetime | None = NOON + HOUR) -> CreditState:
    """Give what an answer of noon told."""
    return CreditState(last=Credits(100, remaining, None, resets_at, NOON))


def window(remaining: int, seconds: float) -> CreditState:
    """Give what an answer of noon told of its window of requests."""
    return CreditState(
        requests=RequestLimit(10, remaining, NOON + timedelta(seconds=seconds), NOON)
    )


def noted(*states: CreditState) -> Pace:
    """Give a pace after answers at the time 1000."""
    pace = Pace()
    for state in states:
        pace.note(state, 1000.0)
    return pace


def test_nothing_known_holds_nothing_up() -> None:
    """Nor does an answer without any figure."""
    assert Pace().pause(31, 1, 0.0) is None
    assert noted(CreditState()).pause(31, 1, 1000.0) is None


@pytest.mark.parametrize(
    ("remaining", "under_way", "cost", "goes"),
    [(1, 0, 5, True), (4, 3, 1, True), (3, 3, 1, False), (9, 3, 3, False), (10, 3, 3, True)],
)
def test_no_more_go_than_there_are_credits(
    remaining: int, under_way: int, cost: int, *, goes: bool
) -> None:
    """Those under way may not be counted yet; what ends may tell more, so it is waited for."""
    pause = noted(credits(remaining)).pause(under_way, cost, 1000.0)
    assert (pause is None) == goes
    assert pause is None or (pause.is_short and pause.until is None)


def test_no_credits_until_the_reset() -> None:
    """The reset is as far away as the answer says, by a clock of ours that never jumps."""
    pace = noted(credits(0))
    assert pace.pause(0, 1, 1000.0) == Pause("No credits are left.", 4600.0)
    assert pace.pause(0, 1, 4600.0) is None
    assert noted(credits(0, None)).pause(0, 1, 1e9) == Pause("No credits are left.", None)


def test_an_answer_that_was_overtaken_adds_no_credits() -> None:
    """Until the reset the lowest figure is the latest."""
    pace = noted(credits(0), credits(3))
    assert pace.credits_left == 0
    pace.note(credits(50, NOON + 2 * HOUR), 1000.0)
    assert pace.credits_left == 50
    pace.note(credits(None, NOON + 2 * HOUR), 1000.0)
    assert pace.credits_left is None


def test_a_window_of_requests() -> None:
    """One of a minute is waited for by itself, a longer one only if told."""
    assert noted(window(0, 30)).pause(0, 1, 1000.0) == Pause(
        "No requests are left in this window.", 1030.0, is_short=True
    )
    assert noted(window(2, 30)).pause(1, 1, 1000.0) is None
    assert noted(window(0, 30)).pause(0, 1, 1030.0) is None
    long = noted(window(0, 90)).pause(0, 1, 1000.0)
    assert long is not None
    assert not long.is_short


def test_the_same_window_does_not_move() -> None:
    """What an answer without a figure leaves standing was seen before."""
    state = window(0, 30)
    pace = noted(state)
    pace.note(replace(state, last=None), 1020.0)
    assert pace.pause(0, 1, 1031.0) is None


@pytest.mark.parametrize(
    ("error", "until"),
    [
        (RateLimitError("No.", retry_after=NOON + timedelta(seconds=5)), 1005.0),
        (RateLimitError("No.", retry_after=NOON - HOUR), 1000.0),
        (RateLimitError("No.", credits=Credits(1, 0, 1, NOON + HOUR, NOON)), 4600.0),
        (RateLimitError("No.", credits=Credits(1, 0, 1, None, NOON)), None),
        (RateLimitError("No."), None),
    ],
)
def test_a_refusal(error: RateLimitError, until: float | None) -> None:
    """What it says of the time counts for all requests."""
    pace = Pace()
    pause = pace.refuse(error, 1000.0, NOON)
    assert pause == Pause("No.", until)
    assert pace.pause(0, 1, 1000.0) == (pause if until and until > 1000 else None)
    assert pace.pause(0, 1, 5000.0) is None
