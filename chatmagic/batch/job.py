"""Job: the requests of many rows, sent by a few threads, each row stored as it ends.

The thread that runs the job reads the rows and hands them out, a few at a time; it holds no lock,
so that Ctrl-C in it leaves nothing taken. The other threads send and store; what they share is
behind one lock, which they alone take.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from chatmagic._json import shared
from chatmagic._log import log_swallowed
from chatmagic.batch.pace import Pace
from chatmagic.batch.progress import Progress, waiting_words
from chatmagic.batch.row_reply import RowReply
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
from chatmagic.models import BodyFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from chatmagic.batch.job_file import JobFile
    from chatmagic.batch.tasks import Task
    from chatmagic.client.client import Client
    from chatmagic.models import Credits, Reply
    from chatmagic.protocol.wire import Request

    _Outcome = tuple[Reply | None, ChatError | ChatInterrupted | None]

NAP: Final = 0.1
"""Seconds between two looks at whether something has changed."""
MOST_FAILURES: Final = 10
"""How many rows in succession may fail before the others are left unasked."""

_ENDING: Final = (AuthenticationError, BudgetError, ConnectError, NotRecordedError)
"""Errors that the other rows would have, too; of the row nothing was sent."""


class Asker(Protocol):
    """What a job asks by."""

    @property
    def service(self) -> str:
        """What the ledger calls the service."""

    def connect(self) -> AbstractContextManager[Client]:
        """Return a client for one thread, which is closed with the context."""

    def ask(self, client: Client, request: Request, halt: Halt) -> Reply:
        """Send a request, and return the whole reply.

        Raises:
            ChatError: as for every ask; the part that came is in ``reply``.
            ChatInterrupted: it was stopped; the same holds.
        """

    def cost(self) -> int:
        """Return about what a request takes in credits, at least 1."""

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the credits; ``None`` is unknown."""


