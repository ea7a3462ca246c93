"""A conversation for readers, as HTML and as text: its turns, a request, a change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Final

from chatmagic.archive import output
from chatmagic.conversation.conversation import Conversation, reply_name
from chatmagic.conversation.question import Part, parts_of
from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import STEERING, instructed
from chatmagic.conversation.template import bare
from chatmagic.conversation.turn import MAIN, Turn
from chatmagic.conversation.window import Window
from chatmagic.models import Credits, Message
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.request import Request
from chatmagic.render import markdown, reply_forms
from chatmagic.render.sanitize import QUIET, frame
from chatmagic.safe_text import PROSE, columns, counted, one_line, to_terminal, visible
from chatmagic.session.asker import Preview

Shown = tuple[str, str]
"""A part of an output as safe HTML and as text."""
Row = Sequence[str | Shown]
"""The cells of a table's row: untrusted text, or safe HTML with its text."""
MOST_LISTED: Final = 100
"""Largest number of listed turns, the newest, by default."""
_TURNS: Final = ("Turn", "You", "Reply", "Notes")
# No word, however long, makes a column wide; short ones stay whole.
_TOP: Final = "text-align: left; vertical-align: top;"
_FACT: Final = f"{_TOP} white-space: nowrap;"
_WRAPPED: Final = "overflow-wrap: anywhere; min-width: 5.5em;"
AS_RUN = "in the order of the first run"
AS_ON_PAGE = "in the order of the cells in the page"
AS_SAVED: Final = "The panel's conversation, as saved:"
NOTHING_SAVED: Final = f"{AS_SAVED} nothing was asked yet."
_PLACES: Final = {"cell": "a cell", "panel": "the panel", "python": "Python"}


def marks(
    conversation: Conversation,
    notebooks: Mapping[str, str] | None = None,
    here: Window | None = None,
) -> Callable[[Turn], str]:
    """Return a function that gives the notes on a turn, in words.

    Args:
        conversation: the conversation.
        notebooks: the notebook of a cell, in words, by the cell's hash.
        here: the window at whose place turns are hidden; ``None`` takes the place below all turns.
    """
    here = conversation.window() if here is None else here
    causes = conversation.causes()
    replies = conversation.replies

    def notes_on(turn: Turn) -> str:
        notes: list[str] = [] if turn.state == "complete" else [turn.state]
        if notebook := (notebooks or {}).get(turn.owner or ""):
            notes.append(notebook)
        mine = replies[turn.number]
        if len(mine) > 1:
            notes.append(reply_name(turn, mine))
        cause = causes.cause_of(turn.number)
        notes += output.turn_notes(turn, cause, is_hidden=here.hides(turn))
        if turn.reply.took is not None:
            notes.append(f"cost about {counted(turn.reply.took, 'credit')}")
        return "; ".join(notes)

    return notes_on


def listing(
    conversation: Conversation,
    order: str = AS_RUN,
    notebooks: Mapping[str, str] | None = None,
    here: Window | None = None,
    listed: tuple[int, int] | None = None,
) -> Shown:
    """Return a table of turns, as HTML and as text.

    Args:
        conversation: the conversation.
        order: the present order, in words.
        notebooks: as for :func:`marks`.
        here: the window of a question; ``None`` to leave it out.
        listed: numbers of the first and the last listed turn; ``None`` lists the newest.
    """
    count = len(conversation)
    first, last = listed or (max(1, count - MOST_LISTED + 1), count)
    rows = _rows(conversation, notebooks, range(first, last + 1), here)
    carried = "" if here is None else _carried(here, count)
    end = f"{_summary(conversation, order, here)}{carried}{_more(first, last, count)}"
    return tabulated(_TURNS, rows, "Turns", end)


def _more(first: int, last: int, count: int) -> str:
    """Return words on the range of listed turns, and the command for those before them."""
    if (first, last) == (1, count):
        return ""
    before = f"{max(1, first - MOST_LISTED)}-{first - 1}"
    shows = f"; %chat_history {before} lists those before" if first > 1 else ""
    return f" Turns {first:,} to {last:,} are listed{shows}."


