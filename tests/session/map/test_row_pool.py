"""The threads that ask rows: each row once, and none after a stop or an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import Rig, capitals


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
    job.pool.close()
    assert (job.pool.sent, job.pool.answers.answered) == (3, 3)
    assert {reply.text for reply in rig.kept().values()} == {"A", "B", "C"}
    assert looks


def test_a_stopped_pool_asks_nothing(rig: Rig) -> None:
    """It can be closed all the same."""
    job = rig.job([*"abc"], capitals)
    job.pool.start()
    job.pool.stop()
    job.pool.ask(job.to_ask, lambda: None)
    job.pool.close()
    assert (job.pool.sent, job.pool.error) == (0, None)


def test_the_first_error_counts(rig: Rig) -> None:
    """A later one is often of its making."""
    job = rig.job([*"abc"], capitals)
    first = ValueError()
    job.pool.start()
    job.pool.end(first)
    job.pool.end(KeyError())
    job.pool.close()
    assert job.pool.error is first
    assert job.pool.is_stopped
