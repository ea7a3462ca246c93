"""The kernel's side of every panel and live gauge: hears all and tells all.

Several kinds of threads meet here. Those that ask, and those that bring what a page says
(any thread of the kernel), only put something into a queue. One thread, the *teller*,
takes it out, knows all there is to know, and is the only one that talks to pages: what
they hear is in order, and needs no lock.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from copy import copy
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, Protocol

from chatmagic.jupyter import drawing
from chatmagic.jupyter.panel import messages
from chatmagic.jupyter.panel.actions import Errands
from chatmagic.jupyter.panel.pending import Log
from chatmagic.session.events import Began, Changed, Ended, Fragment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.panel.pending import UnderWay
    from chatmagic.session.events import Ask
    from chatmagic.session.session import Session

Role = Literal["panel", "gauge", "output"]


class Kernel(Protocol):
    """What the desk wants to know of its kernel, each time anew."""

    def now(self) -> datetime:
        """Give the time by which the gauge counts."""

    def standing(self) -> dict[str, Any]:
        """Give the state in one word, and the settings in force as rows of words."""

    def defaults(self) -> dict[str, Any]:
        """Give the parameters of the panel's questions, as ``Ask`` names them."""

    def streams(self) -> bool:
        """Tell whether a reply is shown while it comes."""


