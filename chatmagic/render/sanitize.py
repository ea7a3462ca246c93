"""The box of a reply, and the allow-lists of its HTML: tags, attributes and styles.

Each style has a name here, because the allow-lists hold whole values of ``style``.
"""

from __future__ import annotations

from html import escape
from typing import Final
from unicodedata import combining

import nh3
from pygments.token import STANDARD_TYPES

from chatmagic.render import links
from chatmagic.safe_text import PROSE, TYPESET, UNTYPESET, visible

REPLY: Final = f"chatmagic-reply {UNTYPESET}"
"""The classes of a reply's box."""
# No formula is drawn outside the reply's box, and no word makes the page wider.
CLIP: Final = "overflow-x: auto; overflow-y: hidden; overflow-wrap: break-word;"
QUIET: Final = (
    "color: var(--jp-ui-font-color2, color-mix(in srgb, currentColor 75%, transparent)); "
    "font-size: 85%;"
)


def frame(html: str, name: str = "Reply") -> str:
    """Return the HTML of an output in a group with an accessible name.

    Args:
        html: safe HTML.
        name: its subject, for a screen reader.
    """
    return f'<div class="chatmagic {UNTYPESET}" role="group" aria-label="{name}">{html}</div>'


def live_box(html: str, side: str, mark: str) -> str:
    """Return the box of a reply under way, with a mark by which a page finds it.

    Args:
        html: HTML from :func:`clean`.
        side: the direction of the reply as a whole: ``auto``, ``ltr`` or ``rtl``.
        mark: CSS classes of chatmagic, which no reply can have.
    """
    return f'<div class="{REPLY} {mark}" dir="{side}" style="{CLIP}">\n{html}</div>'


def live_mark(live: str) -> str:
    """Return the CSS classes by which a page finds the box of a reply under way.

    Args:
        live: the name of its ask in pages.
    """
    return f"chatmagic-live chatmagic-live-{live}"


BOX: Final = "overflow-x: auto; margin-bottom: 1em;"
# A page lays out a box of fixed height once, not again with each box around it.
LONG_BOX: Final = "overflow-y: auto; max-height: 40em; margin-bottom: 1em;"
# JupyterLab gives pygments' classes these colours, too. On other pages they are VS Code's or our
# own, mixed with the text's colour to be readable on light and on dark.
_CODE: Final = {
    "k": ("keyword", "var(--vscode-debugTokenExpression-name, #c878ff) 50%, currentColor"),
    "s": ("string", "var(--vscode-debugTokenExpression-string, #e08060) 50%, currentColor"),
    "m": ("number", "var(--vscode-debugTokenExpression-number, #40b080) 50%, currentColor"),
    "c": ("comment", "currentColor 75%, transparent"),
}
"""The colours of code, by the first letter of a token's class: the name and the mixed colours."""
TOKENS: Final = {letter: f"color: var(--cm-{name});" for letter, (name, _) in _CODE.items()}
"""The style of a token, by the first letter of its class."""
# Code has the background of the page's own cells.
_CODE_COLOUR: Final = (
    "border-radius: 3px; background-color: "
    "var(--jp-cell-editor-background, var(--vscode-textCodeBlock-background, "
    "color-mix(in srgb, currentColor 7%, transparent)));"
)
CODE_BOX: Final = f"{BOX} padding: 0.4em 0.8em; {_CODE_COLOUR}"
LANGUAGE: Final = (
    "user-select: none; -webkit-user-select: none; font-size: 80%; "
    "color: color-mix(in srgb, currentColor 75%, transparent);"
)
"""The style of a language's name above a code block; the name is not copied with the code."""
CODE_GOES_ON: Final = f"overflow-x: auto; padding: 0.4em 0.8em 0; {_CODE_COLOUR}"
"""The box of a part of a code block that continues in the next box."""
# Only the box of a reply with coloured code defines the colours.
COLOURED: Final = CLIP + "".join(
    f" --cm-{name}: var(--jp-mirror-editor-{name}-color, color-mix(in srgb, {mixed}));"
    for name, mixed in _CODE.values()
)
# Front ends break the lines of code; here the box around the code scrolls instead.
BARE: Final = "background-color: transparent;"
UNBROKEN: Final = (
    f"{BARE} white-space: pre; overflow-x: visible; overflow-y: visible; "
    "width: max-content; min-width: 100%;"
)
# A page lays out each piece alone: one line of 500,000 combining marks takes Chromium minutes.
PIECE: Final = "display: block; content-visibility: auto; contain-intrinsic-height: auto 4em;"
# Front ends show headings of these low levels like text.
HEADINGS: Final = {
    tag: f"font-size: {size}em; font-weight: 600;"
    for tag, size in {"h4": 1.4, "h5": 1.2, "h6": 1.05}.items()
}
# Front ends place a list's marks and a quotation's line on the left.
LIST_FROM_RIGHT: Final = "padding-left: 0; padding-right: 2em;"
QUOTE_FROM_RIGHT: Final = (
    "border-left: none; border-right: 5px solid var(--jp-border-color2, #bdbdbd);"
)
ALIGNED: Final = {side: f"text-align: {side};" for side in ("left", "center", "right")}
# The box around a table leaves room below it already.
TABLE: Final = "margin-bottom: 0;"
# A task's box stands in place of the bullet.
UNMARKED: Final = "list-style-type: none;"
TASKS: Final = {True: ("☑", "done"), False: ("☐", "not done")}
"""The sign and the words of a task: done, and not done."""