def _carried(here: Window, count: int) -> str:
    """Return words on the number of turns that a question would carry, if not all."""
    if len(here.turns) == count:
        return ""
    return f" A question in this cell would carry {len(here.turns) or 'none'} of them."


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
    here: Window | None = None,
) -> list[tuple[str, ...]]:
    """Return number, prompt, reply and notes of turns by their numbers."""
    rows: list[tuple[str, ...]] = []
    notes = marks(conversation, notebooks, here)
    turns = conversation.turns
    for number in numbers:
        turn = turns[number - 1]
        asked = reply_forms.excerpt(turn.as_typed)
        answer = reply_forms.excerpt(turn.reply.text, turn.format)
        rows.append((str(number), asked, answer, notes(turn)))
    return rows


def tabulated(head: Sequence[str], rows: Sequence[Row], name: str, end: str) -> Shown:
    """Return a table with a line below, as HTML and as text.

    Args:
        head: the names of its columns.
        rows: the cells of each row: a number first, notes last.
        name: its subject, for a screen reader.
        end: the line.
    """
    texts = [[cell if isinstance(cell, str) else cell[1] for cell in row] for row in rows]
    lines = [
        f"{number}. " + "\n   ".join([*words, *([f"({notes})"] if notes else [])])
        for number, *words, notes in texts
    ]
    return page(*([(grid(head, rows, name), "\n".join(lines))] if rows else []), end)


def grid(head: Sequence[str], rows: Sequence[Row], name: str) -> str:
    """Return a table as HTML; the first cell of a row is its head.

    Args:
        head: the names of its columns; empty for rows of a name and its words.
        rows: the cells.
        name: its subject, for a screen reader.
    """
    shown = [[escape(cell) if isinstance(cell, str) else cell[0] for cell in row] for row in rows]
    columns = [" ".join(column) for column in zip(*shown, strict=True)][1:]
    sides = ["right" if re.fullmatch(r"(?=.*\d)[\d,? ]+", column) else "left" for column in columns]
    styles = [f"{_WRAPPED if side == 'left' else ''} text-align: {side};" for side in sides]
    cells = [f'<td dir="auto" style="vertical-align: top; {style}">' for style in styles]
    html = "".join(
        f'<tr><th scope="row" style="{_TOP if head else _FACT}">{first}</th>'
        f"{''.join(f'{cell}{words}</td>' for cell, words in zip(cells, others, strict=True))}</tr>"
        for first, *others in shown
    )
    named = zip(head, ["left", *sides], strict=bool(head))
    heads = "".join(f'<th scope="col" style="text-align: {side};">{at}</th>' for at, side in named)
    heads = heads and f"<thead><tr>{heads}</tr></thead>"
    return markdown.scrolling(f"{markdown.TABLE}>{heads}<tbody>{html}</tbody></table>", name)


def page(*parts: str | Shown, name: str = "Conversation") -> Shown:
    """Return lines and other parts, one below the other, as HTML and as text.

    Args:
        parts: the lines, as untrusted text, and the others as safe HTML and as text.
        name: their subject, for a screen reader.
    """
    html, text = _joined(parts)
    return frame(html, name), text


def folded(summary: str, *parts: str | Shown) -> Shown:
    """Return parts folded below a line, as HTML and as text.

    Args:
        summary: the line.
        parts: as for :func:`page`.
    """
    html, text = _joined(parts)
    return f"<details><summary>{escape(summary)}</summary>{html}</details>", text


def _joined(parts: Iterable[str | Shown]) -> Shown:
    pairs = [
        (f"<p>{escape(visible(part))}</p>", to_terminal(part)) if isinstance(part, str) else part
        for part in parts
    ]
    return "".join(html for html, _ in pairs), "\n".join(text for _, text in pairs)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> Shown:
    """Return a table, as HTML and as text.

    Args:
        heads: the names of its columns.
        rows: the texts of its cells.
        name: its subject, for a screen reader.
    """
    return grid(heads, rows, name), "\n".join(map(to_terminal, columns([heads, *rows])))


def facts(rows: Sequence[tuple[str, str]], name: str) -> Shown:
    """Return a table of facts without headings, as HTML and as text.

    Args:
        rows: the name of each, and its words.
        name: its subject, for a screen reader.
    """
    return grid((), rows, name), to_terminal("\n".join(map(": ".join, rows)))


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
    title += f" ({notes})" if notes else ""
    parts = (title, turn.as_typed, "", "Reply", reply, *states)
    return html, "\n".join(map(to_terminal, parts))


