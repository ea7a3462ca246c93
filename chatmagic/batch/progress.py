"""Progress of a job: how many rows have ended, and until when it waits."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chatmagic._dataclass import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from chatmagic.batch.pace import Pause


@dataclass(slots=True)
class Progress:
    """How far a job has come.

    Args:
        answered: rows that ended well.
        failed: rows that ended otherwise.
        ended: rows that were handed out and are done with.
        sending: requests under way.
        sent: requests that have ended.
        failures: rows that failed since the last one that did not.
        waiting: until when no request goes, in words; empty where they go.
    """

    answered: int = 0
    failed: int = 0
    ended: int = 0
    sending: int = 0
    sent: int = 0
    failures: int = 0
    waiting: str = ""


def waiting_words(pause: Pause | None, today: datetime, now: float) -> str:
    """Return until when a job waits; empty where that is but a moment.

    Args:
        pause: what it waits for; ``None`` for nothing.
        today: the time of day, in UTC.
        now: the same moment, by the clock of the pause in seconds.
    """
    if pause is None or pause.until is None:
        return ""
    until = today + timedelta(seconds=pause.until - now)
    return f"waiting until {until:%Y-%m-%d %H:%M:%S} UTC"
