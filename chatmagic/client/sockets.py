"""TCP sockets that can be stopped from another thread, also while they connect."""

from __future__ import annotations

import contextlib
import math
import os
import socket
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from urllib3.util.wait import wait_for_write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmagic.client.halt import Halt

NAP: Final = 0.05
"""Seconds between two looks at the halt while a socket connects."""


def reach(
    host: str,
    port: int,
    seconds: float | None,
    halt: Halt,
    options: Sequence[tuple[int, int, int | bytes]] | None = None,
) -> socket.socket:
    """Return a connected TCP socket, unless the halt stops it first.

    Where a host has several addresses they are tried in turn, and share the time.

    Args:
        host: name or address.
        port: its port.
        seconds: how long it may take in all; ``None`` is for ever.
        halt: stops it; looked at every :data:`NAP` seconds.
        options: socket options, as ``setsockopt`` takes them.

    Raises:
        socket.gaierror: no host has this name.
        TimeoutError: it took too long.
        OSError: it was refused, cannot be reached, or was stopped.
    """
    failure = OSError("the name has no address")
    for (family, kind, protocol, _, address), until in _addresses(host, port, seconds):
        sock = socket.socket(family, kind, protocol)
        try:
            # From here on, to cut this exchange off closes the connection too.
            halt.watch(sock)
            for option in options or ():
                sock.setsockopt(*option)
            _connect(sock, address, until, halt)
            sock.settimeout(seconds)
            return sock  # noqa: TRY300 - an interrupt here closes it too
        except OSError as error:
            sock.close()
            if halt.reason is not None:
                raise
            failure = error
        except BaseException:
            sock.close()
            raise
    raise failure


def _addresses(
    host: str, port: int, seconds: float | None
) -> Iterator[tuple[tuple[Any, ...], float]]:
    """Return the addresses of a host, each with the time when its share of the seconds is over."""
    until = monotonic() + (math.inf if seconds is None else seconds)
    addresses = socket.getaddrinfo(host.strip("[]"), port, 0, socket.SOCK_STREAM)
    for number, address in enumerate(addresses):
        now = monotonic()
        yield address, now + max(0.0, until - now) / (len(addresses) - number)


def _connect(sock: socket.socket, address: Any, until: float, halt: Halt) -> None:
    """Connect one socket, looking now and then whether to stop."""
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
