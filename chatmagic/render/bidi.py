"""In which direction each part of a stranger's text is read: words of several languages in one."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

_DIRECTED: Final = frozenset(
    f"{name}_open"
    for name in ("paragraph", "heading", "bullet_list", "ordered_list", "blockquote", "table")
) | {"th_open", "td_open"}
_FROM_RIGHT: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def direct(tokens: Sequence[Token]) -> str:
    """Say of each part of a reply in which direction it is read, where that is not its parent's.

    The page's own way (``dir="auto"`` on each part) takes code for words, and would turn a
    list around by each of its items.

    Args:
        tokens: of the whole reply; they are told ``dir`` as an attribute, and ``side`` as a
            word for the renderer where they are read from the right.

    Returns:
        The direction of the reply as a whole: ``rtl``, or else what the page finds.
    """
    whole = _side(tokens) or "auto"
    sides = [whole if whole == "rtl" else "ltr"]
    for at, token in enumerate(tokens):
        if token.nesting < 0:
            sides.pop()
            continue
        own = sides[-1]
        if token.nesting and token.type in _DIRECTED:
            end = next(i for i in range(at + 1, len(tokens)) if tokens[i].level == token.level)
            own = _side(tokens[at:end]) or own
            if own != sides[-1]:
                token.attrSet("dir", own)
        for part in (token, *(token.children or ())) if own == "rtl" else ():
            part.meta = {**part.meta, "side": own}
        if token.nesting:
            sides.append(own)
    return "rtl" if whole == "rtl" else "auto"


def _side(tokens: Sequence[Token]) -> str:
    """Give the direction of the first word outside of code and formulas; nothing without one."""
    for token in tokens:
        for child in token.children or ():
            for char in child.content if child.type in {"text", "image"} else "":
                kind = unicodedata.bidirectional(char)
                if kind in {"L", "R", "AL"}:
                    return "ltr" if kind == "L" else "rtl"
    return ""


def coded(token: Token) -> str:
    """Give the direction that code must be told, where it may else be read from the right."""
    told = token.meta.get("side") == "rtl" or _FROM_RIGHT.search(token.content)
    return "ltr" if told else ""
