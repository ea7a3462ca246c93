"""``%chat_history``, ``%chat_undo``, ``%chat_redo`` and ``%chat_reset``."""

from __future__ import annotations

import re
from typing import Final

from chatmagic.conversation import record
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.options import Option
from chatmagic.conversation.window import Window
from chatmagic.jupyter import change_words, reply_views, request_display, transcript
from chatmagic.jupyter.commands.command import Arguments, Command
from chatmagic.jupyter.kernel import Kernel
from chatmagic.safe_text import counted


def _history(kernel: Kernel, given: Arguments) -> None:
    """Show the conversation.

    ``%chat_history`` gives a line for each turn, the newest 100 at most. ``%chat_history 1-100``
    lists these turns. ``%chat_history 2`` shows the second turn in full, and ``%chat_history all``
    shows all turns. ``%chat_history WORD`` lists the turns with the word in prompt or reply; a
    number in quotes is a word, too.
    """
    window = kernel.window(kernel.settings.last)
    conversation = kernel.session.conversation.of_thread(window.thread)
    turns = conversation.turns
    if given.options:
        number = given.turn_number(len(turns))
        reply_views.show_html(*request_display.request_of(conversation, number))
        return
    owners = [turn.owner for turn in turns if turn.owner is not None]
    notebooks = kernel.pages.notebooks_of(owners)
    typed = given.line.strip()
    is_quoted = typed[:1] in {'"', "'"}
    word = typed if is_quoted else given.words
    span = _span(word, len(turns))
    if not word or span:
        order = _order_words(kernel, window)
        reply_views.show_html(*transcript.listing(conversation, order, notebooks, window, span))
    elif word == "all":
        reply_views.show_html(*transcript.turns_in_full(conversation, turns, notebooks))
    elif re.fullmatch(r"[+-]?\d+", word):
        turn = turns[given.turn_number(len(turns)) - 1]
        reply_views.show_html(*transcript.turns_in_full(conversation, (turn,), notebooks))
    else:
        reply_views.show_html(*transcript.matches(conversation, given.words, notebooks))


def _span(word: str, count: int) -> tuple[int, int] | None:
    """Return the first and the last turn of a span such as ``1-100``; ``None`` for other words.

    Args:
        word: the words of the line.
        count: number of turns; a span outside of them is a word to search for, such as a date.
    """
    match = re.fullmatch(r"(\d+)-(\d+)", word)
    if match is None:
        return None
    first = int(match[1])
    last = int(match[2])
    return (first, last) if 1 <= first <= last <= count else None


def _order_words(kernel: Kernel, window: Window) -> str:
    """Return words on the order of the listed turns, and on their thread if there are several."""
    owner, _ = kernel.cell()
    order = transcript.AS_ON_PAGE if owner in kernel.pages.cells else transcript.AS_RUN
    if len(kernel.session.conversation.threads) == 1:
        return order
    return f"in the thread {window.thread}, {order}"


def _undo(kernel: Kernel, _: Arguments) -> None:
    """Undo the last change: a question, a re-run, or a reset."""
    change = kernel.session.changes.make(Conversation.undo)
    reply_views.show_change(change_words.undone(change), record.change_record("undo"))


def _redo(kernel: Kernel, _: Arguments) -> None:
    """Redo the last change that ``%chat_undo`` has undone."""
    change = kernel.session.changes.make(Conversation.redo)
    reply_views.show_change(change_words.redone(change), record.change_record("redo"))


def _reset(kernel: Kernel, _: Arguments) -> None:
    """Begin a new conversation; ``%chat_undo`` brings the old one back."""
    change = kernel.session.changes.make(Conversation.reset)
    gone = len(change.went) if change is not None else 0
    aside = (
        f" It leaves out {counted(gone, 'earlier turn')}; %chat_undo brings the old one back."
        if gone
        else ""
    )
    instructions = kernel.session.conversation.window().instructions
    stay = "" if instructions is None else " The instructions still apply."
    reply_views.show_change(
        f"A new conversation begins.{aside}{stay}", record.change_record("reset")
    )


HISTORY: Final = Command(
    "chat_history",
    _history,
    (Option("--request", "show the request of a turn: %chat_history 2 --request"),),
    forms=("[all|TURN|M-N|WORD]", "TURN --request"),
)
UNDO: Final = Command("chat_undo", _undo)
REDO: Final = Command("chat_redo", _redo)
RESET: Final = Command("chat_reset", _reset)
