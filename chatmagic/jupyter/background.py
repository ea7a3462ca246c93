"""Questions in the background: their cells end, and their replies still come."""

from __future__ import annotations

import contextvars
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

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
    is_sent: bool = False
    reply: Reply | None = None
    error: BaseException | None = None


class Background:
    """A kernel's question in the background: one at a time, each in a thread of its own.

    The session's lock ends with the reply; here others wait until a variable has it, too.
    """

    def __init__(self) -> None:
        """Ask nothing yet."""
        self._task: _Task | None = None

    def start(
        self, ask: Ask, view: Live, send: Callable[..., Reply | None], forget: Callable[[], object]
    ) -> None:
        """Ask in a thread, and return when the request goes out.

        Args:
            ask: what is asked.
            view: what shows it, in the output of its cell.
            send: sends it and shows its reply; takes a ``halt``.
            forget: called just before the request goes out.

        Raises:
            BaseException: what ended it before that.
        """
        halt, ready, task = Halt(), threading.Event(), _Task(ask)

        def release() -> None:
            task.is_sent = True
            forget()
            ready.set()

        def run() -> None:
            try:
                task.reply = send(halt=halt)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the next one tells it
                log_swallowed(error)
                task.error = error
                if task.is_sent and getattr(error, "reply", None) is None:
                    view.explain(error)
            finally:
                ready.set()
                task.ended.set()

        view.release, self._task = release, task
        in_context = contextvars.copy_context().run
        thread = threading.Thread(
            target=in_context, args=[run], name="chatmagic-background", daemon=True
        )
        try:
            thread.start()
            _until(lambda: ready.wait(NAP))
        except KeyboardInterrupt:
            halt.stop()
            self._task = None
            _until(lambda: thread.ident is None or task.ended.wait(NAP))
            raise (task.error or interrupted(task.reply)) from None
        if task.error is not None and not task.is_sent:
            self._task = None
            raise task.error

    def wait(self, view: View | None = None) -> bool:
        """Wait until no question is under way, and return whether one was.

        Args:
            view: what shows that it is waited for; ``None`` shows nothing.

        Raises:
            ChatInterrupted: an interrupt ended the wait.
        """
        task, view = self._task, view or View()
        if task is None or task.ended.is_set():
            return False
        try:
            view.waiting(task.ask.asker)
            _until(lambda: task.ended.wait(NAP))
        except KeyboardInterrupt:
            raise ChatInterrupted(
                f"Interrupted while waiting for the reply to {task.ask.asker}. Nothing was sent."
            ) from None
        finally:
            view.failed()
        return True

    def settle(self, cell: str | None, order: Sequence[str], view: View) -> None:
        """Wait until no question is under way; tell once, below its cell, of one that failed.

        One that a person stopped has failed for the question that waited for it, alone.

        Args:
            cell: hash of the cell that is about to ask.
            order: hashes of the page's cells from top to bottom, as far as they are known.
            view: what shows that it is waited for.

        Raises:
            ChatError: it failed; nothing was sent.
            ChatInterrupted: an interrupt ended the wait.
        """
        waited, task = self.wait(view), self._task
        if task is None or _is_above(cell, task.ask.owner, order):
            return
        self._task = None
        error = task.error
        if error is None or (isinstance(error, ChatInterrupted) and not waited):
            return
        if cell != task.ask.owner:
            what = failure(error)[0]
            raise ChatError(
                f"Nothing was sent, as {task.ask.asker} failed in the background: {what}", hint=HINT
            )


def _until(check: Callable[[], bool]) -> None:
    """Check until it is so; not every system can interrupt a wait without an end."""
    while not check():
        pass


def _is_above(cell: str | None, other: str | None, order: Sequence[str]) -> bool:
    """Return whether a cell stands above another on its page."""
    return cell in order and other in order and order.index(cell) < order.index(other)
