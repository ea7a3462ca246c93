"""Lock of a session that puts asks in order: one at a time in a thread of the conversation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from chatmagic._fork import belongs_to_process
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatInterrupted, InputError
from chatmagic.session.worker import NAP, Worker, uninterrupted_result

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class _Holder:
    """Work that is under way.

    Args:
        asker: name of the work, in words.
        worker: the thread that does it.
        thread: name of the conversation's thread that it is in; ``None`` holds all.
    """

    asker: str
    worker: int
    thread: str | None


class AskLock:
    """Lock of a session: one ask at a time in a thread of the conversation.

    Asks of threads that share no turns run at the same time. A change of the conversation runs
    alone. An ask that waits gets the name of the other one.
    """

    def __init__(self) -> None:
        """Start free."""
        self._holders: list[_Holder] = []
        self._changed = threading.Condition()
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Be held by the thread alone that has forked, if it does."""
        self._holders = [entry for entry in self._holders if entry.worker == threading.get_ident()]
        self._changed = threading.Condition()

    @contextmanager
    def held(
        self,
        asker: str,
        caller: int,
        halt: Halt,
        waiting: Callable[[str], object] = str,
        threads: Callable[[], Sequence[str]] | None = None,
    ) -> Iterator[None]:
        """Return a context that holds the lock; entered in a worker.

        Args:
            asker: name of the work, in words, for an ask that has to wait.
            caller: the thread that waits for the worker.
            halt: ends the wait for the lock.
            waiting: called with the name of the work that holds the lock, before a wait.
            threads: returns the name of the ask's thread as the conversation is now, then the names
                of those that share turns with it; ``None`` waits for all work under way.

        Raises:
            InputError: the caller is a worker that holds the lock, in a follower of its events.
            ChatInterrupted: the halt was stopped.
        """
        with self._changed:
            if any(holder.worker == caller for holder in self._holders):
                raise InputError("A reply is still streaming here; ask again when it has ended.")
            thread = self._free_thread(halt, waiting, threads)
            holder = _Holder(asker, threading.get_ident(), thread)
            self._holders.append(holder)
        try:
            yield
        finally:
            with self._changed:
                self._holders.remove(holder)
                self._changed.notify_all()

    def _free_thread(
        self,
        halt: Halt,
        waiting: Callable[[str], object],
        threads: Callable[[], Sequence[str]] | None,
    ) -> str | None:
        """Return the thread of an ask once no work is under way there; ``None`` for all threads.

        Raises:
            ChatInterrupted: the halt was stopped.
        """
        shown = None
        while True:
            # A change of the conversation may have moved the ask to another thread meanwhile.
            names = None if threads is None else threads()
            holder = self._holder_of(names)
            if holder is None:
                return None if names is None else names[0]
            if holder is not shown:
                waiting(holder.asker)
                shown = holder
            self._changed.wait(NAP)
            if halt.reason is not None:
                raise ChatInterrupted("Interrupted while waiting for its turn.")

    def _holder_of(self, names: Sequence[str] | None) -> _Holder | None:
        """Return the first work under way in one of these threads; ``None`` for none."""
        for holder in self._holders:
            if names is None or holder.thread is None or holder.thread in names:
                return holder
        return None

    def alone(self, asker: str, action: Callable[[], _T], halt: Halt | None = None) -> _T:
        """Return the result of an action that runs in a worker while no other work is under way.

        Args:
            asker: name of the work, in words, for an ask that has to wait.
            action: the work.
            halt: stopped by an interrupt; the end of the work is awaited all the same.

        Raises:
            InputError: as for :meth:`held`.
            ChatInterrupted: the halt was stopped before its turn.
            KeyboardInterrupt: an interrupt; begun work is done.
        """
        stopped = halt or Halt()

        def work(worker: Worker[_T]) -> _T:
            with self.held(asker, worker.caller, stopped):
                return action()

        return uninterrupted_result(work, stopped)

    def is_free(self) -> bool:
        """Return whether nothing is under way."""
        return not self._holders
