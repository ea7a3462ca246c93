"""Reuse of connections: which kept connection may carry another request.

A server may close a kept connection at any time, and what is written onto one that is going
is lost, for nothing is sent twice. So none is used that may be going: a new one is watched
for a moment after its first reply, none is used after a long rest, and where an end was seen
or suffered all the same, nothing is used again at all. To look costs no request.
"""

from __future__ import annotations

import queue
import re
from collections import deque
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

from urllib3.util.wait import wait_for_read

if TYPE_CHECKING:
    import socket

    AtRest = Literal["kept", "ended", "dropped"]
    """Connection after an answer: kept; ended, as it says; dropped, which it does not say."""

WATCH: Final = 0.05
"""Seconds after its first reply for which a connection is watched before it is used again."""

IDLE: Final = 4.0
"""Seconds of rest after which a connection is not used again, where the server tells none."""

_KEEP_ALIVE: Final = r"(?i)\btimeout\s*=\s*\"?(\d{1,9})\b"


@dataclass(slots=True)
class ConnectionUse:
    """Use of one connection so far."""

    answers: int = 0
    rested_since: float = 0.0
    idle_timeout: int | None = None
    """The idle time-out in seconds that the server told with its latest answer."""

    def hear(self, keep_alive: str) -> None:
        """Count an answer, and take note of what its ``Keep-Alive`` says.

        Args:
            keep_alive: the header's value; empty without one.
        """
        self.answers += 1
        match = re.search(_KEEP_ALIVE, keep_alive)
        self.idle_timeout = int(match[1]) if match else None


class ReusePolicy:
    """Rule by which the connections to one address are used again, as its server ends them."""

    def __init__(self) -> None:
        """Start without knowing the server."""
        self.closing = False
        """Whether nothing is used again, since the server closes what it seems to keep."""
        self._closed_after = float("inf")

    def allows(self, use: ConnectionUse, sock: socket.socket) -> bool:
        """Return whether a kept connection can carry another request.

        Args:
            use: how it was used so far.
            sock: its socket.
        """
        idle = monotonic() - use.rested_since
        watch = max(0.0, WATCH - idle) if use.answers == 1 else 0.0
        longest = IDLE if use.idle_timeout is None else use.idle_timeout - 1.0
        if self.closing or idle + watch > min(longest, self._closed_after / 2):
            return False
        if not wait_for_read(sock, watch):
            return True
        # An end, or what is no answer: nothing was requested.
        if watch:
            self.closing = True
        else:
            self._closed_after = min(self._closed_after, idle)
        return False


class IdleConnections(queue.LifoQueue[Any]):
    """The connections that wait for their next use; without a lock.

    The locks of :mod:`queue` stay taken when an interrupt comes at the wrong moment, and
    the next ask would wait for ever. A deque needs none.
    """

    def __init__(self, maxsize: int = 0) -> None:
        """Hold ``maxsize`` connections at most; the one used last is taken first."""
        super().__init__(maxsize)
        self.queue: deque[Any] = deque()  # type: ignore[assignment] # a list to the type checker

    def get(self, block: bool = True, timeout: float | None = None) -> Any:  # noqa: ARG002 - urllib3's pools that never block
        """Take the one used last, without waiting."""
        try:
            return self.queue.pop()
        except IndexError:
            raise queue.Empty from None

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:  # noqa: ARG002 - as above
        """Keep one, which rests from now on; a full store takes no more."""
        if len(self.queue) >= self.maxsize:
            raise queue.Full
        if item is not None:
            item.use.rested_since = monotonic()
        self.queue.append(item)
