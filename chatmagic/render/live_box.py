"""Box of a reply under way."""

from __future__ import annotations

from typing import Final

from chatmagic.text import UNTYPESET

REPLY: Final = f"chatmagic-reply {UNTYPESET}"
"""The classes of a reply's box."""
# No formula may be drawn over what stands around the reply, and no word makes the page wider.
CLIP: Final = "overflow-x: auto; overflow-y: hidden; overflow-wrap: break-word;"
QUIET: Final = (
    "color: var(--jp-ui-font-color2, color-mix(in srgb, currentColor 75%, transparent)); "
    "font-size: 85%;"
)


def frame(html: str) -> str:
    """Return a reply's HTML as a named group.

    Args:
        html: safe HTML.
    """
    return f'<div class="chatmagic {UNTYPESET}" role="group" aria-label="Reply">{html}</div>'


def live_box(html: str, side: str, mark: str) -> str:
    """Return the box of a reply under way, by whose mark a page finds it.

    Args:
        html: what :func:`chatmagic.render.sanitize.clean` has returned.
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
