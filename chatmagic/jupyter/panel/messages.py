"""What the panel and the live gauge show, as values that a page can draw.

Whatever a page puts in as HTML is made by :mod:`chatmagic.render.markdown`; everything else is
plain text, with the characters that act made visible, and the page puts it in as text.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

from chatmagic import _json
from chatmagic.archive import output
from chatmagic.jupyter import transcript
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import ratelimit
from chatmagic.render import gauge, markdown
from chatmagic.session.events import HELD_BACK
from chatmagic.text import PROSE, UNTYPESET, one_line, to_terminal, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Turn
    from chatmagic.errors import ChatError, ChatInterrupted
    from chatmagic.models import Credits, Reply
    from chatmagic.protocol.ratelimit import RequestLimit

PAGE: Final = 30
"""How many turns a page is sent at once; it asks for earlier ones."""

MOST_SAVED: Final = 50
"""How many of the panel's turns, the newest, the saved transcript shows in full, and how many
of the others by a line."""
MOST_TEXT_SAVED: Final = 100_000
"""How many characters of the panel's replies it shows at most, the newest reply apart."""

MOST_PROMPT_DRAWN: Final = 20_000
"""How many characters a prompt has at most that is drawn as Markdown: pages wait for it."""

MOST_DRAWN: Final = 128
"""How many replies are kept as HTML: the saved transcript is made anew with each turn."""


def _absent(name: str, instead: str) -> dict[str, str]:
    """Give what stands for a widget where a page does not show it.

    JupyterLab shows the HTML, without its style sheet, in a notebook that is not trusted, and
    with it where it has no widgets. Elsewhere, as in an export, the style sheet hides it: what
    is saved stands below. LaTeX takes Markdown before plain text.
    """
    hidden, shown = ".chatmagic-absent", ".lm-Widget > * > .chatmagic-absent"
    style = f"{hidden} {{ display: none; }} {shown} {{ display: block; }}"
    todo = "run this cell again, or trust the notebook; it needs a page with widgets."
    other = f"{instead} goes on working without one."
    return {
        "text/html": '<div class="chatmagic">'
        f'<style>{style}</style><p class="chatmagic-absent">{name}: {todo}</p></div>',
        "text/markdown": "",
        "text/plain": f"{name} needs a live page with widgets; {other}",
    }


PANEL_ABSENT: Final = _absent("The chat panel", "%%chat")
GAUGE_ABSENT: Final = _absent("The live gauge", "%chat_credits")
NEEDS_A_PAGE: Final = PANEL_ABSENT["text/plain"]

AS_SAVED: Final = "The panel's conversation, as saved:"
NOTHING_SAVED: Final = f"{AS_SAVED} nothing was asked yet."
Noted = tuple[str, tuple[str, ...]]
"""Who asked a turn, and what is particular about it."""

STALE: Final = "stale: what stands above it has changed since"


def reply(reply: Reply) -> dict[str, Any]:
    """Give a reply, whole or in part."""
    # The gauge above the log tells the credits, once and as they are now.
    return {
        "html": _drawn(reply.text),
        "text": visible(reply.text),
        "states": [visible(line) for line in output.state_lines(reply)],
        "tokens": gauge.usage_words(reply.usage),
        "model": one_line(reply.model or "", 40),
    }


def prompt(text: str) -> dict[str, Any]:
    """Give a prompt as its exact text, and as HTML for the page to show."""
    return {"prompt": visible(text), "asked": _drawn_prompt(text)}


def turn(turn: Turn, noted: Noted, after: int) -> dict[str, Any]:
    """Give a turn.

    Args:
        turn: a live turn.
        noted: what there is to say about it (:func:`notes`).
        after: number of the turn that it stands behind; 0 is none.
    """
    return {
        "n": turn.number,
        "after": after,
        "by": noted[0],
        "mine": turn.entry == "panel",
        **prompt(turn.as_typed),
        "notes": noted[1],
        **reply(turn.reply),
        "took": turn.reply.took,
    }


def turns(conversation: Conversation, *, before: int | None = None) -> tuple[list[Any], int]:
    """Give a page of turns, and how many stand before it.

    Args:
        conversation: the conversation.
        before: number of the turn before which they stand; ``None`` gives the newest.
    """
    live = conversation.turns
    numbers = [one.number for one in live]
    end = numbers.index(before) if before in numbers else len(live)
    start = max(0, end - PAGE)
    told = notes(conversation)
    page = [
        turn(live[place], told[numbers[place]], numbers[place - 1] if place else 0)
        for place in range(start, end)
    ]
    return page, start


def notes(conversation: Conversation) -> dict[int, Noted]:
    """Say who asked each live turn and what is particular about it, by its number."""
    stale = {one.number for one in conversation.stale_turns()}
    found = {}
    for one in conversation.turns:
        said = [STALE] if one.number in stale else []
        if settings := gauge.settings_words(one.parameters, one.asked_model):
            said.append(settings)
        if one.last is not None:
            said.append(f"sent with the last {len(one.carried):,} turns")
        if one.reply.origin != "live":
            said.append(one.reply.origin)
        if one.reply.held_back:
            said.append(HELD_BACK)
        found[one.number] = by(one.asker, one.entry), tuple(said)
    return found


def difference(before: Mapping[int, Noted], conversation: Conversation) -> dict[str, Any] | None:
    """Give what changed of the live turns since a page was told of them.

    Args:
        before: what :func:`notes` said then, in the order of the turns.
        conversation: as it is now.

    Returns:
        The numbers that are ``gone``, the new ``turns``, and new ``notes`` of others;
        ``None`` where so much changed that a page had better ask for everything.
    """
    now = notes(conversation)
    live = conversation.turns
    came = [place for place, one in enumerate(live) if one.number not in before]
    stayed = [number for number in before if number in now]
    if stayed != [number for number in now if number in before] or len(came) > PAGE:
        return None
    return {
        "gone": [number for number in before if number not in now],
        "turns": [
            turn(live[place], now[live[place].number], live[place - 1].number if place else 0)
            for place in came
        ],
        "notes": [[number, *now[number]] for number in stayed if now[number] != before[number]],
    }


