"""Map under way, and its handle: the rows to ask, the pool that asks, and the file of answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import sentences
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    InputError,
    shown_at,
)
from chatmagic.safe_text import counted
from chatmagic.session.environment import Environment
from chatmagic.session.map.long_wait import LongWait
from chatmagic.session.map.progress import Progress
from chatmagic.session.map.repeats import together
from chatmagic.session.map.results import error_place, with_replies
from chatmagic.session.map.row_asker import JobOptions
from chatmagic.session.map.row_pool import RowPool
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import RowTemplate
from chatmagic.session.map.rows import Rows
from chatmagic.session.map.rows_to_ask import RowsToAsk
from chatmagic.session.map.run_counts import RunCounts
from chatmagic.session.map.run_state import NAP, Clock
from chatmagic.session.map.shared_files import SharedFile
from chatmagic.session.worker import Worker


class Job:
    """Map under way, which is also its handle in the background.

    Args:
        template: makes the rows' requests.
        sender: sends them.
        rows: all rows.
        file: keeps the reply to each row, or its error.
        options: the options.
        clock: the time; another one is for tests.

    Raises:
        InputError: the template does not fit one of the first rows.
        NotRecordedError: a cassette is replayed, and the file has no answer to one of them.
    """

    def __init__(
        self,
        template: RowTemplate,
        sender: RowSender,
        rows: Rows,
        file: SharedFile,
        options: JobOptions,
        *,
        clock: Clock | None = None,
    ) -> None:
        """Read the first rows, if they are in memory; send nothing."""
        self.template = template
        self.sender = sender
        self.rows = rows
        self.file = file
        self.path = file.path
        """The job's file."""
        self.options = options
        clock = clock or Clock()
        self.pool = RowPool(template, sender, file, options, clock)
        """The threads that ask."""
        self._long_wait = LongWait(partial(notify, sender.environment), clock.now)
        self._interrupts = 0
        self._progress = Progress(None)
        self._is_awaited = False
        self._worker = Worker(self._work, self.interrupt, daemon=False)
        self.to_ask = RowsToAsk(template, sender, rows, file)
        """The rows to ask."""

    @property
    def counts(self) -> RunCounts:
        """The numbers of the run as they are now."""
        return RunCounts(
            file_name=self.path.name,
            total=self.total,
            read=self.to_ask.read,
            from_file=self.to_ask.from_file,
            from_others=self.pool.from_others,
            sent=self.pool.gate.sent,
            answered=self.answered,
            failed=self.failed,
            lost=self.pool.answers.lost,
            credits_left=self.credits_left,
            waiting=self._waiting,
        )

    @property
    def _waiting(self) -> str:
        """The reason why no request is sent now; empty if requests are sent."""
        if not self.pool.run.is_stopped:
            return self.pool.run.waiting
        under_way = counted(self.pool.gate.under_way, "request")
        how = " (interrupt again to cut off)" if self._interrupts == 1 else ""
        return f"stopping: {under_way} under way{how}"

    @property
    def answered(self) -> int:
        """Number of rows that this run has answered."""
        return self.pool.answers.answered

    @property
    def failed(self) -> int:
        """Number of rows that failed in this run."""
        return self.pool.answers.failed

    @property
    def total(self) -> int | None:
        """Number of replies that are wanted: one for each row and repeat; ``None`` if unknown."""
        return self.to_ask.total

    @property
    def credits_left(self) -> int | None:
        """Credits left by the latest answer; ``None`` is unknown."""
        credits = self.sender.credits
        return None if credits is None else credits.remaining

    @property
    def is_running(self) -> bool:
        """Whether rows are being asked."""
        return self._worker.is_running

    def start(self) -> None:
        """Run beside the caller.

        Raises:
            KeyboardInterrupt: an interrupt arrived during the start; no row is asked.
        """
        try:
            self._worker.start()
        except BaseException:
            self._worker.cancel()
            raise

    def run(self, *, is_watched: bool) -> Any:
        """Run the job, wait for its end, and return the result.

        The rows are read in this thread. An interrupt begins no more rows and waits for those under
        way. A second one cuts these off, and the text so far is stored. After a third one nothing
        is awaited.

        Args:
            is_watched: whether a person sees printed text, and so a bar.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: a person stopped it.
        """
        self._is_awaited = True
        view = self.sender.environment.bar_view() if is_watched else None
        with Progress.shown(self.total, view) as self._progress:
            raised = self._worker.wait()
        if isinstance(raised, KeyboardInterrupt):
            raise ChatInterrupted("Interrupted.", hint=self.counts.so_far) from None
        if raised is not None:
            raise raised
        return self.result()

    def result(self) -> Any:
        """Wait for the end, report what was done, and return the map's result.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: the map was stopped, or only this wait was.
        """
        environment = self.sender.environment
        view = environment.bar_view() if self.is_running and environment.is_watched() else None
        try:
            with Progress.shown(self.total, view) as progress:
                while self.is_running:
                    counts = self.counts
                    progress.show(counts.done, counts.state)
                    time.sleep(NAP)
        except KeyboardInterrupt:
            raise ChatInterrupted(
                "Interrupted while waiting: the map goes on.", hint="stop() ends it."
            ) from None
        self._worker.result  # noqa: B018 - raises the error that ended it
        if self.options.reports:
            self._report()
        replies: list[Any] = [*map(self.template.with_value, self._read_replies())]
        if self.template.repeats > 1:
            replies = together(replies, self.template.repeats)
            self._report_ties(sum(bool(reply.tied) for reply in replies))
        template = self.template
        return with_replies(self.rows.source, replies, template.columns, template.ask.form)

    def _read_replies(self) -> Iterator[RowReply | None]:
        """Yield the replies as they stand in the files, each with its row's place in this call."""
        repeats = self.template.repeats
        for number, reply in enumerate(self.file.replies(self.to_ask.keys)):
            yield None if reply is None else reply.of_row(number // repeats)

    def stop(self) -> None:
        """Begin no more rows. Those under way continue to their end."""
        self.pool.run.stop()

    def interrupt(self) -> None:
        """Begin no more rows; at the second call, cut off those under way."""
        self._interrupts += 1
        self.stop()
        if self._interrupts > 1:
            self.pool.asker.cut()

    def __repr__(self) -> str:
        """Return the state of the job and its numbers."""
        counts = self.counts
        state = counts.waiting or "running" if self.is_running else "not running"
        return f"<map, {state}: {counts.summary}>"

    def _report(self) -> None:
        """Tell what came from the file, and how many rows failed."""
        counts = self.counts
        if counts.from_file and self.sender.replayed is None:
            line = counts.from_file_line(self.file.names, self.file.latest)
            notify(self.sender.environment, line)
        if counts.failed:
            notify(self.sender.environment, counts.failed_line(self._error_place))

    def _report_ties(self, tied: int) -> None:
        """Tell how many rows have no most frequent answer."""
        if tied and self.options.reports:
            words = f"{counted(tied, 'row')} without a most frequent answer: a tie"
            notify(self.sender.environment, f"{words}; {self._error_place}.")

    @property
    def _error_place(self) -> str:
        """The place of a row's error in words."""
        return error_place(self.rows.source, self.template.columns, self.path.name)

    def _work(self, worker: Worker[None]) -> None:
        """Ask all rows, and wait for the last one; then close the file.

        If a thread waits for the worker, that thread reads the rows.
        """
        self.pool.start()
        self.pool.asker.has_answers = self.to_ask.from_file > 0
        try:
            if self._is_awaited:
                worker.tell_first(self._hand_out)
            else:
                self._hand_out()
        except BaseException as problem:  # noqa: BLE001 - it is raised below
            log_swallowed(problem)
            self.pool.run.end(problem)
        self.pool.close(self._show_progress)
        error = self.pool.run.error
        counts = self.counts
        if isinstance(error, InputError) and not counts.sent:
            pass  # Rows that cannot be read: the same call would fail again.
        elif isinstance(error, ChatError):
            error.advice = sentences(error.advice, counts.so_far)
        elif isinstance(error, KeyboardInterrupt) or (error is None and self.pool.run.is_stopped):
            # An interrupt here comes from the user's rows, as the caller's thread gets all others.
            how = "Stopped." if error is None else "Interrupted."
            error = ChatInterrupted(how, hint=counts.so_far)
        if error is not None:
            with shown_at(self.sender.place):
                raise error from None

    def _hand_out(self) -> None:
        """Hand out each row, and wait until all rows are done."""
        try:
            self.pool.ask(self.to_ask, self._show_progress, known=len(self.to_ask.first))
            self._show_progress()
        except Exception as error:  # noqa: BLE001 - `_work` raises it
            log_swallowed(error)
            self.pool.run.end(error)

    def _show_progress(self) -> None:
        """Draw the bar, if a person sees one; otherwise tell of a long wait."""
        if self._progress.is_shown:
            counts = self.counts
            self._progress.show(counts.done, counts.state)
        else:
            self._long_wait.look(self.pool.run.waiting)


def notify(environment: Environment, line: str) -> None:
    """Show a line to the user; if warnings are errors, no reply is lost.

    Args:
        environment: the environment that shows it.
        line: the line.
    """
    with swallowed():
        environment.notify(line)