def _summary(conversation: Conversation, order: str, here: Window | None) -> str:
    count = len(conversation)
    if not count and here is not None and any(conversation.threads.values()):
        return f"The thread {here.thread} has no turn yet. %chat_thread lists the threads."
    if not count:
        return "The conversation is empty. %chat_load restores the saved notebook's conversation."
    stale = len(conversation.stale_turns())
    notes = f", {stale:,} stale (run their cells again)" if stale else ""
    return (
        f"{counted(count, 'turn')}{notes}, {order}. "
        "%chat_history 1 shows one in full, %chat_history all shows everything."
    )


# Replacement for the panel in a page that does not show it. JupyterLab shows the HTML: without its
# style sheet in a notebook that is not trusted, and with it if there are no widgets. Elsewhere, as
# in an export, the style sheet hides it, and the saved text below is shown. LaTeX takes Markdown
# before plain text.
PANEL_ABSENT: Final = {
    "text/html": '<div class="chatmagic">'
    "<style>.chatmagic-absent { display: none; } "
    ".lm-Widget > * > .chatmagic-absent { display: block; }</style>"
    '<p class="chatmagic-absent">The chat panel: run this cell again, or trust the notebook; it '
    "needs a page with widgets.</p></div>",
    "text/markdown": "",
    "text/plain": "The chat panel needs a live page with widgets; %%chat goes on working without "
    "one.",
}
NEEDS_A_PAGE: Final = PANEL_ABSENT["text/plain"]


def saved(conversation: Conversation) -> Shown:
    """Return the saved form of the panel's conversation, as HTML and as text.

    The panel's own turns are shown in full. Turns of cells have outputs of their own, and get a
    line each. Of a long conversation only the newest turns are shown, with the number of the
    others.

    Args:
        conversation: the kernel's conversation.
    """
    windows = conversation.windows
    parts = [_turn(*window) for window in windows[-MOST_LISTED:]]
    if more := len(windows) - len(parts):
        line = f"{counted(more, 'earlier turn')} not saved here; %chat_save keeps all of them."
        parts.insert(0, line)
    html, text = page(AS_SAVED if parts else NOTHING_SAVED, *parts, name="Saved conversation")
    return html.replace("chatmagic", "chatmagic chatmagic-saved", 1), text


def _turn(turn: Turn, window: Window) -> str | Shown:
    # Without the number of the cell, which differs in each run.
    asked = f"{window.index + 1}. You, in {_PLACES[turn.entry]}"
    asked += "" if window.thread == MAIN else f", in the thread {window.thread}"
    if turn.entry != "panel":
        return f"{asked}: {reply_forms.excerpt(turn.as_typed)}"
    return in_full(asked, turn)


def dry_run(preview: Preview, credits: Credits | None) -> Shown:
    """Return the request of a dry run, as HTML and as text.

    Args:
        preview: the request.
        credits: the credits that are left; ``None`` if unknown.
    """
    rows = _where(preview)
    if preview.notes:
        rows.append(("Notes", f"{'; '.join(preview.notes)}."))
    lines = ("Dry run: nothing was sent, and nothing is kept.", facts(rows, "Question"))
    rate = preview.rate
    estimate = "Tokens: no estimate yet, because no reply has reported its tokens."
    if rate is not None:
        estimate = f"The tokens are an estimate: {rate:.2g} per character, as in the last reply."
    left = crediting.words(credits)
    end = [estimate, f"Before this request: {left}."] if left else [estimate]
    return _shown(lines, preview.parts, rate, end, preview.request)


def request_of(conversation: Conversation, place: int) -> Shown:
    """Return the request of a turn, as HTML and as text.

    Args:
        conversation: the conversation of the turn.
        place: its place among the live turns, from 1.
    """
    turns = conversation.turns
    known = conversation.known_turns
    turn = turns[place - 1]
    places = {live.number: at for at, live in enumerate(turns, 1)}
    carried = [(number, known.get(number)) for number in turn.carried]
    sizes = [
        (places.get(number, 0), sum(len(message.content) for message in above.messages))
        for number, above in carried
        if above is not None
    ]
    above = [turn for _, turn in carried]
    requests = _requests(turn, above)
    digested = _requests(bare(turn), [earlier and bare(earlier) for earlier in above])
    sent = None if turn.record is None else turn.record.request
    same = [
        request for request, body in zip(requests, digested, strict=True) if body.digest() == sent
    ]
    cells = [
        value
        for asked in (turn, *above)
        for value in (() if asked is None else asked.values)
        if value.kind == "markdown"
    ]
    end = "By its digest, this is the request as it was sent."
    if not same or any(cell.text is None for cell in cells):
        end = "Not all of it is kept: names stand for values, and instructions may be missing."
    elif cells:
        end = "By its digest, which leaves Markdown cells out, this is the request as it was sent."
    parts = parts_of(sizes, turn.instructions, turn)
    return _shown([f"Turn {place:,} was sent with:"], parts, None, [end], [*same, *requests][0])