@dataclass(frozen=True, slots=True, eq=False)
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
        self._greeted: set[Page] = set()
        self._news: SimpleQueue[Any] = SimpleQueue()
        self._log = Log()
        self._told = messages.notes(session.conversation)
        self._told_asides = self._log.asides
        self._told_standing: tuple[Any, Any] | None = None
        self._streaming: UnderWay | None = None
        self._due: float | None = None
        self._not_before = 0.0
        self._context = contextvars.copy_context()
        self._errands = Errands(
            session,
            self._log,
            defaults=kernel.defaults,
            later=self._news.put,
            tell=self._tell_panels,
            over=lambda one, words: self._changed(_over(one, words, fine=False, back=True)),
        )
        self._leave = session.follow(self._news.put)
        work = contextvars.copy_context().run
        threading.Thread(
            target=work, args=[self._serve], name="chatmagic-tell", daemon=True
        ).start()

    def join(self, page: Page) -> None:
        """Let a page be told from now on."""
        self._pages = (*self._pages, page)

    def leave(self, page: Page) -> None:
        """Let a page be told no more."""
        self._pages = tuple(other for other in self._pages if other is not page)
        self._greeted.discard(page)

    def hear(self, page: Page, said: Any) -> None:
        """Take what a page said; may be called in any thread.

        Args:
            page: which.
            said: the message, whatever it is.
        """
        if isinstance(said, dict):
            self._news.put(Heard(page, said, contextvars.copy_context()))

    def look(self) -> None:
        """See whether what is in force is what was told; may be called in any thread."""
        self._news.put(self._look)

    def close(self) -> None:
        """Follow and serve no more."""
        self._leave()
        self._errands.close()
        self._news.put(None)

    # All that follows runs in the teller's thread.

    def _serve(self) -> None:
        while True:
            wait = None if self._due is None else max(0.0, self._due - time.monotonic())
            try:
                news = self._news.get(timeout=wait)
            except Empty:
                news = self._draw
            if news is None:
                return
            with contextlib.suppress(Exception):
                # Whatever one page says, or one reply holds, the others are served on.
                self._take(news)

    def _take(self, news: Any) -> None:
        match news:
            case Fragment(text):
                self._fragment(text)
            case Began(ask, notes, turns):
                self._began(ask, notes, turns)
            case Ended(ask, answer, error):
                self._ended(ask, answer, error)
            case Changed():
                self._changed({})
            case Heard():
                self._heard(news)
            case _:
                news()

    def _heard(self, heard: Heard) -> None:
        # Pages are told in the context in which they spoke last: ipykernel takes what they
        # say next to the thread that told them, past a cell that runs.
        self._context = heard.context
        page, said = heard.page, heard.said
        view = said.get("view")
        match said.get("kind"):
            case "hello":
                self._greet(page, said)
            case "ping":
                self._tell(page, {"kind": "pong"})
            case _:
                self._errands.take(said, lambda answer: self._tell(page, {**answer, "view": view}))

    def _greet(self, page: Page, said: Mapping[str, Any]) -> None:
        """Tell a view that opens everything, or as much of it as it shows at first."""
        if page.role == "gauge":
            self._tell(page, {"kind": "credits", "credits": self._credits()})
            return
        turns, earlier = messages.turns(copy(self._session.conversation))
        everything = {
            "kind": "all",
            "view": said.get("view"),
            "turns": turns,
            "earlier": earlier,
            "asides": self._log.asides,
            "live": [one.values() for one in self._log],
            "reloaded": bool(said.get("reloaded") or (said.get("first") and page in self._greeted)),
            **self._state(),
        }
        self._greeted.add(page)
        self._tell(page, everything)

    def _fragment(self, text: str) -> None:
        if self._streaming is None:
            return
        self._streaming.pieces.append(text)
        if not self._kernel.streams():
            return
        if self._due is None:
            self._due = self._not_before
        if time.monotonic() >= self._due:
            self._draw()

    def _draw(self) -> None:
        """Show the reply under way as far as it has come; the longer it is, the more rarely."""
        self._due = None
        one = self._streaming
        if one is None:
            return
        one.pieces[:] = ["".join(one.pieces)]
        one.html = messages.live(one.pieces[0])
        self._tell_panels({"kind": "text", "key": one.key, "html": one.html})
        pause = max(drawing.SECONDS_BETWEEN, len(one.html.encode()) / drawing.BYTES_A_SECOND)
        self._not_before = time.monotonic() + pause

    def _began(self, ask: Ask, notes: Sequence[str], turns: Sequence[Turn]) -> None:
        one = self._log.of(ask) or self._log.add(ask)
        one.place(turns)
        one.stage, one.note = "began", "; ".join(notes)
        self._streaming, self._due, self._not_before = one, None, 0.0
        self._tell_panels({"kind": "live", **one.values()})

    def _ended(self, ask: Ask, answer: Any, error: BaseException | None) -> None:
        one = self._log.of(ask)
        if one is None:
            if answer is None:
                return  # it failed before it began, and says so where it was asked
            one = self._log.add(ask)
        self._log.drop(one)
        if self._streaming is one:
            self._streaming, self._due = None, None
        if answer is not None and ask.entry == "panel":
            self._errands.keep_record(ask, answer)
        stopped = isinstance(error, KeyboardInterrupt)
        if (error is not None and not stopped) or (answer is not None and not ask.history):
            self._log.put_aside(one, answer, error, self._session.conversation)
        if answer is not None and (error is None or stopped):
            words = messages.ended(answer.reply)
        else:
            words = messages.failure(error)[0] if error is not None else ""
        self._changed(_over(one, words, fine=error is None, back=answer is None))
        self._tell_gauges()

    def _changed(self, more: dict[str, Any]) -> None:
        """Tell the panels what is different in the conversation, and no more than that."""
        # Whoever asks adds to it meanwhile: what comes after this is told next.
        conversation = copy(self._session.conversation)
        if not len(conversation) and not more:
            self._log.asides = []
        change = self._difference(conversation)
        if self._log.asides is not self._told_asides:
            self._told_asides = self._log.asides
            more = {**more, "asides": self._log.asides}
        kind = {"kind": "again"} if change is None else {"kind": "changed", **change}
        self._tell_panels({**kind, **more, **self._state()})
        for page in self._pages:
            if page.role == "output":
                with contextlib.suppress(Exception):
                    page.send({})

    def _difference(self, conversation: Conversation) -> dict[str, Any] | None:
        """Give what pages do not know yet; ``None`` where they had better ask for everything."""
        try:
            change = messages.difference(self._told, conversation)
            self._told = messages.notes(conversation)
        except Exception:  # noqa: BLE001 - a page that hears nothing waits for ever
            return None
        return change

    def _look(self) -> None:
        """Tell panels and gauges what a cell has set, if it has set anything that they show."""
        told = self._told_standing
        if told is None or told == (self._standing(), self._session.credits):
            return
        self._tell_panels({"kind": "standing", **self._state()})
        self._tell_gauges()

    def _state(self) -> dict[str, Any]:
        """Give what may change with each turn, and is small."""
        conversation = self._session.conversation
        standing = self._standing()
        self._told_standing = standing, self._session.credits
        return {
            "credits": self._credits(),
            "standing": standing,
            "undo": conversation.undo_depth > 0,
            "redo": conversation.redo_depth > 0,
            "count": len(conversation),
        }

    def _standing(self) -> dict[str, Any]:
        try:
            return self._kernel.standing()
        except Exception as error:  # noqa: BLE001 - a panel that cannot say it is still a panel
            return {"state": "unknown", "rows": [["State", messages.failure(error)[0]]]}

    def _credits(self) -> dict[str, Any]:
        session = self._session
        requests, now = session.request_limit, self._kernel.now()
        return messages.credits(session.credits, session.took, now=now, requests=requests)

    def _tell_gauges(self) -> None:
        for page in self._pages:
            if page.role == "gauge":
                self._tell(page, {"kind": "credits", "credits": self._credits()})

    def _tell_panels(self, message: dict[str, Any]) -> None:
        for page in self._pages:
            if page.role == "panel":
                self._tell(page, message)

    def _tell(self, page: Page, message: dict[str, Any]) -> None:
        with contextlib.suppress(Exception):
            # A page that went away does not silence the others.
            self._context.run(page.send, message)


def _over(one: UnderWay, words: str, *, fine: bool, back: bool) -> dict[str, Any]:
    """Say that an ask is over; a prompt of the panel's that came to nothing goes back."""
    prompt = one.prompt if one.mine and back else None
    return {"key": one.key, "said": words, "fine": fine, "back": prompt}
