"""Printing at a pace: many small pieces of a text become few writes."""

from __future__ import annotations

import contextvars
import threading
import time
from typing import TYPE_CHECKING, Final

from chatmagic._log import swallowed

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_BETWEEN: Final = 0.07
"""Between two writes: fourteen a second."""


class Paced:
    """Writer of a text in pieces: the first word at once, what follows a moment later, together.

    Args:
        write: writes a text; also called in a thread, in the context in which the text was put.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        """Write nothing yet."""
        self._write = write
        self._lock = threading.Lock()
        self._pieces: list[str] = []
        self._not_before = 0.0
        self._timer: threading.Timer | None = None

    def put(self, text: str) -> None:
        """Write a text, now or in a moment."""
        with self._lock:
            self._pieces.append(text)
            early = self._not_before - time.monotonic()
            if early <= 0:
                self._flush()
            elif self._timer is None:
                run = contextvars.copy_context().run
                self._timer = threading.Timer(early, run, [self._flush_later])
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write now what has not been written."""
        with self._lock:
            self._flush()

    def _flush_later(self) -> None:
        with swallowed():  # what cannot be written is no matter of this thread
            self.flush()

    def _flush(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        text, self._pieces = "".join(self._pieces), []
        if text:
            self._write(text)
        if text.strip():  # the first word is written at once, whatever came before it
            self._not_before = time.monotonic() + SECONDS_BETWEEN
