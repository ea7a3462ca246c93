"""A message of a panel's view in a page, with the ways to answer it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chatmagic._json import known_items
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.panel_feed import Shown


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A message of a panel's view. None of its values is certain.

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
