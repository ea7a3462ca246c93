"""The chat panel: a widget for the kernel's conversation, and the kernel's part of it.

Its code in the page is ``page/panel.js`` of the labextension. Pages of other servers fetch a
widget's code from a public registry, by its name; anywidget brings the code to these pages.

Threads that ask, and threads that bring a page's message (any of the kernel), only put work into
the kernel's drawing loop. The loop's thread does the work, and it alone sends to pages. So messages
are in order, and need no lock. Another thread, ``chatmagic-ask``, does slow work, so that the
kernel stays free. This module leaves the work that a page requests to the session.
"""

from __future__ import annotations

import contextvars
import itertools
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, Literal, Protocol

from IPython.display import DisplayHandle, display
from ipywidgets import DOMWidget  # type: ignore[import-untyped] # it has no types
from traitlets import Int, Unicode

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
from chatmagic.jupyter.page.drawing_loop import DrawingLoop, Drawn
from chatmagic.jupyter.page.messages import PROTOCOL, Message
from chatmagic.jupyter.transcript import PANEL_ABSENT, redone, saved, undone
from chatmagic.protocol import credits as crediting
from chatmagic.safe_text import one_line, without_lone_surrogates
from chatmagic.session.events import Ask, Began, Changed, Ended, Event, Outcome, View, failure
from chatmagic.session.session import Session

Send = Callable[[Message], object]

MOST_ASIDES: Final = 50
WITHDRAWN: Final = "Withdrawn before it was sent."
CLEARED: Final = "A new conversation begins; Undo brings the old one back."
CLEARED_THREAD: Final = "The turns of the thread {} are set aside; Undo brings them back."
UNDER_WAY: Final = "A question from the panel is under way: its thread is shown until it ends."
FAILED: Final = "{what}: the panel's part of the kernel failed ({error}). %%chat still works."
MODEL: Final = "Model of the panel's questions: {}."
NO_MODEL: Final = f"Model takes {A_MODEL}, without spaces, not {{!r}}. Nothing was changed."
NOT_KEPT: Final = "Not kept: this question was asked without history."

Stage = Literal["asked", "sending", "waiting", "began"]


@dataclass(slots=True)
class PendingAsk:
    """An ask that is not over.

    Args:
        ask: the question to ask.
        stage: ``asked`` until the page says go, ``sending``, ``waiting`` for another ask, or
            ``began``.
        note: a note on it.
        after: number of the turn after which it stands; ``None`` is the end.
        replaces: numbers of the turns that its turn will replace.
        halt: stops it; ``None`` until it is known.
        drawn: the drawing of its reply in pages.
        thread: name of its thread; empty until it has begun.
    """

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
        """Find the place of its turn among the live ones, and the turns that it replaces.

        Args:
            turns: the live turns.
        """
        owner, execution = self.ask.owner, self.ask.execution
        own = [turn for turn in turns if owner and turn.owner == owner]
        if own:
            self.after = own[-1].number
            self.replaces = [turn.number for turn in own if turn.execution != execution]

    def values(self) -> Message:
        """Return the ask in the form of a message (``Pending``)."""
        return {
            "live": self.ask.live,
            **panel_content.prompt(self.ask.as_typed, self.ask.asker, self.ask.entry),
            "stage": self.stage,
            "note": self.note,
            "after": self.after,
            "replaces": list(self.replaces),
            "html": "" if self.drawn is None else self.drawn.html,
        }


class KernelStatus(Protocol):
    """Status of the kernel, which panels read at each use."""

    def now(self) -> datetime:
        """Return the present time by the service's clock, for the gauge."""

    def standing(self) -> Message:
        """Return the state in one word, the present settings as rows, and the models."""

    def defaults(self) -> dict[str, Any]:
        """Return the parameters of the panel's questions, as ``Ask`` names them."""

    def streams(self) -> bool:
        """Return whether a reply is shown while it arrives."""


@dataclass(slots=True, eq=False)
class Shown:
    """A panel that is shown: all views of its widget, and its saved output.

    Args:
        send: sends a message to its views.
        save: updates the output that is saved beside it.
        greeted: whether a view of it has received the content.
    """

    send: Send
    save: Callable[[], object]
    greeted: bool = False


# No package registry accepts a name that begins with an underscore. A page without the
# labextension, such as an exported one, looks there for the widget's code, and finds none.
_MODULE: Final = "_chatmagic"
WIDGET_VIEW: Final = "application/vnd.jupyter.widget-view+json"


