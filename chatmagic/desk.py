"""The kernel's side of every panel and live gauge: hears all, tells all, asks for the panel.

Three kinds of threads meet here. Those that ask, and those that bring what a page says
(any thread of the kernel), only put something into a queue. One thread, the *teller*,
takes it out, knows all there is to know, and is the only one that talks to pages, so what
they hear is in order. One more, the *asker*, does what the panel was told to do, so that
the kernel stays free.
"""

from __future__ import annotations

import contextlib
import contextvars
import secrets
import threading
import time
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from chatmagic import board, cells, display, frontend, safe, transcript, wire
from chatmagic.conversation import Conversation
from chatmagic.session import Ask, Began, Changed, Ended, Fragment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from chatmagic.conversation import Change, Turn
    from chatmagic.session import Answer, Session
    from chatmagic.transport import Halt
    from chatmagic.wire import Record

MOST_ASIDES: Final = 50
LONGEST_PROMPT: Final = 1_000_000
STEPS: Final[Mapping[str, Callable[[Conversation], Change | None]]] = {
    "undo": Conversation.undo,
    "redo": Conversation.redo,
    "clear": Conversation.reset,
}

Role = Literal["panel", "gauge", "output"]


class Kernel(Protocol):
    """What the desk wants to know of its kernel, each time anew."""

    def now(self) -> datetime:
        """Give the time by which the gauge counts."""

    def standing(self) -> dict[str, Any]:
        """Give the state in one word, and the settings in force as rows of words."""

    def defaults(self) -> dict[str, Any]:
        """Give the parameters of every question, as :class:`Ask` names them."""

    def streams(self) -> bool:
        """Tell whether a reply is shown while it comes."""


