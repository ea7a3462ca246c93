"""The pace of a job, by what answers tell of credits, requests and resets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chatmagic.batch.pace import Pace, Pause, waiting_words
from chatmagic.errors import RateLimitError
from chatmagic.models import Credits
from chatmagic.protocol.credits import RequestLimit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
EMPTY = "No credits are left."


def credits(remaining: int | None, resets_at: datetime | None = NOON + HOUR) -> Credits:
    """Give what an answer of noon told."""
    return Credits(100, remaining, None, resets_at, NOON)


def window(remaining: int, seconds: float) -> RequestLimit:
    """Give what an answer of noon told of its window of requests."""
    return RequestLimit(10, remaining, NOON + timedelta(seconds=seconds), NOON)


def noted(credits: Credits | None = None, window: RequestLimit | None = None) -> Pace:
    """Give a pace after an answer at the time 1000."""
    pace = Pace()
    pace.note(credits, window, 1000.0)
    return pace


def test_nothing_known_holds_nothing_up() -> None:
    """Nor does an answer without any figure."""
    assert Pace().pause(31, 1, 0.0) is None
    assert noted().pause(31, 1, 1000.0) is None


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
    assert pause is None or (pause.is_waited_for and pause.until is None)


def test_no_credits_until_the_reset() -> None:
    """The reset is as far away as the answer says, by a clock of ours that never jumps."""
    pace = noted(credits(0))
    assert pace.pause(0, 1, 1000.0) == Pause(EMPTY, 4600.0)
    assert pace.pause(0, 1, 4541.0) == Pause(EMPTY, 4600.0, is_waited_for=True)
    assert pace.pause(0, 1, 4600.0) is None
    assert noted(credits(0, None)).pause(0, 1, 1e9) == Pause(EMPTY, None)


def test_figures_that_are_known_do_not_move() -> None:
    """They are as old as they were when they came; others, and those of a reset, count anew."""
    pace = noted(credits(0))
    pace.note(credits(0), None, 1020.0)
    pace.note(None, None, 1030.0)
    assert (pace.credits_left, pace.pause(0, 1, 1030.0)) == (0, Pause(EMPTY, 4600.0))
    pace.note(credits(50, NOON + 2 * HOUR), None, 1000.0)
    assert pace.credits_left == 50
    assert pace.pause(0, 1, 1000.0) is None


def test_a_window_of_requests() -> None:
    """One of a minute is waited for by itself, a longer one only if told."""
    assert noted(None, window(0, 30)).pause(0, 1, 1000.0) == Pause(
        "No requests are left in this window.", 1030.0, is_waited_for=True
    )
    assert noted(None, window(2, 30)).pause(1, 1, 1000.0) is None
    assert noted(None, window(0, 30)).pause(0, 1, 1030.0) is None
    long = noted(None, window(0, 90)).pause(0, 1, 1000.0)
    assert long is not None
    assert not long.is_waited_for


def test_the_same_window_does_not_move() -> None:
    """What an answer without a figure leaves standing was seen before."""
    pace = noted(None, window(0, 30))
    pace.note(None, window(0, 30), 1020.0)
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
    assert pause == Pause("No.", until, is_waited_for=until is not None and until < 1060)
    assert pace.pause(0, 1, 1000.0) == (pause if until and until > 1000 else None)
    assert pace.pause(0, 1, 5000.0) is None


@pytest.mark.parametrize(
    ("pause", "words"),
    [
        (None, ""),
        (Pause("The service refused.", None), ""),
        (Pause("No credits are left.", 190.0), "waiting until 2026-11-22 12:01:30 UTC"),
    ],
)
def test_until_when_a_job_waits(pause: Pause | None, words: str) -> None:
    """A pause ends by a clock of its own; a person reads the time of day."""
    assert waiting_words(pause, datetime(2026, 11, 22, 12, tzinfo=UTC), 100.0) == words
