"""TCP sockets that can be stopped from another thread, also while they connect."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any, Final

from urllib3.util.wait import wait_for_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.client.halt import Halt

NAP: Final = 0.05
"""Seconds between two looks at the halt while a socket connects."""


def reach(
    host: str,
    port: int,
    seconds: float | None,
    halt: Halt,
    *,
    source: tuple[str, int] | None = None,
    options: Sequence[tuple[int, int, int | bytes]] | None = None,
) -> socket.socket:
    """Return a connected TCP socket, unless the halt stops it first.

    Where a host has several addresses they are tried in turn, and share the time.

    Args:
        host: name or address.
        port: its port.
        seconds: how long it may take in all; ``None`` is for ever.
        halt: stops it; looked at every :data:`NAP` seconds.
        source: address to come from.
        options: socket options, as ``setsockopt`` takes them.

    Raises:
        socket.gaierror: no host has this name.
        TimeoutError: it took too long.
        OSError: it was refused, cannot be reached, or was stopped.
    """
    until = None if seconds is None else time.monotonic() + seconds
    addresses = socket.getaddrinfo(host.strip("[]"), port, 0, socket.SOCK_STREAM)
    failure = OSError("the name has no address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        share = None
        if until is not None:
            share = max(0.0, until - time.monotonic()) / (len(addresses) - number)
        sock = socket.socket(family, kind, protocol)
        try:
            # From here on, to cut this exchange off closes the connection too.
            halt.watch(sock)
            for option in options or ():
                sock.setsockopt(*option)
            if source is not None:
                sock.bind(source)
            _connect(sock, address, share, halt)
            sock.settimeout(seconds)
        except OSError as error:
            failure = error
            sock.close()
            if halt.reason is not None:
                break
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


def _connect(sock: socket.socket, address: Any, seconds: float | None, halt: Halt) -> None:
    """Connect one socket, looking now and then whether to stop."""
    until = None if seconds is None else time.monotonic() + seconds
    sock.setblocking(False)
    try:
        sock.connect(address)
    except (BlockingIOError, InterruptedError):
        nap = NAP
        while not wait_for_write(sock, nap):
            nap = NAP if until is None else min(NAP, until - time.monotonic())
            if halt.reason is not None:
                raise ConnectionAbortedError from None
            if nap <= 0:
                raise TimeoutError from None
    if code := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(code, os.strerror(code))
    if halt.reason is not None:
        raise ConnectionAbortedError
