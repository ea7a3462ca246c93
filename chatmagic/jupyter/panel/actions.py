"""What a panel's page asks for: to ask, to stop, to undo, to put turns into the notebook.

:meth:`Errands.take` runs in the desk's teller, quickly; what takes time is done by a
thread of its own, the *asker*, so that the kernel stays free.
"""

from __future__ import annotations

import contextlib
import contextvars
import secrets
import threading
from copy import copy
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from chatmagic import _lazy
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import owner_of
from chatmagic.jupyter import transcript
from chatmagic.jupyter.panel import cell_export, messages
from chatmagic.session.events import Ask, Silent
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmagic.conversation.history import Change
    from chatmagic.conversation.record import Record
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.panel.pending import Log, UnderWay
    from chatmagic.session.events import Answer
    from chatmagic.session.session import Session

LONGEST_PROMPT: Final = 1_000_000
STEPS: Final[Mapping[str, Callable[[Conversation], Change | None]]] = {
    "undo": Conversation.undo,
    "redo": Conversation.redo,
    "clear": Conversation.reset,
}
CLEARED: Final = "A new conversation begins; Undo brings the old one back."
FAILED: Final = "{what}: the panel's part of the kernel failed ({error}). %%chat goes on working."

Say = dict[str, Any]


class Errands:
    """Does what pages ask for.

    Args:
        session: the kernel's session.
        log: the asks under way.
        defaults: gives the parameters of the panel's questions, as :class:`Ask` names them.
        later: has the teller call something.
        tell: tells every panel.
        over: tells every panel that an ask is over before it was sent.
    """

    def __init__(
        self,
        session: Session,
        log: Log,
        *,
        defaults: Callable[[], dict[str, Any]],
        later: Callable[[Callable[[], object]], object],
        tell: Callable[[Say], object],
        over: Callable[[UnderWay, str], object],
    ) -> None:
        """Start the asker, in the context of the cell that shows the first panel."""
        self._session = session
        self._log = log
        self._defaults = defaults
        self._later = later
        self._tell = tell
        self._over = over
        self._records: dict[int, Record] = {}
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        work = contextvars.copy_context().run
        threading.Thread(target=work, args=[self._do], name="chatmagic-ask", daemon=True).start()

    def take(self, said: Mapping[str, Any], answer: Callable[[Say], object]) -> None:
        """Do what a page asks for, or have it done.

        Args:
            said: the page's message, whatever it holds.
            answer: answers that page.
        """
        try:
            self._take(said, answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, a page waits for an answer
            self._excuse(said, answer, error)

    def _take(self, said: Mapping[str, Any], answer: Callable[[Say], object]) -> None:
        match said.get("kind"):
            case "ask":
                self._offer(said, answer)
            case "go":
                self._go(self._log.get(said.get("key")))
            case "stop":
                self._stop(self._log.get(said.get("key")), answer)
            case "step":
                self._step(str(said.get("step")), answer)
            case "earlier":
                now = copy(self._session.conversation)
                turns, earlier = messages.turns(now, before=said.get("before"))
                answer({"kind": "earlier", "turns": turns, "earlier": earlier})
            case "saved":
                html, text = messages.saved(copy(self._session.conversation))
                answer({"kind": "saved", "data": {"text/html": html, "text/plain": text}})
            case "put":
                self._plan(said, answer)
            case "placed":
                self._hand_over(self._turn(said.get("turn")), said.get("cell"))

    def _excuse(
        self, said: Mapping[str, Any], answer: Callable[[Say], object], error: Exception
    ) -> None:
        """Say that an errand failed; only of what kind the error is, as it may quote anything."""
        kind, one = said.get("kind"), self._log.get(said.get("key"))
        what = "Nothing was sent" if kind in {"ask", "go"} else "That was not done"
        why = FAILED.format(what=what, error=type(error).__name__)
        if kind == "ask":
            answer({"kind": "refused", "why": why, "nonce": said.get("nonce")})
        elif kind == "go" and one is not None:
            self._log.drop(one)
            self._over(one, why)
        else:
            answer({"kind": "said", "words": why})

    def keep_record(self, ask: Ask, answer: Answer) -> None:
        """Keep the record of a turn of the panel's, for the cell that it may become."""
        for turn in reversed(self._session.conversation.turns):
            if (turn.owner, turn.execution) == (ask.owner, ask.execution):
                self._records[turn.number] = answer.record
                return

    def close(self) -> None:
        """Let the asker end."""
        self._work.put(None)

    def _offer(self, said: Mapping[str, Any], answer: Callable[[Say], object]) -> None:
        """Offer to ask; the page says `go`, unless the reader has taken it back meanwhile."""
        text, instead = said.get("text"), said.get("instead")
        old = self._turn(instead)
        if text is None and old is not None:
            text = old.prompt  # which pages may show otherwise
        reply = {"nonce": said.get("nonce")}
        why = ""
        for one in [one for one in self._log if one.stage == "asked"]:
            # Its page has gone before it could say go.
            self._stop(one, answer)
        if any(one.mine for one in self._log):
            why = "A question from the panel is under way already; this one was not sent."
        elif instead is not None and (old is None or old.entry != "panel"):
            why = "That turn is not the panel's any more. Nothing was sent."
        elif not isinstance(text, str) or not text.strip():
            why = "The prompt is empty. Nothing was sent."
        elif len(text) > LONGEST_PROMPT:
            why = "The prompt is longer than a million characters. Nothing was sent."
        if why:
            answer({"kind": "refused", "why": why, **reply})
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
        one = self._log.add(ask)
        one.place(self._session.conversation.turns)
        self._tell({"kind": "live", **one.values()})
        answer({"kind": "offer", "key": one.key, **reply})

    def _go(self, one: UnderWay | None) -> None:
        if one is None or one.stage != "asked":
            return
        # requests comes with the first question, and by one way: two threads that load it from
        # two ends, as when a cell asks at the same moment, may each find the other's half.
        _lazy.load("chatmagic.client.transport")
        from chatmagic.client.sockets import Halt  # noqa: PLC0415

        one.stage = "sending"
        ask, halt = one.ask, Halt()
        one.halt = halt
        view = _Waiting(lambda holder: self._later(lambda: self._waits(one, holder)))
        self._work.put(lambda: self._session.run(ask, view, halt))

    def _waits(self, one: UnderWay, holder: str) -> None:
        if self._log.get(one.key) is one:
            one.stage, one.note = "waiting", f"Waiting for the reply to {holder} to end."
            self._tell({"kind": "live", **one.values()})

    def _stop(self, one: UnderWay | None, answer: Callable[[Say], object]) -> None:
        if one is None:
            return
        if one.stage == "asked":
            self._log.drop(one)
            self._over(one, "Taken back before it was sent.")
            return
        done = self._session.stop(one.ask)
        if one.halt is not None:
            one.halt.stop()
            done = True
        if done:
            answer({"kind": "stopping"})

    def _step(self, step: str, answer: Callable[[Say], object]) -> None:
        if step not in STEPS:
            return

        def work() -> None:
            try:
                change = self._session.change(STEPS[step])
                said = {"undo": transcript.undone, "redo": transcript.redone}.get(step)
                words = CLEARED if said is None else said(change)
            except Exception as error:  # noqa: BLE001 - as in `take`
                words = FAILED.format(what="That was not done", error=type(error).__name__)
            self._later(lambda: answer({"kind": "said", "words": words}))

        self._work.put(work)

    def _plan(self, said: Mapping[str, Any], answer: Callable[[Say], object]) -> None:
        """Give turns as cells; the page says `placed` for each that stands."""
        wanted, page = said.get("turns"), said.get("cells")
        new = cell_export.planned(
            self._session.conversation.turns,
            wanted if isinstance(wanted, list) else None,
            [one for one in page if isinstance(one, str)] if isinstance(page, list) else [],
            self._records,
        )
        answer({"kind": "insert", "cells": new})

    def _hand_over(self, turn: Turn | None, cell: object) -> None:
        if turn is None or turn.entry != "panel" or not isinstance(cell, str):
            return
        number, owner = turn.number, owner_of(cell)
        self._work.put(
            lambda: self._session.change(lambda conversation: conversation.hand_over(number, owner))
        )

    def _turn(self, number: Any) -> Turn | None:
        turns = self._session.conversation.turns
        return next((turn for turn in turns if turn.number == number), None)

    def _do(self) -> None:
        while (work := self._work.get()) is not None:
            with contextlib.suppress(Exception, KeyboardInterrupt):
                # Who follows the session has heard of it.
                work()


class _Waiting(Silent):
    """The view of the panel's own asks: what else there is to know comes by following."""

    def __init__(self, waiting: Callable[[str], object]) -> None:
        self._tell = waiting

    def waiting(self, holder: str) -> None:
        self._tell(holder)
