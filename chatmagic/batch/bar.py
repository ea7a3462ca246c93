"""Bar of a job's progress, by tqdm where that is installed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.batch.job import Job


class Bar:
    """Bar that a person watches; without tqdm, and without a person, it shows nothing.

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

    def show(self, job: Job) -> None:
        """Show how far a job has come, and the credits left."""
        if self._bar is None:
            return
        self._bar.n = job.progress.answered + job.progress.failed
        left = job.pace.credits_left
        words = [] if left is None else [f"{counted(left, 'credit')} left"]
        words += [job.progress.waiting] if job.progress.waiting else []
        self._bar.set_postfix_str(", ".join(words), refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
