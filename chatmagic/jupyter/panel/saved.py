"""The output that is saved beside a panel: the conversation, for pages without a kernel."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from chatmagic.jupyter import transcript
from chatmagic.jupyter.panel.snapshot import prompt_html
from chatmagic.render import gauge
from chatmagic.text import UNTYPESET, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Turn

MOST_SAVED: Final = 50
"""How many of the panel's turns, the newest, are saved in full, and how many others by a line."""
MOST_TEXT_SAVED: Final = 100_000
"""How many characters of the panel's replies are saved at most, the newest reply apart."""

AS_SAVED: Final = "The panel's conversation, as saved:"
NOTHING_SAVED: Final = f"{AS_SAVED} nothing was asked yet."
_PLACES: Final = {"cell": "a cell", "panel": "the panel", "python": "Python"}


def _absent(name: str, instead: str) -> dict[str, str]:
    """Return what stands for a widget where a page does not show it.

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


def saved(conversation: Conversation) -> tuple[str, str]:
    """Return what a saved notebook shows of the panel, as HTML and as text.

    The panel's own turns are there in full, those of cells, which have outputs of their
    own, by a line; of a long conversation the newest of either, and how many more there are.
    """
    turns = conversation.turns
    kept = _kept(turns)
    parts = [_turn(place, turn) for place, turn in enumerate(turns, 1) if turn.number in kept]
    if more := len(turns) - len(parts):
        what = "turn is" if more == 1 else "turns are"
        line = f"{more:,} earlier {what} not saved here; %chat_save keeps all of them."
        parts.insert(0, (f"<p>{escape(line)}</p>", line))
    html = "".join(part for part, _ in parts)
    words = AS_SAVED if parts else NOTHING_SAVED
    text = "\n\n".join([words, *(part for _, part in parts)])
    line = f'<p style="{gauge.QUIET}">{escape(words)}</p>'
    kinds = f"chatmagic chatmagic-saved {UNTYPESET}"
    box = f'class="{kinds}" role="group" aria-label="Saved conversation"'
    return f"<div {box}>{line}{html}</div>", text


def _kept(turns: Sequence[Turn]) -> frozenset[int]:
    """Return the numbers of the turns that are saved."""
    mine = [turn for turn in turns if turn.entry == "panel"][-MOST_SAVED:]
    length = 0
    for count, turn in enumerate(reversed(mine)):
        length += len(turn.reply.text)
        if count and length > MOST_TEXT_SAVED:
            mine = mine[-count:]
            break
    others = [turn for turn in turns if turn.entry != "panel"][-MOST_SAVED:]
    return frozenset(turn.number for turn in mine + others)


def _turn(place: int, turn: Turn) -> tuple[str, str]:
    # Not the number of the cell, which is another one at each run.
    asked = f"{place}. You, in {_PLACES[turn.entry]}"
    if turn.entry != "panel":
        line = f"{asked}: {one_line(turn.as_typed, transcript.EXCERPT)}"
        return f"<p>{escape(line)}</p>", line
    return transcript.in_full(asked, prompt_html(turn.as_typed), turn)
