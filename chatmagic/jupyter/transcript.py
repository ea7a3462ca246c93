"""A conversation for readers, as HTML and as text: its turns, a request, a change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Final

from chatmagic.archive import output
from chatmagic.conversation.conversation import Conversation, reply_name
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Window
from chatmagic.jupyter.tables import Shown, tabulated
from chatmagic.render import reply_forms
from chatmagic.render.sanitize import QUIET, frame
from chatmagic.safe_text import PROSE, counted, one_line, to_terminal, visible

MOST_LISTED: Final = 100
"""Largest number of listed turns, the newest, by default."""
_TURNS: Final = ("Turn", "You", "Reply", "Notes")
AS_RUN = "in the order in which their cells first ran"
AS_ON_PAGE = "in the order of the cells in the page"


def marks(
    conversation: Conversation,
    notebooks: Mapping[str, str] | None = None,
    window: Window | None = None,
) -> Callable[[Turn], str]:
    """Return a function that gives the notes on a turn, in words.

    Args:
        conversation: the conversation.
        notebooks: the notebook of a cell, in words, by the cell's hash.
        window: the window at whose place turns are hidden; ``None`` takes the place below all
            turns.
    """
    window = conversation.window() if window is None else window
    causes = conversation.causes()
    replies = conversation.replies

    def notes_on(turn: Turn) -> str:
        """Return the notes on a turn, in words."""
        notes: list[str] = []
        if turn.state != "complete":
            notes.append(turn.state)
        if notebooks is not None and turn.owner is not None and turn.owner in notebooks:
            notes.append(notebooks[turn.owner])
        turns = replies[turn.number]
        if len(turns) > 1:
            notes.append(reply_name(turn, turns))
        cause = causes.cause_of(turn.number)
        notes += output.turn_notes(turn, cause, is_hidden=window.hides(turn))
        if turn.reply.took is not None:
            notes.append(f"cost about {counted(turn.reply.took, 'credit')}")
        return "; ".join(notes)

    return notes_on


def listing(
    conversation: Conversation,
    order: str = AS_RUN,
    notebooks: Mapping[str, str] | None = None,
    window: Window | None = None,
    listed: tuple[int, int] | None = None,
) -> Shown:
    """Return a table of turns, as HTML and as text.

    Args:
        conversation: the conversation.
        order: the present order, in words.
        notebooks: as for :func:`marks`.
        window: the window of a question; ``None`` to leave it out.
        listed: numbers of the first and the last listed turn; ``None`` lists the newest.
    """
    count = len(conversation)
    first, last = listed or (max(1, count - MOST_LISTED + 1), count)
    rows = _rows(conversation, notebooks, range(first, last + 1), window)
    carried = "" if window is None else _carried(window, count)
    end = f"{_summary(conversation, order, window)}{carried}{_more(first, last, count)}"
    return tabulated(_TURNS, rows, "Turns", end)


def _more(first: int, last: int, count: int) -> str:
    """Return words on the range of listed turns, and the command for those before them."""
    if (first, last) == (1, count):
        return ""
    before = f"{max(1, first - MOST_LISTED)}-{first - 1}"
    shows = f"; %chat_history {before} lists those before" if first > 1 else ""
    return f" Turns {first:,} to {last:,} are listed{shows}."


def _carried(window: Window, count: int) -> str:
    """Return words on the number of turns that a question would carry, if not all."""
    if len(window.turns) == count:
        return ""
    return f" A question in this cell would carry {len(window.turns) or 'none'} of them."


def matches(
    conversation: Conversation, words: str, notebooks: Mapping[str, str] | None = None
) -> Shown:
    """Return a table of the turns that contain some words, as HTML and as text.

    Args:
        conversation: the conversation.
        words: text to find in typed prompts and in replies, in upper or lower case.
        notebooks: as for :func:`marks`.
    """
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
    matching = [
        number
        for number, turn in enumerate(conversation.turns, 1)
        if pattern.search(turn.as_typed) or pattern.search(turn.reply.text)
    ]
    rows = _rows(conversation, notebooks, matching[-MOST_LISTED:])
    shown = one_line(words)
    hold = "holds" if len(matching) == 1 else "hold"
    count = f"{len(matching):,} of {counted(len(conversation), 'turn')} {hold} “{shown}”."
    more = f" %chat_history {rows[0][0]} shows one in full." if rows else ""
    if len(rows) < len(matching):
        more += f" The newest {len(rows)} are listed; more words find fewer."
    return tabulated(_TURNS, rows, "Turns", f"{count}{more}")


def _rows(
    conversation: Conversation,
    notebooks: Mapping[str, str] | None,
    numbers: Iterable[int],
    window: Window | None = None,
) -> list[tuple[str, ...]]:
    """Return number, prompt, reply and notes of turns by their numbers."""
    rows: list[tuple[str, ...]] = []
    notes = marks(conversation, notebooks, window)
    turns = conversation.turns
    for number in numbers:
        turn = turns[number - 1]
        asked = reply_forms.excerpt(turn.as_typed)
        answer = reply_forms.excerpt(turn.reply.text, turn.format)
        rows.append((str(number), asked, answer, notes(turn)))
    return rows


def turns_in_full(
    conversation: Conversation, turns: tuple[Turn, ...], notebooks: Mapping[str, str] | None = None
) -> Shown:
    """Return turns in full, as HTML and as text.

    Args:
        conversation: the conversation of the turns.
        turns: the turns to show.
        notebooks: the notebook of a cell, in words, by the cell's hash.
    """
    if not turns:
        return listing(conversation)
    numbers = {turn.number: place for place, turn in enumerate(conversation.turns, 1)}
    parts = []
    notes = marks(conversation, notebooks)
    for turn in turns:
        words = notes(turn)
        parts.append(in_full(f"{numbers[turn.number]}. You", turn, words))
    html = "".join(html for html, _ in parts)
    text = "\n\n".join(text for _, text in parts)
    return frame(html, "Conversation"), text


def in_full(title: str, turn: Turn, notes: str = "") -> Shown:
    """Return a turn in full, as HTML and as text.

    Args:
        title: its title.
        turn: the turn.
        notes: the notes on the turn, in words.
    """
    states = output.state_lines(turn.reply)
    reply = turn.reply.text
    html = (
        f'<p style="{output.STATE_STYLE}">{escape(title)} '
        f'<span style="{QUIET} font-weight: normal;">{escape(visible(notes))}</span></p>'
        f'<pre dir="auto" style="{PROSE}">{escape(visible(turn.as_typed))}</pre>'
        f'<p style="{output.STATE_STYLE}">Reply</p>{reply_forms.reply_html(reply, turn.format)}'
        + "".join(f"<p><strong>{escape(visible(line))}</strong></p>" for line in states)
    )
    heading = f"{title} ({notes})" if notes else title
    parts = (heading, turn.as_typed, "", "Reply", reply, *states)
    return html, "\n".join(map(to_terminal, parts))


def _summary(conversation: Conversation, order: str, window: Window | None) -> str:
    """Return the sentence below a table of turns: how many, and in which order."""
    count = len(conversation)
    if not count and window is not None and any(conversation.threads.values()):
        return f"The thread {window.thread} has no turn yet. %chat_thread lists the threads."
    if not count:
        return "The conversation is empty. %chat_load restores the saved notebook's conversation."
    stale = len(conversation.stale_turns())
    notes = f", {stale:,} stale (run their cells again)" if stale else ""
    return (
        f"{counted(count, 'turn')}{notes}, {order}. "
        "%chat_history 1 shows one in full, %chat_history all shows everything."
    )
