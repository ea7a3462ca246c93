"""The threads that ask rows: each row once, and none after a stop or an error."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from threading import Thread

import pytest
from jobs import (
    PATIENCE,
    FakeClock,
    Rig,
    capitals,
    raising,
    stopped_when_it_waits,
)

from chatmagic.client.halt import Halt
from chatmagic.errors import (
    ChatInterrupted,
)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Give a maker of jobs with a file."""
    return Rig(tmp_path / "job.jsonl")


def test_each_row_is_asked_once(rig: Rig) -> None:
    """And each answer is on the disk when the pool is closed."""
    job = rig.job([*"abc"], capitals, workers=2)
    looks: list[None] = []
    job.pool.start()
    job.pool.ask(job.to_ask, lambda: looks.append(None))
    job.pool.close(lambda: None)
    assert (job.pool.gate.sent, job.pool.answers.answered) == (3, 3)
    assert {reply.text for reply in rig.kept().values()} == {"A", "B", "C"}
    assert looks


def test_all_threads_run_before_the_first_row_is_asked(rig: Rig) -> None:
    """A thread that is started later waits for the requests of the others."""
    running: list[int] = []

    def answer(prompt: str, halt: Halt) -> str:
        names = [thread.name for thread in threading.enumerate()]
        running.append(names.count("chatmagic-map"))
        return capitals(prompt, halt)

    rig.job([*"abcdefgh"], answer, workers=8).run(is_watched=False)
    assert running[0] == 8


def test_a_thread_without_a_row_ends_while_the_last_rows_are_under_way(rig: Rig) -> None:
    """Hundreds that end together hold up the end of a map."""
    ended: list[bool] = []

    def answer(prompt: str, halt: Halt) -> str:
        if prompt == "slow":
            own = threading.current_thread()
            threads = [each for each in threading.enumerate() if each.name == own.name]
            for other in {*threads} - {own}:
                other.join(PATIENCE)
                ended.append(not other.is_alive())
        return capitals(prompt, halt)

    job = rig.job(["slow", "fast"], answer, workers=2)
    job.run(is_watched=False)
    assert all(ended)


def test_a_stopped_pool_asks_nothing(rig: Rig) -> None:
    """It can be closed all the same."""
    job = rig.job([*"abc"], capitals)
    job.pool.start()
    job.pool.run.stop()
    job.pool.ask(job.to_ask, lambda: None)
    job.pool.close(lambda: None)
    assert (job.pool.gate.sent, job.pool.run.error) == (0, None)


@pytest.mark.parametrize("start", [False, True])
def test_an_error_of_a_threads_own_ends_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, *, start: bool
) -> None:
    """Such as one of a schema's own code, or of a process with too many threads."""
    job, real = rig.job(list("abcdefgh"), raising(ZeroDivisionError, "a"), workers=4), Thread.start

    def failing(thread: Thread) -> None:
        if thread.name == "chatmagic-map":
            raise ZeroDivisionError
        real(thread)

    if start:
        monkeypatch.setattr(Thread, "start", failing)
    with pytest.raises(ZeroDivisionError):
        job.run(is_watched=False)
    assert not [each for each in threading.enumerate() if each.name == "chatmagic-map"]


def test_a_stop_ends_the_wait_for_another_task(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that another task asks is not asked here; a person sees why it waits."""
    job = rig.job(["a"], capitals, workers=1)
    monkeypatch.setattr(job.file, "claim", lambda _: False)
    seen = stopped_when_it_waits(job, monkeypatch)
    with pytest.raises(ChatInterrupted, match="Stopped"):
        job.run(is_watched=True)
    assert seen[0] == "another task asks the same rows; if it hangs, end its process"
    assert rig.asking.asked == []


def test_a_long_wait_is_told_where_no_bar_is_shown(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job on a cluster does not stand still in silence."""
    rig.clock = FakeClock()
    job = rig.job(["a"], capitals, workers=1)
    monkeypatch.setattr(job.file, "claim", lambda _: False)
    told: list[str] = []

    def notify(line: str) -> None:
        told.append(line)
        job.stop()

    monkeypatch.setattr(rig.asking.environment, "notify", notify)
    last = threading.Timer(PATIENCE, job.stop)
    last.start()
    with pytest.raises(ChatInterrupted, match="Stopped"):
        job.run(is_watched=False)
    last.cancel()
    assert told
    assert re.fullmatch(r"The map has waited for .* minutes?: another task .* process\.", told[0])