_TAGS: Final = frozenset(
    """a blockquote br code details div em h4 h5 h6 hr li ol p pre s span strong summary sup table
    tbody td th thead tr ul""".split()  # noqa: SIM905 - a word a line would be a page
)
_ATTRIBUTES: Final = {"a": {"href", "title"}, "ol": {"start"}, "div": {"aria-label"}}
_STYLES: Final[dict[str, set[str]]] = {
    **{tag: {style} for tag, style in HEADINGS.items()},
    **{key: set(ALIGNED.values()) for key in ("p", "td", "th")},
    **{key: {LIST_FROM_RIGHT} for key in ("ol", "ul")},
    "blockquote": {QUOTE_FROM_RIGHT},
    "table": {TABLE},
    "code": {BARE},
    "span": {PIECE, *TOKENS.values()},
}
_WORDS: Final = {words for _, words in TASKS.values()}
_VALUES: Final[dict[str, dict[str, set[str]]]] = {
    **{tag: {"style": styles, "dir": {"ltr", "rtl"}} for tag, styles in _STYLES.items()},
    "div": {
        "class": {REPLY, "chatmagic-scroll", "chatmagic-language", "highlight", TYPESET},
        "style": {BOX, LONG_BOX, CODE_BOX, CODE_GOES_ON, LANGUAGE, CLIP, COLOURED},
        "dir": {"auto", "ltr", "rtl"},
        "aria-hidden": {"true"},
        "role": {"group"},
        "tabindex": {"0"},
    },
    "pre": {"style": {UNBROKEN, PROSE}},
    "li": {"style": {UNMARKED}},
    "a": {"referrerpolicy": {"no-referrer"}},
}
_VALUES["span"] |= {
    # An error token keeps no class: pages would draw a red box around it.
    "class": {TYPESET, *STANDARD_TYPES.values()} - {"", "err"},
    "role": {"img"},
    "aria-label": _WORDS,
    "title": _WORDS,
}


_SHORT: Final = 20_000  # characters of a text of which no line is cut
_LONGEST_LINE: Final = 1_000  # characters of a line, elsewhere
_MOST_MARKS: Final = 200  # characters of a line that is combining marks for the most part


def has_cut_lines(text: str) -> bool:
    """Return whether the lines of a text are cut because a page would be busy with them for long.

    Args:
        text: the whole text.
    """
    return len(text) > _SHORT and not text.isascii()


def typed(text: str, *, cut: bool | None = None) -> str:
    """Return untrusted text as HTML, with its characters visible; long lines are cut into pieces.

    Args:
        text: the text.
        cut: the result of :func:`has_cut_lines` for the text that it is a part of; ``None`` for
            none.
    """
    text = visible(text)
    if not (has_cut_lines(text) if cut is None else cut):
        return escape(text, quote=False)
    return "\n".join(map(_line_in_pieces, text.split("\n")))


def _line_in_pieces(line: str) -> str:
    pieces = list[str]()
    at = 0
    while at < len(line):
        piece = line[at : at + _LONGEST_LINE]
        marks = sum(map(bool, map(combining, piece)))
        pieces.append(piece[:_MOST_MARKS] if marks > len(piece) - marks else piece)
        at += len(pieces[-1])
    html = [escape(piece, quote=False) for piece in pieces]
    if len(html) > 1:
        html = [f'<span style="{PIECE}">{piece}</span>' for piece in html]
    return "".join(html)


def reply_box(html: str, side: str = "auto") -> str:
    """Return a reply's HTML in its own box, with only the HTML that is on the allow-lists.

    Args:
        html: any HTML.
        side: the direction of the reply as a whole: ``auto``, ``ltr`` or ``rtl``.
    """
    style = COLOURED if any(token in html for token in TOKENS.values()) else CLIP
    return clean(f'<div class="{REPLY}" dir="{side}" style="{style}">\n{html}</div>')


def clean(html: str) -> str:
    """Return HTML with only the tags, attributes and styles that are on the allow-lists.

    Args:
        html: any HTML.
    """
    return visible(_CLEANER.clean(html))  # once more: the cleaner has decoded entities


def _without_unsafe_address(_: str, name: str, value: str) -> str | None:
    return None if name == "href" and not links.target(value) else value


_CLEANER: Final = nh3.Cleaner(
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    attribute_filter=_without_unsafe_address,
    tag_attribute_values=_VALUES,
    set_tag_attribute_values={"a": {"target": "_blank"}},
    link_rel="noopener noreferrer nofollow",
    url_schemes={"http", "https", "mailto"},
)
