"""The questions of panels: offered to their page, asked when it says go, stopped."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from chatmagic._log import swallowed
from chatmagic.client.halt import Halt
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.panel_asks import PendingAsk
from chatmagic.jupyter.page.panel_feed import PanelFeed
from chatmagic.jupyter.page.panel_log import PanelLog
from chatmagic.jupyter.page.task_thread import TaskThread
from chatmagic.jupyter.page.view_request import ViewRequest
from chatmagic.safe_text import without_lone_surrogates
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session
from chatmagic.session.views import View

WITHDRAWN: Final = "Withdrawn before it was sent."
ONE_AT_A_TIME: Final = "A question from the panel is under way already; this one was not sent."
NOT_THE_PANELS: Final = "That turn is no longer the panel's. Nothing was sent."
NO_PROMPT: Final = "The prompt is empty. Nothing was sent."


class PanelQuestions:
    """The questions of the panels of one kernel.

    The methods run in the drawing loop's thread; a question is asked in a thread of its own.

    Args:
        session: the kernel's session.
        log: the content of the panels.
        feed: what all panels are sent.
        drawing: the kernel's drawing loop.
        work: the thread that asks.
    """

    def __init__(
        self,
        session: Session,
        log: PanelLog,
        feed: PanelFeed,
        drawing: DrawingLoop,
        work: TaskThread,
    ) -> None:
        """Ask nothing yet."""
        self._session = session
        self._log = log
        self._asks = log.asks
        self._feed = feed
        self._drawing = drawing
        self._work = work

    def offer(self, request: ViewRequest) -> None:
        """Offer to ask. The page answers ``go``, unless the user has withdrawn the question.

        Args:
            request: has the prompt, or ``None`` to ask a turn's prompt again, and the turn that the
                question replaces.
        """
        typed = request.message["text"]
        replaces = request.message["replaces"]
        old = self._log.turn(replaces)
        text = typed
        if typed is None:
            text = "" if old is None else old.as_typed  # pages may show it in another form
        for pending in self._asks.not_taken_up():
            self._withdraw(pending)  # its page has gone before it answered
        if self._asks.is_asking():
            request.refuse(ONE_AT_A_TIME)
        elif replaces is not None and (old is None or old.entry != "panel"):
            request.refuse(NOT_THE_PANELS)
        elif not text.strip():
            request.refuse(NO_PROMPT)
        elif old is None:
            self._show_offer(request, self._question(text))
        else:
            self._show_offer(request, self._question_again(text, old, is_typed=typed is not None))

    def go(self, request: ViewRequest) -> None:
        """Ask a question that was offered.

        Args:
            request: names the question.
        """
        pending = self._asks.under_way.get(request.message["live"])
        if pending is not None and pending.stage == "asked":
            pending.stage = "sending"
            pending.halt = Halt()
            self._work.put(partial(self._run, pending, pending.halt))

    def stop(self, request: ViewRequest) -> None:
        """Stop an ask, or withdraw a question that was offered.

        Args:
            request: names the question.
        """
        pending = self._asks.under_way.get(request.message["live"])
        if pending is None:
            return
        if pending.stage == "asked":
            self._withdraw(pending)
        elif pending.halt is not None:
            pending.halt.stop()
            request.answer({"kind": "stopping"})

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

    def _show_offer(self, request: ViewRequest, ask: Ask) -> None:
        """Show a question that waits for its page to say go."""
        pending = self._asks.add(ask, self._session.conversation.turns)
        self._feed.show_ask(pending)
        nonce = request.message["nonce"]
        request.answer({"kind": "offer", "live": ask.live, "nonce": nonce})

    def _withdraw(self, pending: PendingAsk) -> None:
        """Report to every panel that a question ended before it was sent."""
        self._asks.drop(pending)
        self._feed.publish(pending.ended(WITHDRAWN, answered=False))

    def _run(self, pending: PendingAsk, halt: Halt) -> None:
        """Ask, in the thread for slow work."""
        waiting = _Waiting(lambda holder: self._drawing.put(partial(self._wait, pending, holder)))
        # Followers of the session have already reported the failure.
        with swallowed(Exception, KeyboardInterrupt):
            self._session.run(pending.ask, waiting, halt)

    def _wait(self, pending: PendingAsk, holder: str) -> None:
        """Show that an ask waits for another one."""
        if self._asks.under_way.get(pending.ask.live) is pending:
            pending.stage = "waiting"
            pending.note = f"Waiting for the reply to {holder} to end."
            self._feed.show_ask(pending)


class _Waiting(View):
    """The view of the panel's own asks; everything except the wait arrives as events.

    Args:
        show: shows the name of the ask that it waits for.
    """

    def __init__(self, show: Callable[[str], object]) -> None:
        """Show nothing yet."""
        self._show = show

    def waiting(self, holder: str) -> None:
        """Show the name of the cell or panel whose ask it waits for."""
        self._show(holder)
