"""Map under way: threads that send rows at the service's pace, and store each reply.

One thread reads the rows, at most twice as many ahead as requests may be under way. The pool is one
of our own threads: those of ``concurrent.futures`` are waited for before a program's end can be
known to them, so that a map in the background that waits for a limit would hold the program up.
"""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from chatmagic._fork import belongs_to_process
from chatmagic._json import digest, shared_fields
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import sentences
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    InputError,
    RateLimitError,
    ReplyFormatError,
    RequestRejectedError,
    RequestTimeoutError,
    shown_at,
)
from chatmagic.models import BodyFacts, Reply
from chatmagic.safe_text import counted
from chatmagic.session.environment import Environment
from chatmagic.session.map.answer_writer import AnswerWriter
from chatmagic.session.map.job_file import JobFile
from chatmagic.session.map.pace import (
    SHORT,
    Pace,
    Problem,
    ends_all,
    is_of_the_service,
    is_refusal,
    may_be_paid,
)
from chatmagic.session.map.progress import Progress
from chatmagic.session.map.repeats import together
from chatmagic.session.map.results import with_replies
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import Row, RowTemplate
from chatmagic.session.map.rows import Rows, is_series, names_of
from chatmagic.session.map.rows_to_ask import RowsToAsk
from chatmagic.session.worker import Worker

NAP: Final = 0.1
"""Seconds between two checks of the state."""
LONGEST_NAP: Final = 1.0
"""Seconds after which a thread that waits for its request checks whether the program has ended."""
MOST_FAILURES: Final = 10
"""Number of failures of the service in succession that ends the map."""
MOST_TRIES: Final = 10
"""Number of times that a row is sent again while others are answered and it is not."""


class Clock:
    """Time, and the wait for a change."""

    def now(self) -> float:
        """Return the time in seconds, by a clock that is never set back."""
        return time.monotonic()

    def wait(self, changed: threading.Condition, seconds: float) -> None:
        """Wait for a change.

        Args:
            changed: the condition, which is held.
            seconds: the longest wait.
        """
        changed.wait(seconds)


@dataclass(frozen=True, slots=True)
class JobOptions:
    """Options of a map.

    Args:
        workers: largest number of requests under way.
        retries: number of times that a row is sent again that may have been paid for.
        waits: whether the job waits for limits longer than a minute, too.
        keep_prompts: whether the file gets the prompts, too.
        reports: whether a line tells what came from the file, and how many rows failed.
    """

    workers: int = 4
    retries: int = 0
    waits: bool = False
    keep_prompts: bool = False
    reports: bool = True


