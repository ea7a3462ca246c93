"""Progress of a job: how many rows have ended, until when it waits, and a bar that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable
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


class Bar:
    """Bar by tqdm that a person watches; without tqdm, and without a person, it shows nothing.

    Args:
        total: how many rows are to be asked; ``None`` is unknown.
        is_watched: whether a person sees what is printed.
    """

    def __init__(self, total: int | None, *, is_watched: bool) -> None:
        """Show an empty bar."""
        self._bar: Any = None
        if is_watched:
            try:
                tqdm: Callable[..., Any] = import_module("tqdm.auto").tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, unit="row", leave=False)

    def show(self, progress: Progress, credits_left: int | None) -> None:
        """Show how far a job has come, and the credits left; ``None`` is unknown."""
        if self._bar is None:
            return
        self._bar.n = progress.answered + progress.failed
        words = [] if credits_left is None else [f"{counted(credits_left, 'credit')} left"]
        words += [progress.waiting] if progress.waiting else []
        self._bar.set_postfix_str(", ".join(words), refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
