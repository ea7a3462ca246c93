"""TCP sockets that a person or a clock can stop while they connect."""

from __future__ import annotations

import contextlib
import math
import os
import socket
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

from urllib3.util.wait import wait_for_write

from chatmagic.client.halt import Halt

NAP: Final = 0.05
"""Seconds between two looks at the halt while a socket connects."""


PIECE_BYTES: Final = 65_536
"""Largest number of bytes that are read at once."""


def open_socket(
    host: str,
    port: int,
    seconds: float | None,
    halt: Halt,
    options: Sequence[tuple[int, int, int | bytes]] | None = None,
) -> socket.socket:
    """Return a connected TCP socket, unless the halt stops it first.

    Several addresses of a host are tried in turn. Each except the last has its share of the time.

    Args:
        host: name or address.
        port: its port.
        seconds: total time limit, which the halt's clock keeps; ``None`` is unlimited.
        halt: stops it; it is checked every :data:`NAP` seconds.
        options: socket options, as ``setsockopt`` takes them.

    Raises:
        socket.gaierror: no host has this name.
        OSError: the connection was refused, impossible, too slow, or stopped.
    """
    addresses = socket.getaddrinfo(host.strip("[]"), port, 0, socket.SOCK_STREAM)
    share = math.inf if seconds is None else seconds / len(addresses)
    for number, (family, kind, protocol, _, address) in enumerate(addresses, 1):
        # The last address has all the time that is left, until the clock stops the halt.
        until = math.inf if number == len(addresses) else monotonic() + share
        sock = socket.socket(family, kind, protocol)
        try:
            # From here on, a stop of the exchange shuts this socket down.
            halt.watch(sock)
            for option in options or ():
                sock.setsockopt(*option)
            _connect(sock, address, until, halt)
            sock.settimeout(seconds)
            return sock  # noqa: TRY300 - the next address is for a failure
        except OSError:
            sock.close()
            if halt.reason is not None or number == len(addresses):
                raise
    raise OSError("the name has no address")


def _connect(sock: socket.socket, address: Any, until: float, halt: Halt) -> None:
    """Connect one socket, and check the halt meanwhile."""
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError, InterruptedError):
        sock.connect(address)
    while not wait_for_write(sock, max(0.0, min(NAP, until - monotonic()))):
        if halt.reason is not None:
            raise ConnectionAbortedError
        if monotonic() >= until:
            raise TimeoutError
    if code := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(code, os.strerror(code))
    if halt.reason is not None:
        raise ConnectionAbortedError


def set_timeout(sock: socket.socket, halt: Halt) -> None:
    """Let the next read of a socket end at the halt's deadline.

    A socket's own timeout starts again with each byte.

    Raises:
        TimeoutError: the time is up.
    """
    left = halt.left
    if left <= 0:
        raise TimeoutError
    if left < math.inf and (sock.gettimeout() or math.inf) - left > NAP:
        sock.settimeout(left)