@dataclass(frozen=True, slots=True)
class _Begun:
    """State at the beginning of a request.

    Args:
        pauses: number of pauses before it.
        sent: number of requests that had been sent.
    """

    pauses: int
    sent: int


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
        file: JobFile,
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
        self.sent = 0
        """Number of requests of this run."""
        self.waiting = ""
        """The reason why no request is sent now; empty if requests are sent."""
        self.error: BaseException | None = None
        """The error that ended it before its last row."""
        self.is_stopped = False
        """Whether no more rows are begun."""
        self._failures = 0
        self._pace = Pace(options.workers, waits=options.waits)
        self._clock = clock or Clock()
        self._changed = threading.Condition(threading.RLock())
        self._given = queue.SimpleQueue[Row | None]()
        self._room = threading.Semaphore(2 * options.workers)
        self._threads: list[threading.Thread] = []
        self._halts: set[Halt] = set()
        self._is_interrupted = False
        self._is_cut = False
        self._progress = Progress(None)
        self._is_awaited = False
        self._worker = Worker(self._work, self.interrupt, daemon=False)
        belongs_to_process(self)
        self.to_ask = RowsToAsk(template, sender, rows, file)
        """The rows to ask."""
        self._answers = AnswerWriter(file, self._room.release, self._end)

    def leave_to_parent(self) -> None:
        """Be free of the parent's threads, in a forked child."""
        self._changed = threading.Condition(threading.RLock())

    # --- For its user --------------------------------------------------------------------------

    @property
    def answered(self) -> int:
        """Number of rows that this run has answered."""
        return self._answers.answered

    @property
    def failed(self) -> int:
        """Number of rows that failed in this run."""
        return self._answers.failed

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
        with Progress.shown(self.total, is_watched=is_watched) as self._progress:
            raised = self._worker.wait()
        if isinstance(raised, KeyboardInterrupt):
            raise ChatInterrupted("Interrupted.", hint=self._so_far()) from None
        if raised is not None:
            raise raised
        return self.result()

    def result(self) -> Any:
        """Wait for the end, report what was done, and return the map's result.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: the map was stopped, or only this wait was.
        """
        try:
            while self.is_running:
                time.sleep(NAP)
        except KeyboardInterrupt:
            raise ChatInterrupted(
                "Interrupted while waiting: the map goes on.", hint="stop() ends it."
            ) from None
        self._worker.result  # noqa: B018 - raises the error that ended it
        if self.options.reports:
            self._report()
        replies = [self._with_value(reply) for reply in self.file.replies(self.to_ask.keys)]
        if self.template.repeats > 1:
            replies = together(replies, self.template.repeats)
            tied = sum(bool(reply.tied) for reply in replies)
            if tied and self.options.reports:
                words = f"{counted(tied, 'row')} without a most frequent answer: a tie"
                notify(self.sender.environment, f"{words}; {self._error_place()}.")
        return with_replies(self.rows.source, replies, self.template.columns)

    def stop(self) -> None:
        """Begin no more rows. Those under way continue to their end."""
        self.is_stopped = True
        with self._changed:
            self._changed.notify_all()

    def interrupt(self) -> None:
        """Begin no more rows; at the second call, cut off those under way."""
        self._is_cut = self._is_interrupted
        self._is_interrupted = True
        self.stop()
        if self._is_cut:
            for halt in tuple(self._halts):
                halt.stop()

    def __repr__(self) -> str:
        """Return the state of the job and its numbers."""
        of_total = "" if self.total is None else f" of {self.total:,}"
        answered = self.to_ask.from_file + self._answers.answered
        parts = [f"{answered:,}{of_total} rows answered", f"{self._answers.failed:,} failed"]
        if self.credits_left is not None:
            parts.append(f"{counted(self.credits_left, 'credit')} left")
        state = self.waiting or "running" if self.is_running else "not running"
        return f"<map, {state}: {', '.join(parts)}; {self.path.name}>"

    def _report(self) -> None:
        """Tell what came from the file, and how many rows failed."""
        total = self.to_ask.read
        if self.to_ask.from_file and self.sender.replayed is None:
            asked = f"{self.sent:,} sent" if self.sent else "nothing was sent"
            when = "" if self.file.latest is None else f", of {_day(self.file.latest)}"
            notify(
                self.sender.environment,
                f"{self.to_ask.from_file:,} of {total:,} from {self.path.name}{when}; {asked}; "
                "file=… asks anew.",
            )
        if self._answers.failed:
            answered = total - self._answers.failed
            words = f"{answered:,} of {total:,} answered, {self._answers.failed:,} failed"
            notify(self.sender.environment, f"{words}: {self._error_place()}.")

    def _error_place(self) -> str:
        """Return the place of a row's error in words."""
        source = self.rows.source
        if is_series(source) and not self.template.columns.makes_table:
            return f"error in {self.path.name}"
        if names_of(source) or is_series(source):
            return f"column {self.template.columns.names[-1]}"
        return "error of each"

    def _so_far(self) -> str:
        words = f"{counted(self._answers.answered, 'row')} answered by this run"
        words += f", {self._answers.failed:,} failed" if self._answers.failed else ""
        words += f", kept in {self.path.name}: the same call goes on."
        words += (
            f" {counted(self._answers.lost, 'row')} lost whose reply had come."
            if self._answers.lost
            else ""
        )
        return words

    def _with_value(self, reply: Any) -> Any:
        """Return a row's reply with its value; a changed schema may no longer accept the reply."""
        if not self.template.is_parsed or reply is None or reply.error is not None:
            return reply
        try:
            return replace(reply, value=self.template.checked(Reply(reply.text or "")).parsed)
        except ReplyFormatError as error:
            return replace(reply, error=error.message)

    # --- Its threads ---------------------------------------------------------------------------

    def _work(self, worker: Worker[None]) -> None:
        """Ask all rows, and wait for the last one; then close the file.

        If a thread waits for the worker, that thread reads the rows.
        """
        self._answers.start()
        try:
            if self._is_awaited:
                worker.tell_first(self._hand_out)
            else:
                self._hand_out()
        except BaseException as problem:  # noqa: BLE001 - it is raised below
            log_swallowed(problem)
            self._end(problem)
        self._given.put(None)
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._answers.close()
        error = self.error
        if isinstance(error, ChatError):
            error.advice = sentences(error.advice, self._so_far())
        elif isinstance(error, KeyboardInterrupt) or (error is None and self.is_stopped):
            # An interrupt here comes from the user's rows, as the caller's thread gets all others.
            how = "Stopped." if error is None else "Interrupted."
            error = ChatInterrupted(how, hint=self._so_far())
        if error is not None:
            with shown_at(self.sender.place):
                raise error from None

    def _hand_out(self) -> None:
        """Hand out each row, and wait until all rows are done."""
        try:
            for row in self.to_ask:
                if not self._has_room():
                    return
                if len(self._threads) < self.options.workers:
                    self._add_thread()
                self._given.put(row)
            for _ in range(2 * self.options.workers):
                if not self._has_room():
                    return
            self._show_progress()
        except Exception as error:  # noqa: BLE001 - `_work` raises it
            log_swallowed(error)
            self._end(error)

    def _add_thread(self) -> None:
        """Start a thread that asks rows. Rows under way end before the interpreter exits."""
        thread = threading.Thread(target=self._ask_rows, name="chatmagic-map", daemon=False)
        self._threads.append(thread)
        thread.start()

    def _has_room(self) -> bool:
        """Wait until a row may be handed out; return whether the map goes on."""
        while not self.is_stopped:
            self._show_progress()
            if self._room.acquire(timeout=NAP):
                return True
        return False

    def _show_progress(self) -> None:
        """Draw the bar, if a person sees one."""
        if self._progress.is_shown:
            self._progress.show(self.done, self._state())

    @property
    def done(self) -> int:
        """Number of rows that need no more requests in this run."""
        return self.to_ask.from_file + self._answers.answered + self._answers.failed

    def _state(self) -> str:
        """Return the failed rows, the credits and the reason for a wait, in words."""
        left = self.credits_left
        words = [f"{self._answers.failed:,} failed"] if self._answers.failed else []
        words += [] if left is None else [f"{counted(left, 'credit')} left"]
        words += [self.waiting] if self.waiting else []
        return ", ".join(words)

    def _ask_rows(self) -> None:
        """Ask rows until there are no more, with a client for this thread alone."""
        try:
            with self.sender.connect() as client:
                while (row := self._given.get()) is not None:
                    if self.is_stopped or not self._ask(client, row):
                        self._room.release()
        except BaseException as error:  # noqa: BLE001 - `_work` raises it
            log_swallowed(error)
            self._end(error)
        self._given.put(None)

    def _ask(self, client: Client, row: Row) -> bool:
        """Send one row's request, and store its reply or its error; return whether it was stored.

        It is sent again only if nothing was done, or as often as ``retries`` says.
        """
        if (unsent := self.template.problem(row)) is not None:
            self._keep(row, 0, problem=InputError(unsent))
            return True
        requests = 0
        refusals = 0
        retries = 0
        while (begun := self._may_send()) is not None:
            reply, problem = self._send(client, row)
            if isinstance(problem, BudgetError) and self._waits_for_others(begun):
                continue
            requests += not isinstance(problem, BudgetError)
            if is_refusal(problem):
                refusals += 1
                is_tried = refusals <= MOST_TRIES or isinstance(problem, RateLimitError)
            else:
                retries += 1
                is_tried = may_be_paid(problem) and retries <= self.options.retries
            if problem is not None and is_tried and self._is_waited_for(problem, begun):
                continue
            if problem is not None and (ends_all(problem) or (is_tried and is_refusal(problem))):
                self._end(problem)
                return False
            self._keep(row, requests, reply, problem)
            return True
        return False

    def _may_send(self) -> _Begun | None:
        """Wait until a request may begin, and make room for its line; ``None`` at a stop."""
        with self._changed:
            while not self.is_stopped:
                if not threading.main_thread().is_alive():
                    self._end(RuntimeError("the program has ended"))
                    return None
                seconds = self._pace.wait(self._clock.now())
                if seconds <= 0 and (seconds := self.sender.pause_left()) > 0:
                    self.waiting = "limit reached by another process"
                if seconds <= 0:
                    self.waiting = ""
                    self.file.make_room(self._pace.under_way + 1)
                    return _Begun(self._pace.begin(), self.sent)
                self._clock.wait(self._changed, min(seconds, LONGEST_NAP))
        return None

    def _send(self, client: Client, row: Row) -> tuple[Reply | None, Problem | None]:
        """Return the reply so far, and the error that ended it early."""
        halt = Halt()
        reply: Reply | None = None
        problem: Problem | None = None
        self._halts.add(halt)
        if self._is_cut:
            # The interrupt came before this halt was in the list.
            halt.stop()
        try:
            request = self.template.request(row)
            question = self.template.ask
            reply = self.sender.send(client, request, row.request, question, halt)
            reply = self.template.checked(reply)
        except (ChatError, ChatInterrupted) as error:
            problem = error
            reply = error.reply
        finally:
            self._halts.discard(halt)
            with self._changed:
                self._pace.under_way -= 1
                if not isinstance(problem, BudgetError):
                    self.sent += 1
                if problem is None or isinstance(problem, ReplyFormatError | RequestRejectedError):
                    self._pace.answered()
                self._changed.notify(2)
        return reply, problem

    def _is_waited_for(self, problem: Problem, begun: _Begun) -> bool:
        """Let all requests wait because of a failure; return whether they do.

        Args:
            problem: the failure.
            begun: the beginning of its request.
        """
        until = problem.retry_after
        wait = None if until is None else (until - datetime.now(UTC)).total_seconds()
        with self._changed:
            now = self._clock.now()
            if self._pace.refused(begun.pauses, wait, now):
                pause = timedelta(seconds=self._pace.paused_until - now)
                self.waiting = f"{_reason(problem)}: waiting until {_second(pause)} UTC"
                return True
        reason = "No row was answered for a minute. wait=True goes on."
        if wait is not None and wait > SHORT:
            reason = "wait=True waits for the reset."
        problem.advice = sentences(problem.advice, reason)
        return False

    def _waits_for_others(self, begun: _Begun) -> bool:
        """Wait for another request to end, whose cost may leave room; return whether one was sent.

        Until the cost of a request is known, a single one may reserve all that is left.
        """
        with self._changed:
            is_any = self._pace.under_way > 0 or self.sent > begun.sent
            if is_any:
                self._clock.wait(self._changed, NAP)
            return is_any

    def _keep(
        self,
        row: Row,
        requests: int,
        reply: Reply | None = None,
        problem: Problem | None = None,
    ) -> None:
        """Store a row's reply, or its error."""
        line = RowReply(
            row=row.number,
            key=row.key,
            request=row.request,
            occurrence=row.occurrence,
            service=self.sender.service,
            error=None if problem is None else problem.message,
            ended_at=datetime.now(UTC),
            head=self.file.head,
            prompt_digest=digest(row.prompt),
            prompt=row.prompt if self.options.keep_prompts else None,
            requests=requests,
            **_facts(reply),
        )
        self._answers.add(line)
        if problem is None:
            self._failures = 0
        elif is_of_the_service(problem):
            self._note_failure(problem)

    def _note_failure(self, problem: Problem) -> None:
        """Count a failure of the service; the tenth in succession ends the map."""
        with self._changed:
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                ended = f"The map ended, as {MOST_FAILURES} rows in succession failed."
                problem.advice = sentences(ended, problem.advice)
                self._end(problem)

    def _end(self, error: BaseException) -> None:
        """Begin no more rows because of an error; the first error counts."""
        with self._changed:
            self.error = self.error or error
        self.stop()


def _facts(reply: Reply | None) -> dict[str, Any]:
    """Return the text and the facts of a row's reply, as arguments of its line."""
    if reply is None:
        return {}
    left = None if reply.credits is None else reply.credits.remaining
    return {"text": reply.text, "credits_left": left, **shared_fields(reply, BodyFacts)}


def notify(environment: Environment, line: str) -> None:
    """Show a line to the user; if warnings are errors, no reply is lost.

    Args:
        environment: the environment that shows it.
        line: the line.
    """
    with swallowed():
        environment.notify(line)


def _reason(problem: Problem) -> str:
    """Return the reason for a wait in words."""
    if isinstance(problem, RateLimitError):
        return "limit reached"
    is_unconnected = isinstance(problem, ConnectError | RequestTimeoutError)
    return "no connection" if is_unconnected else "service failed"


def _second(pause: timedelta) -> str:
    """Return the second at which a pause ends, in UTC."""
    return f"{datetime.now(UTC) + pause:%Y-%m-%d %H:%M:%S}"


def _day(when: datetime) -> str:
    """Return a day in words; that of now is "today", so that a notebook repeats."""
    if when.astimezone(UTC).date() == datetime.now(UTC).date():
        return "today"
    return f"{when.day} {when:%B %Y}"
