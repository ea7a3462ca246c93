"""The requests of pages to the panel's part of the kernel, by a table of handlers.

All methods run in the drawing loop's thread, except the slow work: that runs in the thread
``chatmagic-ask``, so that the kernel stays free, as it may have to wait for a reply's end.
"""

from __future__ import annotations

import contextvars
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from typing import Final

from chatmagic._json import known_items
from chatmagic._log import log_swallowed, swallowed
from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import A_MODEL, is_model_name, unquoted
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import Replacement
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.page import panel_content
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.panel_asks import PendingAsk
from chatmagic.jupyter.page.panel_feed import PanelFeed, Shown
from chatmagic.jupyter.page.panel_log import PanelLog
from chatmagic.jupyter.transcript import redone, undone
from chatmagic.safe_text import one_line, without_lone_surrogates
from chatmagic.session.events import Ask, View
from chatmagic.session.session import Session

WITHDRAWN: Final = "Withdrawn before it was sent."
CLEARED: Final = "A new conversation begins; Undo brings the old one back."
CLEARED_THREAD: Final = "The turns of the thread {} are set aside; Undo brings them back."
UNDER_WAY: Final = "A question from the panel is under way: its thread is shown until it ends."
ONE_AT_A_TIME: Final = "A question from the panel is under way already; this one was not sent."
NOT_THE_PANELS: Final = "That turn is no longer the panel's. Nothing was sent."
NO_PROMPT: Final = "The prompt is empty. Nothing was sent."
FAILED: Final = "{what}: the panel's part of the kernel failed ({error}). %%chat still works."
MODEL: Final = "Model of the panel's questions: {}."
NO_MODEL: Final = f"Model takes {A_MODEL}, without spaces, not {{!r}}. Nothing was changed."


@dataclass(frozen=True, slots=True)
class PanelRequest:
    """A page's message. None of its values is certain.

    Args:
        shown: the panel whose view sent it.
        message: the message.
        send: sends an answer to the panel's views.
    """

    shown: Shown
    message: Message
    send: Callable[[Shown, Message], object]

    def answer(self, message: Message) -> None:
        """Send an answer to the view that asks.

        Args:
            message: the answer.
        """
        self.send(self.shown, {**message, "view": self.message.get("view", "")})

    def notify(self, words: str) -> None:
        """Answer with words for the status region.

        Args:
            words: the words.
        """
        self.answer({"kind": "notice", "words": words})

    def refuse(self, words: str) -> None:
        """Answer why a prompt was not sent.

        Args:
            words: the reason.
        """
        nonce = self.message.get("nonce")
        self.answer({"kind": "notice", "words": words, **known_items(nonce=nonce)})


class SlowWork:
    """A thread that does one task after the other."""

    def __init__(self) -> None:
        """Start the thread."""
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=[self._do], name="chatmagic-ask", daemon=True).start()

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
        while (task := self._tasks.get()) is not None:
            task()


