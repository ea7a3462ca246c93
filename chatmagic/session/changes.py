"""Changes of a conversation that are no questions: undo, redo, reset, steering, its order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

from chatmagic._fork import Lock
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import Steering, ThreadStart, refuse_fork
from chatmagic.conversation.window import QuestionPlace
from chatmagic.session.ask_lock import AskLock
from chatmagic.session.environment import Environment
from chatmagic.session.events import Changed, Followers
from chatmagic.session.worker import uninterrupted_result

CHANGE: Final = "a change of the conversation"
"""Name of such a change, for a question that has to wait for it."""


class ChangedSession(Protocol):
    """Session as the changes of its conversation see it."""

    conversation: Conversation
    environment: Environment
    followers: Followers
    lock: AskLock
    state_lock: Lock


class Changes:
    """The changes of a session's conversation; its followers hear of each.

    Args:
        session: the session.
    """

    def __init__(self, session: ChangedSession) -> None:
        """Do nothing yet."""
        self._session = session

    def make(self, action: Callable[[Conversation], Change | None]) -> Change | None:
        """Change the conversation (undo, redo, reset) while no ask is under way.

        Args:
            action: changes the conversation.

        Raises:
            InputError: an ask of this very thread is under way.
        """
        change = self._alone(action)
        self._session.followers.tell(Changed())
        return change

    def _alone(self, action: Callable[[Conversation], Change | None]) -> Change | None:
        """Return the change that an action makes while no ask is under way."""
        return self._session.lock.alone(CHANGE, lambda: action(self._session.conversation))

    def steer(self, item: Steering) -> Change | None:
        """Add a steering item at its place; asks under way continue without it.

        Args:
            item: instructions, the start of a thread, or a hiding, with its place.

        Raises:
            InputError: a fork cannot begin there.
        """
        change = uninterrupted_result(lambda _: self._with_steering(item))
        self._session.followers.tell(Changed())
        return change

    def _with_steering(self, item: Steering) -> Change:
        """Add a steering item to the conversation, in the order of the page's cells.

        Raises:
            InputError: a fork cannot begin there.
        """
        conversation = self._session.conversation
        layout = self._session.environment.layout(item.owner)
        order = None if layout is None else layout.order
        with self._session.state_lock:
            if layout is not None:
                conversation.follow(layout)
            if isinstance(item, ThreadStart):
                here = QuestionPlace(item.owner, item.execution, order=order)
                in_thread = replace(here, thread=item.name)
                refuse_fork(item, conversation.window(here), conversation.window(in_thread))
            return conversation.add(item, order=order)

    def follow_pages(self, owner: str | None = None) -> Change | None:
        """Arrange the turns in the order of the page's cells, unless an ask is under way.

        Args:
            owner: hash of the running cell; ``None`` without one.

        Returns:
            The change, if turns of cells that are gone were left out.
        """
        layout = self._session.environment.layout(owner)
        if layout is None or not self._session.lock.is_free():
            return None
        change = self._alone(lambda conversation: conversation.follow(layout))
        if change is not None:
            self._session.followers.tell(Changed())
        return change
