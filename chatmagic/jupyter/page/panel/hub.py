"""Hub of all panels: sends them snapshots, and the progress of an ask.

Several threads meet here. Those that ask, and those that bring a page's message (any thread
of the kernel), only put work into the kernel's drawing loop. The loop's one thread does it and
is the only one that sends to pages: what they get is in order, and needs no lock.
"""

from __future__ import annotations

import contextvars
import itertools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from chatmagic._log import log_swallowed, swallowed
from chatmagic.jupyter.page.panel import snapshot
from chatmagic.jupyter.page.reply_under_way import Drawn
from chatmagic.session.events import Began, Changed, Ended, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from chatmagic.client.halt import Halt
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.page import messages
    from chatmagic.jupyter.page.drawing import DrawingLoop
    from chatmagic.session.events import Answer, Ask, Event
    from chatmagic.session.session import Session


MOST_ASIDES: Final = 50
NOT_KEPT: Final = "Not kept: this question was asked without history."

Stage = Literal["asked", "sending", "waiting", "began"]


@dataclass(slots=True)
class PendingAsk:
    """An ask that is not over.

    Args:
        key: its number.
        ask: what is asked.
        stage: ``asked`` until the page says go, ``sending``, ``waiting`` for another ask, or
            ``began``.
        note: what there is to say of it.
        after: number of the turn behind which it stands; ``None`` is the end.
        replaces: numbers of the turns that its turn will replace.
        halt: stops it; ``None`` until it is known.
        drawn: what pages were shown of its reply.
        thread: name of the thread that it is asked in; empty until it has begun.
    """

    key: int
    ask: Ask
    stage: Stage = "asked"
    note: str = ""
    after: int | None = None
    replaces: Sequence[int] = ()
    halt: Halt | None = None
    drawn: Drawn | None = None
    thread: str = ""

    @property
    def mine(self) -> bool:
        """Whether the panel asked it."""
        return self.ask.entry == "panel"

    def place(self, turns: Sequence[Turn]) -> None:
        """Find the place of its turn among the live ones, and the turns that it replaces."""
        owner, execution = self.ask.owner, self.ask.execution
        own = [turn for turn in turns if owner and turn.owner == owner]
        if own:
            self.after = own[-1].number
            self.replaces = [turn.number for turn in own if turn.execution != execution]

    def values(self) -> messages.Pending:
        """Return it as a page draws it."""
        return {
            "key": self.key,
            **snapshot.prompt(self.ask.as_typed, self.ask.asker, self.ask.entry),
            "stage": self.stage,
            "note": self.note,
            "after": self.after,
            "replaces": list(self.replaces),
            "html": "" if self.drawn is None else self.drawn.html,
        }


class PendingAsks(dict[int, PendingAsk]):
    """The asks under way by their keys, and the asides."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self.asides: list[snapshot.Aside] = []
        self._numbers = itertools.count(1)

    def of(self, ask: Ask) -> PendingAsk | None:
        """Return the entry of an ask, unless it is over."""
        return next((pending for pending in self.values() if pending.ask is ask), None)

    def add(self, ask: Ask) -> PendingAsk:
        """Add an ask."""
        pending = PendingAsk(next(self._numbers), ask)
        self[pending.key] = pending
        return pending

    def put_aside(
        self,
        pending: PendingAsk,
        answer: Answer | None,
        error: BaseException | None,
        conversation: Conversation,
    ) -> None:
        """Keep what the conversation does not show of an ask that is over.

        Args:
            pending: the ask.
            answer: its reply, whole or in part.
            error: what ended it early.
            conversation: as it is now.
        """
        kept = answer is not None and pending.ask.history
        what, hint = (NOT_KEPT, "") if error is None else failure(error)
        turns = conversation.turns
        typed = "" if kept else pending.ask.as_typed
        entry: messages.Entry = {
            "id": -next(self._numbers),
            "version": "",
            **snapshot.prompt(typed, pending.ask.asker, pending.ask.entry),
            "notes": [],
            "took": None,
            "reply": (
                None if answer is None or kept else snapshot.reply(answer.reply, pending.ask.format)
            ),
            "problem": {"what": what, "hint": hint, "failed": error is not None},
            "replies": [],
        }
        after = pending.after or (turns[-1].number if turns else 0)
        self.asides = [*self.asides, snapshot.Aside(after, entry)][-MOST_ASIDES:]


class KernelStatus(Protocol):
    """Status of the kernel, as the hub reads it each time anew."""

    def now(self) -> datetime:
        """Return the time by which the gauge counts."""

    def standing(self) -> dict[str, Any]:
        """Return the state in one word, and the settings in force as rows of words."""

    def defaults(self) -> dict[str, Any]:
        """Return the parameters of the panel's questions, as ``Ask`` names them."""

    def streams(self) -> bool:
        """Return whether a reply is shown while it comes."""


