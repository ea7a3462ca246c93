r"""Markdown of a model's reply to tokens: what a reply may hold, how much, and in which direction.

Markdown is read as CommonMark with tables, strikethrough, task lists and footnotes, except where
a reply is not a page: HTML is text, a footnote is a superscript and no link, and a line under a
paragraph makes no heading (else each list would flicker as one while it streams).

Formulas are found here and not by a plugin: models write ``\(x\)`` and ``\[x\]`` as often as
dollars, a formula that opens a paragraph may end in a digit's company, and no reply may take
quadratic time.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import reference, table
from markdown_it.token import Token

from chatmagic.render import sanitize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline


DEEPEST: Final = 20
"""Levels of nesting; markdown-it leaves out what lies deeper."""

_MOST_TOKENS: Final = 40_000
"""Tokens of a reply behind which no row of a table is read: a cell has three."""

# It has a line at DEBUG for each rule and line, which a user's own logging would show in the
# cell of the reply. Who sets a level for it has it.
_log = logging.getLogger("markdown_it")
_log.setLevel(_log.level or logging.INFO)

# One formula, never empty. The bodies are possessive and exclude their own opener, so that a
# reply full of openers takes linear time; and no formula holds a delimiter of another.
FORMULA: Final = re.compile(
    r"""
      (?<!\$)\$\$(?!\s*\$)       (?P<dollars> (?:[^$\\`]|\\[^()\[\]]|\$(?!\$)){1,5000}+ ) \$\$
    | (?<![A-Za-z\d$])\$(?!\s)  (?P<dollar>  (?:[^$\\`]|\\[^()\[\]]){1,5000}+ ) (?<!\s)\$(?![\d$])
    | \\\((?!\s*\\\))            (?P<round>   (?:[^\\]|\\[^()\[\]]){1,5000}+ )   \\\)
    | \\\[(?!\s*\\\])            (?P<square>  (?:[^\\]|\\[^()\[\]]){1,5000}+ )   \\\]
    """,
    re.VERBOSE | re.DOTALL,
)

_TASK: Final = re.compile(r"\[([ xX])\](?=\s)")
_NOTE: Final = re.compile(r"\[\^([^\[\]\s]{1,40})\](:?)")
_DEFINED: Final = re.compile(r"^[ \t>*+-]{0,40}\[\^([^\[\]\s]{1,40})\]:", re.MULTILINE)


def parser(renderer: type[RendererHTML]) -> MarkdownIt:
    """Return the parser of replies.

    Args:
        renderer: writes what was read; the tokens that are none of markdown-it's are
            ``formula``, its source with the delimiters as ``markup``; ``task``, as ``meta``
            whether it is ``done``; and ``footnote``, the label as ``content``.
    """
    markdown = MarkdownIt(
        "commonmark", {"html": False, "maxNesting": DEEPEST}, renderer_cls=renderer
    )
    markdown.enable(["table", "strikethrough"]).disable("lheading")
    # A link that may lead nowhere is shown as text with its address, by the renderer.
    markdown.validateLink = bool  # type: ignore[assignment, method-assign]
    markdown.inline.ruler.before("escape", "formula", _inline_formula)
    markdown.block.ruler.before(
        "fence", "formula", _block_formula, {"alt": ["paragraph", "reference", "blockquote"]}
    )
    markdown.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    markdown.block.ruler.at("reference", _reference)
    markdown.inline.ruler.before("link", "footnote", _footnote)
    markdown.core.ruler.before("block", "footnotes", _footnotes)
    markdown.core.ruler.push("task", _tasks)
    return markdown


def _inline_formula(state: StateInline, silent: bool) -> bool:
    """Find a formula in running text (an inline rule of markdown-it)."""
    match = FORMULA.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        _push(state, match)
    state.pos = match.end()
    return True


def _block_formula(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Find a formula that has its lines to itself (a block rule of markdown-it).

    Else a line of it that begins with a minus or a plus would be taken for a list.
    """
    pos = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith(("$$", "\\["), pos):
        return False
    match = FORMULA.match(state.src, pos, state.eMarks[end - 1])
    last = start
    while match and state.eMarks[last] < match.end():
        last += 1
        if state.isEmpty(last) or state.sCount[last] < state.blkIndent:
            return False
    # Without the marks of the list or quote that it stands in it must be one formula still.
    lines = state.getLines(start, last + 1, state.blkIndent, False).strip()
    match = match and FORMULA.fullmatch(lines)
    if match is None:
        return False
    if not silent:
        _push(state, match)
        state.tokens[-1].map = [start, last + 1]
        state.line = last + 1
    return True


def _push(state: StateInline | StateBlock, match: re.Match[str]) -> None:
    token = state.push("formula", "", 0)
    token.content = match[match.lastgroup or 0].strip()
    token.markup = match[0]
    token.meta = {"display": match.lastgroup in {"dollars", "square"}}


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Find a table (a block rule), read not much further than a page can bear.

    A row that lacks cells gets them, so that few characters would be many tokens.
    """
    columns = state.getLines(start + 1, start + 2, state.blkIndent, False).count("|") + 1
    rows = (_MOST_TOKENS - len(state.tokens)) // (3 * columns)
    return rows > 0 and table(state, start, min(end, start + 1 + rows), silent)


def _footnotes(state: StateCore) -> None:
    """Note which footnotes are defined (a core rule): ``[^a-z]`` may be words of the reply."""
    before = state.env.get("footnotes", ())  # of the part of the reply above this one
    state.env["footnotes"] = {*before, *_DEFINED.findall(state.src)}


def _reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Find the address of a link, which no footnote is (a block rule)."""
    footnote = state.src.startswith("[^", state.bMarks[start] + state.tShift[start])
    return not footnote and reference(state, start, end, silent)


def _footnote(state: StateInline, silent: bool) -> bool:
    """Find a footnote's mark, or what a footnote's own line begins with (an inline rule)."""
    match = _NOTE.match(state.src, state.pos, state.posMax)
    if match is None or match[1] not in state.env.get("footnotes", ()):
        return False
    before = None if state.pending or not state.tokens else state.tokens[-1]
    begins = not state.pending and (before is None or before.type in {"softbreak", "hardbreak"})
    if not silent:
        if begins and match[2] and before is not None:
            before.type, before.tag = "hardbreak", "br"
        state.push("footnote", "", 0).content = match[1]
    state.pos = match.end() if begins else match.end(1) + 1
    return True


def _tasks(state: StateCore) -> None:
    """Make a task of each item of a list that begins with a box (a core rule)."""
    for item, paragraph, inline in zip(
        state.tokens, state.tokens[1:], state.tokens[2:], strict=False
    ):
        if (item.type, paragraph.type) != ("list_item_open", "paragraph_open"):
            continue
        children = inline.children or []
        match = _TASK.match(children[0].content) if children else None
        if match is None or children[0].type != "text":
            continue
        children[0].content = children[0].content[match.end() :]
        item.meta["task"] = True
        children.insert(0, Token("task", "", 0, meta={"done": match[1] != " "}))


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