@dataclass(frozen=True, slots=True)
class Page:
    """Somebody who is told: every view of one widget, or an output.

    Args:
        role: what it shows.
        send: takes a message; an ``output`` gets an empty one when it may look different.
    """

    role: Role
    send: Callable[[dict[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a page said, in the context in which the kernel got it."""

    page: Page
    said: Mapping[str, Any]
    context: contextvars.Context


@dataclass(slots=True)
class UnderWay:
    """An ask that is waited for or streams."""

    key: int
    text: str
    by: str
    mine: bool
    ask: Ask | None = None
    halt: Halt | None = None
    stage: str = "asked"
    note: str = ""
    instead: Sequence[int] = ()
    after: int | None = None
    pieces: list[str] = field(default_factory=list)
    html: str = ""


class Desk:
    """Follows one session and serves its pages.

    Args:
        session: the kernel's session.
        kernel: what else there is to know.
    """

    def __init__(self, session: Session, kernel: Kernel) -> None:
        """Follow the session; a page may join."""
        self._session = session
        self._kernel = kernel
        self._pages: tuple[Page, ...] = ()
        self._news: SimpleQueue[Any] = SimpleQueue()
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._told = board.notes(session.conversation)
        self._asides: list[dict[str, Any]] = []
        self._records: dict[int, Record] = {}
        self._live: dict[int, UnderWay] = {}
        self._streaming: UnderWay | None = None
        self._drawn_at = 0.0
        self._wait = 0.0
        self._dirty = False
        self._count = 0
        self._context = contextvars.copy_context()
        self._leave = session.follow(self._news.put)
        for name, target in (("tell", self._tell), ("ask", self._do)):
            context = contextvars.copy_context()
            threading.Thread(
                target=context.run, args=[target], name=f"chatmagic-{name}", daemon=True
            ).start()

    def join(self, page: Page) -> None:
        """Let a page be told from now on."""
        self._pages = (*self._pages, page)

    def leave(self, page: Page) -> None:
        """Let a page be told no more."""
        self._pages = tuple(other for other in self._pages if other is not page)

    def hear(self, page: Page, said: Any) -> None:
        """Take what a page said; may be called in any thread.

        Args:
            page: which.
            said: the message, whatever it is.
        """
        if isinstance(said, dict):
            self._news.put(Heard(page, said, contextvars.copy_context()))

    def close(self) -> None:
        """Follow and serve no more."""
        self._leave()
        self._work.put(None)
        self._news.put(None)

    # The teller's thread from here on.

    def _tell(self) -> None:
        while True:
            wait = None
            if self._dirty:
                wait = max(0.0, self._drawn_at + self._wait - time.monotonic())
            try:
                news = self._news.get(timeout=wait)
            except Empty:
                self._draw()
                continue
            if news is None:
                return
            with contextlib.suppress(Exception):
                # Whatever a page says or a reply holds, the others are told on.
                self._take(news)
            if self._dirty and time.monotonic() >= self._drawn_at + self._wait:
                self._draw()

    def _take(self, news: Any) -> None:
        match news:
            case Fragment(text):
                if self._streaming is not None:
                    self._streaming.pieces.append(text)
                    self._dirty = self._kernel.streams()
            case Began(ask, notes):
                self._began(ask, notes)
            case Ended(ask, answer, error):
                self._ended(ask, answer, error)
            case Changed():
                self._changed({})
            case Heard(page, said, context):
                # A page is answered on the way by which it spoke; so kernels route the next.
                self._context = context
                handle = getattr(self, f"_on_{said.get('kind')}", None)
                if handle is not None:
                    handle(page, said)
            case _:
                news()

    def _send(self, message: dict[str, Any], *pages: Page) -> None:
        for page in pages or [page for page in self._pages if page.role == "panel"]:
            with contextlib.suppress(Exception):
                # A page that went away does not silence the others.
                self._context.run(page.send, message)

    def _draw(self) -> None:
        """Show the reply under way as far as it has come; the longer it is, the more rarely."""
        self._dirty = False
        streaming = self._streaming
        if streaming is None:
            return
        streaming.pieces[:] = ["".join(streaming.pieces)]
        streaming.html = board.live(streaming.pieces[0])
        self._send({"kind": "text", "key": streaming.key, "html": streaming.html})
        self._drawn_at = time.monotonic()
        self._wait = max(
            display.SECONDS_BETWEEN, len(streaming.html.encode()) / display.BYTES_A_SECOND
        )

    def _new(self, text: str, by: str, *, mine: bool) -> UnderWay:
        self._count += 1
        one = UnderWay(self._count, text, by, mine)
        self._live[one.key] = one
        return one

    def _began(self, ask: Ask, notes: Sequence[str]) -> None:
        one = next((one for one in self._live.values() if one.ask is ask), None)
        if one is None:
            text = ask.text if ask.typed is None else ask.typed
            one = self._new(text, board.by(ask.asker, ask.entry), mine=False)
            one.ask = ask
        self._place(one, ask)
        one.stage, one.note = "began", "; ".join(notes)
        self._streaming, self._dirty, self._wait = one, False, 0.0
        self._send({"kind": "live", **_live(one)})

    def _place(self, one: UnderWay, ask: Ask) -> None:
        """Find out where the turn will stand, and instead of which."""
        if ask.owner is None:
            return
        own = [turn for turn in self._session.conversation.turns if turn.owner == ask.owner]
        if own:
            one.after = own[-1].number
            one.instead = [turn.number for turn in own if turn.execution != ask.execution]

    def _ended(self, ask: Ask, answer: Answer | None, error: BaseException | None) -> None:
        one = next((one for one in self._live.values() if one.ask is ask), None)
        if one is None:
            if error is not None and answer is None and ask.entry == "cell":
                return  # it failed before it began, and says so in its cell
            one = self._new(ask.text, board.by(ask.asker, ask.entry), mine=False)
        del self._live[one.key]
        if self._streaming is one:
            self._streaming, self._dirty = None, False
        said, fine = "", error is None
        if answer is not None:
            said = board.ended(answer.reply)
            self._keep_record(ask, answer)
        what, hint = ("", "") if error is None else board.failure(error)
        stopped = isinstance(error, KeyboardInterrupt)
        if not (fine or stopped):
            self._aside(one, what, hint, None if ask.history else answer)
        elif answer is not None and not ask.history:
            self._aside(one, "", "", answer)
        back = one.text if one.mine and answer is None else None
        said = said if fine or (stopped and said) else what
        self._changed({"key": one.key, "said": said, "fine": fine, "back": back})
        self._gauges()

    def _aside(self, one: UnderWay, what: str, hint: str, answer: Answer | None) -> None:
        """Let something stand in the log that is no turn of the conversation."""
        live = self._session.conversation.turns
        self._count += 1
        aside: dict[str, Any] = {
            "a": self._count,
            "after": one.after or (live[-1].number if live else 0),
            "by": one.by,
            "mine": one.mine,
            "prompt": safe.visible(one.text),
            "what": what or "Not kept: this question was asked without history.",
            "hint": hint,
            "failed": bool(what),
            "reply": board.unkept(answer.reply) if answer is not None else None,
        }
        self._asides = [*self._asides, aside][-MOST_ASIDES:]

    def _keep_record(self, ask: Ask, answer: Answer) -> None:
        if ask.entry != "panel":
            return
        for turn in reversed(self._session.conversation.turns):
            if (turn.owner, turn.execution) == (ask.owner, ask.execution):
                self._records[turn.number] = answer.record
                return

    def _changed(self, more: dict[str, Any]) -> None:
        """Tell the panels what is different in the conversation, and no more than that."""
        conversation = self._session.conversation
        if not len(conversation) and "key" not in more:
            self._asides = []
        change = board.difference(self._told, conversation)
        self._told = board.notes(conversation)
        more = {**more, "asides": self._asides, **self._state()}
        if change is None:
            self._send({"kind": "again", **more})
        else:
            self._send({"kind": "changed", **change, **more})
        for page in self._pages:
            if page.role == "output":
                with contextlib.suppress(Exception):
                    page.send({})

    def _state(self) -> dict[str, Any]:
        """Give what changes with a turn, and is small."""
        conversation = self._session.conversation
        return {
            "credits": self._credits(),
            "standing": self._standing(),
            "undo": conversation.undo_depth > 0,
            "redo": conversation.redo_depth > 0,
            "count": len(conversation),
        }

    def _standing(self) -> dict[str, Any]:
        try:
            return self._kernel.standing()
        except Exception as error:  # noqa: BLE001 - a panel that cannot say it is still a panel
            return {"state": "unknown", "rows": [["State", board.failure(error)[0]]]}

    def _credits(self) -> dict[str, Any]:
        session = self._session
        return board.credits(session.credits, session.took, now=self._kernel.now())

    def _gauges(self) -> None:
        gauges = [page for page in self._pages if page.role == "gauge"]
        if gauges:
            self._send({"kind": "credits", "credits": self._credits()}, *gauges)

    # What a page says.

    def _on_ping(self, page: Page, said: Mapping[str, Any]) -> None:  # noqa: ARG002 - as all
        self._send({"kind": "pong"}, page)

    def _on_hello(self, page: Page, said: Mapping[str, Any]) -> None:
        if page.role == "gauge":
            self._send({"kind": "credits", "credits": self._credits()}, page)
            return
        turns, earlier = board.turns(self._session.conversation)
        self._told = board.notes(self._session.conversation)
        everything = {
            "kind": "all",
            "view": said.get("view"),
            "turns": turns,
            "earlier": earlier,
            "asides": self._asides,
            "live": [_live(one) for one in self._live.values()],
            **self._state(),
        }
        self._send(everything, page)

    def _on_earlier(self, page: Page, said: Mapping[str, Any]) -> None:
        turns, earlier = board.turns(self._session.conversation, before=said.get("before"))
        answer = {"kind": "earlier", "view": said.get("view"), "turns": turns, "earlier": earlier}
        self._send(answer, page)

    def _on_ask(self, page: Page, said: Mapping[str, Any]) -> None:
        """Offer to ask; the page says `go`, unless somebody has stopped it meanwhile."""
        text, nonce = said.get("text"), said.get("nonce")
        answer = {"view": said.get("view"), "nonce": nonce}
        old = self._turn(said.get("instead"))
        why = ""
        if any(one.mine for one in self._live.values()):
            why = "A question from the panel is under way already; this one was not sent."
        elif not isinstance(text, str) or not text.strip():
            why = "The prompt is empty. Nothing was sent."
        elif len(text) > LONGEST_PROMPT:
            why = "The prompt is longer than a million characters. Nothing was sent."
        elif said.get("instead") is not None and (old is None or old.entry != "panel"):
            why = "That turn is not the panel's any more. Nothing was sent."
        if why:
            self._send({"kind": "refused", "why": why, **answer}, page)
            return
        # Two in the same place: a turn of the panel is asked again as a cell is run again.
        owner = old.owner if old is not None else secrets.token_hex(8)
        ask = Ask(
            wire.without_lone_surrogates(str(text)),
            owner=owner,
            execution=secrets.token_hex(8),
            entry="panel",
            asker="the panel",
            **self._kernel.defaults(),
        )
        one = self._new(ask.text, "the panel", mine=True)
        one.ask = ask
        self._place(one, ask)
        self._send({"kind": "live", **_live(one), **answer})

    def _on_go(self, page: Page, said: Mapping[str, Any]) -> None:  # noqa: ARG002 - as all
        from chatmagic.transport import Halt  # noqa: PLC0415 - with the first question

        one = self._live.get(_number(said.get("key")))
        if one is None or one.stage != "asked" or one.ask is None:
            return
        one.stage, one.halt = "sending", Halt()
        run, ask, halt = self._session.run, one.ask, one.halt
        view = _View(lambda holder: self._news.put(lambda: self._waits(one, holder)))
        self._work.put(lambda: run(ask, view, halt))

    def _waits(self, one: UnderWay, holder: str) -> None:
        if one.key in self._live:
            one.stage, one.note = "waiting", f"Waiting for the reply to {holder} to end."
            self._send({"kind": "live", **_live(one)})

    def _on_stop(self, page: Page, said: Mapping[str, Any]) -> None:
        one = self._live.get(_number(said.get("key")))
        if one is None:
            return
        if one.stage == "asked":
            del self._live[one.key]
            what = "Stopped before it was sent."
            over = {"key": one.key, "said": what, "fine": False, "back": one.text}
            self._changed(over)
            return
        done = one.ask is not None and self._session.stop(one.ask)
        if one.halt is not None:
            one.halt.stop()
            done = True
        if done:
            self._send({"kind": "stopping", "key": one.key}, page)

    def _on_step(self, page: Page, said: Mapping[str, Any]) -> None:
        """Undo, redo or clear."""
        step = str(said.get("step"))
        if step not in STEPS:
            return

        def work() -> None:
            change = self._session.change(STEPS[step])
            if step == "clear":
                words = "A new conversation begins; Undo brings the old one back."
            else:
                words = (transcript.undone if step == "undo" else transcript.redone)(change)
            self._news.put(lambda: self._send({"kind": "said", "words": words}, page))

        self._work.put(work)

    def _on_put(self, page: Page, said: Mapping[str, Any]) -> None:
        """Give turns of the panel as cells; the page says `placed` when they stand."""
        wanted, page_cells = said.get("turns"), said.get("cells")
        new = cells.planned(
            self._session.conversation.turns,
            wanted if isinstance(wanted, list) else None,
            [one for one in page_cells if isinstance(one, str)]
            if isinstance(page_cells, list)
            else [],
            self._records,
        )
        self._send({"kind": "insert", "view": said.get("view"), "cells": new}, page)

    def _on_placed(self, page: Page, said: Mapping[str, Any]) -> None:  # noqa: ARG002 - as all
        turn, cell = self._turn(said.get("turn")), said.get("cell")
        if turn is None or turn.entry != "panel" or not isinstance(cell, str):
            return
        number, owner = turn.number, frontend.owner(cell)

        def work() -> None:
            self._session.change(lambda conversation: conversation.hand_over(number, owner))

        self._work.put(work)

    def _turn(self, number: Any) -> Turn | None:
        turns = self._session.conversation.turns
        return next((turn for turn in turns if turn.number == number), None)

    # The asker's thread.

    def _do(self) -> None:
        while (work := self._work.get()) is not None:
            with contextlib.suppress(Exception, KeyboardInterrupt):
                # Whoever follows the session has heard of it.
                work()


class _View:
    """The asker's view: everything but the waiting comes by following."""

    def __init__(self, waiting: Callable[[str], object]) -> None:
        self._waiting = waiting

    def waiting(self, holder: str) -> None:
        self._waiting(holder)

    def began(self, notes: Sequence[str]) -> None:
        pass

    def fragment(self, text: str) -> None:
        pass

    def ended(self, answer: Answer) -> None:
        pass

    def failed(self) -> None:
        pass


def _live(one: UnderWay) -> dict[str, Any]:
    """Give an ask under way."""
    return {
        "key": one.key,
        "by": one.by,
        "mine": one.mine,
        "prompt": safe.visible(one.text),
        "stage": one.stage,
        "note": one.note,
        "instead": list(one.instead),
        "after": one.after,
        "html": one.html,
    }


def _number(value: Any) -> int:
    return value if isinstance(value, int) else -1
