"""The kernel's side of every panel and live gauge: takes messages, sends snapshots.

Several threads meet here. Those that ask, and those that bring a page's message (any thread
of the kernel), only put work into the kernel's drawing loop. The loop's one thread does it and
is the only one that sends to pages: what they get is in order, and needs no lock.
"""

from __future__ import annotations

import contextvars
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from chatmagic._log import log_swallowed, swallowed
from chatmagic.jupyter.panel import snapshot
from chatmagic.jupyter.panel.actions import Actions
from chatmagic.jupyter.panel.messages import read
from chatmagic.jupyter.panel.pending import PendingAsks
from chatmagic.session.events import Began, Changed, Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from chatmagic.client.halt import Halt
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.drawing import DrawingLoop
    from chatmagic.jupyter.panel import messages
    from chatmagic.jupyter.panel.pending import PendingAsk
    from chatmagic.session.events import Answer, Ask, Event
    from chatmagic.session.session import Session

Role = Literal["panel", "gauge", "output"]


class KernelStatus(Protocol):
    """What the hub reads of its kernel, each time anew."""

    def now(self) -> datetime:
        """Return the time by which the gauge counts."""

    def standing(self) -> dict[str, Any]:
        """Return the state in one word, and the settings in force as rows of words."""

    def defaults(self) -> dict[str, Any]:
        """Return the parameters of the panel's questions, as ``Ask`` names them."""

    def streams(self) -> bool:
        """Return whether a reply is shown while it comes."""


@dataclass(frozen=True, slots=True, eq=False)
class Recipient:
    """All views of one widget, or an output.

    Args:
        role: what it shows.
        send: sends a message; an ``output`` gets an empty one when it may look different.
    """

    role: Role
    send: Callable[[dict[str, Any]], object]


