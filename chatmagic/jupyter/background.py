"""Questions in the background: their cells end, and their replies still come."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from chatmagic._log import log_swallowed
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.session.ask import interrupted
from chatmagic.session.events import View, failure
from chatmagic.session.worker import NAP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmagic.jupyter.views import Live
    from chatmagic.models import Reply
    from chatmagic.session.events import Ask

HINT: Final = "Run that cell again; or this one, which then goes on with what there is."


@dataclass(slots=True, eq=False)
class _Task:
    """One question, and how far it has come."""

    ask: Ask
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when its thread is done; an interrupted ``join`` takes a thread for ended that is not."""
    ready: threading.Event = field(default_factory=threading.Event)
    """Set when its cell need not wait any more."""
    is_released: bool = False
    """Whether its cell has ended."""
    reply: Reply | None = None
    error: BaseException | None = None
    cause: _Task | None = None
    """The one that failed, where this one was not asked for that."""


class Background:
    """Questions of a kernel in the background, each in a thread of its own, one after the other.

    The session's lock ends with the reply; here others wait until a variable has it, too.
    """

    def __init__(self) -> None:
        """Ask nothing yet."""
        self._tasks: list[_Task] = []
        """Those that are under way, and those whose end no other question has heard of yet."""

    def start(
        self,
        ask: Ask,
        view: Live,
        send: Callable[..., Reply | None],
        forget: Callable[[], object],
        order: Sequence[str] = (),
    ) -> None:
        """Ask in a thread; return when the request goes out, or at once where others come first.

        Args:
            ask: what is asked.
            view: what shows it, in the output of its cell.
            send: sends it and shows its reply; takes a ``halt``.
            forget: called just before the cell ends.
            order: hashes of the page's cells from top to bottom, as far as they are known.

        Raises:
            BaseException: what ended it before that.
        """
        halt, task = Halt(), _Task(ask)
        before = [each for each in (*self._tasks,) if not each.ended.is_set()]

        def release() -> None:
            if not task.is_released:
                task.is_released = True
                forget()
                task.ready.set()

        def run() -> None:
            try:
                for each in before:
                    each.ended.wait()
                self._ask(task, partial(send, halt=halt), order, is_queued=bool(before))
            except BaseException as error:  # noqa: BLE001 - whatever it is, the next one tells it
                log_swallowed(error)
                task.error = error
                if task.is_released and getattr(error, "reply", None) is None:
                    view.explain(error)
            finally:
                task.ready.set()
                task.ended.set()

        view.release = release
        self._tasks.append(task)
        in_context = contextvars.copy_context().run
        thread = threading.Thread(
            target=in_context, args=[run], name="chatmagic-background", daemon=True
        )
        try:
            if before:
                view.waiting(before[-1].ask.asker)
                view.sent()
            thread.start()
            _until(lambda: task.ready.wait(NAP))
        except KeyboardInterrupt:
            halt.stop()
            self._forget([task])
            _until(lambda: thread.ident is None or task.ended.wait(NAP))
            raise (task.error or interrupted(task.reply)) from None
        if task.error is not None and not task.is_released:
            self._forget([task])
            raise task.error

    def _ask(
        self,
        task: _Task,
        send: Callable[[], Reply | None],
        order: Sequence[str],
        *,
        is_queued: bool,
    ) -> None:
        """Send a question, unless one that it waited for has failed."""
        task.cause = self._failed(task.ask.owner, order) if is_queued else None
        if task.cause is not None:
            raise _not_asked(task.cause)
        task.reply = send()

    def wait(self, view: View | None = None) -> bool:
        """Wait until no question is under way, and return whether one was.

        Args:
            view: what shows that it is waited for; ``None`` shows nothing.

        Raises:
            ChatInterrupted: an interrupt ended the wait.
        """
        under_way = [task for task in (*self._tasks,) if not task.ended.is_set()]
        if not under_way:
            return False
        view, asker = view or View(), under_way[-1].ask.asker
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
        self, cell: str | None, order: Sequence[str], view: View, *, waits: bool = True
    ) -> None:
        """Wait until no question is under way; tell once, below its cell, of one that failed.

        One that a person stopped has failed for the question that waited for it, alone.

        Args:
            cell: hash of the cell that is about to ask.
            order: hashes of the page's cells from top to bottom, as far as they are known.
            view: what shows that it is waited for.
            waits: whether those under way are waited for.

        Raises:
            ChatError: it failed; nothing was sent.
            ChatInterrupted: an interrupt ended the wait.
        """
        waited = waits and self.wait(view)
        if (failed := self._failed(cell, order, waited=waited)) is not None:
            raise _not_asked(failed)

    def _failed(
        self, cell: str | None, order: Sequence[str], *, waited: bool = True
    ) -> _Task | None:
        """Return the question that failed above a cell, if one did; each is returned once."""
        heard = [
            task
            for task in (*self._tasks,)
            if task.ended.is_set() and not _is_above(cell, task.ask.owner, order)
        ]
        self._forget(heard)
        for task in heard:
            is_told = waited or not isinstance(task.error, ChatInterrupted)
            if task.error is not None and is_told and task.ask.owner != cell:
                return task.cause or task
        return None

    def _forget(self, tasks: Sequence[_Task]) -> None:
        for task in tasks:
            with contextlib.suppress(ValueError):  # another thread has forgotten it
                self._tasks.remove(task)


def _not_asked(failed: _Task) -> ChatError:
    """Return the error of a question that is not asked, as another one failed before it."""
    asker, what = failed.ask.asker, failure(cast("BaseException", failed.error))[0]
    return ChatError(f"Nothing was sent, as {asker} failed in the background: {what}", hint=HINT)


def _until(check: Callable[[], bool]) -> None:
    """Check until it is so; not every system can interrupt a wait without an end."""
    while not check():
        pass


def _is_above(cell: str | None, other: str | None, order: Sequence[str]) -> bool:
    """Return whether a cell stands above another on its page."""
    return cell in order and other in order and order.index(cell) < order.index(other)
