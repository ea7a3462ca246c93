"""How far a job has come, and until when it waits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chatmagic.batch.pace import Pause
from chatmagic.batch.progress import waiting_words


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