class Job:
    """Job of many rows.

    Args:
        tasks: the rows to ask, read as they are needed.
        file: takes what comes of each.
        asker: sends.
        workers: how many requests are under way at most.
        waits: whether a limit that was reached is waited for.
    """

    def __init__(
        self, tasks: Iterable[Task], file: JobFile, asker: Asker, *, workers: int, waits: bool
    ) -> None:
        """Start nothing yet."""
        self.progress = Progress()
        self.pace = Pace()
        self.error: BaseException | None = None
        """What ended the job before its last row."""
        self._tasks = tasks
        self._file = file
        self._asker = asker
        self._waits = waits
        self.is_stopped = False
        """Whether no more rows are begun."""
        self._is_cut = False
        self._lock = threading.Lock()
        self._halts: set[Halt] = set()
        self._given = queue.SimpleQueue["Task | None"]()
        self._news = queue.SimpleQueue[None]()
        self._started = self._ended = 0
        self._is_fed = False
        self._threads = [
            threading.Thread(target=self._work, name="chatmagic-map", daemon=True)
            for _ in range(workers)
        ]

    def run(self, tick: Callable[[], object] = lambda: None) -> None:
        """Ask all rows, and wait for the last one; then the file is closed.

        After an interrupt the rows under way are waited for; after a second one they are cut
        off, and stored as what they are; after a third one this is not waited for.

        Args:
            tick: called now and then, to show the progress.

        Raises:
            ChatError: what ended the job early.
            KeyboardInterrupt: an interrupt did.
        """
        try:
            try:
                self._feed(tick)
                self._finish(tick)
            except BaseException:
                self.stop()
                self._finish(tick)
                raise
        except KeyboardInterrupt:
            self.stop(cut=True)
            self._finish(tick)
            raise
        finally:
            # Where no thread was started; else the last one to end has closed it, or will.
            if not self.is_alive:
                self._file.close()
        if self.error is not None:
            raise self.error

    def stop(self, *, cut: bool = False) -> None:
        """Begin no more rows; those under way go on to their end."""
        self.is_stopped = True
        if cut:
            self._is_cut = True
            for halt in tuple(self._halts):
                halt.stop()

    # --- The thread that runs the job ----------------------------------------------------------

    def _feed(self, tick: Callable[[], object]) -> None:
        """Hand the rows out, as many at a time as there are threads."""
        for handed, task in enumerate(self._tasks):
            while handed - self.progress.ended >= len(self._threads) and not self.is_stopped:
                self._rest(tick)
            if self.is_stopped:
                return
            self._given.put(task)
            if handed < len(self._threads):
                self._started += 1
                self._threads[handed].start()

    def _finish(self, tick: Callable[[], object]) -> None:
        """Let the threads end, and wait for them."""
        self._is_fed = True
        for _ in self._threads:
            self._given.put(None)
        while self.is_alive:
            self._rest(tick)

    def _rest(self, tick: Callable[[], object]) -> None:
        with contextlib.suppress(queue.Empty):
            self._news.get(timeout=NAP)
        tick()

    @property
    def is_alive(self) -> bool:
        """Whether requests may be under way."""
        return any(is_alive(thread) for thread in self._threads)

    # --- The threads that send -----------------------------------------------------------------

    def _work(self) -> None:
        """Ask the rows that are handed out, until there is none."""
        try:
            with self._asker.connect() as client:
                while (task := self._given.get()) is not None:
                    self._ask(client, task)
                    with self._lock:
                        self.progress.ended += 1
                    self._news.put(None)
        except BaseException as error:  # noqa: BLE001 - the thread that runs the job raises it
            log_swallowed(error)
            self._end(error)
        with self._lock:
            self._ended += 1
            is_last = self._is_fed and self._ended == self._started
        if is_last:
            self._file.close()

    def _ask(self, client: Client, task: Task) -> None:
        """Ask one row, and store what came of it."""
        if task.problem is not None:
            self._keep(task, None, task.problem)
        elif (outcome := self._answer(client, task.request)) is not None:
            self._keep(task, *outcome)

    def _answer(self, client: Client, request: Request) -> _Outcome | None:
        """Return what came of a request; ``None`` where it was not sent, or ends the job.

        It is sent once; a second time only where it was refused for a limit that is waited for.
        """
        was_refused = False
        while self._enter():
            before = self.progress.sent
            reply, problem = self._send(client, request)
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
                return None
            return reply, problem
        return None

    def _can_wait(self, refusal: Any) -> bool:
        """Let all requests wait for the end of a limit; return whether that is to be."""
        with self._lock:
            pause = self.pace.refuse(refusal, time.monotonic(), datetime.now(UTC))
        return self._waits and pause.until is not None

    def _enter(self) -> bool:
        """Wait until a request may be sent; return whether it may."""
        while True:
            with self._lock:
                if self.is_stopped:
                    return False
                now = time.monotonic()
                pause = self.pace.pause(self.progress.sending, self._asker.cost(), now)
                self.progress.waiting = waiting_words(pause, datetime.now(UTC), now)
                if pause is None:
                    self.progress.sending += 1
                    return True
            if not pause.is_short and not (self._waits and pause.until is not None):
                hint = "wait=True waits for the reset." if pause.until is not None else None
                self._end(RateLimitError(f"{pause.why} The next row was not sent.", hint=hint))
                return False
            time.sleep(NAP if pause.until is None else min(max(pause.until - now, 0.0), NAP))

    def _has_others(self, before: int) -> bool:
        """Return whether other requests are under way, or were a moment ago.

        Args:
            before: how many requests had ended then.
        """
        with self._lock:
            return self.progress.sending > 0 or self.progress.sent > before

    def _send(self, client: Client, request: Request) -> _Outcome:
        """Return the reply as far as it came, and what ended it early."""
        halt = Halt()
        self._halts.add(halt)
        if self._is_cut:
            # That came before this halt was known.
            halt.stop()
        problem: ChatError | ChatInterrupted | None = None
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

    def _keep(
        self, task: Task, reply: Reply | None, problem: ChatError | ChatInterrupted | None
    ) -> None:
        """Store what came of a row."""
        line = RowReply(
            row=task.row,
            key=task.key,
            request=task.request.digest(),
            occurrence=task.occurrence,
            service=self._asker.service,
            text=None if reply is None else reply.text,
            error=None if problem is None else problem.message,
            ended_at=datetime.now(UTC),
            **({} if reply is None else shared(reply, BodyFacts)),
        )
        with self._lock:
            self._file.append(line)
            progress = self.progress
            progress.answered += problem is None
            progress.failed += problem is not None
            if problem is None:
                progress.failures = 0
            elif not isinstance(problem, InputError | ChatInterrupted):
                progress.failures += 1
            too_many = progress.failures >= MOST_FAILURES
        if too_many and problem is not None:
            self._end(problem)

    def _end(self, error: BaseException) -> None:
        """Begin no more rows, as of this error; the first one counts."""
        with self._lock:
            self.error = self.error or error
            self.is_stopped = True
        self._news.put(None)


def is_alive(thread: threading.Thread) -> bool:
    """Return whether a thread has been started and has not ended.

    Its own ``join`` and ``is_alive`` take it for ended once an interrupt has struck in them, as
    CPython does until 3.12.
    """
    return thread in threading.enumerate()
