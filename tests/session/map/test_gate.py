"""The gate of a map's requests: turns, limits, and the end of a wait."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jobs import (
    FakeClock,
    Refusing,
    Rig,
    capitals,
    limited,
    raising,
    stopped_when_it_waits,
)

from chatmagic.client.halt import Halt
from chatmagic.errors import (
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    RateLimitError,
    RequestTimeoutError,
    ServiceError,
)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Give a maker of jobs with a file."""
    return Rig(tmp_path / "job.jsonl")


NOTHING_DONE: list[Callable[[], ChatError]] = [
    lambda: RateLimitError("Wait.", status=429),
    lambda: limited(-5),
    lambda: limited(0),
    lambda: ServiceError("Busy.", status=503),
    lambda: ServiceError("Busy.", status=529),
    lambda: ConnectError("No connection."),
    lambda: RequestTimeoutError("No connection.", which="connect"),
]


def test_a_limit_of_a_moment_is_waited_for(rig: Rig) -> None:
    """The row that was refused is sent again, once; no other is sent meanwhile."""
    refused = ["b"]

    def answer(prompt: str, halt: Halt) -> str:
        if prompt in refused:
            refused.remove(prompt)
            raise limited(0.2)
        return capitals(prompt, halt)

    job = rig.job(list("abc"), answer, workers=1)
    job.run(is_watched=False)
    assert job.counts.waiting == ""
    assert rig.asking.asked == ["a", "b", "b", "c"]
    assert len(rig.kept()) == 3


@pytest.mark.parametrize("error", NOTHING_DONE)
def test_what_was_not_done_is_asked_again(rig: Rig, error: Callable[[], ChatError]) -> None:
    """After 1, 2, 4 … seconds, where no time is named, or a past one."""
    rig.clock = clock = FakeClock()
    rig.job(list("ab"), Refusing(error, b=4), workers=1).run(is_watched=False)
    assert rig.asking.asked == [*"abbbbb"]
    assert sum(clock.waits) == pytest.approx(1 + 2 + 4 + 8)
    assert [reply.error for reply in rig.kept().values()] == [None] * 2


def test_a_time_without_a_unit_is_tried_as_milliseconds(rig: Rig) -> None:
    """A window of 20 s that MuleSoft names as 20,000 does not end a map."""

    def twice() -> RateLimitError:
        error = limited(20_000)
        error.retry_soonest = datetime.now(UTC) + timedelta(seconds=20)
        return error

    rig.clock = clock = FakeClock()
    rig.job(list("ab"), Refusing(twice, b=1), workers=1).run(is_watched=False)
    assert rig.asking.asked == [*"abb"]
    assert 0 < sum(clock.waits) <= 20


@pytest.mark.parametrize("error", NOTHING_DONE)
def test_a_minute_without_an_answer_ends_it(rig: Rig, error: Callable[[], ChatError]) -> None:
    """The rows have no line, and the message says how to go on."""
    rig.clock = clock = FakeClock()
    job = rig.job(list("abc"), Refusing(error, b=10**6, c=10**6), workers=1)
    with pytest.raises(type(error()), match=r"for a minute\. wait=True goes on\. 1 row answered"):
        job.run(is_watched=False)
    assert sum(clock.waits) == pytest.approx(60)
    assert rig.asking.asked == [*"abbcbcbc"]
    assert [*rig.kept()] == [0]


def test_a_map_that_waits_goes_on(rig: Rig) -> None:
    """However long it takes."""
    rig.clock = clock = FakeClock()
    job = rig.job(list("ab"), Refusing(lambda: RateLimitError("No."), b=20), workers=1, waits=True)
    job.run(is_watched=False)
    assert sum(clock.waits) == pytest.approx(63 + 14 * 60)
    assert job.answered == 2


@pytest.mark.parametrize("seconds", [2, 3_600])
def test_a_stop_ends_a_wait(rig: Rig, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """However long that would be; the row is not sent again, though that would be due."""
    job = rig.job(list("ab"), raising(lambda: limited(seconds), "a"), workers=1, waits=True)
    seen = stopped_when_it_waits(job, monkeypatch)
    with pytest.raises(ChatInterrupted, match="Stopped"):
        job.run(is_watched=True)
    assert rig.asking.asked == ["a"]
    words = r"limit reached: waiting until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    assert re.fullmatch(words, seen[0])


def test_a_row_waits_for_the_others_where_a_budget_has_room_for_one(rig: Rig) -> None:
    """While it is not known what a request takes, the first one reserves all."""
    holder = threading.Lock()

    def answer(prompt: str, halt: Halt) -> str:
        if not holder.acquire(blocking=False):
            raise BudgetError("Not enough.")
        time.sleep(0.05)
        holder.release()
        return capitals(prompt, halt)

    rig.job(list("abcdef"), answer, workers=4).run(is_watched=False)
    assert [reply.error for reply in rig.kept().values()] == [None] * 6
