r"""Markdown of a reply, which is untrusted text, to HTML that cannot act.

Three guards follow each other. markdown-it parses the reply with HTML turned off. The renderer
below writes only known tags. nh3 removes everything that is not on the short lists of
:mod:`chatmagic.render.sanitize`.

:mod:`chatmagic.render.markdown_parser` defines the Markdown of a reply. A reply is not a page:
images become links that are marked as images, and headings start at level 4 and skip no level. A
reply
that is too long for a page is shown as plain text, with a line that says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from chatmagic._log import log_swallowed
from chatmagic.render import formula_allowlist, links, markdown_parser, sanitize
from chatmagic.safe_text import PROSE, TYPESET, one_line, visible

MOST_MARKDOWN: Final = 500_000  # characters; 5,000,000 take some 8 s to render, plain ones 1 s
_MOST_TEX: Final = 10_000  # characters of formulas in a reply; a page takes some 0.2 ms for each
_EACH_FORMULA: Final = 10  # characters added for each formula: 2 ms
MOST_ADDRESSES: Final = 1_000_000
"""Characters of all addresses of a reply, after which no more links are made.

A long address that is defined once could otherwise stand in thousands of links.
"""
MOST_BLOCKS: Final = 5_000  # paragraphs and the like; a page takes about 0.4 ms to lay one out
# Pygments can take quadratic time, above all on endless lines and on white space.
_MOST_COLOURED: Final = 10_000  # characters of code in a reply
_SLOW_TO_COLOUR: Final = re.compile(r"[^\n]{500}|\s{200}")

# Languages whose lexer took at most 0.2 s for the worst code found within those two limits.
COLOURED: Final = frozenset(
    """bash c console cpp css diff fortran go html ini javascript js json julia latex lua matlab
    py pycon python python3 r ruby rust sh shell sql tex toml ts typescript xml yaml yml
    """.split()  # noqa: SIM905 - a word a line would be a page
)
_COLOURS: Final = HtmlFormatter[str](nowrap=True)
_TOKEN: Final = re.compile('(<span class="([kcms])[a-z0-9]{0,2}")>')

_LONG: Final = 100_000  # characters of a text for which the page gets a box that scrolls
TOO_DEEP: Final = "its lists or quotations are nested too deeply"
TOO_MANY: Final = f"it has more than {MOST_BLOCKS:,} paragraphs, list items, blocks and table cells"

_MOST_INLINE: Final = 20_000  # a page takes 54 s for 100,000 in one paragraph
_INLINE: Final = {"footnote": 8}  # weight of a piece: with 8,000 footnotes a page takes 1.5 s
TOO_RICH: Final = f"it has more than {_MOST_INLINE:,} pieces of code, links, line ends and the like"

TABLE: Final = f'<table style="{sanitize.TABLE}"'
"""Opening tag of a table in :func:`scrolling`, without its end."""

_BLOCKS: Final = dict.fromkeys(
    """blockquote_open formula heading_open hr list_item_open paragraph_open td_open th_open
    """.split(),  # noqa: SIM905 - as above
    1,
) | {"code_block": 4, "fence": 4, "heading_open": 10}
"""Weight of a block: a page takes four times as long for a box of code."""


def to_html(text: str, *, live: bool = False, breaks: bool = False) -> str:
    """Return any reply as an HTML fragment that cannot act.

    The same text gives the same HTML. Unfinished Markdown (an open fence, half a table, half a
    link) is shown, too.

    Args:
        text: the reply, or the part of it that has arrived.
        live: whether the reply still streams: code has no colours, and a formula is its source.
        breaks: whether each line end of the text is a line end of the HTML, as for a prompt.
    """
    if len(text) >= MOST_MARKDOWN:
        return as_text(text, f"it has {len(text):,} characters")
    env = environment(live=live, breaks=breaks)
    env["cut"] = sanitize.has_cut_lines(text)
    try:
        tokens = PARSER.parse(visible(text), env)
        if is_too_deep(tokens):
            return as_text(text, TOO_DEEP)
        if block_count(tokens) > MOST_BLOCKS:
            return as_text(text, TOO_MANY)
        pieces = (child.type for token in tokens for child in token.children or ())
        if sum(_INLINE.get(kind, 1) for kind in pieces) > _MOST_INLINE:
            return as_text(text, TOO_RICH)
        side = markdown_parser.set_directions(tokens)
        html = PARSER.renderer.render(tokens, PARSER.options, env)
        return sanitize.reply_box(html, side)
    except Exception as error:  # noqa: BLE001 - no reply may be lost to a fault
        log_swallowed(error)
        return as_text(text, "it could not be rendered")


def environment(*, live: bool, breaks: bool = False) -> EnvType:
    """Return the renderer's state at the beginning of a reply.

    Args:
        live: as for :func:`to_html`.
        breaks: as for :func:`to_html`.
    """
    return {
        "live": live,
        "breaks": breaks,
        **dict.fromkeys(("coloured", "tex", "addresses"), 0),
        "cut": False,
        "above": [],
        "after": [],
        "goes_on": False,
        "continues": False,
    }


def as_text(text: str, why: str = "") -> str:
    """Return a reply as plain text, in a box of its own if it is long.

    Args:
        text: the reply.
        why: the reason, as the end of the sentence above the text; empty for no sentence.
    """
    html = f'<pre style="{PROSE}">{sanitize.typed(text)}</pre>'
    if why or len(text) > _LONG:
        html = scrolling(html, "Reply as plain text", style=sanitize.LONG_BOX)
    note = f"<p><em>Shown as plain text: {why}.</em></p>\n" if why else ""
    return sanitize.reply_box(note + html)


def scrolling(html: str, label: str, side: str = "", style: str = sanitize.BOX) -> str:
    """Return a box around large HTML, which scrolls, also by keys.

    Args:
        html: safe HTML.
        label: its name, for screen readers.
        side: its direction, ``ltr`` or ``rtl``; the page's own if empty.
        style: the style of the box.
    """
    focus = f'tabindex="0" role="group" aria-label="{escape(label)}"'
    return f'<div class="chatmagic-scroll" style="{style}"{_dir(side)} {focus}>{html}</div>\n'


def _dir(side: object) -> str:
    """Return the attribute of a direction; empty without one."""
    return f' dir="{side}"' if side else ""


def _styled(token: re.Match[str]) -> str:
    """Return a token's tag with its colour, for front ends that style no classes."""
    return f'{token[1]} style="{sanitize.TOKENS[token[2]]}">'


