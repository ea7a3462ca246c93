"""A conversation, and what was done to it, for a person to read: as HTML and as text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from chatmagic.archive import output
from chatmagic.render import markdown
from chatmagic.text import PROSE, UNTYPESET, counted, one_line, to_terminal, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.history import Change
    from chatmagic.conversation.turn import Turn

EXCERPT = 60
# No word, however long, makes the table wider than what the headings take.
_SAID = "text-align: left; overflow-wrap: anywhere;"
AS_RUN = "in the order of the first run"
AS_ON_PAGE = "in the order of the cells in the page"
CHANGES = {
    "ask": "the question",
    "re-run": "the new reply to",
    "reset": "the reset",
    "set aside": "the setting aside",
    "load": "the load",
}
"""The changes of a conversation, as undo and redo name them."""


def marks(
    conversation: Conversation, turn: Turn, notebooks: Mapping[str, str] | None = None
) -> list[str]:
    """Return what is particular about a turn, in words.

    Args:
        conversation: the conversation.
        turn: one of its turns.
        notebooks: which notebook a cell stands in, in words, by the cell's hash.
    """
    notes: list[str] = [] if turn.state == "complete" else [turn.state]
    if notebook := (notebooks or {}).get(turn.owner or ""):
        notes.append(notebook)
    notes += output.turn_notes(turn, is_stale=conversation.stale(turn))
    if turn.reply.took is not None:
        notes.append(f"took about {turn.reply.took:,}")
    return notes


def table(
    conversation: Conversation, order: str = AS_RUN, notebooks: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Return a table of the turns, as HTML and as text.

    Args:
        conversation: the conversation.
        order: which order is in force, in words.
        notebooks: as :func:`marks` has them.
    """
    rows = []
    for number, turn in enumerate(conversation.turns, 1):
        prompt = one_line(turn.as_typed, EXCERPT)
        reply = one_line(turn.reply.text, EXCERPT)
        rows.append((str(number), prompt, reply, "; ".join(marks(conversation, turn, notebooks))))
    end = _summary(conversation, order)
    head = ("Turn", "You", "Reply", "Notes")
    html = "".join(
        f'<tr><td style="text-align: left;">{number}</td>'
        + "".join(f'<td dir="auto" style="{_SAID}">{escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for number, *cells in rows
    )
    heads = "".join(f'<th scope="col" style="text-align: left;">{name}</th>' for name in head)
    text = "\n".join(
        f"{number}. {prompt}\n   {reply}" + (f"\n   ({notes})" if notes else "")
        for number, prompt, reply, notes in rows
    )
    grid = f"{markdown.TABLE}><thead><tr>{heads}</tr></thead><tbody>{html}</tbody></table>"
    shown = markdown.scrolling(grid, "Turns") if rows else ""
    return _group(f"{shown}<p>{escape(end)}</p>"), f"{text}\n{end}".lstrip()


def whole(
    conversation: Conversation,
    turns: tuple[Turn, ...],
    notebooks: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """Return turns in full, as HTML and as text.

    Args:
        conversation: whose turns they are.
        turns: those to show.
        notebooks: which notebook a cell stands in, in words, by the cell's hash.
    """
    numbers = {turn.number: place for place, turn in enumerate(conversation.turns, 1)}
    parts = []
    for turn in turns:
        notes = "; ".join(marks(conversation, turn, notebooks))
        title = f"{numbers[turn.number]}. You{f' ({notes})' if notes else ''}"
        prompt = f'<pre dir="auto" style="{PROSE}">{escape(visible(turn.as_typed))}</pre>'
        parts.append(in_full(title, prompt, turn))
    if not turns:
        return table(conversation)
    return _group("".join(html for html, _ in parts)), "\n\n".join(text for _, text in parts)


def in_full(title: str, prompt: str, turn: Turn) -> tuple[str, str]:
    """Return a turn in full, as HTML and as text.

    Args:
        title: its title.
        prompt: its prompt, as safe HTML.
        turn: the turn.
    """
    states = output.state_lines(turn.reply)
    html = (
        f"<p><strong>{escape(title)}</strong></p>{prompt}"
        f"<p><strong>Reply</strong></p>{markdown.to_html(turn.reply.text)}"
        + "".join(f"<p><strong>{escape(visible(line))}</strong></p>" for line in states)
    )
    parts = (title, turn.as_typed, "", "Reply", turn.reply.text, *states)
    return html, "\n".join(map(to_terminal, parts))


def undone(change: Change | None) -> str:
    """Return a line on what an undo did."""
    return _line("Took back", change, change.went) if change else "Nothing to take back."


def redone(change: Change | None) -> str:
    """Return a line on what a redo did."""
    return _line("Did again", change, change.came) if change else "Nothing to do again."


def _line(did: str, change: Change, turns: tuple[Turn, ...]) -> str:
    what = f"{did} {CHANGES[change.kind]}"
    if change.kind in {"reset", "set aside", "load"}:
        return f"{what} ({counted(len(change.came or change.went), 'turn')})."
    return f"{what} {', '.join(f'“{one_line(turn.as_typed, EXCERPT)}”' for turn in turns[-1:])}."


def _summary(conversation: Conversation, order: str) -> str:
    count = len(conversation)
    if not count:
        return "The conversation is empty."
    stale = len(conversation.stale_turns())
    notes = f", {stale:,} stale (run their cells again)" if stale else ""
    return (
        f"{counted(count, 'turn')}{notes}, {order}. "
        "%chat_history 1 shows one in full, %chat_history all shows everything."
    )


def _group(html: str) -> str:
    box = f'class="chatmagic {UNTYPESET}" role="group" aria-label="Conversation"'
    return f"<div {box}>{html}</div>"
