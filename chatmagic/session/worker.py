"""Work in a thread of its own while its caller waits, and the lock by which it is one at a time.

Python raises an interrupt in the main thread alone. So what sends, receives and keeps runs in a
worker, where it is done whole; the thread that called only waits, shows what it is handed, and
passes an interrupt on as a stop.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from chatmagic._log import log_swallowed
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatInterrupted, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_T = TypeVar("_T")

NAP: Final = 0.1
"""Seconds between two looks of a waiting thread at whether it was interrupted."""
MOST_INTERRUPTS: Final = 3
"""After so many the end is not waited for; the worker ends by itself and keeps what came."""


class Worker(Generic[_T]):
    """Thread that does one piece of work while another thread waits for it.

    Args:
        work: what is done, in a copy of the caller's context; it takes the worker.
        halt: stopped where the thread that waits is interrupted.
    """

    def __init__(self, work: Callable[[Worker[_T]], _T], halt: Halt) -> None:
        """Start nothing yet."""
        self.caller = threading.get_ident()
        self.error: BaseException | None = None
        """What the work raised."""
        self._work = work
        self._halt = halt
        self._result: _T
        self._is_over = False
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._permit = [True]
        run = partial(contextvars.copy_context().run, self._run)
        self._thread = threading.Thread(target=run, name="chatmagic-worker", daemon=True)

    def tell(self, call: Callable[[], object]) -> None:
        """Have the thread that waits call something; called in the worker."""
        self._calls.put(call)

    def tell_first(self, call: Callable[[], object]) -> None:
        """Have the thread that waits call something, and go on when it is done, or at a stop."""
        done = threading.Event()

        def called() -> None:
            call()
            done.set()

        self._calls.put(called)
        while not done.wait(NAP) and self._halt.reason is None:
            pass

    def wait(self) -> BaseException | None:
        """Start, and wait for the end; call meanwhile what the worker tells.

        Returns:
            What interrupted the wait, such as a KeyboardInterrupt or the error of a call. The
            work was then stopped and has ended; its further calls are left out.
        """
        raised: BaseException | None = None
        for _ in range(MOST_INTERRUPTS):
            try:
                if raised is None:
                    self._thread.start()
                    self._listen()
                else:
                    self._halt.stop()
                    # Where the thread was not started, it never will be.
                    if not self._is_permitted():
                        self._listen(calls=False)
                return raised  # noqa: TRY300 - an interrupt here is one of the wait
            except BaseException as error:  # noqa: BLE001 - the work ends whatever is raised here
                raised = raised or error
                log_swallowed(error)
        return raised

    @property
    def result(self) -> _T:
        """What the work returned.

        Raises:
            BaseException: what it raised.
        """
        if self.error is not None:
            raise self.error
        return self._result

    def _is_permitted(self) -> bool:
        """Return whether nothing is begun yet: true once, for the thread that asks first."""
        try:
            return self._permit.pop()
        except IndexError:
            return False

    def _listen(self, *, calls: bool = True) -> None:
        while not (self._is_over and self._calls.empty()):
            try:
                # Not every system can interrupt a wait without an end.
                call = self._calls.get(timeout=NAP)
            except queue.Empty:
                continue
            if calls and call is not None:
                call()

    def _run(self) -> None:
        if self._is_permitted():
            try:
                self._result = self._work(self)
            except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
                self.error = error
        self._is_over = True
        self._calls.put(None)


class AskLock:
    """Lock of a session: one piece of work at a time; one that waits is told for which."""

    def __init__(self) -> None:
        """Start free."""
        self._lock = threading.Lock()
        self._holder = ""
        self._thread: int | None = None

    @contextmanager
    def held(
        self, asker: str, caller: int, halt: Halt, waiting: Callable[[str], object] = str
    ) -> Iterator[None]:
        """Return a context that holds the lock; entered in a worker.

        Args:
            asker: what is done, in words, for an ask that has to wait.
            caller: the thread that waits for the worker.
            halt: ends the wait for the lock.
            waiting: called with the words of what holds the lock, before a wait.

        Raises:
            InputError: the caller is the worker that holds it, in a follower of its events.
            ChatInterrupted: the halt was stopped.
        """
        if caller == self._thread:
            raise InputError("A reply is still streaming here; ask again when it has ended.")
        if not self._lock.acquire(blocking=False):
            waiting(self._holder)
            while not self._lock.acquire(timeout=NAP):
                if halt.reason is not None:
                    raise ChatInterrupted("Interrupted while waiting for its turn.")
        self._holder, self._thread = asker, threading.get_ident()
        try:
            yield
        finally:
            self._thread = None
            self._lock.release()

    def alone(self, asker: str, action: Callable[[], _T], halt: Halt | None = None) -> _T:
        """Return what an action returns that a worker does under the lock.

        Args:
            asker: what is done, in words, for an ask that has to wait.
            action: what is done.
            halt: stopped by an interrupt; the end is waited for all the same.

        Raises:
            InputError: as :meth:`held` has it.
            ChatInterrupted: the halt was stopped before its turn.
            KeyboardInterrupt: an interrupt; what was begun is done.
        """
        stopped = halt or Halt()

        def work(worker: Worker[_T]) -> _T:
            with self.held(asker, worker.caller, stopped):
                return action()

        worker = Worker(work, stopped)
        if (raised := worker.wait()) is not None:
            raise raised
        return worker.result

    def is_free(self) -> bool:
        """Return whether nothing is under way."""
        return not self._lock.locked()
