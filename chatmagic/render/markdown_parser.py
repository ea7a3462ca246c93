r"""Markdown of a model's reply to tokens: the allowed elements, limits, and text direction.

A reply is CommonMark with tables, strikethrough, task lists and footnotes. Three things differ:
HTML is text; a footnote is a superscript, not a link; and a line under a paragraph makes no
heading, as a list would flicker as a heading while it streams.

Formulas are found here and not by a plugin, for three reasons: models write ``\(x\)``,
``\[x\]`` and ``\begin{align} x \end{align}`` as often as dollars; a digit may follow a formula at
the beginning of a paragraph; and no reply may take quadratic time.
"""

from __future__ import annotations

import logging
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, reference, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from chatmagic.models import CodeBlock
from chatmagic.render import sanitize

DEEPEST: Final = 20
"""Largest number of nested levels; markdown-it leaves out deeper ones."""

_MOST_TOKENS: Final = 40_000
"""Number of tokens of a reply after which no more rows of a table are read; a cell has three."""

# markdown-it logs each rule at each line at DEBUG, and a user's own logging would show that in the
# reply's cell. A level that a user has set stays.
_log = logging.getLogger("markdown_it")
_log.setLevel(_log.level or logging.INFO)

# One formula, never empty. The bodies are possessive and exclude their own opener, so that a
# reply full of openers takes linear time. No formula holds a delimiter of another.
_FORMULA: Final = re.compile(
    r"""
      (?<!\$)\$\$(?!\s*\$)       (?P<dollars> (?:[^$\\`]|\\[^()\[\]]|\$(?!\$)){1,5000}+ ) \$\$
    | (?<![A-Za-z\d$])\$(?!\s)  (?P<dollar>  (?:[^$\\`]|\\[^()\[\]]){1,5000}+ ) (?<!\s)\$(?![\d$])
    | \\\((?!\s*\\\))            (?P<round>   (?:[^\\]|\\[^()\[\]]){1,5000}+ )   \\\)
    | \\\[(?!\s*\\\])            (?P<square>  (?:[^\\]|\\[^()\[\]]){1,5000}+ )   \\\]
    """,
    re.VERBOSE | re.DOTALL,
)

# The ends of an environment, which may stand without delimiters around it.
_ENVIRONMENT: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\begin|\\end)\{([A-Za-z]+\*?)\}")
_MOST_ENVIRONMENT: Final = 5_000  # characters, as for the formulas above
_DEEPEST_ENVIRONMENT: Final = 10
# Words between the names of environments are no formula.
_MATHEMATICS: Final = re.compile(r"[\\&=^_{}]")

_TASK: Final = re.compile(r"\[([ xX])\](?=\s)")
_NOTE: Final = re.compile(r"\[\^([^\[\]\s]{1,40})\](:?)")
_DEFINED: Final = re.compile(r"^[ \t>*+-]{0,40}\[\^([^\[\]\s]{1,40})\]:", re.MULTILINE)


def parser(renderer: type[RendererHTML]) -> MarkdownIt:
    """Return the parser of replies.

    Args:
        renderer: class that writes the tokens. Besides markdown-it's own tokens there are
            ``formula`` (``markup``: the source with its delimiters), ``task`` (``meta``: whether
            it is ``done``) and ``footnote`` (``content``: the label).
    """
    markdown = MarkdownIt(
        "commonmark", {"html": False, "maxNesting": DEEPEST}, renderer_cls=renderer
    )
    markdown.enable(["table", "strikethrough"]).disable("lheading")
    # The renderer shows a forbidden address as text.
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


class _Formula(NamedTuple):
    """Formula of a reply: its TeX, the source with its delimiters, and whether it is displayed."""

    tex: str
    source: str
    is_display: bool

    @property
    def is_environment(self) -> bool:
        """Whether it is an environment without delimiters."""
        return self.tex == self.source


def _formula_at(text: str, pos: int, end: int) -> _Formula | None:
    """Return the formula that begins at a place of a text; ``None`` for none.

    Args:
        text: a reply, or a part of it.
        pos: the place.
        end: the place after the last character that may belong to the formula.
    """
    if text.startswith("\\begin{", pos):
        return _environment_at(text, pos, end)
    match = _FORMULA.match(text, pos, end)
    if match is None:
        return None
    tex = match[match.lastgroup or 0].strip()
    return _Formula(tex, match[0], match.lastgroup in {"dollars", "square"})


