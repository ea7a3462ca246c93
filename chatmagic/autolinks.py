"""Text of strangers in which no front end finds a link that leads elsewhere than to the web.

JupyterLab and Notebook 7 make links of what looks like an address in printed text and in
tracebacks, of any scheme: ``javascript://`` and ``data:`` too. A word joiner, which nobody
sees, keeps theirs apart. In the HTML of a reply they look for nothing.
"""

from __future__ import annotations

import re
from typing import Final

JOINER: Final = "\u2060"

# What such a link needs, up to the character before which a joiner ends it.
_ADDRESS: Final = re.compile(r"data(?=:(?:\S|\Z))|:/(?=/)")
_SCHEME: Final = re.compile(r"[A-Za-z0-9+.-]*\Z")
_FAR: Final = 42
"""How far back a scheme is looked for: further than the front ends look."""


def unlinked(text: str, before: str = "") -> str:
    """Give a text in which nothing but ``http://`` and ``https://`` makes a link.

    Args:
        text: a text, or a piece of one that is shown piece by piece.
        before: what was shown before, or at least the last 50 characters of it.
    """
    before = before[-50:]
    whole = before + text
    parts, done = [], len(before)
    for match in _ADDRESS.finditer(whole):
        at = match.end()
        scheme = _SCHEME.search(whole[max(match.start() - _FAR, 0) : match.start()])
        web = scheme is not None and scheme[0].lower() in {"http", "https"}
        if at < done or (match[0] != "data" and web):
            continue
        parts += [whole[done:at], JOINER]
        done = at
    return "".join([*parts, whole[done:]])
