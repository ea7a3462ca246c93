"""A thread for slow work of a page, so that the kernel and the drawing loop stay free."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue


class TaskThread:
    """A thread that does one task after the other.

    Args:
        name: the name of the thread.
    """

    def __init__(self, name: str) -> None:
        """Start the thread."""
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=[self._do], name=name, daemon=True).start()

    def put(self, task: Callable[[], object]) -> None:
        """Do a task after the earlier ones.

        Args:
            task: function without arguments, which raises nothing.
        """
        self._tasks.put(task)

    def close(self) -> None:
        """End the thread after its earlier tasks."""
        self._tasks.put(None)

    def _do(self) -> None:
        """Do the tasks until the thread is closed."""
        while (task := self._tasks.get()) is not None:
            task()
