"""Job: the requests of many rows, sent by a few threads, each row stored as it ends.

The thread that runs the job reads the rows and hands them out, a few at a time. The others send
and store; the last one to end closes the file, where the first one does not wait for it.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final, Protocol

from chatmagic._json import digest, shared_fields
from chatmagic._log import log_swallowed
from chatmagic.batch.job_file import JobFile, RowReply, replay_key
from chatmagic.batch.pace import Pace, Pause, waiting_words
from chatmagic.batch.rows import Rows
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    InputError,
    NotRecordedError,
    RateLimitError,
)
from chatmagic.models import BodyFacts, Credits, Reply
from chatmagic.protocol.wire import Request
from chatmagic.text import counted

Compose = Callable[[int, Mapping[str, Any]], tuple[Request, ChatError | None]]

"""Makes a row's request, and says why it is not to be sent."""

_Problem = ChatError | ChatInterrupted | None


NAP: Final = 0.1
"""Seconds between two looks at whether something has changed."""
MOST_FAILURES: Final = 10
"""How many rows in succession may fail before the others are left unasked."""

_ENDING: Final = (AuthenticationError, BudgetError, ConnectError, NotRecordedError)
"""Errors that the other rows would have, too; of the row nothing was sent."""


@dataclass(frozen=True, slots=True)
class Task:
    """One row to ask.

    Args:
        row: its place, from 0.
        key: digest of its request with the address and, of equal requests, which it is.
        request: what it sends.
        occurrence: which of equal requests it is, from 1.
        problem: why it is not to be sent.
        call: name of the call.
    """

    row: int
    key: str
    request: Request
    occurrence: int
    problem: ChatError | None = None
    call: str | None = None


