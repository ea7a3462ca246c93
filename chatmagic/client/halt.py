"""Halt of an exchange: stops it from any thread, in any phase."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Literal

from chatmagic.errors import Which


class Halt:
    """Switch that stops one exchange from any thread; after a stop no end counts as clean."""

    def __init__(self) -> None:
        """Start with nothing to stop."""
        self.reason: Literal["stop"] | Which | None = None
        self._sock: socket.socket | None = None
        self._lock = threading.Lock()

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

    def settimeout(self, seconds: float | None) -> None:
        """Set the time limit of the next read or write.

        Args:
            seconds: the limit; ``None`` waits forever.
        """
        with self._lock, contextlib.suppress(OSError):
            if self._sock is not None:
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
