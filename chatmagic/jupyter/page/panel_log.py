"""What panels show: one thread of the conversation, the asks, the credits and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from datetime import datetime
from typing import Any, Protocol

from chatmagic._log import log_swallowed, swallowed
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.page import panel_content
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.panel_asks import PanelAsks, PendingAsk
from chatmagic.jupyter.page.panel_saved import saved
from chatmagic.session.ask import Ask
from chatmagic.session.events import failure
from chatmagic.session.session import Session


class KernelStatus(Protocol):
    """Status of the kernel, which panels read at each use."""

    def now(self) -> datetime:
        """Return the present time by the service's clock, for the gauge."""

    def standing(self) -> Message:
        """Return the state in one word, the present settings as rows, and the models."""

    def defaults(self) -> Ask:
        """Return an empty question with the parameters of the panel's questions."""

    def streams(self) -> bool:
        """Return whether a reply is shown while it arrives."""


class PanelLog:
    """The content of all panels of one kernel.

    Args:
        session: the kernel's session.
        kernel: the status of the kernel.
        asks: the asks that panels show.
    """

    def __init__(self, session: Session, kernel: KernelStatus, asks: PanelAsks) -> None:
        """Show what the session has now."""
        self._session = session
        self.kernel = kernel
        self.asks = asks
        self.thread = ""
        """The thread that was chosen in a panel; empty for the last cell's thread."""
        self.model = ""
        """The model that was chosen in a panel; empty for the current model."""
        self._announced = dict(self.entries().window()[0])
        self._shown_state: tuple[Any, Any] | None = None

    def entries(self) -> panel_content.LogEntries:
        """Return the entries of the log as they are now."""
        return panel_content.LogEntries(self.conversation(), self.asks.asides)

    def threads(self) -> tuple[list[str], str]:
        """Return the names of all threads, and of the one that panels show."""
        conversation = self._session.conversation
        names = [*conversation.threads]
        return names, self.thread if self.thread in names else conversation.window().thread

    def conversation(self) -> Conversation:
        """Return the thread that panels show, as a conversation of its own."""
        names, name = self.threads()
        conversation = self._session.conversation
        return conversation if len(names) == 1 else conversation.of_thread(name)

    def turn(self, number: int | None) -> Turn | None:
        """Return a live turn of the conversation, if it has this one.

        Args:
            number: the turn's number, or any value from a page.
        """
        turns = self._session.conversation.turns
        return next((turn for turn in turns if turn.number == number), None)

    def shows(self, pending: PendingAsk) -> bool:
        """Return whether an ask is the panel's, or of the thread that panels show.

        Args:
            pending: the ask.
        """
        return pending.is_in(self.threads()[1])

    def snapshot(self, known: Mapping[int, str] | None, count: int = 0) -> Message:
        """Return a snapshot, and note the state that it shows, for :meth:`is_outdated`.

        Args:
            known: versions of the entries that need not be sent; ``None`` sends no entries.
            count: smallest number of turns that it lists.
        """
        entries = self.entries()
        listed, earlier = entries.window(count)
        new: list[Message] = []
        if known is not None:
            with swallowed():  # views ask for missing entries
                new = entries.draw({id for id, version in listed if known.get(id) != version})
        conversation = self.conversation()
        names, name = self.threads()
        credit = self._session.credit_state
        standing = self._standing()
        self._shown_state = standing, credit.credits
        pending = [ask.values() for ask in self.asks.under_way.values() if self.shows(ask)]
        return {
            "kind": "snapshot",
            "entries": listed,
            "earlier": earlier,
            "new": new,
            "pending": pending,
            "credits": panel_content.credits(credit, self._session.took, now=self.kernel.now()),
            "standing": standing,
            "undo": conversation.undo_depth > 0,
            "redo": conversation.redo_depth > 0,
            "count": len(conversation),
            "threads": names,
            "thread": name,
            "model": self.model,
        }

    def news(self, ended: Message | None = None) -> Message:
        """Return a snapshot with the entries that no earlier one announced.

        Args:
            ended: the end of an ask, if that is the reason.
        """
        if not len(self._session.conversation) and ended is None:
            self.asks.asides = []
        news = self.snapshot(self._announced)
        self._announced = dict(news["entries"])
        news["ended"] = ended
        return news

    def saved(self) -> dict[str, str]:
        """Return the output that is saved beside a panel."""
        html, text = saved(copy(self._session.conversation))
        return {"text/html": html, "text/plain": text}

    def is_outdated(self) -> bool:
        """Return whether the credits or the settings have changed since the last snapshot."""
        return self._shown_state not in (None, (self._standing(), self._session.credits))

    def _standing(self) -> Message:
        """Return the state of the kernel and its settings; a failure stands in their place."""
        try:
            return self.kernel.standing()
        except Exception as error:  # noqa: BLE001 - the panel works without it
            log_swallowed(error)
            why = [["State", failure(error)[0]]]
            return {"state": "unknown", "rows": why, "model": "", "models": []}