class ChatPanel(DOMWidget):  # type: ignore[misc] # as above
    """The chat panel in a page. Its history is no trait: views ask for missing entries."""

    _model_name = Unicode("PanelModel").tag(sync=True)
    _model_module = Unicode(_MODULE).tag(sync=True)
    _model_module_version = Unicode("*").tag(sync=True)
    _view_name = Unicode("PanelView").tag(sync=True)
    _view_module = Unicode(_MODULE).tag(sync=True)
    _view_module_version = Unicode("*").tag(sync=True)
    protocol = Int(PROTOCOL, help="The form of the messages.").tag(sync=True)
    draft = Unicode("", help="The typed text that was not sent.").tag(sync=True)


class Panels:
    """The panels of one kernel, which follow its session.

    Args:
        session: the kernel's session.
        kernel: the status of the kernel.
        drawing: the kernel's drawing loop, whose thread serves the pages, too.
    """

    def __init__(self, session: Session, kernel: KernelStatus, drawing: DrawingLoop) -> None:
        """Follow the session; show no panel yet."""
        self.session = session
        self.kernel = kernel
        self.drawing = drawing
        self.pending = dict[str, PendingAsk]()
        """The asks under way, by their names in pages."""
        self.asides: list[panel_content.Aside] = []
        self._aside_ids = itertools.count(-1, -1)
        self.context = contextvars.copy_context()
        """The context in which messages are sent."""
        self.thread = ""
        """The thread that was chosen in a panel; empty for the last cell's thread."""
        self.model = ""
        """The model that was chosen in a panel; empty for the model in force."""
        self._shown: tuple[Shown, ...] = ()
        self._widgets: dict[str | None, tuple[DOMWidget, Shown]] = {}
        self._announced = dict(self.entries().window()[0])
        self._shown_state: tuple[Any, Any] | None = None
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=[self._do], name="chatmagic-ask", daemon=True).start()
        drawing.join_in_order(self._hear)

    def show(self, cell: str | None, *, form: type[DOMWidget] = ChatPanel) -> None:
        """Show a panel.

        Args:
            cell: hash of the cell that shows it; a later run of the cell replaces its panel.
            form: the class of its widget.
        """
        before = self._remove(cell)
        widget = form(draft="" if before is None else before.draft)
        view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
        display({WIDGET_VIEW: view, **PANEL_ABSENT}, raw=True)
        # The saved text is an output of its own. In the bundle of the widget, a page without a
        # kernel would show "model not found" instead. The style sheet of a live widget hides this
        # output.
        handle = DisplayHandle()
        handle.display(self._saved(), raw=True)
        shown = Shown(widget.send, lambda: handle.update(self._saved(), raw=True))
        widget.on_msg(lambda _widget, message, _buffers: self.receive(shown, message))
        self._widgets[cell] = widget, shown
        self.join(shown)

    def join(self, shown: Shown) -> None:
        """Send to a panel from now on.

        Args:
            shown: the panel to send to.
        """
        self._shown = (*self._shown, shown)

    def leave(self, shown: Shown) -> None:
        """Stop sending to a panel.

        Args:
            shown: the panel to remove.
        """
        self._shown = tuple(other for other in self._shown if other is not shown)

    def look(self, *_: object) -> None:
        """Publish the present settings, if they have changed; any thread may call this.

        Args:
            *_: the event, which is not needed.
        """
        self.drawing.put(self._look)

    def receive(self, shown: Shown, message: object) -> None:
        """Take a page's message; may be called in any thread.

        Args:
            shown: the panel of the page's view.
            message: any value from the page.
        """
        if isinstance(message, dict):
            self.drawing.put(partial(self._receive, shown, message, contextvars.copy_context()))

    def close(self) -> None:
        """Remove all panels, and end the thread for slow work."""
        for cell in list(self._widgets):
            self._remove(cell)
        self.drawing.leave(self._hear)
        self._work.put(None)

    def _remove(self, cell: str | None) -> DOMWidget | None:
        widget, shown = self._widgets.pop(cell, (None, None))
        if widget is not None and shown is not None:
            self.leave(shown)
            widget.close()
        return widget

    def _saved(self) -> dict[str, str]:
        html, text = saved(copy(self.session.conversation))
        return {"text/html": html, "text/plain": text}

    def _do(self) -> None:
        """Do slow work, one task after the other, in its thread."""
        while (work := self._work.get()) is not None:
            work()

    # All that follows runs in the drawing loop's thread.

    def entries(self) -> panel_content.LogEntries:
        """Return the entries of the log as they are now."""
        return panel_content.LogEntries(self.conversation(), self.asides)

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

    def snapshot(self, known: Mapping[int, str] | None, count: int = 0) -> Message:
        """Return a snapshot.

        Args:
            known: versions of the entries that need not be sent; ``None`` sends no entries.
            count: smallest number of turns that it lists.
        """
        entries, conversation = self.entries(), self.conversation()
        listed, earlier = entries.window(count)
        names, name = self.threads()
        credit, standing = self.session.credit_state, self._standing()
        self._shown_state = standing, credit.credits
        new: list[Message] = []
        if known is not None:
            with swallowed():  # views ask for missing entries
                new = entries.draw({id for id, version in listed if known.get(id) != version})
        return {
            "kind": "snapshot",
            "entries": listed,
            "earlier": earlier,
            "new": new,
            "pending": [ask.values() for ask in self.pending.values() if self._is_here(ask)],
            "credits": panel_content.credits(credit, self.session.took, now=self.kernel.now()),
            "standing": standing,
            "undo": conversation.undo_depth > 0,
            "redo": conversation.redo_depth > 0,
            "count": len(conversation),
            "threads": names,
            "thread": name,
            "model": self.model,
        }

    def publish(self, ended: Message | None = None) -> None:
        """Send the list of entries and the new ones to panels, and update the saved outputs.

        Args:
            ended: the end of an ask, if that is the reason.
        """
        if not len(self.session.conversation) and ended is None:
            self.asides = []
        now = self.snapshot(self._announced)
        self._announced = dict(now["entries"])
        now["ended"] = ended
        self._send_to_all(now)
        for shown in self._shown:
            with swallowed():
                self.context.run(shown.save)

    def _look(self) -> None:
        state = self._standing(), self.session.credits
        if self._shown_state not in (None, state):
            self.publish()

    def _is_here(self, pending: PendingAsk) -> bool:
        """Return whether an ask is the panel's, or of the thread that panels show."""
        return pending.mine or pending.thread in {"", self.threads()[1]}

    def _standing(self) -> Message:
        try:
            return self.kernel.standing()
        except Exception as error:  # noqa: BLE001 - the panel works without it
            log_swallowed(error)
            why = [["State", failure(error)[0]]]
            return {"state": "unknown", "rows": why, "model": "", "models": []}

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

    def show_ask(self, pending: PendingAsk) -> None:
        """Send every panel the stage of an ask.

        Args:
            pending: the ask with its stage.
        """
        if self._is_here(pending):
            self._send_to_all({"kind": "pending", **pending.values()})

    def drop(self, pending: PendingAsk, words: str) -> None:
        """Report to every panel that an ask ended before it was sent, with the reason.

        Args:
            pending: the ask.
            words: the text for the status region.
        """
        self.pending.pop(pending.ask.live, None)
        self.publish(_ended(pending, words, answered=False))

    def _began(self, event: Began) -> None:
        pending = self.pending.setdefault(event.ask.live, PendingAsk(event.ask))
        pending.place(event.turns)
        pending.thread = event.thread
        pending.stage, pending.halt = "began", event.halt
        pending.note = "; ".join(event.notes)
        self.show_ask(pending)

    def _draw(self, event: Drawn) -> None:
        """Show the reply under way."""
        pending = self.pending.get(event.ask.live)
        if pending is None or not self.kernel.streams():
            return
        is_first, pending.drawn = pending.drawn is None, event
        if not self._is_here(pending):
            return
        if is_first:
            self.show_ask(pending)
        elif not event.is_painted:  # else the bridge's script paints it here, too
            self._send_to_all(event.message)

    def _end(self, event: Ended) -> None:
        ask, outcome, error = event.ask, event.outcome, event.error
        pending = self.pending.pop(ask.live, None)
        if pending is None and outcome is None:
            return  # it failed before it began, and its cell shows that
        pending = pending or PendingAsk(ask)
        is_failure = error is not None and not isinstance(error, KeyboardInterrupt)
        if is_failure or (outcome is not None and not ask.history):
            self._put_aside(pending, outcome, error)
        fine, answered = error is None, outcome is not None
        ended = _ended(pending, event.words, fine=fine, answered=answered)
        self.publish(ended if self._is_here(pending) else None)

    def _put_aside(
        self, pending: PendingAsk, outcome: Outcome | None, error: BaseException | None
    ) -> None:
        """Keep the entry of a finished ask that the conversation does not show."""
        ask, turns = pending.ask, self.conversation().turns
        kept = outcome is not None and ask.history
        what, hint = (NOT_KEPT, "") if error is None else failure(error)
        # The gauge shows the figures.
        hint = hint.removeprefix(f"{crediting.used_words(getattr(error, 'credits', None))} ")
        entry = {
            "id": next(self._aside_ids),
            "version": "",
            **panel_content.prompt("" if kept else ask.as_typed, ask.asker, ask.entry),
            "notes": [],
            "took": None,
            "reply": (
                None if outcome is None or kept else panel_content.reply(outcome.reply, ask.format)
            ),
            "problem": {"what": what, "hint": hint, "failed": error is not None},
            "replies": [],
        }
        after = pending.after or (turns[-1].number if turns else 0)
        self.asides = [*self.asides, (after, entry)][-MOST_ASIDES:]

    # Sending.

    def _send_to_all(self, message: Message) -> None:
        for shown in self._shown:
            self.send(shown, message)

    def send(self, shown: Shown, message: Message) -> None:
        """Send a message to the views of one panel.

        Args:
            shown: the panel.
            message: the message.
        """
        with swallowed():  # a page that went away must not stop the others
            self.context.run(shown.send, message)

    # Requests of pages.

    def _receive(self, shown: Shown, message: Message, context: contextvars.Context) -> None:
        # Messages are sent in the context of a page's last message. Then ipykernel passes the
        # page's next message to this thread, past a running cell.
        self.context = context
        view = message.get("view", "")

        def answer(message: Message) -> None:
            self.send(shown, {**message, "view": view})

        self._try(partial(self._take, shown, message, answer), message, answer)

    def _try(self, work: Callable[[], object], message: Message, answer: Send) -> None:
        """Do work for a page; report a failure by the error's type, which quotes nothing.

        Args:
            work: the work.
            message: the page's message.
            answer: sends the page an answer.
        """
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a page waits for an answer
            log_swallowed(error)
            what = "Nothing was sent" if message.get("kind") == "ask" else "That was not done"
            words = FAILED.format(what=what, error=type(error).__name__)
            self.drawing.put(partial(answer, _notice(words, message.get("nonce"))))

    def _take(self, shown: Shown, message: Message, answer: Send) -> None:
        match message.get("kind"):
            case "ping":
                self.send(shown, {"kind": "pong"})
            case "sync":
                count = message.get("count")
                listed = self.snapshot({} if count is None else None, count or 0)
                listed["reloaded"] = message.get("first", False) and shown.greeted
                shown.greeted = True
                answer(listed)
            case "want":
                entries = self.entries().draw(set(message["ids"]))
                answer({"kind": "entries", "entries": entries})
            case "save":
                answer({"kind": "saved", "data": self._saved()})
            case "put":
                turns = self.session.conversation.turns
                cells = panel_content.cells_for_turns(turns, message["turns"], message["cells"])
                answer({"kind": "insert", "cells": cells})
            case _:
                self._act(message, answer)

    def _act(self, message: Message, answer: Send) -> None:
        match message.get("kind"):
            case "ask":
                self._offer(message, answer)
            case "go":
                self._go(self.pending.get(message["live"]))
            case "stop":
                self._stop(self.pending.get(message["live"]), answer)
            case "step":
                self._later(partial(self._step, message["step"], answer), message, answer)
            case "pick":
                work = partial(self._pick, message["turn"], message["reply"])
                self._later(work, message, answer)
            case "thread" if any(pending.mine for pending in self.pending.values()):
                answer(_notice(UNDER_WAY))
            case "thread":
                self.thread = message["thread"]
                self.publish()
            case "model":
                answer(_notice(self._choose_model(message["model"])))
                self.publish()
            case "placed":
                work = partial(self._hand_over, message["turn"], owner_of(message["cell"]))
                self._later(work, message, answer)

    def _choose_model(self, typed: str) -> str:
        """Ask this model from now on, or the model in force if it is empty; return words on it."""
        name = unquoted(typed)
        # A cell that is made of the turn names it as a word behind -m.
        if name and (" " in name or not is_model_name(name)):
            return NO_MODEL.format(one_line(typed, 40))
        self.model = name
        return MODEL.format(name or "the one in force")

    def _later(self, work: Callable[[], object], message: Message, answer: Send) -> None:
        """Do work in the thread for slow work, as it may have to wait for a reply's end."""
        self._work.put(partial(self._try, work, message, answer))

    def _offer(self, message: Message, answer: Send) -> None:
        """Offer to ask. The page answers ``go``, unless the user has withdrawn the question."""
        text, nonce = message["text"], message["nonce"]
        old = self._turn(message["replaces"])
        if text is None:
            text = "" if old is None else old.as_typed  # pages may show it in another form
        for pending in tuple(self.pending.values()):
            if pending.stage == "asked":
                # Its page has gone before it answered.
                self.drop(pending, WITHDRAWN)
        why = ""
        if any(pending.mine for pending in self.pending.values()):
            why = "A question from the panel is under way already; this one was not sent."
        elif message["replaces"] is not None and (old is None or old.entry != "panel"):
            why = "That turn is no longer the panel's. Nothing was sent."
        elif not text.strip():
            why = "The prompt is empty. Nothing was sent."
        if why:
            answer(_notice(why, nonce))
            return
        # A turn of the panel is asked again in its place, and its own model is asked, as by
        # %chat_retry. With another prompt it is like a changed cell that runs again.
        model = old.model if old is not None and message["text"] is None else self.model or None
        names, shown = self.threads()
        thread = (shown if len(names) > 1 else None) if old is None else old.thread
        ask = Ask(
            without_lone_surrogates(text),
            owner=secrets.token_hex(8) if old is None else old.owner,
            execution=secrets.token_hex(8),
            entry="panel",
            asker="the panel",
            again=old.number if old is not None and old.as_typed == text else None,
            **{**self.kernel.defaults(), "thread": thread, "model": model},
        )
        self.pending[ask.live] = pending = PendingAsk(ask)
        pending.place(self.session.conversation.turns)
        self.show_ask(pending)
        answer({"kind": "offer", "live": ask.live, "nonce": nonce})

    def _go(self, pending: PendingAsk | None) -> None:
        if pending is not None and pending.stage == "asked":
            pending.stage, pending.halt = "sending", Halt()
            self._work.put(partial(self._ask, pending))

    def _waits(self, pending: PendingAsk, holder: str) -> None:
        if self.pending.get(pending.ask.live) is pending:
            pending.stage = "waiting"
            pending.note = f"Waiting for the reply to {holder} to end."
            self.show_ask(pending)

    def _stop(self, pending: PendingAsk | None, answer: Send) -> None:
        if pending is not None and pending.stage == "asked":
            self.drop(pending, WITHDRAWN)
        elif pending is not None and pending.halt is not None:
            pending.halt.stop()
            answer({"kind": "stopping"})

    def _turn(self, number: int | None) -> Turn | None:
        turns = self.session.conversation.turns
        return next((turn for turn in turns if turn.number == number), None)

    # Work.

    def _ask(self, pending: PendingAsk) -> None:
        def waits(holder: str) -> None:
            self.drawing.put(partial(self._waits, pending, holder))

        # Followers of the session have already reported the failure.
        with swallowed(Exception, KeyboardInterrupt):
            self.session.run(pending.ask, _Waiting(waits), pending.halt)

    def _step(self, step: str, answer: Send) -> None:
        names, shown = self.threads()
        if step == "undo":
            words = undone(self.session.change(Conversation.undo))
        elif step == "redo":
            words = redone(self.session.change(Conversation.redo))
        elif len(names) > 1:
            self.session.change(lambda conversation: conversation.delete(shown))
            words = CLEARED_THREAD.format(shown)
        else:
            self.session.change(Conversation.reset)
            words = CLEARED
        self.drawing.put(partial(answer, _notice(words)))

    def _pick(self, number: int, reply: int) -> None:
        """Put another reply to a turn's question in force, if both are still there."""

        def pick(conversation: Conversation) -> Change | None:
            others = {turn.number for turn in conversation.replies.get(number, ())} - {number}
            if self._turn(number) is None or reply not in others:
                return None
            return conversation.add(Replacement(conversation.known_turns[reply]))

        self.session.change(pick)

    def _hand_over(self, number: int, owner: str) -> None:
        """Make a cell the owner of a turn of the panel; its next run replaces the turn."""
        turn = self._turn(number)
        if turn is not None and turn.entry == "panel":
            self.session.change(lambda conversation: conversation.hand_over(number, owner))


def _notice(words: str, nonce: str | None = None) -> Message:
    """Return words for the status region, or the reason why a prompt was not sent."""
    return {"kind": "notice", "words": words, **known_items(nonce=nonce)}


def _ended(pending: PendingAsk, words: str, *, answered: bool, fine: bool = False) -> Message:
    """Return the end of an ask; an unanswered prompt of the panel goes back to the page."""
    prompt = pending.ask.as_typed if pending.mine and not answered else None
    return {"live": pending.ask.live, "words": words, "fine": fine, "prompt": prompt}


class _Waiting(View):
    """The view of the panel's own asks; all but the wait arrives as events."""

    def __init__(self, waiting: Callable[[str], object]) -> None:
        self._say = waiting

    def waiting(self, holder: str) -> None:
        self._say(holder)
