"""Rows to ask: those without an answer, which are read as they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs import Rig

from chatmagic.errors import ServiceError
from chatmagic.session.map import rows_to_ask


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Give jobs of one file."""
    return Rig(tmp_path / "job.jsonl")


def test_rows_that_failed_are_asked_last(rig: Rig) -> None:
    """Rows that are answered are not asked; their keys are known, in the rows' order."""

    def answer(prompt: str, halt: object) -> str:
        del halt
        if prompt == "a":
            raise ServiceError("No.", status=400)
        return prompt

    rig.job(["a", "b"], answer).run(is_watched=False)
    job = rig.job(["a", "b", "c"])
    assert [row.prompt for row in job.to_ask] == ["c", "a"]
    assert (job.to_ask.read, job.to_ask.from_file, job.to_ask.total) == (3, 1, 3)
    assert len(job.to_ask.keys) == 3
    job.file.close()


def test_a_list_is_read_ahead_to_a_limit(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows that come one by one none is read before it is needed."""
    monkeypatch.setattr(rows_to_ask, "READ_AHEAD", 2)
    job = rig.job(list("abc"))
    assert [row.prompt for row in job.to_ask.first] == ["a", "b"]
    assert not job.to_ask.knows_all
    job.file.close()
    taken: list[str] = []

    def rows() -> Iterator[str]:
        for text in "abc":
            taken.append(text)
            yield text

    job = rig.job(rows())
    assert (job.to_ask.first, job.to_ask.total, taken) == ([], None, [])
    assert next(iter(job.to_ask)).prompt == "a"
    assert taken == ["a"]
    job.file.close()
