"""Worker thread, for whose result its caller waits.

Python raises an interrupt only in the main thread. So a worker sends, receives and keeps the reply,
and finishes this work. The calling thread only waits, shows the events, and passes an interrupt on
as a stop.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Final, Generic, TypeVar

from chatmagic._fork import belongs_to_process
from chatmagic._log import log_swallowed
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatError

_T = TypeVar("_T")


NAP: Final = 0.1
"""Seconds after which a waiting thread checks for an interrupt again."""
MOST_INTERRUPTS: Final = 3
"""Number of interrupts after which the caller no longer waits. The worker then ends by itself, and
keeps the text so far."""


LEFT: Final = "This process was forked meanwhile: the reply goes to the process that asked."


class Worker(Generic[_T]):
    """Thread that does one piece of work while another thread waits for it.

    Args:
        work: the work, done in a copy of the caller's context; it takes the worker.
        stop: stops the work; called at each interrupt of the waiting thread.
        daemon: whether the interpreter exits without waiting for it.
    """

    def __init__(
        self, work: Callable[[Worker[_T]], _T], stop: Callable[[], object], *, daemon: bool = True
    ) -> None:
        """Start nothing yet."""
        self.caller = threading.get_ident()
        """The thread that waits."""
        self.error: BaseException | None = None
        """The error of the work."""
        self._work = work
        self._stop = stop
        run = partial(contextvars.copy_context().run, self._run)
        self._thread = threading.Thread(target=run, name="chatmagic-worker", daemon=daemon)
        self._result: _T
        """The result, once the work has returned one."""
        self._begun = threading.Lock()
        """Taken once, by the work that begins or by a stop before that."""
        self._is_started = False
        """Whether the thread was started."""
        self._is_over = False
        """Whether the work has ended, or never will begin."""
        self._is_left = False
        """Whether the thread is that of a process from which this one was forked."""
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        """The functions for the waiting thread; ``None`` tells it that the work is over."""
        self._takes_no_calls = False
        """Whether the waiting thread calls nothing any more that the work passes to it."""
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """End work under way, in a forked child, as its thread is the parent's."""
        if self.is_running and self._thread is not threading.current_thread():
            self._calls = queue.SimpleQueue()
            # One line: an interrupt between them would leave half of it.
            self._is_left = self._is_over = self._takes_no_calls = True
            self.error = ChatError(LEFT)

    def start(self) -> None:
        """Start the work, for a caller that does not wait."""
        self._is_started = True
        self._thread.start()

    def cancel(self) -> None:
        """Stop the work; if it has not begun, it never will."""
        self._takes_no_calls = True
        self._stop()
        if self._begun.acquire(blocking=False):
            self._is_over = True

    @property
    def is_running(self) -> bool:
        """Whether the work was started and has not ended."""
        return self._is_started and not self._is_over

    def tell(self, call: Callable[[], object]) -> None:
        """Pass a function to the waiting thread, which calls it; to be used in the worker.

        Args:
            call: function without arguments.
        """
        self._calls.put(call)

    def tell_first(self, call: Callable[[], object]) -> None:
        """Pass a function to the waiting thread, and wait for its end, or for an interrupt.

        Args:
            call: function without arguments.
        """
        done = threading.Event()

        def called() -> None:
            call()
            done.set()

        self._calls.put(called)
        while not (done.wait(NAP) or self._takes_no_calls):
            pass

    def wait(self) -> BaseException | None:
        """Start the work and wait for its end; meanwhile call the functions that it passes.

        Returns:
            The error that ended the wait, as a KeyboardInterrupt or the error of a call. The
            work was then stopped and has ended; its further calls are left out.
        """
        raised: BaseException | None = None
        for _ in range(MOST_INTERRUPTS):
            try:
                if raised is None:
                    self.start()
                else:
                    self.cancel()
                self._call_until_over()
                if self._is_left:
                    raised = self.error
                return raised  # noqa: TRY300 - an interrupt here counts, too
            except BaseException as error:  # noqa: BLE001 - the work ends whatever is raised here
                raised = raised or error
                log_swallowed(error)
        return raised

    @property
    def finished(self) -> _T | None:
        """The result of the work; ``None`` while it is under way, and if it never began."""
        return getattr(self, "_result", None)

    @property
    def result(self) -> _T:
        """The result of the work.

        Raises:
            BaseException: the error of the work.
        """
        if self.error is not None:
            raise self.error
        return self._result

    def _call_until_over(self) -> None:
        """Call the functions that the work passes, until it has ended."""
        while not (self._is_over and self._calls.empty()):
            try:
                # Not every system can interrupt a wait without a timeout.
                call = self._calls.get(timeout=NAP)
            except queue.Empty:
                continue
            if call is not None and not self._takes_no_calls:
                call()

    def _run(self) -> None:
        """Do the work in the thread, and keep its result or its error."""
        if self._begun.acquire(blocking=False):
            try:
                self._result = self._work(self)
            except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
                self.error = error
        self._is_over = True
        self._calls.put(None)


def uninterrupted_result(work: Callable[[Worker[_T]], _T], halt: Halt | None = None) -> _T:
    """Return the result of work that a worker finishes even after an interrupt.

    Args:
        work: the work.
        halt: stopped by an interrupt; the end of the work is awaited all the same.

    Raises:
        KeyboardInterrupt: an interrupt; begun work is done.
    """
    worker = Worker(work, (halt or Halt()).stop)
    interrupt = worker.wait()
    if interrupt is not None:
        raise interrupt
    return worker.result
