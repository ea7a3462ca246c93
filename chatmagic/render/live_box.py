"""Box of a reply under way, and its first words in it; light, so that they wait for no renderer."""

from __future__ import annotations

from html import escape
from typing import Final

from chatmagic.text import PROSE, UNTYPESET, visible

REPLY: Final = f"chatmagic-reply {UNTYPESET}"
"""The classes of a reply's box."""
# No formula may be drawn over what stands around the reply, and no word makes the page wider.
CLIP: Final = "overflow-x: auto; overflow-y: hidden; overflow-wrap: break-word;"
QUIET: Final = (
    "color: var(--jp-ui-font-color2, color-mix(in srgb, currentColor 75%, transparent)); "
    "font-size: 85%;"
)
_MOST: Final = 1_500  # characters that are shown; the renderer comes soon


def frame(html: str) -> str:
    """Return a reply's HTML as a named group.

    Args:
        html: safe HTML.
    """
    return f'<div class="chatmagic {UNTYPESET}" role="group" aria-label="Reply">{html}</div>'


def live_box(html: str, side: str, mark: str) -> str:
    """Return the box of a reply under way, by whose mark a page finds it.

    Args:
        html: what :func:`chatmagic.render.sanitize.clean` has returned, or blocks of this module.
        side: the direction of the reply as a whole: ``auto``, ``ltr`` or ``rtl``.
        mark: classes of ours, which no reply can have.
    """
    return f'<div class="{REPLY} {mark}" dir="{side}" style="{CLIP}">\n{html}</div>'


def live_mark(live: str) -> str:
    """Return the classes by which a page finds the box of a reply under way.

    Args:
        live: the name of its ask in pages.
    """
    return f"chatmagic-live chatmagic-live-{live}"


class FirstWords:
    """First words of a reply, as they came, until there is a renderer.

    Args:
        text: the reply's beginning.
        format: ``markdown``, ``text``, ``code`` or ``json``.
    """

    def __init__(self, text: str, format: str) -> None:
        """Make one block of them."""
        shown = escape(visible(text[:_MOST].strip()), quote=False)
        block = f"<p>{shown}</p>" if format == "markdown" else f'<pre style="{PROSE}">{shown}</pre>'
        self.blocks = [f"{block}\n"]

    def box(self, mark: str) -> str:
        """Return them in the box of the reply.

        Args:
            mark: classes by which a page finds the box.
        """
        return live_box("".join(self.blocks), "auto", mark)
