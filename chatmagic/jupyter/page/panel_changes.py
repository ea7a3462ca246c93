"""Changes of the conversation that pages ask for, by the buttons of a panel and of its turns."""

from __future__ import annotations

from functools import partial
from typing import Final

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import Replacement
from chatmagic.jupyter.change_words import redone, undone
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.panel_log import PanelLog
from chatmagic.jupyter.page.view_request import ViewRequest
from chatmagic.session.session import Session

CLEARED: Final = "A new conversation begins; Undo brings the old one back."
CLEARED_THREAD: Final = "The thread {} begins again without its turns; Undo brings them back."


class PanelChanges:
    """The changes of the conversation that pages of one kernel ask for.

    Each may have to wait for a reply's end, so all run in the thread for slow work.

    Args:
        session: the kernel's session.
        log: the content of the panels.
        drawing: the kernel's drawing loop, whose thread answers.
    """

    def __init__(self, session: Session, log: PanelLog, drawing: DrawingLoop) -> None:
        """Change nothing yet."""
        self._session = session
        self._log = log
        self._drawing = drawing

    def step(self, request: ViewRequest) -> None:
        """Undo, redo or clear, and answer with words on it.

        Args:
            request: has the step.
        """
        words = self._step(request.message["step"])
        self._drawing.put(partial(request.notify, words))

    def _step(self, step: str) -> str:
        """Change the conversation by a step; return words on it."""
        changes = self._session.changes
        if step == "undo":
            return undone(changes.make(Conversation.undo))
        if step == "redo":
            return redone(changes.make(Conversation.redo))
        return self._clear()

    def _clear(self) -> str:
        """Set the turns of the thread that panels show aside; return words on it."""
        names, shown = self._log.threads()
        if len(names) > 1:
            self._session.changes.make(lambda conversation: conversation.delete(shown))
            return CLEARED_THREAD.format(shown)
        self._session.changes.make(Conversation.reset)
        return CLEARED

    def pick(self, request: ViewRequest) -> None:
        """Choose another reply to a turn's question, if both are still there.

        Args:
            request: has the numbers of the turn and of the other reply.
        """
        number = request.message["turn"]
        reply = request.message["reply"]

        def put_in_force(conversation: Conversation) -> Change | None:
            """Return the change that puts the reply in the place of the other."""
            others = {turn.number for turn in conversation.replies.get(number, ())} - {number}
            if self._log.turn(number) is None or reply not in others:
                return None
            return conversation.add(Replacement(conversation.known_turns[reply]))

        self._session.changes.make(put_in_force)

    def hand_over(self, request: ViewRequest) -> None:
        """Make a cell the owner of a turn of the panel; its next run replaces the turn.

        Args:
            request: has the turn's number and the cell.
        """
        number = request.message["turn"]
        owner = owner_of(request.message["cell"])
        turn = self._log.turn(number)
        if turn is not None and turn.entry == "panel":
            self._session.changes.make(lambda conversation: conversation.hand_over(number, owner))
