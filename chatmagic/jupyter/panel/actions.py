"""What a panel's page asks for: to ask, to stop, to undo, to put turns into the notebook.

:meth:`Actions.take` runs in the drawing loop's thread, quickly; what takes time is done by a
thread of its own, the worker, so that the kernel stays free.
"""

from __future__ import annotations

import contextvars
import secrets
import threading
from copy import copy
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from chatmagic._log import log_swallowed, swallowed
from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import owner_of
from chatmagic.jupyter import transcript
from chatmagic.jupyter.panel import cell_export
from chatmagic.jupyter.panel.saved import saved
from chatmagic.session.events import Ask, View
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmagic.conversation.history import Change
    from chatmagic.conversation.record import Record
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.panel import messages
    from chatmagic.jupyter.panel.pending import PendingAsk, PendingAsks
    from chatmagic.session.events import Answer
    from chatmagic.session.session import Session

    Send = Callable[[messages.Answer], object]

LONGEST_PROMPT: Final = 1_000_000
STEPS: Final[Mapping[str, Callable[[Conversation], Change | None]]] = {
    "undo": Conversation.undo,
    "redo": Conversation.redo,
    "clear": Conversation.reset,
}
WITHDRAWN: Final = "Withdrawn before it was sent."
CLEARED: Final = "A new conversation begins; Undo brings the old one back."
FAILED: Final = "{what}: the panel's part of the kernel failed ({error}). %%chat still works."