@dataclass(slots=True)
class Tasks:
    """Rows of a job that the file has no answer to.

    Args:
        rows: all rows.
        compose: makes a row's request.
        address: of the service, which is part of each key; ``None`` where a file is replayed.
        file: the job's file.
        keeps: whether the keys of all rows are kept; otherwise the file has a line of this call
            for each row, also for one that another call had answered.
        keys: those keys, in the rows' order.
        failed: how many have failed before.
        listed: the tasks, those that failed first; ``None`` where rows are read as needed.
        total: how many rows were read.
        call: name of the call, by which its lines are told apart: it goes by the first row.
    """

    rows: Rows
    compose: Compose
    address: str | None
    file: JobFile
    keeps: bool = True
    keys: list[str] = field(default_factory=list)
    failed: int = 0
    listed: list[Task] | None = None
    total: int = 0
    call: str | None = None

    def __post_init__(self) -> None:
        """Make all requests, where the rows are in memory: a mistake in the last costs nothing."""
        if self.rows.count is not None:
            # The order of the sort is stable.
            self.listed = sorted(self._read(), key=lambda task: not self.file.has_failed(task.key))
            self.failed = sum(self.file.has_failed(task.key) for task in self.listed)

    def __iter__(self) -> Iterator[Task]:
        """Return the tasks in the order in which they are asked."""
        return self._read() if self.listed is None else iter(self.listed)

    def _read(self) -> Iterator[Task]:
        seen: dict[bytes, int] = {}
        for number, row in enumerate(self.rows):
            request, problem = self.compose(number, row)
            known = request.digest()
            short = bytes.fromhex(known)[:16]
            seen[short] = occurrence = seen.get(short, 0) + 1
            if self.address is None:
                key = replay_key(known, occurrence)
            else:
                key = digest([self.address, json.loads(request.encode()), occurrence])
            self.total = number + 1
            self.call = self.call or key[:16]
            if self.keeps:
                self.keys.append(key)
            if not self.file.is_answered(key):
                yield Task(number, key, request, occurrence, problem, self.call)
            elif not self.keeps and self.address is not None:
                self.file.copy(key, number, self.call)


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
        lost: replies that had come and could not be stored.
        waiting: until when no request goes, in words; empty where they go.
    """

    answered: int = 0
    failed: int = 0
    ended: int = 0
    sending: int = 0
    sent: int = 0
    failures: int = 0
    lost: int = 0
    waiting: str = ""


class Asker(Protocol):
    """Sender of a job's requests."""

    @property
    def service(self) -> str:
        """Name of the service in the ledger."""

    def connect(self) -> AbstractContextManager[Client]:
        """Return a client for one thread, which is closed with the context."""

    def ask(self, client: Client, request: Request, halt: Halt) -> Reply:
        """Send a request, and return the whole reply.

        Args:
            client: one that :meth:`connect` returned.
            request: the row's.
            halt: stops it from another thread.

        Raises:
            ChatError: as for every ask; the part that came is in ``reply``.
            ChatInterrupted: it was stopped; the same holds.
        """

    def cost(self) -> int:
        """Return the estimated credits of a request, at least 1."""

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the credits; ``None`` is unknown."""


class Job:
    """Job of many rows.

    Args:
        tasks: the rows to ask, read as they are needed.
        file: keeps the reply to each, or its error.
        asker: sends.
        workers: how many requests are under way at most.
        waits: whether a limit is waited for that lasts longer than a minute.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        file: JobFile,
        asker: Asker,
        *,
        workers: int,
        waits: bool,
    ) -> None:
        """Start nothing yet."""
        self.progress = Progress()
        self.pace = Pace()
        self.error: BaseException | None = None
        """The error that ended the job before its last row."""
        self.is_stopped = False
        """Whether no more rows are begun."""
        self._tasks = tasks
        self._file = file
        self._asker = asker
        self._workers = workers
        self._waits = waits
        self._given = queue.SimpleQueue["Task | None"]()
        self._halts: set[Halt] = set()
        self._is_cut = self._is_fed = self._is_closed = False
        self._threads: list[threading.Thread] = []
        # Threads that were started for sure, that have begun, and that have ended.
        self._started = self._entered = self._left = 0
        self._lock = threading.RLock()
        self._news = queue.SimpleQueue[None]()

    def run(self, tick: Callable[[], object] = lambda: None) -> None:
        """Ask all rows, and wait for the last one; then the file is closed.

        After an interrupt the rows under way are waited for; after a second one they are cut
        off, and stored as far as they came; after a third one nothing is waited for.

        Args:
            tick: called now and then, to show the progress.

        Raises:
            ChatError: what ended the job early.
            KeyboardInterrupt: an interrupt did.
        """
        try:
            try:
                self._hand_out(tick)
                self._finish(tick)
            except BaseException:
                self.stop()
                self._finish(tick)
                raise
        except KeyboardInterrupt:
            self.stop(cut=True)
            self._finish(tick)
            raise
        if self.error is not None:
            raise self.error

    def stop(self, *, cut: bool = False) -> None:
        """Begin no more rows; those under way go on to their end.

        Args:
            cut: whether these are cut off.
        """
        self.is_stopped = self._is_fed = True
        self._given.put(None)
        if cut:
            self._is_cut = True
            for halt in tuple(self._halts):
                halt.stop()

    @property
    def is_alive(self) -> bool:
        """Whether requests may be under way; the file is open until they have ended."""
        return self._entered > 0 and not self._is_closed

    # --- The thread that runs the job ----------------------------------------------------------

    def _hand_out(self, tick: Callable[[], object]) -> None:
        """Hand the rows out, as many at a time as there are threads; start these as needed."""
        for handed, task in enumerate(self._tasks):
            while handed - self.progress.ended >= self._workers and not self.is_stopped:
                self._rest(tick)
            if self.is_stopped:
                return
            self._given.put(task)
            if self._started < self._workers:
                # Rows under way end before the interpreter exits.
                thread = threading.Thread(target=self._work, name="chatmagic-map", daemon=False)
                self._threads.append(thread)
                thread.start()
                self._started += 1

    def _finish(self, tick: Callable[[], object]) -> None:
        """Wait for the rows under way."""
        self._is_fed = True
        self._given.put(None)
        while not self._close_behind_last():
            self._rest(tick)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(NAP)  # it has nothing more to do
        tick()

    def _rest(self, tick: Callable[[], object]) -> None:
        with contextlib.suppress(queue.Empty):
            self._news.get(timeout=NAP)
        tick()

    # --- Its threads ---------------------------------------------------------------------------

    def _work(self) -> None:
        """Do rows until there are no more, by a client that no other thread has."""
        with self._lock:
            if self._is_closed:
                return  # an interrupt came as this thread was started
            self._entered += 1
        try:
            with self._asker.connect() as client:
                while (task := self._given.get()) is not None:
                    self._do(client, task)
                self._given.put(None)
        except BaseException as error:  # noqa: BLE001 - the thread that runs the job raises it
            log_swallowed(error)
            self._end(error)
        with self._lock:
            self._left += 1
        self._close_behind_last()
        self._news.put(None)

    def _close_behind_last(self) -> bool:
        """Close the file if all rows were given and all threads have ended; return whether."""
        with self._lock:
            is_over = self._is_fed and self._left == self._entered >= self._started
            if is_over and not self._is_closed:
                try:
                    self._file.close()
                finally:
                    self._is_closed = True
            return self._is_closed

    def _do(self, client: Client, task: Task) -> None:
        """Ask one row, and store its reply or its error."""
        try:
            if task.problem is not None:
                self._keep(task, None, task.problem)
            else:
                self._ask(client, task)
        except BaseException as error:  # noqa: BLE001 - the thread that runs the job raises it
            log_swallowed(error)
            self._end(error)
        with self._lock:
            self.progress.ended += 1
        self._news.put(None)

    def _ask(self, client: Client, task: Task) -> None:
        """Send one row's request, and store its reply or its error.

        It is sent once; a second time only where it was refused for a limit that is waited for.
        """
        was_refused = False
        while self._may_send():
            before = self.progress.sent
            reply, problem = self._send(client, task.request)
            if isinstance(problem, BudgetError) and self._has_others(before):
                # Until it is known what a request takes, one alone may reserve all that is left.
                time.sleep(NAP)
                continue
            is_limited = isinstance(problem, RateLimitError) and reply is None
            if is_limited and not was_refused and self._can_wait(problem):
                was_refused = True
                continue
            if problem is not None and (is_limited or isinstance(problem, _ENDING)):
                self._end(problem)
            else:
                self._keep(task, reply, problem)
            return

    def _may_send(self) -> bool:
        """Wait until a request may be sent, and there is room for its reply; return whether it may.

        A pause is waited for that ends within a minute, or that the answers under way may end.
        """
        while True:
            with self._lock:
                if not threading.main_thread().is_alive():
                    self._end(RuntimeError("the program has ended"))
                if self.is_stopped:
                    return False
                now = time.monotonic()
                pause = self.pace.pause(self.progress.sending, self._asker.cost(), now)
                self.progress.waiting = waiting_words(pause, datetime.now(UTC), now)
                if pause is None:
                    self._file.make_room(self.progress.sending + 1)
                    self.progress.sending += 1
                    return True
            if not self._is_waited_for(pause):
                hint = "wait=True waits for the reset." if pause.until is not None else None
                self._end(RateLimitError(f"{pause.why} The next row was not sent.", hint=hint))
                return False
            time.sleep(NAP if pause.until is None else min(max(pause.until - now, 0.0), NAP))

    def _is_waited_for(self, pause: Pause) -> bool:
        return pause.is_short or (self._waits and pause.until is not None)

    def _can_wait(self, refusal: Any) -> bool:
        """Let all requests wait for the end of a limit; return whether that is to be."""
        with self._lock:
            pause = self.pace.refuse(refusal, time.monotonic(), datetime.now(UTC))
        return self._is_waited_for(pause)

    def _has_others(self, before: int) -> bool:
        """Return whether other requests are under way, or were a moment ago.

        Args:
            before: how many requests had ended then.
        """
        with self._lock:
            return self.progress.sending > 0 or self.progress.sent > before

    def _send(self, client: Client, request: Request) -> tuple[Reply | None, _Problem]:
        """Return the reply as far as it came, and the error that ended it early."""
        halt = Halt()
        self._halts.add(halt)
        if self._is_cut:
            # That came before this halt was known.
            halt.stop()
        problem: _Problem = None
        try:
            return self._asker.ask(client, request, halt), None
        except (ChatError, ChatInterrupted) as error:
            problem = error
            return error.reply, error
        finally:
            self._halts.discard(halt)
            with self._lock:
                self.progress.sending -= 1
                self.progress.sent += not isinstance(problem, BudgetError)
                window = client.credit_tracker.state.requests
                self.pace.note(self._asker.credits, window, time.monotonic())

    def _keep(self, task: Task, reply: Reply | None, problem: _Problem) -> None:
        """Store a row's reply, or its error."""
        line = RowReply(
            row=task.row,
            key=task.key,
            request=task.request.digest(),
            occurrence=task.occurrence,
            service=self._asker.service,
            call=task.call,
            text=None if reply is None else reply.text,
            error=None if problem is None else problem.message,
            ended_at=datetime.now(UTC),
            **({} if reply is None else shared_fields(reply, BodyFacts)),
        )
        with self._lock:
            progress = self.progress
            progress.lost += reply is not None
            self._file.append(line)
            progress.lost -= reply is not None
            progress.answered += problem is None
            progress.failed += problem is not None
            if problem is None:
                progress.failures = 0
            elif not isinstance(problem, InputError | ChatInterrupted):
                progress.failures += 1
            if problem is not None and progress.failures >= MOST_FAILURES:
                ended = f"The map ended, as {MOST_FAILURES} rows in succession failed."
                problem.hint = " ".join(filter(None, [ended, problem.hint]))
                self._end(problem)

    def _end(self, error: BaseException) -> None:
        """Begin no more rows, as of this error; the first one counts."""
        with self._lock:
            self.error = self.error or error
            self.is_stopped = True
        self._news.put(None)


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
        self._permit = [True]
        self._is_begun = False
        self._ended = threading.Event()

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
        return (self._is_begun and not self._ended.is_set()) or self._job.is_alive

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
            while not self._ended.is_set():
                time.sleep(NAP)
        except KeyboardInterrupt:
            raise ChatInterrupted(
                "Interrupted while waiting: the map goes on.", hint="stop() ends it."
            ) from None
        if self._error is not None:
            raise self._error
        return self._collect()

    def start(self) -> None:
        """Run the job in a thread of its own.

        Raises:
            KeyboardInterrupt: an interrupt came as it was started; no row is asked.
        """
        thread = threading.Thread(target=self._run_beside, name="chatmagic-map", daemon=True)
        try:
            self._is_begun = True
            thread.start()
        except BaseException:
            self._job.stop()
            if self._is_permitted():
                self._is_begun = False
            raise

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

    def _is_permitted(self) -> bool:
        """Return whether the job is not begun: true once, for the thread that asks first."""
        try:
            return self._permit.pop()
        except IndexError:
            return False

    def _run_beside(self) -> None:
        if not self._is_permitted():
            return
        try:
            self._run(lambda: None)
        except BaseException as error:  # noqa: BLE001 - `result` raises it
            log_swallowed(error)
            self._error = error
        self._ended.set()

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
        lost, rows = self._job.progress.lost, counted(self.answered, "row")
        words = (
            f"{rows} answered by this run, {self.failed:,} failed"
            if self.failed
            else (f"{rows} answered by this run")
        )
        words += f", kept in {self.path.name}: the same call goes on."
        if lost:
            what = "1 reply is" if lost == 1 else f"{lost:,} replies are"
            words += f" {what} lost that had come."
        return words


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
