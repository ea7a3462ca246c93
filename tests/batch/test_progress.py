"""How far a job has come, until when it waits, and the bar that a person sees of it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pytest
from libraries import library

from chatmagic.batch.pace import Pause
from chatmagic.batch.progress import Bar, Progress, waiting_words

SO_FAR = Progress(answered=2, failed=1, waiting="waiting until noon")


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


def test_a_person_sees_rows_and_credits(capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing of it once it is closed."""
    library("tqdm")
    bar = Bar(9, is_watched=True)
    bar.show(SO_FAR, 7)
    shown = capsys.readouterr().err
    assert "3/9" in shown
    assert "7 credits left, waiting until noon" in shown
    bar.close()


def test_nobody_sees_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headless, and where tqdm is not installed."""
    for is_watched in (False, True):
        bar = Bar(9, is_watched=is_watched)
        bar.show(SO_FAR, 7)
        bar.close()
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert capsys.readouterr() == ("", "")
