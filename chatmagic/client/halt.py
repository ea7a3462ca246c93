"""Halt of an exchange: stops it from any thread, in any phase."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
from time import monotonic
from typing import Literal

from chatmagic._fork import belongs_to_process, close_in_child
from chatmagic.errors import Which


class Halt:
    """Switch that stops one exchange from any thread; after a stop no end counts as clean."""

    def __init__(self) -> None:
        """Start with nothing to stop."""
        self.reason: Literal["stop"] | Which | None = None
        self.deadline = math.inf
        """Time, by ``monotonic``, at which a read of the present phase ends."""
        self.until = math.inf
        """The same for a reader that sets a limit of its own."""
        self._sock: socket.socket | None = None
        # Not the lock that a fork frees by itself: each request of a map has a halt.
        self._lock = threading.RLock()
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Have nothing to stop: the exchange is the parent's."""
        self._lock = threading.RLock()
        close_in_child(self._sock)
        self._sock = None

    def stop(self, reason: Literal["stop"] | Which = "stop") -> None:
        """Wake the reader from any wait on its socket; the first reason counts.

        Args:
            reason: ``stop`` for a person, or the timeout that ran out.
        """
        with self._lock:
            self.reason = self.reason or reason
            shut_down(self._sock)

    def cut(self) -> None:
        """Shut the socket down, without a reason to report; harmless without one."""
        with self._lock:
            shut_down(self._sock)

    def watch(self, sock: socket.socket | None) -> None:
        """Set the socket that a stop shuts down.

        Args:
            sock: the socket of the exchange; ``None`` when there is none.
        """
        with self._lock:
            self._sock = sock
            if self.reason is not None:
                shut_down(sock)

    @property
    def left(self) -> float:
        """Seconds until the earlier of the two deadlines."""
        return min(self.deadline, self.until) - monotonic()

    def allow(self, seconds: float | None) -> None:
        """Set the deadline of the present phase, which no byte that arrives puts off.

        Args:
            seconds: the time from now; ``None`` is unlimited.
        """
        self.deadline = math.inf if seconds is None else monotonic() + seconds

    def settimeout(self, seconds: float | None) -> None:
        """Set the time limit of the next write, and the deadline of the reads after it.

        Args:
            seconds: the limit; ``None`` waits forever.
        """
        self.allow(seconds)
        with self._lock, contextlib.suppress(OSError):
            # Each setting is a call of the system, for which other threads are let in.
            if self._sock is not None and self._sock.gettimeout() != seconds:
                self._sock.settimeout(seconds)


def shut_down(sock: socket.socket | None) -> None:
    """Shut a socket down in both directions, which wakes its reader.

    Args:
        sock: the socket; ``None`` does nothing.
    """
    if sock is not None:
        with contextlib.suppress(OSError):
            # Even under TLS the plain shutdown wakes the reader; unwrapping would wait. TLS through
            # a proxy's own TLS is not a socket, but holds one.
            socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)