def _environment_at(text: str, pos: int, end: int) -> _Formula | None:
    """Return the environment that begins at a place of a text; ``None`` for none.

    A reply full of beginnings takes linear time, as the depth is limited.
    """
    source = text[pos : min(end, pos + _MOST_ENVIRONMENT)]
    names: list[str] = []
    for match in _ENVIRONMENT.finditer(source):
        command, name = match.groups()
        if command == "\\begin":
            names.append(name)
        elif not names or names.pop() != name:
            return None
        if len(names) > _DEEPEST_ENVIRONMENT:
            return None
        if not names:
            source = source[: match.end()]
            # A block of code stays one, whatever stands around it.
            return None if "```" in source else _Formula(source, source, is_display=True)
    return None


def _inline_formula(state: StateInline, silent: bool) -> bool:
    """Find a formula in running text (an inline rule of markdown-it)."""
    formula = _formula_at(state.src, state.pos, state.posMax)
    if formula is None:
        return False
    if formula.is_environment and not _MATHEMATICS.search(_ENVIRONMENT.sub("", formula.tex)):
        return False
    if not silent:
        _push(state, formula)
    state.pos += len(formula.source)
    return True


def _block_formula(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Find a formula that has its lines to itself (a block rule of markdown-it).

    Otherwise a line of the formula that begins with a minus or a plus would make a list.
    """
    pos = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith(("$$", "\\[", "\\begin{"), pos):
        return False
    formula = _formula_at(state.src, pos, state.eMarks[end - 1])
    if formula is None:
        return False
    last = start
    while state.eMarks[last] < pos + len(formula.source):
        last += 1
        is_empty = state.isEmpty(last)
        if is_empty and not formula.is_environment:
            return False
        if not is_empty and state.sCount[last] < state.blkIndent:
            return False
    # Without the marks of the list or quotation around it, it must still be one formula.
    lines = state.getLines(start, last + 1, state.blkIndent, False).strip()
    formula = _formula_at(lines, 0, len(lines))
    if formula is None or formula.source != lines:
        return False
    if not silent:
        _push(state, formula)
        state.tokens[-1].map = [start, last + 1]
        state.line = last + 1
    return True


def _push(state: StateInline | StateBlock, formula: _Formula) -> None:
    """Add the token of a formula."""
    token = state.push("formula", "", 0)
    token.content = formula.tex
    token.markup = formula.source
    token.meta = {"display": formula.is_display}


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Find a table (a block rule), with about as many rows as a page can bear at most.

    markdown-it fills up rows that lack cells, so that few characters can make many tokens.
    """
    columns = state.getLines(start + 1, start + 2, state.blkIndent, False).count("|") + 1
    rows = (_MOST_TOKENS - len(state.tokens)) // (3 * columns)
    return rows > 0 and table(state, start, min(end, start + 1 + rows), silent)


def _footnotes(state: StateCore) -> None:
    """Collect the defined footnotes (a core rule), as ``[^a-z]`` may also be ordinary text."""
    before = state.env.get("footnotes", ())  # of the part of the reply above this one
    state.env["footnotes"] = {*before, *_DEFINED.findall(state.src)}


def _reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Find the definition of a link, but not of a footnote (a block rule)."""
    footnote = state.src.startswith("[^", state.bMarks[start] + state.tShift[start])
    return not footnote and reference(state, start, end, silent)


def _footnote(state: StateInline, silent: bool) -> bool:
    """Find a footnote's mark, in a text or at the beginning of its definition (inline rule)."""
    match = _NOTE.match(state.src, state.pos, state.posMax)
    if match is None or match[1] not in state.env.get("footnotes", ()):
        return False
    before = None if state.pending or not state.tokens else state.tokens[-1]
    begins_line = before is None or before.type in {"softbreak", "hardbreak"}
    is_definition = not state.pending and begins_line
    if not silent:
        if is_definition and match[2] and before is not None:
            before.type = "hardbreak"
            before.tag = "br"
        state.push("footnote", "", 0).content = match[1]
    state.pos = match.end() if is_definition else match.end(1) + 1
    return True


def _tasks(state: StateCore) -> None:
    """Make a task of each list item that begins with a box (a core rule)."""
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


OUTLINE: Final = parser(RendererHTML)
"""Parser of a reply's blocks only, without the inside of a line."""
OUTLINE.core.ruler.enableOnly(["normalize", "block"])


def code_and_prose(text: str) -> list[str | CodeBlock]:
    """Return the blocks of code of a reply and the texts between them, in order.

    Args:
        text: the reply.

    Returns:
        Texts and blocks, none of them blank. A block in a list or a quotation is without its
        indentation.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    cut: list[str | CodeBlock] = []
    at = 0
    for token in OUTLINE.parse(text):
        if token.type not in {"fence", "code_block"} or token.map is None:
            continue
        first, after = token.map
        cut.append(_prose(lines[at:first]))
        at = after
        if token.content.strip():
            cut.append(CodeBlock(token.content.removesuffix("\n"), (token.info.split() or [""])[0]))
    return [part for part in (*cut, _prose(lines[at:])) if part]


def _prose(lines: list[str]) -> str:
    """Return the text of lines between blocks of code, without a common indent."""
    return textwrap.dedent("\n".join(lines)).strip()


_STYLES: Final = {
    "paragraph_open": sanitize.ALIGNED["right"],  # front ends align them left
    **dict.fromkeys(("bullet_list_open", "ordered_list_open"), sanitize.LIST_FROM_RIGHT),
    "blockquote_open": sanitize.QUOTE_FROM_RIGHT,
}
"""The styles of blocks that are read from the right."""
_FROM_RIGHT: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def top_blocks(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the tokens of each block that is in no other block.

    Args:
        tokens: the tokens of a reply, or of a part of it.
    """
    blocks: list[list[Token]] = []
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            blocks.append([])
        blocks[-1].append(token)
    return blocks


def set_directions(tokens: Sequence[Token], whole: str = "") -> str:
    """Set the direction of each block that differs from the direction of the whole reply.

    The page's own way (``dir="auto"``) counts code as words, and gives each item of a list a
    direction of its own.

    Args:
        tokens: the tokens of the reply, or of a part of it. They get the attributes ``dir`` and
            ``style``. Those that are read from the right get ``side`` in their ``meta``, for the
            renderer.
        whole: direction of the whole reply, by the part above; empty if unknown.

    Returns:
        The direction of the reply as a whole: ``rtl``, or else ``auto``.
    """
    whole = "rtl" if (whole or side(tokens)) == "rtl" else "ltr"
    for block in top_blocks(tokens):
        own = side(block) or whole
        if own != whole:
            block[0].attrSet("dir", own)
        if own == "rtl":
            for token in block:
                _read_from_right(token)
    return "rtl" if whole == "rtl" else "auto"


def _read_from_right(token: Token) -> None:
    """Note for the renderer that a token is read from the right, with the style of its block."""
    for part in (token, *(token.children or ())):
        part.meta = {**part.meta, "side": "rtl"}
    if token.type in _STYLES:
        token.attrSet("style", _STYLES[token.type])


def side(tokens: Sequence[Token]) -> str:
    """Return the direction of the first word outside code and formulas; empty without a word.

    Args:
        tokens: the tokens of a reply, or of a part of it.

    Returns:
        ``ltr``, ``rtl`` or an empty string.
    """
    for token in tokens:
        words = [child for child in token.children or () if child.type in {"text", "image"}]
        for child in words:
            for char in child.content:
                kind = unicodedata.bidirectional(char)
                if kind in {"L", "R", "AL"}:
                    return "ltr" if kind == "L" else "rtl"
    return ""


def code_direction(token: Token) -> str:
    """Return ``ltr`` for code that would otherwise be read from the right; else an empty string.

    Args:
        token: the token of the code or of the formula.
    """
    turned = token.meta.get("side") == "rtl" or _FROM_RIGHT.search(token.content)
    return "ltr" if turned else ""
