"""Actions of a panel's page: to ask, to stop, to undo, to put turns into the notebook.

A page's message is taken in the drawing loop's thread, quickly; what takes time is done by a
thread of its own, the worker, so that the kernel stays free.
"""

from __future__ import annotations

import contextvars
import secrets
import threading
from copy import copy
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from chatmagic._log import log_swallowed, swallowed
from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import owner_of
from chatmagic.jupyter.page.messages import read
from chatmagic.jupyter.page.panel import cell_export
from chatmagic.jupyter.transcript import redone, saved, undone
from chatmagic.session.events import Ask, View
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmagic.conversation.slots import Change
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.page import messages
    from chatmagic.jupyter.page.panel.hub import Hub, PendingAsk, Shown

    Send = Callable[[messages.Answer], object]
    Work = Callable[[], object]

    Do = Callable[[Conversation], Change | None]
    Say = Callable[[Change | None], str]

STEPS: Final[Mapping[str, tuple[Do, Say]]] = {
    "undo": (Conversation.undo, undone),
    "redo": (Conversation.redo, redone),
}
"""What goes over the changes of all threads, and the words on it."""
WITHDRAWN: Final = "Withdrawn before it was sent."
CLEARED: Final = "A new conversation begins; Undo brings the old one back."
CLEARED_THREAD: Final = "The turns of the thread {} are set aside; Undo brings them back."
UNDER_WAY: Final = "A question from the panel is under way: its thread is shown until it ends."
FAILED: Final = "{what}: the panel's part of the kernel failed ({error}). %%chat still works."