def _requests(turn: Turn, carried: Sequence[Turn | None]) -> list[Request]:
    """Return the requests that a turn may have been sent as.

    Args:
        turn: the turn.
        carried: the turns that it carried; ``None`` for one that is not known.
    """
    before = [message for above in carried for message in (above.messages if above else _LOST)]
    extra = {} if turn.asked_model is None else {"model": turn.asked_model}
    request = turn.request(before, extra)
    given = turn.instructions
    if given is None or given.text is None:
        return [request]
    return [
        replace(request, messages=instructed(request.messages, given, system_role=role))
        for role in (False, True)
    ]


_LOST: Final = (
    Message("user", "[a turn that is not known here]"),
    Message("assistant", "[its reply]"),
)


def _where(preview: Preview) -> list[tuple[str, str]]:
    """Return rows on the address and the headers of the request, without the key."""
    cassette = preview.cassette
    endpoint = preview.endpoint
    if cassette is not None and cassette.mode == "replay":
        return [("Cassette", f"{cassette.name} is replayed here, so nothing would be sent.")]
    rows = []
    if endpoint is not None:
        key = "no key" if endpoint.key is None else f"key sent as {endpoint.auth}"
        others = (f"{one_line(name)}: …" for name in preview.extra_headers)
        rows = [("Posted to", endpoint.posted_to()), ("Headers", ", ".join([key, *others]))]
    if cassette is not None and cassette.mode == "record":
        rows.append(("Cassette", f"{cassette.name} answers the requests that it holds."))
    return rows


def _shown(
    lines: Iterable[str | Shown],
    parts: Sequence[Part],
    rate: float | None,
    end: Iterable[str],
    request: Request,
) -> Shown:
    """Return lines, a table of the parts, more lines and the body, as HTML and as text."""
    body = json.dumps(request.to_json(), ensure_ascii=False, indent=2)
    rows = [
        (one_line(name), f"{size:,}", *([] if rate is None else [f"{round(rate * size):,}"]))
        for name, size in (*parts, ("in all", sum(size for _, size in parts)))
    ]
    heads = ("Part", "Characters", *([] if rate is None else ["Tokens, about"]))
    shown = f'<pre dir="auto" style="{PROSE}">{escape(visible(body))}</pre>', to_terminal(body)
    details = folded(f"The request, {counted(len(body), 'character')} as JSON", shown)
    sizes = table(heads, rows, "Parts of the request")
    return page(*lines, sizes, *end, details, name="Request")


CHANGES: Final = {
    "ask": "the question",
    "re-run": "the new reply to",
    "retry": "the new reply to",
    "pick": "the choice of a reply to",
    **{kind: f"the {kind}" for kind in STEERING},
    "reset": "the reset",
    "deletion": "the deletion",
    "removal": "the removal of deleted cells",
    "load": "the load",
}
"""The changes of a conversation, as undo and redo name them."""


def undone(change: Change | None) -> str:
    """Return a line on the change that was undone.

    Args:
        change: the change; ``None`` for none.
    """
    return _changed("Undone", change, change.went) if change else "Nothing to undo."


def redone(change: Change | None) -> str:
    """Return a line on the change that a redo did again.

    Args:
        change: the change; ``None`` for none.
    """
    return _changed("Redone", change, change.came) if change else "Nothing to redo."


def _changed(did: str, change: Change, turns: tuple[Turn, ...]) -> str:
    words = f"{did}: {CHANGES[change.kind]}"
    if change.kind in {"reset", "deletion", "removal", "load"}:
        count = len(change.came or change.went)
        others = [f"{kind.removesuffix('s')}s" for kind in change.steered]
        parts = [counted(count, "turn")] if count or not others else []
        return f"{words} ({' and '.join([*parts, *others])})."
    if change.kind in STEERING:
        return f"{words}."
    return f"{words} {', '.join(f'“{reply_forms.excerpt(turn.as_typed)}”' for turn in turns[-1:])}."
