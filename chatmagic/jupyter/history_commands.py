"""``%chat_history``, ``%chat_undo``, ``%chat_redo`` and ``%chat_reset``."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from chatmagic.conversation import record
from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import InputError
from chatmagic.jupyter import views
from chatmagic.render import gauge
from chatmagic.text import UNTYPESET, counted

if TYPE_CHECKING:
    from chatmagic.jupyter.environment import KernelEnvironment
    from chatmagic.jupyter.settings import KernelSettings
    from chatmagic.session.session import Session


class HistoryCommands:
    """The commands that show a kernel's conversation, and take its changes back.

    Args:
        session: the kernel's session.
        environment: where that runs.
        settings: the settings, read at each use.
    """

    def __init__(
        self, session: Session, environment: KernelEnvironment, settings: KernelSettings
    ) -> None:
        """Show nothing yet."""
        self._session = session
        self._environment = environment
        self._settings = settings

    def show(self, line: str) -> None:
        """Run ``%chat_history``."""
        from chatmagic.jupyter import transcript  # noqa: PLC0415 - the renderer comes with it

        owner, _ = self._environment.cell()
        self._session.follow_pages(owner)
        conversation = self._session.conversation
        turns, pages = conversation.turns, self._environment.pages
        owners = [turn.owner for turn in turns if turn.owner is not None]
        notebooks = None if pages is None else pages.names(owners)
        word = line.strip()
        if not word:
            is_on_page = self._settings.order == "page" and pages is not None and pages.lists(owner)
            order = transcript.AS_ON_PAGE if is_on_page else transcript.AS_RUN
            views.show_html(*transcript.table(conversation, order, notebooks))
        elif word == "all":
            views.show_html(*transcript.whole(conversation, turns, notebooks))
        elif word.isdecimal() and 1 <= int(word) <= len(turns):
            views.show_html(*transcript.whole(conversation, (turns[int(word) - 1],), notebooks))
        else:
            numbers = f"from 1 to {len(turns):,}" if turns else "once there is one"
            raise InputError(f"%chat_history takes nothing, 'all', or a turn's number {numbers}.")

    def undo(self, line: str) -> None:
        """Run ``%chat_undo``."""
        from chatmagic.jupyter import transcript  # noqa: PLC0415 - as above

        refuse_words("chat_undo", line)
        _show_change(transcript.undone(self._session.change(Conversation.undo)), "undo")

    def redo(self, line: str) -> None:
        """Run ``%chat_redo``."""
        from chatmagic.jupyter import transcript  # noqa: PLC0415 - as above

        refuse_words("chat_redo", line)
        _show_change(transcript.redone(self._session.change(Conversation.redo)), "redo")

    def reset(self, line: str) -> None:
        """Run ``%chat_reset``."""
        refuse_words("chat_reset", line)
        change = self._session.change(Conversation.reset)
        gone = len(change.went) if change is not None else 0
        aside = f" {counted(gone, 'turn')} set aside; %chat_undo takes that back." if gone else ""
        _show_change(f"A new conversation begins.{aside}", "reset")


def refuse_words(name: str, line: str) -> None:
    """Raise an error for a line of a magic that takes nothing.

    Args:
        name: the magic's name.
        line: what stands after it.
    """
    if line.strip():
        raise InputError(f"%{name} takes nothing after its name.", hint=f"%{name}? shows its help.")


def _show_change(words: str, kind: record.Did) -> None:
    """Show what was done to the conversation, with a record for the notebook."""
    html = f'<p class="chatmagic-said {UNTYPESET}" style="{gauge.QUIET}">{escape(words)}</p>'
    views.show_html(html, words, record.note(kind))
