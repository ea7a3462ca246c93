"""``%chat_history``, ``%chat_undo``, ``%chat_redo`` and ``%chat_reset``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chatmagic.conversation import record
from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import InputError
from chatmagic.jupyter import request_view, transcript, views
from chatmagic.jupyter.change_words import redone, undone
from chatmagic.jupyter.command_line import refuse_words, without_quotes
from chatmagic.jupyter.thread_command import place
from chatmagic.text import counted

if TYPE_CHECKING:
    from chatmagic.jupyter.kernel import Kernel


def history(kernel: Kernel, line: str) -> None:
    """Run ``%chat_history``.

    Raises:
        InputError: there is no such turn.
    """
    owner, _ = kernel.cell()
    here = place(kernel, kernel.settings.last)
    is_one = len(kernel.session.conversation.threads) == 1
    conversation = kernel.session.conversation.of_thread(here.thread)
    turns, pages = conversation.turns, kernel.pages
    owners = [turn.owner for turn in turns if turn.owner is not None]
    notebooks = None if pages is None else pages.names(owners)
    word = line.strip()
    asked_for = re.fullmatch(r"(\d+)\s+--request|--request\s+(\d+)", word)
    span = re.fullmatch(r"(\d+)-(\d+)", word)
    if span and not 1 <= int(span[1]) <= int(span[2]) <= len(turns):
        span = None  # such as a date, which is looked for
    number = int(asked_for[1] or asked_for[2]) if asked_for else 0
    if asked_for and 1 <= number <= len(turns):
        views.show_html(*request_view.of_turn(conversation, number))
    elif asked_for or "--request" in word.split():
        raise InputError(
            "%chat_history --request takes the number of a turn.",
            hint="%chat_history 2 --request shows what went with turn 2.",
        )
    elif not word or span:
        is_on_page = kernel.settings.order == "page" and pages is not None and owner in pages.cells
        order = transcript.AS_ON_PAGE if is_on_page else transcript.AS_RUN
        order = order if is_one else f"in the thread {here.thread}, {order}"
        listed = span and (int(span[1]), int(span[2]))
        views.show_html(*transcript.table(conversation, order, notebooks, here, listed))
    elif word == "all":
        views.show_html(*transcript.whole(conversation, turns, notebooks))
    elif word.isdecimal() and 1 <= int(word) <= len(turns):
        views.show_html(*transcript.whole(conversation, (turns[int(word) - 1],), notebooks))
    elif re.fullmatch(r"[+-]?\d+", word):
        numbers = f"from 1 to {len(turns):,}" if turns else "once there is one"
        raise InputError(
            f"%chat_history takes a turn's number {numbers}.",
            hint=f'%chat_history "{word}" finds the turns that hold these digits.',
        )
    else:
        views.show_html(*transcript.matches(conversation, without_quotes(word), notebooks))


def undo(kernel: Kernel, line: str) -> None:
    """Run ``%chat_undo``."""
    refuse_words("chat_undo", line)
    views.show_change(undone(kernel.session.change(Conversation.undo)), record.note("undo"))


def redo(kernel: Kernel, line: str) -> None:
    """Run ``%chat_redo``."""
    refuse_words("chat_redo", line)
    views.show_change(redone(kernel.session.change(Conversation.redo)), record.note("redo"))


def reset(kernel: Kernel, line: str) -> None:
    """Run ``%chat_reset``."""
    refuse_words("chat_reset", line)
    change = kernel.session.change(Conversation.reset)
    gone = len(change.went) if change is not None else 0
    aside = f" {counted(gone, 'turn')} set aside; %chat_undo takes that back." if gone else ""
    held = kernel.session.conversation.instructions[-1]
    stay = "" if held is None else " The instructions hold on."
    views.show_change(f"A new conversation begins.{aside}{stay}", record.note("reset"))
