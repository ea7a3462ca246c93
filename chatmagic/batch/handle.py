"""Handle of a job: its progress, the bar that shows it, its end and its result."""

from __future__ import annotations

import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from chatmagic._log import log_swallowed
from chatmagic.batch.job import NAP, is_alive
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.batch.job import Job, Progress, Tasks


class MapHandle:
    """Handle of a map that runs beside the notebook.

    Args:
        job: the job.
        tasks: the rows that it asks.
        collect: returns its result, once it has ended.
    """

    def __init__(self, job: Job, tasks: Tasks, collect: Callable[[], Any]) -> None:
        """Start nothing yet."""
        self.path = tasks.file.path
        """The job's file."""
        self.total = None if tasks.listed is None else len(tasks.listed)
        """How many rows it asks; ``None`` is unknown."""
        self._job = job
        self._collect = collect
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run_beside, name="chatmagic-map", daemon=True)

    @property
    def answered(self) -> int:
        """How many rows were answered, by this run."""
        return self._job.progress.answered

    @property
    def failed(self) -> int:
        """How many rows failed in this run."""
        return self._job.progress.failed

    @property
    def credits_left(self) -> int | None:
        """Credits left by the latest answer; ``None`` is unknown."""
        return self._job.pace.credits_left

    @property
    def is_running(self) -> bool:
        """Whether rows are being asked."""
        return is_alive(self._thread) or self._job.is_alive

    def stop(self) -> None:
        """Begin no more rows; those under way go on to their end."""
        self._job.stop()

    def result(self) -> Any:
        """Wait for the end, and return the map's result.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: it was stopped, or the wait was, and it goes on.
        """
        try:
            while is_alive(self._thread):
                time.sleep(NAP)
        except KeyboardInterrupt:
            raise ChatInterrupted(
                "Interrupted while waiting: the map goes on.", hint="stop() ends it."
            ) from None
        if self._error is not None:
            raise self._error
        return self._collect()

    def start(self) -> None:
        """Run the job in a thread of its own."""
        self._thread.start()

    def run(self, *, is_watched: bool) -> Any:
        """Run the job here, with a bar where a person watches; return the result.

        Args:
            is_watched: whether a person sees what is printed.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: a person stopped it.
        """
        bar = Bar(self.total, is_watched=is_watched)
        try:
            self._run(lambda: bar.show(self._job.progress, self.credits_left))
        finally:
            bar.close()
        return self._collect()

    def __repr__(self) -> str:
        """Return how far it has come."""
        of_total = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self.answered:,}{of_total} rows answered", f"{self.failed:,} failed"]
        if self.credits_left is not None:
            parts.append(f"{counted(self.credits_left, 'credit')} left")
        state = self._job.progress.waiting or "running" if self.is_running else "not running"
        return f"<map, {state}: {', '.join(parts)}; {self.path.name}>"

    def _run_beside(self) -> None:
        try:
            self._run(lambda: None)
        except BaseException as error:  # noqa: BLE001 - `result` raises it
            log_swallowed(error)
            self._error = error

    def _run(self, tick: Callable[[], object]) -> None:
        try:
            self._job.run(tick)
        except ChatError as error:
            error.hint = " ".join(filter(None, [error.hint, self._how_far()]))
            raise
        except KeyboardInterrupt:
            raise ChatInterrupted("Interrupted.", hint=self._how_far()) from None
        if self._job.is_stopped:
            raise ChatInterrupted("Stopped.", hint=self._how_far())

    def _how_far(self) -> str:
        rows = counted(self.answered, "row")
        return f"{rows} answered by this run, kept in {self.path.name}: the same call goes on."


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
        """Show how far a job has come.

        Args:
            progress: its rows so far.
            credits_left: credits left by the latest answer; ``None`` is unknown.
        """
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
