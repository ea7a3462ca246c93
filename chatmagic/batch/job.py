"""Job: the requests of many rows, sent by a few threads, each row stored as it ends.

One thread reads the rows and hands each to a thread that has none; these send and store.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from chatmagic._json import digest, shared_fields
from chatmagic._log import log_swallowed
from chatmagic.batch.job_file import JobFile, RowReply, replay_key
from chatmagic.batch.pace import Pace, waiting_words
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

Compose = Callable[[int, Mapping[str, Any]], tuple[Request, ChatError | None]]
"""Makes a row's request, and says why it is not to be sent."""

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
        line: its line in the file, as far as it is known before it is asked.
        request: the request that is sent.
        problem: why it is not to be sent.
    """

    line: RowReply
    request: Request
    problem: ChatError | None = None


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
            failed = self.file.has_failed
            self.listed = sorted(self._read(), key=lambda task: not failed(task.line.key))
            self.failed = sum(failed(task.line.key) for task in self.listed)

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
                line = RowReply(
                    row=number, key=key, request=known, occurrence=occurrence, call=self.call
                )
                yield Task(line, request, problem)
            elif not self.keeps and self.address is not None:
                self.file.copy(key, number, self.call)


@dataclass(slots=True)
class Progress:
    """How far a job has come.

    Args:
        answered: rows that ended well.
        failed: rows that ended otherwise.
        sending: requests under way.
        sent: requests that have ended.
        failures: rows that failed since the last one that did not.
        lost: replies that had come and could not be stored.
        waiting: until when no request goes, in words; empty where they go.
    """

    answered: int = 0
    failed: int = 0
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
        self.pace = Pace(waits=waits)
        self.error: BaseException | None = None
        """The error that ended the job before its last row."""
        self.is_stopped = False
        """Whether no more rows are begun."""
        self._tasks = tasks
        self._file = file
        self._asker = asker
        self._workers = workers
        self._given = queue.SimpleQueue["Task | None"]()
        self._idle = queue.SimpleQueue[None]()
        self._halts: set[Halt] = set()
        self._is_interrupted = self._is_cut = False
        self._lock = threading.RLock()

    def run(self, hand_out: Callable[[], object] | None = None) -> None:
        """Ask all rows, and wait for the last one; then the file is closed.

        It is called where no interrupt strikes.

        Args:
            hand_out: begins :meth:`hand_out` in another thread; ``None`` does it in this one.

        Raises:
            BaseException: the error that ended the job early.
        """
        # Rows under way end before the interpreter exits.
        threads = [
            threading.Thread(target=self._work, name="chatmagic-map", daemon=False)
            for _ in range(self._workers)
        ]
        try:
            for thread in threads:
                thread.start()
            (hand_out or self.hand_out)()
        except BaseException as error:  # noqa: BLE001 - it is raised below
            log_swallowed(error)
            self._end(error)
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        self._file.close()
        if self.error is not None:
            raise self.error

    def hand_out(self, tick: Callable[[], object] = lambda: None) -> None:
        """Hand each row to a thread that has none, and wait until all are done.

        Args:
            tick: called now and then, to show the progress.
        """
        try:
            for task in self._tasks:
                if not self._has_idle_thread(tick):
                    return
                self._given.put(task)
            if all(self._has_idle_thread(tick) for _ in range(self._workers)):
                tick()
                self._given.put(None)
        except Exception as error:  # noqa: BLE001 - `run` raises it
            log_swallowed(error)
            self._end(error)

    def stop(self) -> None:
        """Begin no more rows; those under way go on to their end."""
        self.is_stopped = True
        self._given.put(None)

    def interrupt(self) -> None:
        """Begin no more rows; at the second call, cut off those under way."""
        self._is_cut, self._is_interrupted = self._is_interrupted, True
        self.stop()
        if self._is_cut:
            for halt in tuple(self._halts):
                halt.stop()

    def _has_idle_thread(self, tick: Callable[[], object]) -> bool:
        """Wait for a thread that has no row; return whether one is to be begun."""
        while not self.is_stopped:
            tick()
            with contextlib.suppress(queue.Empty):
                self._idle.get(timeout=NAP)
                return True
        return False

    # --- Its threads ---------------------------------------------------------------------------

    def _work(self) -> None:
        """Do rows until there are no more, by a client that no other thread has."""
        try:
            with self._asker.connect() as client:
                self._idle.put(None)
                while (task := self._given.get()) is not None:
                    if task.problem is not None:
                        self._keep(task, None, task.problem)
                    else:
                        self._ask(client, task)
                    self._idle.put(None)
        except BaseException as error:  # noqa: BLE001 - `run` raises it
            log_swallowed(error)
            self._end(error)
        self._given.put(None)

    def _ask(self, client: Client, task: Task) -> None:
        """Send one row's request, and store its reply or its error.

        It is sent once; a second time only where it was refused for a limit that is waited for.
        """
        was_refused = False
        while self._may_send():
            before = self.progress.sent
            reply, problem = self._send(client, task.request)
            is_limited = isinstance(problem, RateLimitError) and reply is None
            if isinstance(problem, BudgetError) and self._has_others(before):
                # Until it is known what a request takes, one alone may reserve all that is left.
                time.sleep(NAP)
            elif is_limited and not was_refused and self._is_waited_for(problem):
                was_refused = True
            else:
                if problem is not None and (is_limited or isinstance(problem, _ENDING)):
                    self._end(problem)
                else:
                    self._keep(task, reply, problem)
                return

    def _has_others(self, before: int) -> bool:
        """Return whether other requests are under way, or have ended since so many had."""
        with self._lock:
            return self.progress.sending > 0 or self.progress.sent > before

    def _is_waited_for(self, refusal: Any) -> bool:
        """Let all requests wait for the end of a limit; return whether that is to be."""
        with self._lock:
            pause = self.pace.refuse(refusal, time.monotonic(), datetime.now(UTC))
        return pause.is_waited_for

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
            if not pause.is_waited_for:
                hint = "wait=True waits for the reset." if pause.until is not None else None
                self._end(RateLimitError(f"{pause.why} The next row was not sent.", hint=hint))
                return False
            time.sleep(NAP if pause.until is None else min(max(pause.until - now, 0.0), NAP))

    def _send(
        self, client: Client, request: Request
    ) -> tuple[Reply | None, ChatError | ChatInterrupted | None]:
        """Return the reply as far as it came, and the error that ended it early."""
        halt = Halt()
        self._halts.add(halt)
        if self._is_cut:
            # That came before this halt was known.
            halt.stop()
        is_asked = True
        try:
            return self._asker.ask(client, request, halt), None
        except (ChatError, ChatInterrupted) as error:
            is_asked = not isinstance(error, BudgetError)
            return error.reply, error
        finally:
            self._halts.discard(halt)
            with self._lock:
                self.progress.sending -= 1
                self.progress.sent += is_asked
                window = client.credit_tracker.state.requests
                self.pace.note(self._asker.credits, window, time.monotonic())

    def _keep(
        self, task: Task, reply: Reply | None, problem: ChatError | ChatInterrupted | None
    ) -> None:
        """Store a row's reply, or its error."""
        line = replace(
            task.line,
            service=self._asker.service,
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
            if problem is None:
                progress.answered += 1
                progress.failures = 0
                return
            progress.failed += 1
            progress.failures += not isinstance(problem, InputError | ChatInterrupted)
            if progress.failures >= MOST_FAILURES:
                ended = f"The map ended, as {MOST_FAILURES} rows in succession failed."
                problem.hint = " ".join(filter(None, [ended, problem.hint]))
                self._end(problem)

    def _end(self, error: BaseException) -> None:
        """Begin no more rows, as of this error; the first one counts."""
        with self._lock:
            self.error = self.error or error
        self.stop()
