"""The lock of a session: one ask at a time, with a wait that can be interrupted."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, TypeVar

from chatmagic.errors import ChatInterrupted, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.client.halt import Halt

_T = TypeVar("_T")

NAP: Final = 0.1
"""Seconds between two looks of a waiting ask at whether it was interrupted."""


class AskLock:
    """Interruptible lock: at most one ask runs; one that waits is told which holds it.

    ``leave`` may follow an ``enter`` that was interrupted anywhere, and may be repeated.
    """

    def __init__(self) -> None:
        """Start free."""
        self._lock = threading.RLock()
        self._holder = ""
        self._thread: int | None = None

    def _enter(self, asker: str, waiting: Callable[[str], object], halt: Halt | None) -> None:
        """Take the lock, waiting for it if need be."""
        if not self._lock.acquire(blocking=False):
            waiting(self._holder)
            # Not every system can interrupt a wait for a lock without an end.
            while not self._lock.acquire(timeout=NAP):
                if halt is not None and halt.reason is not None:
                    raise ChatInterrupted("Interrupted while waiting for its turn.")
        self._holder, self._thread = asker, threading.get_ident()

    def enter_if_free(self, asker: str) -> bool:
        """Take the lock if no thread has it, this one neither; return whether that was so.

        Args:
            asker: what takes it, in words, for an ask that has to wait.
        """
        if self._thread == threading.get_ident() or not self._lock.acquire(blocking=False):
            return False
        self._holder, self._thread = asker, threading.get_ident()
        return True

    def alone(
        self,
        asker: str,
        action: Callable[[], _T],
        waiting: Callable[[str], object] = lambda _: None,
        halt: Halt | None = None,
    ) -> _T:
        """Return what an action returns that runs under the lock.

        Args:
            asker: what does it, in words, for an ask that has to wait.
            action: what is done.
            waiting: called with the words of what holds the lock, before a wait.
            halt: ends the wait.

        Raises:
            InputError: this very thread is in the middle of an ask.
            ChatInterrupted: the halt was stopped.
        """
        if self._thread == threading.get_ident():
            raise InputError("A reply is still streaming here; ask again when it has ended.")
        try:
            try:
                self._enter(asker, waiting, halt)
                return action()
            finally:
                self.leave()
        except BaseException:
            # Again, for an interrupt that came just before.
            self.leave()
            raise

    def leave(self) -> None:
        """Release the lock, if it is this thread's."""
        try:
            if self._thread == threading.get_ident():
                self._thread = None
            while True:
                self._lock.release()
        except RuntimeError:
            # It is not this thread's, or not any more.
            return
        except KeyboardInterrupt:
            self.leave()
            raise