class Hub:
    """Follows one session and serves its pages.

    Args:
        session: the kernel's session.
        kernel: what else there is to know.
        drawing: the kernel's drawing loop, whose thread serves the pages, too.
    """

    def __init__(self, session: Session, kernel: KernelStatus, drawing: DrawingLoop) -> None:
        """Follow the session; pages may join."""
        self._session = session
        self._kernel = kernel
        self._drawing = drawing
        self._recipients: tuple[Recipient, ...] = ()
        self._greeted: set[Recipient] = set()
        self._pending = PendingAsks()
        self._announced = dict(self._entries().window()[0])
        self._shown_state: tuple[Any, Any] | None = None
        self._context = contextvars.copy_context()
        self._actions = Actions(
            session,
            self._pending,
            defaults=kernel.defaults,
            later=drawing.put,
            show=self._show,
            over=lambda pending, words: self._publish(_ended(pending, words, answered=False)),
        )
        drawing.join(self._draw)
        self._unfollow = session.follow(self._follow)

    def join(self, recipient: Recipient) -> None:
        """Send to a recipient from now on."""
        self._recipients = (*self._recipients, recipient)

    def leave(self, recipient: Recipient) -> None:
        """Send to a recipient no more."""
        self._recipients = tuple(other for other in self._recipients if other is not recipient)
        self._greeted.discard(recipient)

    def receive(self, recipient: Recipient, content: object) -> None:
        """Take a page's message; may be called in any thread.

        Args:
            recipient: the page's widget.
            content: whatever the page sent.
        """
        if message := read(content):
            context = contextvars.copy_context()
            self._drawing.put(partial(self._take, recipient, message, context))

    def look(self) -> None:
        """Publish what is in force, if it has changed; may be called in any thread."""
        self._drawing.put(self._look)

    def close(self) -> None:
        """Follow and serve no more."""
        self._unfollow()
        self._drawing.leave(self._draw)
        self._actions.close()

    def _follow(self, event: Event) -> None:
        match event:
            case Began(ask, notes, turns, halt):
                self._drawing.put(partial(self._began, ask, notes, turns, halt))
            case Ended(ask, answer, error):
                self._drawing.put(partial(self._end, ask, answer, error))
            case Changed():
                self._drawing.put(self._publish)

    # All that follows runs in the drawing loop's thread.

    def _take(
        self, recipient: Recipient, message: messages.FromPage, context: contextvars.Context
    ) -> None:
        # Pages are sent to in the context in which they spoke last: ipykernel takes what they
        # say next to the thread that sent to them, past a cell that runs.
        self._context = context
        view = message.get("view", "")

        def answer(message: messages.Answer) -> None:
            self._send(recipient, {**message, "view": view})

        match message["kind"]:
            case "ping":
                self._send(recipient, {"kind": "pong"})
            case "sync" if recipient.role == "gauge":
                self._send(recipient, self._credits_message())
            case "sync":
                count = message.get("count")
                listed = self._snapshot({} if count is None else None, count or 0)
                listed["reloaded"] = message.get("first", False) and recipient in self._greeted
                self._greeted.add(recipient)
                answer(listed)
            case "want":
                answer({"kind": "entries", "entries": self._entries().draw(set(message["ids"]))})
            case _:
                self._actions.take(message, answer)

    def _entries(self) -> snapshot.Entries:
        return snapshot.Entries(self._session.conversation, self._pending.asides)

    def _snapshot(self, known: Mapping[int, str] | None, count: int = 0) -> messages.Snapshot:
        """Return a snapshot.

        Args:
            known: versions of the entries that need not be sent; ``None``: none is sent.
            count: how many turns it lists at least.
        """
        entries = self._entries()
        listed, earlier = entries.window(count)
        new: list[messages.Entry] = []
        if known is not None:
            with swallowed():  # views ask for what they lack
                new = entries.draw({id for id, version in listed if known.get(id) != version})
        return {
            "kind": "snapshot",
            "entries": listed,
            "earlier": earlier,
            "new": new,
            "pending": [pending.values() for pending in self._pending],
            **self._state(),  # type: ignore[typeddict-item] # mypy asks here for what may lack
        }

    def _publish(self, ended: messages.Ended | None = None) -> None:
        """Send what has changed in the conversation to panels and outputs."""
        self._announce(ended)
        self._send_to("output", {})

    def _announce(self, ended: messages.Ended | None = None) -> None:
        """Send every panel a snapshot, with the entries that are new since the one before."""
        if not len(self._session.conversation) and ended is None:
            self._pending.asides = []
        now = self._snapshot(self._announced)
        self._announced = dict(now["entries"])
        now["ended"] = ended
        self._send_to("panel", now)

    def _look(self) -> None:
        shown = self._shown_state
        if shown is not None and shown != (self._standing(), self._session.credits):
            self._announce()
            self._send_to("gauge", self._credits_message())

    def _state(self) -> messages.State:
        conversation, standing = self._session.conversation, self._standing()
        self._shown_state = standing, self._session.credits
        return {
            "credits": self._credits_message()["credits"],
            "standing": standing,
            "undo": conversation.undo_depth > 0,
            "redo": conversation.redo_depth > 0,
            "count": len(conversation),
        }

    def _standing(self) -> messages.Standing:
        try:
            standing = self._kernel.standing()
            return {"state": standing["state"], "rows": standing["rows"]}
        except Exception as error:  # noqa: BLE001 - a panel that cannot say it is still a panel
            log_swallowed(error)
            return {"state": "unknown", "rows": [["State", snapshot.failure(error)[0]]]}

    def _credits_message(self) -> messages.CreditsMessage:
        session = self._session
        state = session.credit_state
        credits = snapshot.credits(
            state.credits, state.took, now=self._kernel.now(), requests=state.requests
        )
        return {"kind": "credits", "credits": credits}

    # How an ask goes.

    def _began(self, ask: Ask, notes: Sequence[str], turns: Sequence[Turn], halt: Halt) -> None:
        pending = self._pending.of(ask) or self._pending.add(ask)
        pending.place(turns)
        pending.stage, pending.note, pending.halt = "began", "; ".join(notes), halt
        self._show(pending)

    def _draw(self, ask: Ask, html: str) -> None:
        """Show the reply under way."""
        pending = self._pending.of(ask)
        if pending is not None and self._kernel.streams():
            pending.html = html
            self._send_to("panel", {"kind": "text", "key": pending.key, "html": html})

    def _end(self, ask: Ask, answer: Answer | None, error: BaseException | None) -> None:
        pending = self._pending.of(ask)
        if pending is None:
            if answer is None:
                return  # it failed before it began, and says so where it was asked
            pending = self._pending.add(ask)
        self._pending.drop(pending)
        if answer is not None and pending.mine:
            self._actions.keep_record(ask, answer)
        stopped = isinstance(error, KeyboardInterrupt)
        if (error is not None and not stopped) or (answer is not None and not ask.history):
            self._pending.put_aside(pending, answer, error, self._session.conversation)
        words = "" if error is None else snapshot.failure(error)[0]
        if answer is not None and (error is None or stopped):
            words = snapshot.ended_words(answer.reply)
        fine, answered = error is None, answer is not None
        self._publish(_ended(pending, words, fine=fine, answered=answered))
        self._send_to("gauge", self._credits_message())

    # Sending.

    def _show(self, pending: PendingAsk) -> None:
        message: messages.PendingMessage = {"kind": "pending", **pending.values()}
        self._send_to("panel", message)

    def _send_to(self, role: Role, message: Mapping[str, Any]) -> None:
        for recipient in self._recipients:
            if recipient.role == role:
                self._send(recipient, message)

    def _send(self, recipient: Recipient, message: Mapping[str, Any]) -> None:
        with swallowed():  # a page that went away does not silence the others
            self._context.run(recipient.send, dict(message))


def _ended(
    pending: PendingAsk, words: str, *, answered: bool, fine: bool = False
) -> messages.Ended:
    """Return how an ask ended; a prompt of the panel's that was not answered goes back."""
    prompt = pending.typed if pending.mine and not answered else None
    return {"key": pending.key, "words": words, "fine": fine, "prompt": prompt}
