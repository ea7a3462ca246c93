"""One ask at a time: whoever comes second waits, knows for whom, and can be interrupted."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, TypeVar

from chatmagic.errors import ChatInterrupted, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.client.sockets import Halt

_T = TypeVar("_T")

NAP: Final = 0.1
"""Seconds after which an ask that waits for another one looks whether it was interrupted."""


class AskLock:
    """Lets one ask through at a time, and tells the next one whom it waits for.

    ``leave`` may follow an ``enter`` that was interrupted anywhere, and may be repeated.
    """

    def __init__(self) -> None:
        """Let the first one through."""
        self._lock = threading.RLock()
        self._holder = ""
        self._thread: int | None = None

    def refuse_its_holder(self) -> None:
        """Refuse an ask from within an ask: it would wait for itself."""
        if self._thread == threading.get_ident():
            raise InputError("A reply is still streaming here; ask again when it has ended.")

    def enter(self, asker: str, waiting: Callable[[str], object], halt: Halt | None = None) -> None:
        """Take the place, waiting for it if need be; an interrupt or a halt ends the wait."""
        if not self._lock.acquire(blocking=False):
            waiting(self._holder)
            # Not every system wakes who waits for a lock without an end.
            while not self._lock.acquire(timeout=NAP):
                if halt is not None and halt.reason is not None:
                    raise ChatInterrupted("Interrupted while waiting for its turn.")
        self._holder, self._thread = asker, threading.get_ident()

    def enter_if_free(self, asker: str) -> bool:
        """Take the place if nobody has it, this thread neither; say whether it was."""
        if self._thread == threading.get_ident() or not self._lock.acquire(blocking=False):
            return False
        self._holder, self._thread = asker, threading.get_ident()
        return True

    def alone(self, asker: str, action: Callable[[], _T]) -> _T:
        """Do something while nobody else is let through, and give what it gives.

        Args:
            asker: who does it, in words, for whoever has to wait.
            action: what is done.

        Raises:
            InputError: this very thread is in the middle of an ask.
        """
        self.refuse_its_holder()
        try:
            try:
                self.enter(asker, lambda _: None)
                return action()
            finally:
                self.leave()
        except BaseException:
            # Again, for an interrupt that came just before.
            self.leave()
            raise

    def leave(self) -> None:
        """Give the place free, if it is this thread's."""
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