class Actions:
    """Handlers of the messages by which pages ask for something."""

    def __init__(self, hub: Hub) -> None:
        """Start the worker, in the context of the cell that shows the first panel."""
        self._hub = hub
        self._session = hub.session
        self._pending = hub.pending
        self._work: SimpleQueue[tuple[messages.FromPage, Send, Work] | None] = SimpleQueue()
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=[self._do], name="chatmagic-ask", daemon=True).start()

    def receive(self, shown: Shown, content: object) -> None:
        """Take a page's message; may be called in any thread.

        Args:
            shown: the panel or gauge to whose views the page belongs.
            content: whatever the page sent.
        """
        if message := read(content):
            context = contextvars.copy_context()
            self._hub.drawing.put(partial(self._receive, shown, message, context))

    def close(self) -> None:
        """Let the worker end."""
        self._work.put(None)

    def _do(self) -> None:
        """Do the work in turn, in the worker's thread."""
        while (given := self._work.get()) is not None:
            message, answer, work = given
            try:
                work()
            except Exception as error:  # noqa: BLE001 - as in `_receive`
                log_swallowed(error)
                self._hub.drawing.put(partial(self._fail, message, answer, error))

    # All that follows, but for work, runs in the drawing loop's thread.

    def _receive(
        self, shown: Shown, message: messages.FromPage, context: contextvars.Context
    ) -> None:
        # Pages are sent to in the context in which they spoke last: ipykernel takes what they
        # say next to the thread that sent to them, past a cell that runs.
        self._hub.context = context
        view = message.get("view", "")

        def answer(message: messages.Answer) -> None:
            self._hub.send(shown, {**message, "view": view})

        try:
            self._take(shown, message, answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, a page waits for an answer
            log_swallowed(error)
            self._fail(message, answer, error)

    def _take(self, shown: Shown, message: messages.FromPage, answer: Send) -> None:
        match message["kind"]:
            case "ping":
                self._hub.send(shown, {"kind": "pong"})
            case "sync":
                count = message.get("count")
                listed = self._hub.snapshot({} if count is None else None, count or 0)
                listed["reloaded"] = message.get("first", False) and shown.greeted
                shown.greeted = True
                answer(listed)
            case "want":
                entries = self._hub.entries().draw(set(message["ids"]))
                answer({"kind": "entries", "entries": entries})
            case "save":
                html, text = saved(copy(self._session.conversation))
                answer({"kind": "saved", "data": {"text/html": html, "text/plain": text}})
            case "put":
                turns = self._session.conversation.turns
                cells = cell_export.planned(turns, message["turns"], message["cells"])
                answer({"kind": "insert", "cells": cells})
            case _:
                self._act(message, answer)

    def _act(self, message: messages.FromPage, answer: Send) -> None:
        match message["kind"]:
            case "ask":
                self._offer(message, answer)
            case "go":
                self._go(message, answer)
            case "stop":
                self._stop(self._pending.get(message["key"]), answer)
            case "step":
                self._work.put((message, answer, partial(self._step, message["step"], answer)))
            case "pick":
                work = partial(self._pick, message["turn"], message["reply"])
                self._work.put((message, answer, work))
            case "thread" if any(pending.mine for pending in self._pending.values()):
                answer({"kind": "notice", "words": UNDER_WAY})
            case "thread":
                self._hub.show_thread(message["thread"])
            case "placed":
                turn, owner = self._turn(message["turn"]), owner_of(message["cell"])
                if turn is not None and turn.entry == "panel":
                    work = partial(self._hand_over, turn.number, owner)
                    self._work.put((message, answer, work))

    def _fail(self, message: messages.FromPage, answer: Send, error: Exception) -> None:
        """Show that something failed, by the kind of the error: its text may quote anything."""
        unsent = message["kind"] in {"ask", "go"}
        what = "Nothing was sent" if unsent else "That was not done"
        words = FAILED.format(what=what, error=type(error).__name__)
        if message["kind"] == "ask":
            answer({"kind": "refused", "words": words, "nonce": message["nonce"]})
        elif message["kind"] == "go" and (pending := self._pending.get(message["key"])):
            self._hub.drop(pending, words)
        else:
            answer({"kind": "notice", "words": words})

    def _offer(self, message: messages.Ask, answer: Send) -> None:
        """Offer to ask; the page says `go`, unless the reader has taken it back meanwhile."""
        text, nonce = message["text"], message["nonce"]
        old = self._turn(message["replaces"])
        if text is None:
            text = "" if old is None else old.as_typed  # which pages may show otherwise
        for pending in tuple(self._pending.values()):
            if pending.stage == "asked":
                # Its page has gone before it could say go.
                self._hub.drop(pending, WITHDRAWN)
        why = ""
        if any(pending.mine for pending in self._pending.values()):
            why = "A question from the panel is under way already; this one was not sent."
        elif message["replaces"] is not None and (old is None or old.entry != "panel"):
            why = "That turn is no longer the panel's. Nothing was sent."
        elif not text.strip():
            why = "The prompt is empty. Nothing was sent."
        if why:
            answer({"kind": "refused", "words": why, "nonce": nonce})
            return
        # A turn of the panel is asked again as a cell is run again: in the same place.
        names, shown = self._hub.threads()
        thread = shown if len(names) > 1 else None
        defaults = self._hub.kernel.defaults()
        ask = Ask(
            without_lone_surrogates(text),
            owner=secrets.token_hex(8) if old is None else old.owner,
            execution=secrets.token_hex(8),
            entry="panel",
            asker="the panel",
            **{**defaults, "thread": thread if old is None else old.thread},
        )
        pending = self._pending.add(ask)
        pending.place(self._session.conversation.turns)
        self._hub.show(pending)
        answer({"kind": "offer", "key": pending.key, "nonce": nonce})

    def _go(self, message: messages.Go, answer: Send) -> None:
        pending = self._pending.get(message["key"])
        if pending is None or pending.stage != "asked":
            return
        pending.stage, pending.halt = "sending", Halt()
        self._work.put((message, answer, partial(self._ask, pending)))

    def _waits(self, pending: PendingAsk, holder: str) -> None:
        if self._pending.get(pending.key) is pending:
            pending.stage = "waiting"
            pending.note = f"Waiting for the reply to {holder} to end."
            self._hub.show(pending)

    def _stop(self, pending: PendingAsk | None, answer: Send) -> None:
        if pending is None:
            return
        if pending.stage == "asked":
            self._hub.drop(pending, WITHDRAWN)
            return
        if pending.halt is not None:
            pending.halt.stop()
            answer({"kind": "stopping"})

    def _turn(self, number: int | None) -> Turn | None:
        turns = self._session.conversation.turns
        return next((turn for turn in turns if turn.number == number), None)

    # Work.

    def _ask(self, pending: PendingAsk) -> None:
        def waits(holder: str) -> None:
            self._hub.drawing.put(partial(self._waits, pending, holder))

        # Followers of the session have heard of what fails.
        with swallowed(Exception, KeyboardInterrupt):
            self._session.run(pending.ask, _Waiting(waits), pending.halt)

    def _step(self, step: str, answer: Send) -> None:
        names, shown = self._hub.threads()
        if step in STEPS:
            do, say = STEPS[step]
            words = say(self._session.change(do))
        elif len(names) > 1:
            self._session.change(lambda conversation: conversation.delete(shown))
            words = CLEARED_THREAD.format(shown)
        else:
            self._session.change(Conversation.reset)
            words = CLEARED
        self._hub.drawing.put(partial(answer, {"kind": "notice", "words": words}))

    def _pick(self, number: int, reply: int) -> None:
        """Put another reply to a turn's question in its place, if both are still there."""

        def pick(conversation: Conversation) -> Change | None:
            replies = {turn.number: turn for turn in conversation.replies(number)}
            is_other = reply in replies and reply != number
            return conversation.replace_reply(replies[reply], number) if is_other else None

        self._session.change(pick)

    def _hand_over(self, number: int, owner: str) -> None:
        """Let the cell that stands own the turn: run, it replaces it."""
        self._session.change(lambda conversation: conversation.hand_over(number, owner))


class _Waiting(View):
    """The view of the panel's own asks: what else there is to know comes by following."""

    def __init__(self, waiting: Callable[[str], object]) -> None:
        self._say = waiting

    def waiting(self, holder: str) -> None:
        self._say(holder)
