"""Things of one process, which a forked child does not take over: the list of them.

A fork copies the memory and the open files, and of the threads only the one that forks. So a child
would write into its parent's connections, wait for locks that a thread of its parent held, and for
results of threads that it does not have. The objects of this list know what to do instead. Plain
values, such as the conversation, are copied.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from types import TracebackType
from typing import Any, Final, Protocol
from weakref import WeakSet

from chatmagic._log import swallowed


class OfProcess(Protocol):
    """Object with something that belongs to the process that made it."""

    def leave_to_parent(self) -> None:
        """Leave to the parent what it has, and be as new; called in a forked child."""


_OBJECTS: Final[WeakSet[Any]] = WeakSet()


def belongs_to_process(item: OfProcess) -> None:
    """Call an object in each child that is forked from now on, as long as the object lives.

    Args:
        item: the object.
    """
    _OBJECTS.add(item)


def _in_child() -> None:
    """Call the objects, each whatever another one does."""
    for item in [*_OBJECTS]:
        with swallowed():
            item.leave_to_parent()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_in_child)


class Lock:
    """Reentrant lock, which a forked child finds free of the threads that it does not have."""

    def __init__(self) -> None:
        """Start free."""
        self._lock = threading.RLock()
        belongs_to_process(self)

    def __enter__(self) -> None:
        """Wait for the lock, and hold it."""
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        """Release it."""
        self._lock.release()

    def leave_to_parent(self) -> None:
        """Be free, unless the thread that has forked holds it: that one goes on in the child."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


def close_in_child(sock: socket.socket | None) -> None:
    """Close a socket of the parent in a child; the connection stays open in the parent.

    Neither is it shut down, nor does TLS take leave: both would end the parent's connection, too.

    Args:
        sock: the socket; ``None`` does nothing.
    """
    # TLS through a proxy's own TLS is not a socket, but holds one.
    sock = getattr(sock, "socket", sock)
    if sock is not None:
        with contextlib.suppress(OSError):
            if (descriptor := sock.detach()) >= 0:
                os.close(descriptor)
