"""Lock that one of many threads holds while it works, and none while it waits for the network.

Python runs one thread at a time in any case, but lets another one in at each call of the system. So
of hundreds of answers that arrive together, each is worked on a little, and nearly all end late and
together, with the next requests behind them. With the lock the first answer is done with first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import Lock

from chatmagic.client.current_exchange import CURRENT


@contextlib.contextmanager
def working(lock: Lock) -> Iterator[None]:
    """Hold the lock as long as the block runs, but for its waits.

    Args:
        lock: the lock of the threads that work by turns.
    """
    with lock:
        CURRENT.work_lock = lock
        try:
            yield
        finally:
            CURRENT.work_lock = None


@contextlib.contextmanager
def waiting() -> Iterator[None]:
    """Leave this thread's lock to the others, if it holds one, as long as the block waits."""
    lock = CURRENT.work_lock
    if lock is None:
        yield
        return
    CURRENT.work_lock = None
    lock.release()
    try:
        yield
    finally:
        lock.acquire()
        CURRENT.work_lock = lock
