"""The thread for slow work."""

from __future__ import annotations

import contextvars
import threading
from functools import partial

from loopback import wait_for

from chatmagic.jupyter.page.task_thread import TaskThread


def test_tasks_are_done_in_order_in_one_thread_which_ends() -> None:
    """The thread has the given name and the context in which it was started."""
    which = contextvars.ContextVar("which", default="none")
    which.set("of the start")
    done: list[tuple[int, str, str]] = []
    ended = threading.Event()
    thread = TaskThread("slow-work")

    def note(number: int) -> None:
        done.append((number, threading.current_thread().name, which.get()))

    for number in range(3):
        thread.put(partial(note, number))
    thread.put(ended.set)
    thread.close()
    thread.put(partial(note, 3))  # after the end
    wait_for(ended)
    assert done == [(number, "slow-work", "of the start") for number in range(3)]
