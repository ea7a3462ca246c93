"""What is sent to all panels: a snapshot after each change, and the stages of asks."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import dataclass

from chatmagic._log import swallowed
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.panel_asks import PendingAsk
from chatmagic.jupyter.page.panel_log import PanelLog
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn

Send = Callable[[Message], object]


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


class PanelFeed:
    """The panels that are shown, and what all of them are sent.

    Args:
        log: the content of the panels.
    """

    def __init__(self, log: PanelLog) -> None:
        """Send to no panel yet."""
        self._log = log
        self._shown: tuple[Shown, ...] = ()
        self.context = contextvars.copy_context()
        """The context in which messages are sent."""

    def join(self, shown: Shown) -> None:
        """Send to a panel from now on; any thread may call this.

        Args:
            shown: the panel to send to.
        """
        self._shown = (*self._shown, shown)

    def leave(self, shown: Shown) -> None:
        """Stop sending to a panel; any thread may call this.

        Args:
            shown: the panel to remove.
        """
        self._shown = tuple(other for other in self._shown if other is not shown)

    def send(self, shown: Shown, message: Message) -> None:
        """Send a message to the views of one panel.

        Args:
            shown: the panel.
            message: the message.
        """
        with swallowed():  # a page that went away must not stop the others
            self.context.run(shown.send, message)

    def publish(self, ended: Message | None = None) -> None:
        """Send the list of entries and the new ones to panels, and update the saved outputs.

        Args:
            ended: the end of an ask, if that is the reason.
        """
        self._send_to_all(self._log.news(ended))
        for shown in self._shown:
            with swallowed():
                self.context.run(shown.save)

    def publish_changes(self) -> None:
        """Publish if the credits or the settings have changed."""
        if self._log.is_outdated():
            self.publish()

    def show_ask(self, pending: PendingAsk) -> None:
        """Send the stage of an ask.

        Args:
            pending: the ask with its stage.
        """
        if self._log.shows(pending):
            self._send_to_all({"kind": "pending", **pending.values()})

    def paint(self, pending: PendingAsk, drawn: ReplyDrawn) -> None:
        """Send the new part of a reply under way, unless the bridge's script paints it.

        Args:
            pending: the ask.
            drawn: the drawing.
        """
        if not drawn.is_painted and self._log.shows(pending):
            self._send_to_all(drawn.message)

    def _send_to_all(self, message: Message) -> None:
        """Send a message to all panels."""
        for shown in self._shown:
            self.send(shown, message)