class Actions:
    """Does what pages ask for.

    Args:
        session: the kernel's session.
        pending: the asks under way.
        defaults: gives the parameters of the panel's questions, as :class:`Ask` names them.
        later: has something called in the drawing loop's thread.
        show: shows every panel the stage of an ask.
        over: sends every panel a line that an ask is over before it was sent.
    """

    def __init__(
        self,
        session: Session,
        pending: PendingAsks,
        *,
        defaults: Callable[[], dict[str, Any]],
        later: Callable[[Callable[[], object]], object],
        show: Callable[[PendingAsk], object],
        over: Callable[[PendingAsk, str], object],
    ) -> None:
        """Start the worker, in the context of the cell that shows the first panel."""
        self._session = session
        self._pending = pending
        self._defaults = defaults
        self._later = later
        self._show = show
        self._over = over
        self._records: dict[int, Record] = {}
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=[self._do], name="chatmagic-ask", daemon=True).start()

    def take(self, message: messages.FromPage, answer: Send) -> None:
        """Do what a page asks for, or have it done.

        Args:
            message: the page's.
            answer: sends an answer to that view.
        """
        try:
            self._take(message, answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, a page waits for an answer
            log_swallowed(error)
            self._fail(message, answer, error)

    def _take(self, message: messages.FromPage, answer: Send) -> None:
        if message["kind"] == "ask":
            self._offer(message, answer)
        elif message["kind"] == "go":
            self._go(self._pending.get(message["key"]))
        elif message["kind"] == "stop":
            self._stop(self._pending.get(message["key"]), answer)
        elif message["kind"] == "step":
            self._step(message["step"], answer)
        elif message["kind"] == "save":
            html, text = saved(copy(self._session.conversation))
            answer({"kind": "saved", "data": {"text/html": html, "text/plain": text}})
        elif message["kind"] == "put":
            turns = self._session.conversation.turns
            cells = cell_export.planned(turns, message["turns"], message["cells"], self._records)
            answer({"kind": "insert", "cells": cells})
        elif message["kind"] == "placed":
            self._hand_over(self._turn(message["turn"]), message["cell"])

    def _fail(
        self,
        message: messages.FromPage,
        answer: Send,
        error: Exception,
    ) -> None:
        """Show that something failed, by the kind of the error: its text may quote anything."""
        unsent = message["kind"] in {"ask", "go"}
        what = "Nothing was sent" if unsent else "That was not done"
        words = FAILED.format(what=what, error=type(error).__name__)
        if message["kind"] == "ask":
            answer({"kind": "refused", "words": words, "nonce": message["nonce"]})
        elif message["kind"] == "go" and (pending := self._pending.get(message["key"])):
            self._pending.drop(pending)
            self._over(pending, words)
        else:
            answer({"kind": "notice", "words": words})

    def keep_record(self, ask: Ask, answer: Answer) -> None:
        """Keep the record of a turn of the panel's, for the cell that it may become."""
        for turn in reversed(self._session.conversation.turns):
            if (turn.owner, turn.execution) == (ask.owner, ask.execution):
                self._records[turn.number] = answer.record
                return

    def close(self) -> None:
        """Let the worker end."""
        self._work.put(None)

    def _offer(self, message: messages.Ask, answer: Send) -> None:
        """Offer to ask; the page says `go`, unless the reader has taken it back meanwhile."""
        text, nonce = message["text"], message["nonce"]
        old = self._turn(message["replaces"])
        if text is None and old is not None:
            text = old.prompt  # which pages may show otherwise
        for pending in self._pending:
            if pending.stage == "asked":
                # Its page has gone before it could say go.
                self._stop(pending, answer)
        why = ""
        if any(pending.mine for pending in self._pending):
            why = "A question from the panel is under way already; this one was not sent."
        elif message["replaces"] is not None and (old is None or old.entry != "panel"):
            why = "That turn is no longer the panel's. Nothing was sent."
        elif text is None or not text.strip():
            why = "The prompt is empty. Nothing was sent."
        elif len(text) > LONGEST_PROMPT:
            why = "The prompt is longer than a million characters. Nothing was sent."
        if why:
            answer({"kind": "refused", "words": why, "nonce": nonce})
            return
        # A turn of the panel is asked again as a cell is run again: in the same place.
        ask = Ask(
            without_lone_surrogates(str(text)),
            owner=secrets.token_hex(8) if old is None else old.owner,
            execution=secrets.token_hex(8),
            entry="panel",
            asker="the panel",
            **self._defaults(),
        )
        pending = self._pending.add(ask)
        pending.place(self._session.conversation.turns)
        self._show(pending)
        answer({"kind": "offer", "key": pending.key, "nonce": nonce})

    def _go(self, pending: PendingAsk | None) -> None:
        if pending is None or pending.stage != "asked":
            return
        pending.stage = "sending"
        ask, halt = pending.ask, Halt()
        pending.halt = halt
        view = _Waiting(lambda holder: self._later(lambda: self._waits(pending, holder)))
        self._work.put(lambda: self._session.run(ask, view, halt))

    def _waits(self, pending: PendingAsk, holder: str) -> None:
        if self._pending.get(pending.key) is pending:
            pending.stage = "waiting"
            pending.note = f"Waiting for the reply to {holder} to end."
            self._show(pending)

    def _stop(self, pending: PendingAsk | None, answer: Send) -> None:
        if pending is None:
            return
        if pending.stage == "asked":
            self._pending.drop(pending)
            self._over(pending, WITHDRAWN)
            return
        if pending.halt is not None:
            pending.halt.stop()
            answer({"kind": "stopping"})

    def _step(self, step: str, answer: Send) -> None:
        def work() -> None:
            try:
                change = self._session.change(STEPS[step])
                say = {"undo": transcript.undone, "redo": transcript.redone}.get(step)
                words = CLEARED if say is None else say(change)
            except Exception as error:  # noqa: BLE001 - as in `take`
                log_swallowed(error)
                words = FAILED.format(what="That was not done", error=type(error).__name__)
            self._later(lambda: answer({"kind": "notice", "words": words}))

        self._work.put(work)

    def _hand_over(self, turn: Turn | None, cell: str) -> None:
        """Let the cell that stands own the turn: run, it replaces it."""
        if turn is None or turn.entry != "panel":
            return
        number, owner = turn.number, owner_of(cell)
        self._work.put(
            lambda: self._session.change(lambda conversation: conversation.hand_over(number, owner))
        )

    def _turn(self, number: int | None) -> Turn | None:
        turns = self._session.conversation.turns
        return next((turn for turn in turns if turn.number == number), None)

    def _do(self) -> None:
        while (work := self._work.get()) is not None:
            # Followers of the session have heard of what fails.
            with swallowed(Exception, KeyboardInterrupt):
                work()


class _Waiting(View):
    """The view of the panel's own asks: what else there is to know comes by following."""

    def __init__(self, waiting: Callable[[str], object]) -> None:
        self._say = waiting

    def waiting(self, holder: str) -> None:
        self._say(holder)
