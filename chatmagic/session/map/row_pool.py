"""Pool of the threads that send a map's rows, at the service's pace.

The threads are our own: those of ``concurrent.futures`` are waited for before a program's end can
be known to them, so that a map in the background that waits for a limit would hold the program up.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from chatmagic._fork import belongs_to_process
from chatmagic._json import digest, shared_fields
from chatmagic._log import log_swallowed
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
)
from chatmagic.models import BodyFacts, Reply
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
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import Row, RowTemplate

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


class RowPool:
    """Threads that send rows, and store each reply; at most twice as many rows wait as are sent.

    Args:
        template: makes the rows' requests.
        sender: sends them.
        file: keeps the reply to each row, or its error.
        options: the options.
        clock: the time.
    """

    def __init__(
        self,
        template: RowTemplate,
        sender: RowSender,
        file: JobFile,
        options: JobOptions,
        clock: Clock,
    ) -> None:
        """Start no thread yet."""
        self.sent = 0
        """Number of requests of this run."""
        self.from_others = 0
        """Number of rows that other tasks have answered meanwhile."""
        self.waiting = ""
        """The reason why no request is sent now; empty if requests are sent."""
        self.error: BaseException | None = None
        """The error that ended it before its last row."""
        self.is_stopped = False
        """Whether no more rows are begun."""
        self._template = template
        self._sender = sender
        self._file = file
        self._options = options
        self._clock = clock
        self._pace = Pace(options.workers, waits=options.waits)
        self._changed = threading.Condition(threading.RLock())
        self._given = queue.SimpleQueue[Row | None]()
        self._room = threading.Semaphore(2 * options.workers)
        self._threads: list[threading.Thread] = []
        self._open = contextlib.ExitStack()
        """What is closed when all threads have ended."""
        self._halts: set[Halt] = set()
        self._is_cut = False
        self._failures = 0
        belongs_to_process(self)
        self.answers = AnswerWriter(file, self._room.release, self.end)
        """The writer of the answers, which counts them."""

    def leave_to_parent(self) -> None:
        """Be free of the parent's threads, in a forked child."""
        self._changed = threading.Condition(threading.RLock())

    def start(self) -> None:
        """Start the writer of the answers."""
        self.answers.start()

    def ask(self, rows: Iterable[Row], while_waiting: Callable[[], object]) -> None:
        """Give rows to the threads, and wait until all are done, or the pool is stopped.

        Args:
            rows: the rows, which are read in the calling thread as they are needed.
            while_waiting: called again and again meanwhile.
        """
        client = self._open.enter_context(self._sender.connect())
        for row in rows:
            if not self._has_room(while_waiting):
                return
            if len(self._threads) < self._options.workers:
                self._add_thread(client)
            self._given.put(row)
        for _ in range(2 * self._options.workers):
            if not self._has_room(while_waiting):
                return

    def close(self) -> None:
        """Wait for the rows under way, and until all answers are on the disk."""
        self._given.put(None)
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._open.close()
        self.answers.close()

    def stop(self) -> None:
        """Begin no more rows. Those under way continue to their end."""
        self.is_stopped = True
        with self._changed:
            self._changed.notify_all()

    def cut(self) -> None:
        """Cut off the rows under way."""
        self._is_cut = True
        for halt in tuple(self._halts):
            halt.stop()

    def end(self, error: BaseException) -> None:
        """Begin no more rows because of an error; the first error counts.

        Args:
            error: the error.
        """
        with self._changed:
            self.error = self.error or error
        self.stop()

    def _add_thread(self, client: Client) -> None:
        """Start a thread that asks rows. Rows under way end before the interpreter exits."""
        thread = threading.Thread(
            target=self._ask_rows, args=[client], name="chatmagic-map", daemon=False
        )
        self._threads.append(thread)
        thread.start()

    def _has_room(self, while_waiting: Callable[[], object]) -> bool:
        """Wait until a row may be handed out; return whether the map goes on."""
        while not self.is_stopped:
            while_waiting()
            if self._room.acquire(timeout=NAP):
                return True
        return False

    def _ask_rows(self, client: Client) -> None:
        """Ask rows until there are no more."""
        try:
            while (row := self._given.get()) is not None:
                if self.is_stopped or not self._ask_row(client, row):
                    self._room.release()
        except BaseException as error:  # noqa: BLE001 - `_work` raises it
            log_swallowed(error)
            self.end(error)
        self._given.put(None)

    def _ask_row(self, client: Client, row: Row) -> bool:
        """Send one row's request, and store its reply or its error; return whether it was stored.

        It is sent again only if nothing was done, or as often as ``retries`` says.
        """
        if (unsent := self._template.problem(row)) is not None:
            self._keep(row, 0, problem=InputError(unsent))
            return True
        if not self._claim(row):
            return False
        try:
            return self._ask_claimed(client, row)
        finally:
            self._file.give_back(row.key)

    def _claim(self, row: Row) -> bool:
        """Wait until no other task asks a row; return whether it is still to be asked."""
        while not self._file.claim(row.key):
            with self._changed:
                if self.is_stopped or self._is_orphaned():
                    return False
                self.waiting = "another task asks the same rows"
                self._clock.wait(self._changed, NAP)
        if not self._file.is_answered_meanwhile(row.key):
            return True
        self._file.give_back(row.key)
        with self._changed:
            self.from_others += 1
        return False

    def _ask_claimed(self, client: Client, row: Row) -> bool:
        """Send the request of a row that no other task asks, as for :meth:`_ask_row`."""
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
                is_tried = may_be_paid(problem) and retries <= self._options.retries
            if problem is not None and is_tried and self._is_waited_for(problem, begun):
                continue
            if problem is not None and (ends_all(problem) or (is_tried and is_refusal(problem))):
                self.end(problem)
                return False
            self._keep(row, requests, reply, problem)
            return True
        return False

    def _may_send(self) -> _Begun | None:
        """Wait until a request may begin, and make room for its line; ``None`` at a stop."""
        with self._changed:
            while not self.is_stopped:
                if self._is_orphaned():
                    return None
                seconds = self._pace.wait(self._clock.now())
                if seconds <= 0 and (seconds := self._sender.pause_left()) > 0:
                    self.waiting = "limit reached by another process"
                if seconds <= 0:
                    self.waiting = ""
                    self._file.make_room(self._pace.under_way + 1)
                    return _Begun(self._pace.begin(), self.sent)
                self._clock.wait(self._changed, min(seconds, LONGEST_NAP))
        return None

    def _is_orphaned(self) -> bool:
        """Return whether the program has ended, which ends the pool."""
        if threading.main_thread().is_alive():
            return False
        self.end(RuntimeError("the program has ended"))
        return True

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
            request = self._template.request(row)
            question = self._template.ask
            reply = self._sender.send(client, request, row.request, question, halt)
            reply = self._template.checked(reply)
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
            service=self._sender.service,
            error=None if problem is None else problem.message,
            ended_at=datetime.now(UTC),
            head=self._file.head,
            prompt_digest=digest(row.prompt),
            prompt=row.prompt if self._options.keep_prompts else None,
            requests=requests,
            **_facts(reply),
        )
        self.answers.add(line)
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
                self.end(problem)


def _facts(reply: Reply | None) -> dict[str, Any]:
    """Return the text and the facts of a row's reply, as arguments of its line."""
    if reply is None:
        return {}
    left = None if reply.credits is None else reply.credits.remaining
    return {"text": reply.text, "credits_left": left, **shared_fields(reply, BodyFacts)}


def _reason(problem: Problem) -> str:
    """Return the reason for a wait in words."""
    if isinstance(problem, RateLimitError):
        return "limit reached"
    is_unconnected = isinstance(problem, ConnectError | RequestTimeoutError)
    return "no connection" if is_unconnected else "service failed"


def _second(pause: timedelta) -> str:
    """Return the second at which a pause ends, in UTC."""
    return f"{datetime.now(UTC) + pause:%Y-%m-%d %H:%M:%S}"