def language_name(info: str) -> str:
    """Return a fence's language; characters that no name of a language has are left out.

    Args:
        info: the text after the fence's marks.
    """
    word = info.split(maxsplit=1)[0] if info.strip() else ""
    return "".join(char for char in word if char.isalnum() or char in "+#-._")


def block_count(tokens: Sequence[Token]) -> int:
    """Return the number of paragraphs and the like, which :data:`MOST_BLOCKS` limits.

    A block of code counts as four, and a heading as ten.

    Args:
        tokens: the tokens of a reply, or of a part of it.
    """
    return sum(_BLOCKS.get(token.type, 0) for token in tokens if not token.hidden)


def is_too_deep(tokens: Sequence[Token]) -> bool:
    """Return whether a part of a reply may lie deeper than the parser reads.

    Args:
        tokens: the tokens of a reply, or of a part of it.
    """
    return any(token.level >= markdown_parser.DEEPEST - 1 for token in tokens)


def text_of_link(tokens: Sequence[Token], begin: int) -> str:
    """Return the text of a link, without marks.

    Args:
        tokens: the tokens of its paragraph.
        begin: the index of the token that opens the link.
    """
    level = tokens[begin].level
    parts = list[str]()
    place = begin
    while not (tokens[place].type == "link_close" and tokens[place].level == level):
        parts.append(tokens[place].content)
        place += 1
    return "".join(parts)


def picture_name(alt: str, href: str) -> str:
    """Return the name of a picture: its description, or else the beginning of its address.

    Args:
        alt: the description.
        href: the address.
    """
    return alt.strip() or one_line(href[:100], 80)


def heading_tag(levels: Sequence[int]) -> str:
    """Return the tag of a heading: ``h4`` for the first level, at most ``h6``.

    Args:
        levels: the levels in the reply of the headings around it, outermost first, and its own.
    """
    return f"h{min(3 + len(levels), 6)}"