@dataclass(slots=True, eq=False)
class Shown:
    """A panel that is shown: all views of its widget, and its saved output.

    Args:
        send: sends its views a message.
        save: brings the output that is saved beside it up to date.
        greeted: whether a view of it has been told what there is.
    """

    send: Callable[[dict[str, Any]], object]
    save: Callable[[], object]
    greeted: bool = False


class Hub:
    """Follower of one session that tells its pages.

    Args:
        session: the kernel's session.
        kernel: what else there is to know.
        drawing: the kernel's drawing loop, whose thread serves the pages, too.
    """

    def __init__(self, session: Session, kernel: KernelStatus, drawing: DrawingLoop) -> None:
        """Follow the session; pages may join."""
        self.session = session
        self.kernel = kernel
        self.drawing = drawing
        self.pending = PendingAsks()
        self.context = contextvars.copy_context()
        """In which pages are sent to."""
        self.thread = ""
        """The thread that panels show, as chosen there; else the one that the last cell is in."""
        self._shown: tuple[Shown, ...] = ()
        self._announced = dict(self.entries().window()[0])
        self._shown_state: tuple[Any, Any] | None = None
        # In its thread, so that nothing is heard of what was put before.
        drawing.put(partial(drawing.join, self._hear))

    def join(self, shown: Shown) -> None:
        """Tell a panel from now on."""
        self._shown = (*self._shown, shown)

    def leave(self, shown: Shown) -> None:
        """Tell a panel no more."""
        self._shown = tuple(other for other in self._shown if other is not shown)

    def look(self, *_: object) -> None:
        """Publish what is in force, if it has changed; may be called in any thread."""
        self.drawing.put(self._look)

    def close(self) -> None:
        """Follow and tell no more."""
        self.drawing.leave(self._hear)

    # All that follows runs in the drawing loop's thread.

    def entries(self) -> snapshot.Entries:
        """Return the entries of the log as they are now."""
        return snapshot.Entries(self.conversation(), self.pending.asides)

    def threads(self) -> tuple[list[str], str]:
        """Return the names of all threads, and of the one that panels show."""
        conversation = self.session.conversation
        names = [*conversation.threads]
        return names, self.thread if self.thread in names else conversation.window().thread

    def conversation(self) -> Conversation:
        """Return the thread that panels show, as a conversation of its own."""
        names, name = self.threads()
        conversation = self.session.conversation
        return conversation if len(names) == 1 else conversation.of_thread(name)

    def show_thread(self, name: str) -> None:
        """Show another thread in every panel.

        Args:
            name: its name, or whatever a page says.
        """
        self.thread = name
        self._announce()

    def snapshot(self, known: Mapping[int, str] | None, count: int = 0) -> messages.Snapshot:
        """Return a snapshot.

        Args:
            known: versions of the entries that need not be sent; ``None``: none is sent.
            count: how many turns it lists at least.
        """
        entries = self.entries()
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
            "pending": [ask.values() for ask in self.pending.values() if self._is_here(ask)],
            **self._state(),  # type: ignore[typeddict-item] # mypy asks here for what may lack
        }

    def publish(self, ended: messages.Ended | None = None) -> None:
        """Tell panels what has changed in the conversation, and save it beside them.

        Args:
            ended: how an ask ended, where that is the reason.
        """
        self._announce(ended)
        for shown in self._shown:
            with swallowed():
                self.context.run(shown.save)

    def _announce(self, ended: messages.Ended | None = None) -> None:
        """Send every panel a snapshot, with the entries that are new since the one before."""
        if not len(self.session.conversation) and ended is None:
            self.pending.asides = []
        now = self.snapshot(self._announced)
        self._announced = dict(now["entries"])
        now["ended"] = ended
        self._send_to_all(now)

    def _look(self) -> None:
        shown = self._shown_state
        if shown is not None and shown != (self._standing(), self.session.credits):
            self._announce()

    def _state(self) -> messages.State:
        conversation, standing = self.conversation(), self._standing()
        names, name = self.threads()
        several: dict[str, Any] = {"threads": names, "thread": name} if len(names) > 1 else {}
        self._shown_state = standing, self.session.credits
        return {
            "credits": self._credits(),
            "standing": standing,
            "undo": conversation.undo_depth > 0,
            "redo": conversation.redo_depth > 0,
            "count": len(conversation),
            **several,  # type: ignore[typeddict-item] # both of them, or none
        }

    def _is_here(self, pending: PendingAsk) -> bool:
        """Return whether an ask is the panel's, or of the thread that panels show."""
        return pending.mine or pending.thread in {"", self.threads()[1]}

    def _standing(self) -> messages.Standing:
        try:
            standing = self.kernel.standing()
            return {"state": standing["state"], "rows": standing["rows"]}
        except Exception as error:  # noqa: BLE001 - a panel that cannot say it is still a panel
            log_swallowed(error)
            return {"state": "unknown", "rows": [["State", failure(error)[0]]]}

    def _credits(self) -> messages.Credits:
        state = self.session.credit_state
        return snapshot.credits(
            state.credits, self.session.took, now=self.kernel.now(), requests=state.requests
        )

    # How an ask goes.

    def _hear(self, event: Event | Drawn) -> None:
        match event:
            case Began():
                self._began(event)
            case Drawn():
                self._draw(event)
            case Ended():
                self._end(event)
            case Changed():
                self.publish()

    def show(self, pending: PendingAsk) -> None:
        """Tell every panel the stage of an ask."""
        message: messages.PendingMessage = {"kind": "pending", **pending.values()}
        if self._is_here(pending):
            self._send_to_all(message)

    def drop(self, pending: PendingAsk, words: str) -> None:
        """Tell every panel that an ask is over before it was sent, and why.

        Args:
            pending: the ask.
            words: what is said of it in the status region.
        """
        self.pending.pop(pending.key, None)
        self.publish(_ended(pending, words, answered=False))

    def _began(self, event: Began) -> None:
        pending = self.pending.of(event.ask) or self.pending.add(event.ask)
        pending.place(event.turns)
        pending.thread = event.thread
        pending.stage, pending.halt = "began", event.halt
        pending.note = "; ".join(event.notes)
        self.show(pending)

    def _draw(self, event: Drawn) -> None:
        """Show the reply under way."""
        pending = self.pending.of(event.ask)
        if pending is None or not self.kernel.streams():
            return
        is_first, pending.drawn = pending.drawn is None, event
        if not self._is_here(pending):
            return
        if is_first:
            self._send_to_all({"kind": "text", "key": pending.key, "html": event.html})
        elif not event.is_painted:  # else the bridge's script paints it here, too
            self._send_to_all(event.message)

    def _end(self, event: Ended) -> None:
        ask, answer, error = event.ask, event.answer, event.error
        pending = self.pending.of(ask)
        if pending is None:
            if answer is None:
                return  # it failed before it began, and says so where it was asked
            pending = self.pending.add(ask)
        del self.pending[pending.key]
        is_failure = error is not None and not isinstance(error, KeyboardInterrupt)
        if is_failure or (answer is not None and not ask.history):
            self.pending.put_aside(pending, answer, error, self.conversation())
        fine, answered = error is None, answer is not None
        ended = _ended(pending, event.words, fine=fine, answered=answered)
        self.publish(ended if self._is_here(pending) else None)

    # Sending.

    def _send_to_all(self, message: Mapping[str, Any]) -> None:
        for shown in self._shown:
            self.send(shown, message)

    def send(self, shown: Shown, message: Mapping[str, Any]) -> None:
        """Send a message to the views of one panel.

        Args:
            shown: the panel.
            message: one of :mod:`chatmagic.jupyter.page.messages`.
        """
        with swallowed():  # a page that went away does not silence the others
            self.context.run(shown.send, dict(message))


def _ended(
    pending: PendingAsk, words: str, *, answered: bool, fine: bool = False
) -> messages.Ended:
    """Return how an ask ended; a prompt of the panel's that was not answered goes back."""
    prompt = pending.ask.as_typed if pending.mine and not answered else None
    return {"key": pending.key, "words": words, "fine": fine, "prompt": prompt}
