"""Head and body of an answer, which are read until a deadline, and up to a number of bytes."""

from __future__ import annotations

import http.client
import io
import math
import socket
from http import HTTPStatus
from typing import Any, Final

from chatmagic.client.current_exchange import CURRENT
from chatmagic.client.halt import Halt
from chatmagic.client.sockets import set_timeout
from chatmagic.client.work_lock import waiting

HEAD_BYTES: Final = 2**20
"""Largest number of bytes of a head, with all interim answers in front of it."""


class _TimedReader(io.RawIOBase):
    """Raw stream of a socket that ends at the halt's deadline, however bytes trickle in.

    Args:
        raw: the socket's own stream.
        sock: the socket.
        halt: the halt of the exchange.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, halt: Halt) -> None:
        """Read nothing yet."""
        super().__init__()
        self._raw = raw
        self._sock = sock
        self._halt = halt
        self.most: float = HEAD_BYTES
        """Number of bytes that may still be read; unlimited after the head."""
        self.received = b""
        """The first bytes, which were received before."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what was received before, then from the socket; return the number of bytes."""
        count: int | None = min(len(self.received), len(buffer))
        if count:
            buffer[:count] = self.received[:count]
            self.received = self.received[count:]
        else:
            set_timeout(self._sock, self._halt)
            with waiting():
                count = self._raw.readinto(buffer)
        self.most -= count or 0
        if self.most < 0:
            raise http.client.HTTPException
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class Response(http.client.HTTPResponse):
    """An answer that is read until a deadline, without its unreadable headers.

    urllib3 would log those, and a server may repeat the key in them.
    """

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        """Read nothing yet."""
        super().__init__(sock, *args, **kwargs)
        self._timed = _TimedReader(self.fp.detach(), sock, CURRENT.clock.halt)
        self.fp = io.BufferedReader(self._timed)

    def begin(self) -> None:
        """Read the head; interim answers before it are skipped (RFC 9110, 15.2)."""
        super().begin()
        # http.client skips 100 by itself. Behind 101 there is no HTTP any more.
        while HTTPStatus.SWITCHING_PROTOCOLS < self.status < HTTPStatus.OK:
            self.headers = None  # type: ignore[assignment] # as before the first head
            super().begin()
        self._timed.most = math.inf
        self.msg.defects.clear()
        self.msg.set_payload("")

    def begin_with(self, received: bytes) -> None:
        """Read the head, whose first bytes were received before.

        Args:
            received: these bytes.
        """
        self._timed.received = received
        self.begin()