class _Renderer(RendererHTML):
    """Writer of HTML; ``env`` holds whether the reply is live, and the counts of costly parts."""

    def text(self, tokens: Sequence[Token], idx: int, _: Any, env: EnvType) -> str:
        """Return text with no character that acts."""
        return sanitize.typed(tokens[idx].content, cut=env["cut"])

    def softbreak(self, *rest: Any) -> str:
        """Return a line end."""
        return "<br>\n" if rest[-1]["breaks"] else "\n"

    def code_inline(self, tokens: Sequence[Token], idx: int, _: Any, env: EnvType) -> str:
        """Return code in a line."""
        side = _dir(markdown_parser.code_direction(tokens[idx]))
        return f"<code{side}>{sanitize.typed(tokens[idx].content, cut=env['cut'])}</code>"

    def heading_open(self, tokens: Sequence[Token], idx: int, _: Any, env: EnvType) -> str:
        """Return the tag that opens a heading; no level is skipped, even if the reply skips one."""
        side = _dir(tokens[idx].attrs.get("dir"))
        level = int(tokens[idx].tag[1])
        env["above"] = [*(other for other in env["above"] if other < level), level]
        tag = heading_tag(env["above"])
        return f'<{tag} style="{sanitize.HEADINGS[tag]}"{side}>'

    def heading_close(self, _: Any, __: int, ___: Any, env: EnvType) -> str:
        """Return the tag that closes a heading."""
        return f"</{heading_tag(env['above'])}>\n"

    def td_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """Return the tag that opens a cell of a table, with its alignment."""
        # Each cell names its alignment, because pages align the cells of tables in different ways.
        side = str(tokens[idx].attrs.pop("style", "")).rpartition(":")[2]
        start = "right" if rest[-1]["table"] == "rtl" else "left"
        tokens[idx].attrs["style"] = sanitize.ALIGNED[side or start]
        return self.renderToken(tokens, idx, *rest)

    th_open = td_open

    def table_open(self, tokens: Sequence[Token], idx: int, _: Any, env: EnvType) -> str:
        """Return the tags that open a table and the box in which it scrolls."""
        env["table"] = tokens[idx].meta.get("side")
        side = str(tokens[idx].attrs.get("dir", ""))
        return scrolling(f"{TABLE}>", "Table", side).removesuffix("</div>\n")

    def table_close(self, *_: Any) -> str:
        """Return the tags that close a table and its box."""
        return "</table></div>\n"

    def list_item_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        """Return the tag that opens an item of a list; a task has no bullet beside its box."""
        is_numbered = bool(tokens[idx].info)
        if tokens[idx].meta.get("task") and not is_numbered:
            tokens[idx].attrs["style"] = sanitize.UNMARKED
        return self.renderToken(tokens, idx, *rest)

    def task(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """Return the box of a task."""
        box, words = sanitize.TASKS[tokens[idx].meta["done"]]
        # JupyterLab keeps only the title in a notebook that it does not trust.
        return f'<span role="img" aria-label="{words}" title="{words}">{box}</span>'

    def footnote(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """Return the mark of a footnote."""
        return f"<sup>{escape(tokens[idx].content)}</sup>"

    def fence(self, tokens: Sequence[Token], idx: int, _: Any, env: EnvType) -> str:
        """Return a block of code in a box that scrolls, with the name of its language."""
        word = language_name(tokens[idx].info)
        name = one_line(word, 20)
        html = self._coloured(tokens[idx].content, word.lower(), env)
        inner = (
            f'<pre style="{sanitize.UNBROKEN}"><code style="{sanitize.BARE}">{html}</code></pre>'
        )
        head = ""
        if name and not env["continues"]:
            # A screen reader reads the name with the box.
            drawn = f'class="chatmagic-language" aria-hidden="true" style="{sanitize.LANGUAGE}"'
            head = f"<div {drawn}>{escape(name)}</div>"
        env["continues"] = False
        return scrolling(
            f'{head}<div class="highlight">{inner}</div>',
            f"Code, {name}" if name else "Code",
            markdown_parser.code_direction(tokens[idx]),
            sanitize.CODE_GOES_ON if env["goes_on"] else sanitize.CODE_BOX,
        )

    def _coloured(self, code: str, language: str, env: EnvType) -> str:
        """Return code as HTML, with colours unless the reply is live or has too much of it."""
        if not env["live"] and language in COLOURED:
            env["coloured"] += len(code)
            if env["coloured"] <= _MOST_COLOURED and not _SLOW_TO_COLOUR.search(code):
                lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
                return _TOKEN.sub(_styled, highlight(code, lexer, _COLOURS))
        return sanitize.typed(code, cut=env["cut"])

    def code_block(self, *rest: Any) -> str:
        """Return an indented block of code, as a fenced one."""
        return self.fence(*rest)

    def link_open(self, tokens: Sequence[Token], idx: int, _: Any, env: EnvType) -> str:
        """Return the HTML before the text of a link."""
        text = text_of_link(tokens, idx)
        before, after = self._link_tags(str(tokens[idx].attrs["href"]), text, env)
        env["after"].append(after)
        return before

    def link_close(self, _: Any, __: int, ___: Any, env: EnvType) -> str:
        """Return the HTML after the text of a link."""
        return str(env["after"].pop())

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: EnvType) -> str:
        """Return a picture as a link to it."""
        href = str(tokens[idx].attrs["src"])
        name = picture_name(self.renderInlineAsText(tokens[idx].children, options, env), href)
        before, after = self._link_tags(href, name, env)
        return f"{before}{escape(f'image: {name}')}{after}"

    def _link_tags(self, href: str, text: str, env: EnvType) -> tuple[str, str]:
        """Return the HTML before and after the text of a link; a link holds no other link."""
        env["addresses"] += len(href)
        if env["after"] or env["addresses"] > MOST_ADDRESSES:
            return "", ""
        return links.tags(href, text)

    def formula(self, tokens: Sequence[Token], idx: int, _: Any, env: EnvType) -> str:
        """Return a formula for the page to typeset, or as its source."""
        token = tokens[idx]
        env["tex"] += len(token.content) + _EACH_FORMULA
        tex = "" if env["live"] else formula_allowlist.typeset_form(token.content)
        if tex and env["tex"] <= _MOST_TEX:
            left, right = ("\\[", "\\]") if token.meta["display"] else ("\\(", "\\)")
            tag = "div" if token.block else "span"
            html = f'<{tag} class="{TYPESET}">{escape(left + tex + right, quote=False)}</{tag}>'
            return html + "\n" * token.block
        side = markdown_parser.code_direction(token)
        html = f"<code{_dir(side)}>{sanitize.typed(token.markup, cut=env['cut'])}</code>"
        if not token.block:
            return html
        return scrolling(f'<pre style="{sanitize.UNBROKEN}">{html}</pre>', "Formula", side)


PARSER: Final = markdown_parser.parser(_Renderer)
