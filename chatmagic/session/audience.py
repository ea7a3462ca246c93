"""Audience of a question: the view in the thread that waits, and the followers of the session."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from chatmagic.session.ask import Ask
from chatmagic.session.ending import Ending
from chatmagic.session.events import Followers, Fragment, Thought
from chatmagic.session.exchange import Receiver
from chatmagic.session.views import View
from chatmagic.session.worker import Worker


@dataclass(frozen=True, slots=True)
class Audience(Receiver):
    """Receiver that passes an answer to a view, in the thread that waits, and to the followers.

    Args:
        ask: the question for the followers.
        followers: the followers of its session.
        view: the view that shows it.
        worker: the worker in which it is received.
    """

    ask: Ask
    followers: Followers
    view: View
    worker: Worker[Ending]

    def sent(self) -> None:
        """Tell the view that the request goes to the network now."""
        self.worker.tell(self.view.sent)

    def thought(self, text: str) -> None:
        """Tell the followers a fragment of the reasoning.

        Args:
            text: the fragment.
        """
        self.followers.tell(Thought(self.ask, text))

    def fragment(self, text: str) -> None:
        """Tell the view and the followers a fragment of the reply.

        Args:
            text: the fragment.
        """
        self.worker.tell(partial(self.view.fragment, text))
        self.followers.tell(Fragment(self.ask, text))