def credits(
    figures: Credits | None,
    took: int | None,
    *,
    now: datetime,
    requests: RequestLimit | None = None,
) -> dict[str, Any]:
    """Give the gauge.

    Args:
        figures: the latest credits; ``None`` is unknown.
        took: about how many credits the last turn took; ``None`` is not known.
        now: the time by which the page counts, aware.
        requests: how many requests are left; ``None`` is unknown.
    """
    seen = None if figures is None else figures.seen_at
    limit, left, resets = (
        (None, None, None)
        if figures is None
        else (figures.limit, figures.remaining, figures.resets_at)
    )
    return {
        "words": crediting.left_words(figures),
        "level": crediting.level(figures),
        "limit": limit,
        "left": left,
        "took": took,
        "resets": _json.iso(resets),
        "seen": _json.iso(seen),
        "now": _json.iso(now),
        "requests": "" if requests is None else ratelimit.words(requests),
        "until": None if requests is None else _json.iso(requests.ends_at),
    }


def failure(error: BaseException) -> tuple[str, str]:
    """Give what happened and what to do, in plain words."""
    told: ChatError | ChatInterrupted | None = (
        error if hasattr(error, "hint") else None  # type: ignore[assignment] # ours have one
    )
    if told is None:
        return one_line(f"{type(error).__name__}: {error}", 300), ""
    return visible(told.message), visible(told.hint or "")


def ended(reply: Reply) -> str:
    """Say how a reply ended, for the status region."""
    count = len(reply.text.split())
    words = f"{count:,} word{'' if count == 1 else 's'}"
    if reply.state == "complete":
        return f"Complete, {words}."
    return f"{reply.state.capitalize()} after {words}; what came is kept, marked."


def live(text: str) -> str:
    """Give a reply under way as safe HTML, without code colours or math."""
    return markdown.to_html(text, live=True)


def by(asker: str, entry: str) -> str:
    """Say where a question was asked."""
    return "the panel" if entry == "panel" else one_line(asker or entry, 40)


def saved(conversation: Conversation) -> tuple[str, str]:
    """Give what a saved notebook shows of the panel, as HTML and as text.

    The panel's own turns are there in full, those of cells, which have outputs of their
    own, by a line; of a long conversation the newest of either, and how many more there are.
    """
    live = conversation.turns
    kept = _kept(live)
    parts = [_saved(place, one) for place, one in enumerate(live, 1) if one.number in kept]
    if more := len(live) - len(parts):
        parts.insert(0, _more(more))
    html = "".join(part for part, _ in parts)
    words = AS_SAVED if parts else NOTHING_SAVED
    text = "\n\n".join([words, *(part for _, part in parts)])
    line = f'<p style="{gauge.QUIET}">{escape(words)}</p>'
    kinds = f"chatmagic chatmagic-saved {UNTYPESET}"
    box = f'class="{kinds}" role="group" aria-label="Saved conversation"'
    return f"<div {box}>{line}{html}</div>", text


def _kept(live: Sequence[Turn]) -> frozenset[int]:
    """Give the numbers of the turns that the saved transcript shows."""
    mine = [one for one in live if one.entry == "panel"][-MOST_SAVED:]
    text = 0
    for count, one in enumerate(reversed(mine)):
        text += len(one.reply.text)
        if count and text > MOST_TEXT_SAVED:
            mine = mine[-count:]
            break
    others = [one for one in live if one.entry != "panel"][-MOST_SAVED:]
    return frozenset(one.number for one in mine + others)


@lru_cache(maxsize=MOST_DRAWN)
def _drawn(text: str) -> str:
    """Give a whole reply as safe HTML."""
    return markdown.to_html(text)


@lru_cache(maxsize=MOST_DRAWN)
def _drawn_prompt(text: str) -> str:
    """Give a prompt as safe HTML: its Markdown, line for line, and each formula as typed."""
    if len(text) > MOST_PROMPT_DRAWN:
        return f'<pre dir="auto" style="{PROSE}">{escape(visible(text))}</pre>'
    return markdown.to_html(text, live=True, breaks=True)


def _more(count: int) -> tuple[str, str]:
    """Say how many turns are not there."""
    what = "turn is" if count == 1 else "turns are"
    line = f"{count:,} earlier {what} not saved here; %chat_save keeps all of them."
    return f"<p>{escape(line)}</p>", line


_PLACES: Final = {"cell": "a cell", "panel": "the panel", "python": "Python"}


def _saved(place: int, turn: Turn) -> tuple[str, str]:
    # Not the number of the cell, which is another one at each run.
    asked = f"{place}. You, in {_PLACES[turn.entry]}"
    typed = turn.as_typed
    if turn.entry != "panel":
        line = f"{asked}: {one_line(typed, transcript.EXCERPT)}"
        return f"<p>{escape(line)}</p>", line
    states = output.state_lines(turn.reply)
    html = (
        f"<p><strong>{escape(asked)}</strong></p>"
        f"{_drawn_prompt(typed)}<p><strong>Reply</strong></p>{_drawn(turn.reply.text)}"
        + "".join(f"<p><strong>{escape(visible(line))}</strong></p>" for line in states)
    )
    text = "\n".join(
        to_terminal(part) for part in (asked, typed, "Reply:", turn.reply.text, *states)
    )
    return html, text
