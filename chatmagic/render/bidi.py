"""Direction of each part of untrusted text, which may have words of several languages."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from markdown_it.token import Token

from chatmagic.render import sanitize

if TYPE_CHECKING:
    from collections.abc import Sequence

_STYLES: Final = {
    "paragraph_open": sanitize.ALIGNED["right"],  # front ends say left
    **dict.fromkeys(("bullet_list_open", "ordered_list_open"), sanitize.LIST_FROM_RIGHT),
    "blockquote_open": sanitize.QUOTE_FROM_RIGHT,
}
"""The style of what is read from the right."""
_DIRECTED: Final = frozenset(_STYLES) | {"heading_open", "table_open", "th_open", "td_open"}
_FROM_RIGHT: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def set_directions(tokens: Sequence[Token], whole: str = "") -> str:
    """Give each part of a reply its direction, where that is not its parent's.

    The page's own way (``dir="auto"`` on each part) takes code for words, and would turn a
    list around by each of its items.

    Args:
        tokens: of the reply, or of a part of it; they get ``dir`` and ``style`` as attributes, and
            ``side`` as meta for the renderer where they are read from the right.
        whole: direction of the part above, which is the whole reply's; empty for none.

    Returns:
        The direction of the reply as a whole: ``rtl``, or else ``auto``.
    """
    whole = whole or side(tokens) or "auto"
    sides = [whole if whole == "rtl" else "ltr"]
    for at, token in enumerate(tokens):
        if token.nesting < 0:
            sides.pop()
            continue
        own = sides[-1]
        if token.nesting and token.type in _DIRECTED:
            end = next(i for i in range(at + 1, len(tokens)) if tokens[i].level == token.level)
            own = side(tokens[at:end]) or own
            if own != sides[-1]:
                if token.hidden:  # the only paragraph of a point has no element of its own
                    tokens[at + 1].children = _in_span(tokens[at + 1].children or [], own)
                token.attrSet("dir", own)
            if own == "rtl" and token.type in _STYLES:
                token.attrSet("style", _STYLES[token.type])
        for part in (token, *(token.children or ())) if own == "rtl" else ():
            part.meta = {**part.meta, "side": own}
        if token.nesting:
            sides.append(own)
    return "rtl" if whole == "rtl" else "auto"


def _in_span(children: list[Token], side: str) -> list[Token]:
    return [
        Token("span_open", "span", 1, {"dir": side}),
        *children,
        Token("span_close", "span", -1),
    ]


def side(tokens: Sequence[Token]) -> str:
    """Return the direction of the first word outside of code and formulas; empty without one."""
    for token in tokens:
        for child in token.children or ():
            for char in child.content if child.type in {"text", "image"} else "":
                kind = unicodedata.bidirectional(char)
                if kind in {"L", "R", "AL"}:
                    return "ltr" if kind == "L" else "rtl"
    return ""


def code_direction(token: Token) -> str:
    """Return ``ltr`` for code that would else be read from the right; empty for other code."""
    turned = token.meta.get("side") == "rtl" or _FROM_RIGHT.search(token.content)
    return "ltr" if turned else ""
