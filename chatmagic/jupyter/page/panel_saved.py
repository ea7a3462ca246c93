"""The saved form of a panel: its conversation, and words where no panel can be shown."""

from __future__ import annotations

from typing import Final

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import MAIN, Turn
from chatmagic.conversation.window import Window
from chatmagic.jupyter.tables import Shown, page
from chatmagic.jupyter.transcript import MOST_LISTED, in_full
from chatmagic.render import reply_forms
from chatmagic.safe_text import counted

AS_SAVED: Final = "The panel's conversation, as saved:"
NOTHING_SAVED: Final = f"{AS_SAVED} nothing was asked yet."
_PLACES: Final = {"cell": "a cell", "panel": "the panel", "python": "Python"}

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
    """Return a turn for the saved form: in full if it is the panel's, else a line."""
    # Without the number of the cell, which differs in each run.
    asked = f"{window.index + 1}. You, in {_PLACES[turn.entry]}"
    asked += "" if window.thread == MAIN else f", in the thread {window.thread}"
    if turn.entry != "panel":
        return f"{asked}: {reply_forms.excerpt(turn.as_typed)}"
    return in_full(asked, turn)
