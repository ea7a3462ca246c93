"""Questions in the background: their cells end before their replies arrive."""

from __future__ import annotations

import contextlib
import contextvars
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, cast

from chatmagic._fork import belongs_to_process
from chatmagic._log import log_swallowed
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatError, ChatInterrupted, InputError
from chatmagic.jupyter.reply_views import Live
from chatmagic.models import Reply
from chatmagic.session.ask import Ask
from chatmagic.session.ending import interrupted
from chatmagic.session.events import failure
from chatmagic.session.views import View
from chatmagic.session.worker import NAP

HINT: Final = "Run that cell again; or this one, which then asks without that turn."


@dataclass(slots=True, eq=False)
class _Task:
    """One question in the background, and its state."""

    ask: Ask
    threads: Sequence[str] | None
    """Names of the conversation's threads that the question concerns, its own first; ``None`` for
    all."""
    halt: Halt = field(default_factory=Halt)
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when its thread has ended; after an interrupt, ``join`` may return too early."""
    ready: threading.Event = field(default_factory=threading.Event)
    """Set when its cell need not wait any longer."""
    is_released: bool = False
    """Whether its cell has ended."""
    reply: Reply | None = None
    error: BaseException | None = None
    cause: _Task | None = None
    """The failed question because of which this one was not asked."""

    @property
    def cell_numbers(self) -> list[str]:
        """The number of its cell, in a list; empty without a cell."""
        return re.findall(r"\d+", self.ask.asker)

    def is_before(self, threads: Sequence[str] | None) -> bool:
        """Return whether it precedes another question.

        Args:
            threads: names of the conversation's threads that the other question concerns; ``None``
                for all.
        """
        return threads is None or self.threads is None or self.threads[0] in threads

    def release(self, forget: Callable[[], object]) -> None:
        """Let its cell end, once.

        Args:
            forget: called just before.
        """
        if not self.is_released:
            self.is_released = True
            forget()
            self.ready.set()

    def run(self, view: Live, send: Callable[[], Reply | None]) -> None:
        """Ask, and keep the result; if the cell has ended, its output shows an error.

        Args:
            view: the view that shows it.
            send: asks the question.
        """
        try:
            self.reply = send()
        except BaseException as error:  # noqa: BLE001 - the next question reports it
            log_swallowed(error)
            self.error = error
            if self.is_released and getattr(error, "reply", None) is None:
                view.explain(error)
        finally:
            self.ready.set()
            self.ended.set()


class Background:
    """Questions of a kernel in the background: at the same time if their threads share no turns.

    Questions of one thread are asked one after the other. The session's lock ends with the reply;
    here later questions wait until the variable has the reply, too.
    """

    def __init__(self) -> None:
        """Ask nothing yet."""
        self._tasks: list[_Task] = []
        """The questions under way, and the failed ones that no later question has reported yet."""
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Have no questions, in a forked child."""
        self._tasks = []

    def start(
        self,
        ask: Ask,
        view: Live,
        send: Callable[..., Reply | None],
        forget: Callable[[], object],
        threads: Sequence[str] | None = None,
    ) -> None:
        """Ask in a thread; return when the request is sent, or at once if others come first.

        Args:
            ask: the question to ask.
            view: the view that shows it, in the output of its cell.
            send: sends it and shows its reply; takes a ``halt``.
            forget: called just before the cell ends.
            threads: names of the conversation's threads that it concerns, its own first; ``None``
                for all.

        Raises:
            BaseException: the error of a question that failed before its cell ended.
        """
        task = _Task(ask, threads)
        before = self._under_way(threads)

        view.release = partial(task.release, forget)
        self._tasks.append(task)
        work = partial(self._reply_after, before, task, send)
        run = partial(contextvars.copy_context().run, task.run, view, work)
        thread = threading.Thread(target=run, name="chatmagic-background", daemon=True)
        try:
            if before:
                view.waiting(before[-1].ask.asker)
                view.sent()
            thread.start()
            _until(lambda: task.ready.wait(NAP))
        except KeyboardInterrupt:
            task.halt.stop()
            self._forget([task])
            _until(lambda: thread.ident is None or task.ended.wait(NAP))
            raise (task.error or interrupted(task.reply)) from None
        if task.error is not None and not task.is_released:
            self._forget([task])
            raise task.error

    def _reply_after(
        self, before: Sequence[_Task], task: _Task, send: Callable[..., Reply | None]
    ) -> Reply | None:
        """Return the reply to a question that is asked when those before it have ended.

        Raises:
            ChatError: one of them failed.
        """
        _until(lambda: task.halt.reason or all(earlier.ended.wait(NAP) for earlier in before))
        if before:
            task.cause = self._take_failed(task.ask.owner, task.threads, counts_stopped=True)
        if task.cause is not None:
            raise _not_asked(task.cause)
        return send(halt=task.halt)

    def wait(self, view: View | None = None, threads: Sequence[str] | None = None) -> bool:
        """Wait until no question is under way, and return whether there was one.

        Args:
            view: the view that shows the wait; ``None`` shows nothing.
            threads: names of the conversation's threads to wait for; ``None`` for all.

        Raises:
            ChatInterrupted: an interrupt ended the wait.
        """
        under_way = self._under_way(threads)
        if not under_way:
            return False
        view = view or View()
        asker = under_way[-1].ask.asker
        try:
            view.waiting(asker)
            _until(lambda: all(task.ended.wait(NAP) for task in under_way))
        except KeyboardInterrupt:
            raise ChatInterrupted(
                f"Interrupted while waiting for the reply to {asker}. Nothing was sent."
            ) from None
        finally:
            view.failed()
        return True

    def settle(
        self,
        owner: str | None,
        view: View,
        threads: Sequence[str] | None = None,
        *,
        waits: bool = True,
    ) -> None:
        """Wait until no question is under way; report a failure in another cell once.

        A question that a person stopped counts as failed only for a question that waited for it.

        Args:
            owner: hash of the cell that is about to ask; ``None`` if it is unknown.
            view: the view that shows the wait.
            threads: names of the conversation's threads to wait for; ``None`` for all.
            waits: whether to wait for the questions under way.

        Raises:
            ChatError: a question in the background failed; nothing was sent.
            ChatInterrupted: an interrupt ended the wait.
        """
        has_waited = waits and self.wait(view, threads)
        failed = self._take_failed(owner, threads, counts_stopped=has_waited)
        if failed is not None:
            raise _not_asked(failed)

    @property
    def cells(self) -> list[str]:
        """The numbers of the cells whose questions are under way."""
        return [number for task in self._under_way(None) for number in task.cell_numbers]

    def stop(self, number: str) -> str:
        """Stop a question under way, wait for its end, and return a line that tells it.

        Args:
            number: number of its cell, ``3`` for cell [3]; empty for the only question.

        Raises:
            InputError: there is no such question, or there are several.
        """
        under_way = self._under_way(None)
        chosen = [task for task in under_way if not number or number in task.cell_numbers]
        if len(chosen) != 1:
            askers = ", ".join(task.ask.asker for task in under_way)
            raise InputError(
                f"Under way in the background: {askers or 'nothing'}. Nothing was stopped.",
                hint="%chat_stop N stops the reply to cell [N]." if under_way else "",
            )
        task = chosen[0]
        task.halt.stop()
        _until(lambda: task.ended.wait(NAP))
        outcome = failure(task.error or interrupted(task.reply))[0]
        return f"The reply to {task.ask.asker} was stopped. {outcome}"

    def _under_way(self, threads: Sequence[str] | None) -> list[_Task]:
        """Return the questions under way that precede a question in these threads."""
        tasks = tuple(self._tasks)  # another thread may change the list
        return [task for task in tasks if not task.ended.is_set() and task.is_before(threads)]

    def _take_failed(
        self, owner: str | None, threads: Sequence[str] | None, *, counts_stopped: bool
    ) -> _Task | None:
        """Forget the ended questions that precede a cell's question, and return one that failed.

        Args:
            owner: hash of the cell that is about to ask, whose own failures do not count.
            threads: names of the conversation's threads that its question concerns; ``None`` for
                all.
            counts_stopped: whether a question that a person stopped counts as failed.
        """
        tasks = tuple(self._tasks)  # another thread may change the list
        ended = [task for task in tasks if task.ended.is_set() and task.is_before(threads)]
        self._forget(ended)
        for task in ended:
            is_stopped = isinstance(task.error, ChatInterrupted)
            if task.error is None or task.ask.owner == owner:
                continue
            if counts_stopped or not is_stopped:
                return task.cause or task
        return None

    def _forget(self, tasks: Sequence[_Task]) -> None:
        """Remove questions that have ended."""
        for task in tasks:
            with contextlib.suppress(ValueError):  # another thread has forgotten it
                self._tasks.remove(task)


def _not_asked(failed: _Task) -> ChatError:
    """Return the error of a question that is not asked because an earlier one failed."""
    asker = failed.ask.asker
    words = failure(cast("BaseException", failed.error))[0]
    return ChatError(f"Nothing was sent, as {asker} failed in the background: {words}", hint=HINT)


def _until(check: Callable[[], object]) -> None:
    """Repeat a check until it is true; not every system can interrupt a wait without a timeout."""
    while not check():
        pass