class PanelRequests:
    """The requests of pages to the panels of one kernel.

    Args:
        session: the kernel's session.
        log: the content of the panels.
        feed: what all panels are sent.
        drawing: the kernel's drawing loop.
    """

    def __init__(
        self, session: Session, log: PanelLog, feed: PanelFeed, drawing: DrawingLoop
    ) -> None:
        """Start the thread for slow work."""
        self._session = session
        self._log = log
        self._asks = log.asks
        self._feed = feed
        self._drawing = drawing
        self._work = SlowWork()
        self._handlers: dict[str, Callable[[PanelRequest], object]] = {
            "ping": self._ping,
            "sync": self._sync,
            "want": self._want,
            "save": self._save,
            "put": self._put,
            "ask": self._ask,
            "go": self._go,
            "stop": self._stop,
            "step": partial(self._later, self._step),
            "pick": partial(self._later, self._pick),
            "placed": partial(self._later, self._placed),
            "thread": self._thread,
            "model": self._model,
        }

    def take(self, shown: Shown, message: Message) -> None:
        """Do what a page asks for.

        Args:
            shown: the panel whose view asks.
            message: the page's message.
        """
        request = PanelRequest(shown, message, self._feed.send)
        handler = self._handlers.get(str(message.get("kind")))
        if handler is not None:
            self._try(handler, request)

    def close(self) -> None:
        """End the thread for slow work."""
        self._work.close()

    def _try(self, handler: Callable[[PanelRequest], object], request: PanelRequest) -> None:
        """Do what a page asks for; report a failure by the error's type, which quotes nothing."""
        try:
            handler(request)
        except Exception as error:  # noqa: BLE001 - a page waits for an answer
            log_swallowed(error)
            is_ask = request.message.get("kind") == "ask"
            what = "Nothing was sent" if is_ask else "That was not done"
            words = FAILED.format(what=what, error=type(error).__name__)
            self._drawing.put(partial(request.refuse, words))

    def _later(self, handler: Callable[[PanelRequest], object], request: PanelRequest) -> None:
        """Do what a page asks for in the thread for slow work."""
        self._work.put(partial(self._try, handler, request))

    # What a view shows.

    def _ping(self, request: PanelRequest) -> None:
        self._feed.send(request.shown, {"kind": "pong"})

    def _sync(self, request: PanelRequest) -> None:
        count = request.message.get("count")
        # A view that shows turns already asks for the entries that it lacks.
        known: dict[int, str] | None = {} if count is None else None
        snapshot = self._log.snapshot(known, count or 0)
        snapshot["reloaded"] = request.message.get("first", False) and request.shown.greeted
        request.shown.greeted = True
        request.answer(snapshot)

    def _want(self, request: PanelRequest) -> None:
        entries = self._log.entries().draw(set(request.message["ids"]))
        request.answer({"kind": "entries", "entries": entries})

    def _save(self, request: PanelRequest) -> None:
        request.answer({"kind": "saved", "data": self._log.saved()})

    # Questions.

    def _ask(self, request: PanelRequest) -> None:
        """Offer to ask. The page answers ``go``, unless the user has withdrawn the question."""
        typed = request.message["text"]
        replaces = request.message["replaces"]
        old = self._log.turn(replaces)
        text = typed
        if typed is None:
            text = "" if old is None else old.as_typed  # pages may show it in another form
        for pending in self._asks.not_taken_up():
            self._drop(pending)  # its page has gone before it answered
        if self._asks.is_asking():
            request.refuse(ONE_AT_A_TIME)
        elif replaces is not None and (old is None or old.entry != "panel"):
            request.refuse(NOT_THE_PANELS)
        elif not text.strip():
            request.refuse(NO_PROMPT)
        elif old is None:
            self._offer(request, self._question(text))
        else:
            self._offer(request, self._question_again(text, old, is_typed=typed is not None))

    def _question(self, text: str) -> Ask:
        """Return a new question of the panel."""
        names, shown = self._log.threads()
        return replace(
            self._log.kernel.defaults(),
            prompt=without_lone_surrogates(text),
            owner=secrets.token_hex(8),
            execution=secrets.token_hex(8),
            entry="panel",
            asker="the panel",
            thread=shown if len(names) > 1 else None,
            model=self._log.model or None,
        )

    def _question_again(self, text: str, old: Turn, *, is_typed: bool) -> Ask:
        """Return a question in the place of a turn of the panel.

        Args:
            text: the prompt.
            old: the turn.
            is_typed: whether the prompt was typed anew. That is like a changed cell that runs
                again; otherwise the turn's own model is asked, as by ``%chat_retry``.
        """
        question = self._question(text)
        return replace(
            question,
            owner=old.owner,
            thread=old.thread,
            again=old.number if old.as_typed == text else None,
            model=question.model if is_typed else old.model,
        )

    def _offer(self, request: PanelRequest, ask: Ask) -> None:
        """Show a question that waits for its page to say go."""
        pending = self._asks.add(ask, self._session.conversation.turns)
        self._feed.show_ask(pending)
        nonce = request.message["nonce"]
        request.answer({"kind": "offer", "live": ask.live, "nonce": nonce})

    def _drop(self, pending: PendingAsk) -> None:
        """Report to every panel that an ask ended before it was sent."""
        self._asks.drop(pending)
        self._feed.publish(pending.ended(WITHDRAWN, answered=False))

    def _go(self, request: PanelRequest) -> None:
        """Ask a question that was offered."""
        pending = self._asks.under_way.get(request.message["live"])
        if pending is not None and pending.stage == "asked":
            pending.stage = "sending"
            pending.halt = Halt()
            self._work.put(partial(self._run, pending))

    def _run(self, pending: PendingAsk) -> None:
        """Ask, in the thread for slow work."""
        waiting = _Waiting(lambda holder: self._drawing.put(partial(self._wait, pending, holder)))
        # Followers of the session have already reported the failure.
        with swallowed(Exception, KeyboardInterrupt):
            self._session.run(pending.ask, waiting, pending.halt)

    def _wait(self, pending: PendingAsk, holder: str) -> None:
        """Show that an ask waits for another one."""
        if self._asks.under_way.get(pending.ask.live) is pending:
            pending.stage = "waiting"
            pending.note = f"Waiting for the reply to {holder} to end."
            self._feed.show_ask(pending)

    def _stop(self, request: PanelRequest) -> None:
        """Stop an ask, or withdraw a question that was offered."""
        pending = self._asks.under_way.get(request.message["live"])
        if pending is None:
            return
        if pending.stage == "asked":
            self._drop(pending)
        elif pending.halt is not None:
            pending.halt.stop()
            request.answer({"kind": "stopping"})

    # The conversation, in the thread for slow work.

    def _step(self, request: PanelRequest) -> None:
        """Undo, redo or clear."""
        words = self._stepped(request.message["step"])
        self._drawing.put(partial(request.notify, words))

    def _stepped(self, step: str) -> str:
        """Change the conversation by a step; return words on it."""
        if step == "undo":
            return undone(self._session.changes.make(Conversation.undo))
        if step == "redo":
            return redone(self._session.changes.make(Conversation.redo))
        names, shown = self._log.threads()
        if len(names) > 1:
            self._session.changes.make(lambda conversation: conversation.delete(shown))
            return CLEARED_THREAD.format(shown)
        self._session.changes.make(Conversation.reset)
        return CLEARED

    def _pick(self, request: PanelRequest) -> None:
        """Put another reply to a turn's question in force, if both are still there."""
        number = request.message["turn"]
        reply = request.message["reply"]

        def pick(conversation: Conversation) -> Change | None:
            others = {turn.number for turn in conversation.replies.get(number, ())} - {number}
            if self._log.turn(number) is None or reply not in others:
                return None
            return conversation.add(Replacement(conversation.known_turns[reply]))

        self._session.changes.make(pick)

    def _put(self, request: PanelRequest) -> None:
        """Send a page turns of the panel as cells."""
        turns = self._session.conversation.turns
        message = request.message
        cells = panel_content.cells_for_turns(turns, message["turns"], message["cells"])
        request.answer({"kind": "insert", "cells": cells})

    def _placed(self, request: PanelRequest) -> None:
        """Make a cell the owner of a turn of the panel; its next run replaces the turn."""
        number = request.message["turn"]
        owner = owner_of(request.message["cell"])
        turn = self._log.turn(number)
        if turn is not None and turn.entry == "panel":
            self._session.changes.make(lambda conversation: conversation.hand_over(number, owner))

    # The choices for all panels.

    def _thread(self, request: PanelRequest) -> None:
        """Show another thread, unless a question of the panel is under way."""
        if self._asks.is_asking():
            request.notify(UNDER_WAY)
            return
        self._log.thread = request.message["thread"]
        self._feed.publish()

    def _model(self, request: PanelRequest) -> None:
        """Ask another model from now on, or the one in force."""
        typed = request.message["model"]
        name = unquoted(typed)
        # A cell that is made of the turn names it as a word behind -m.
        if name and (" " in name or not is_model_name(name)):
            request.notify(NO_MODEL.format(one_line(typed, 40)))
        else:
            self._log.model = name
            request.notify(MODEL.format(name or "the one in force"))
        self._feed.publish()


class _Waiting(View):
    """The view of the panel's own asks; all but the wait arrives as events."""

    def __init__(self, waiting: Callable[[str], object]) -> None:
        self._say = waiting

    def waiting(self, holder: str) -> None:
        self._say(holder)
