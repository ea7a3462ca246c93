r"""A reply as safe Markdown, for paper and for pages that show no HTML.

The Markdown is written from the tokens of :mod:`chatmagic.render.markdown_parser`, never copied
from the reply. Each character that could act in CommonMark, GitHub, pandoc, Quarto or MathJax is a
character reference. Pictures are links, and headings begin at level 4. A formula that a page may
typeset (:mod:`chatmagic.render.formula_allowlist`) stands in dollars; any other formula is code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from chatmagic._log import log_swallowed
from chatmagic.render import formula_allowlist, links, markdown, markdown_parser
from chatmagic.safe_text import JOINER, visible
from chatmagic.safe_text import fenced as fenced_text

_PARSER: Final = markdown_parser.parser(RendererHTML)
_RENDERER: Final = RendererHTML()

_SIGN: Final = re.compile(
    r"[\\`*_{}\[\]<>&$|~^@#!]|(?<=-)-|-(?=-)|:(?=[^\s\d])|(?<!\d):(?=\d)|(?<=www)\."
)
_IN_ADDRESS: Final = re.compile(r"[\\`*_{}\[\]<>&$|~^!]")
# Delimiters that a page's typesetter looks for in the page itself.
_DELIMITER: Final = re.compile(r"\\(?=[(\[A-Za-z])|\$(?=\$)")
# Marks that begin a block, pandoc's included: a list, a definition, a block of metadata.
_LINE_SIGN: Final = re.compile(r"^[-+=:%]", re.MULTILINE)
_NUMBER: Final = re.compile(
    r"^(\(?(?:\d{1,9}|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+))([.)])(?!\S)", re.MULTILINE
)
# Marks that end a block of code in LaTeX, and marks that Quarto replaces even in code.
_IN_CODE: Final = re.compile(r"\\end(?=\{(?:[Vv]erbatim|lstlisting|minted)\})|\{\{(?=<)")
# Marks that a page without formulas would read as HTML, a picture or a link.
_IN_FORMULA: Final = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)|\](?=[\[(])|\{(?=<)")
_ENDS: Final = re.compile(r"[$`]")
# LaTeX allows these environments only outside of dollars; pages allow them inside, too.
_OUTER: Final = re.compile(
    r"\\(begin|end)\{(x{0,2}alignat|(?:fl)?align|gather|multline|equation|eqnarray|split)\*?\}"
)
_BREAKS: Final = {"softbreak": "\n", "hardbreak": "\\\n"}
_SIDES: Final = {"left": ":--", "center": ":-:", "right": "--:"}


def to_markdown(text: str) -> str:
    """Return any reply as Markdown that cannot act.

    Args:
        text: the reply.
    """
    if len(text) >= markdown.MOST_MARKDOWN:
        return as_typed(text)
    try:
        tokens = _PARSER.parse(visible(text))
        if markdown.is_too_deep(tokens) or markdown.block_count(tokens) > markdown.MOST_BLOCKS:
            return as_typed(text)
        return visible(_MarkdownWriter().blocks(_block_tree(tokens)))
    except Exception as error:  # noqa: BLE001 - no reply may be lost to a fault
        log_swallowed(error)
        return as_typed(text)


def as_typed(text: str) -> str:
    """Return a text line by line, as Markdown in which no character acts.

    Args:
        text: any text.
    """
    lines = visible(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    paragraphs = "\n".join(line.rstrip() and f"{_typed(line)}\\" for line in lines)
    return re.sub(r"\\(?=\n\n|\n*\Z)", "", paragraphs).strip("\n")


def escaped(text: str) -> str:
    """Return a text as one line of Markdown in which no character acts.

    Args:
        text: any text; white space is folded.
    """
    return _at_line_start(_escaped(" ".join(visible(text).split())))


def code_block(code: str, language: str = "") -> str:
    """Return code as a block.

    Args:
        code: any text.
        language: its language. Only those that :mod:`chatmagic.render.markdown` colours are kept,
            as a page might draw a diagram for others.
    """
    language = language.lower() if language.lower() in markdown.COLOURED else ""
    return fenced_text(f"{_IN_CODE.sub(_apart, visible(code))}\n", language)


def _typed(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return "&#160;" * indent + _at_line_start(_escaped(line.strip()))


def _escaped(text: str) -> str:
    return _SIGN.sub(_reference, _DELIMITER.sub(_apart, text))


def _at_line_start(inline: str) -> str:
    """Return inline Markdown whose lines begin no block."""
    inline = _LINE_SIGN.sub(_reference, inline)
    return _NUMBER.sub(lambda match: f"{match[1]}&#{ord(match[2])};", inline)


def _reference(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def _apart(match: re.Match[str]) -> str:
    return match[0] + JOINER


class _Block(NamedTuple):
    """Block of a reply: its token, and the blocks or the lines of text inside it."""

    token: Token
    inside: list[_Block]


def _block_tree(tokens: Sequence[Token]) -> list[_Block]:
    """Return the blocks of a reply; the tokens of a line of text stay a flat list.

    The tree of markdown-it copies the tokens of a line at each level of its emphasis, which takes
    quadratic time.

    Args:
        tokens: the tokens of the reply.
    """
    blocks: list[_Block] = []
    opened = [blocks]  # the lists of blocks that are open, outermost first
    for token in tokens:
        if token.nesting < 0:
            opened.pop()
            continue
        block = _Block(token, [])
        opened[-1].append(block)
        if token.nesting > 0:
            opened.append(block.inside)
    return blocks


class _MarkdownWriter:
    """Writer of a reply's blocks, with a method for each type; it remembers the headings above."""

    def __init__(self) -> None:
        self._above: list[int] = []
        self._in_table = False
        self._addresses = 0  # characters of the addresses written so far

    def blocks(self, blocks: Sequence[_Block]) -> str:
        """Return blocks one below the other.

        Args:
            blocks: the blocks.
        """
        written = list[str]()
        for place, block in enumerate(blocks):
            kind = block.token.type.removesuffix("_open")
            # In a tight list no empty line stands between an item's text and its inner list.
            is_tight = place and blocks[place - 1].token.hidden and kind.endswith("_list")
            written.append(("\n" if is_tight else "\n\n") * bool(place))
            written.append(getattr(self, f"write_{kind}", self._words)(block))
        return "".join(written)

    def write_heading(self, block: _Block) -> str:
        level = int(block.token.tag[1])
        self._above = [*(other for other in self._above if other < level), level]
        return f"{'#' * int(markdown.heading_tag(self._above)[1])} {self._words(block)}"

    def write_hr(self, _: _Block) -> str:
        return "___"

    def write_fence(self, block: _Block) -> str:
        token = block.token
        return code_block(token.content.removesuffix("\n"), markdown.language_name(token.info))

    write_code_block = write_fence

    def write_blockquote(self, block: _Block) -> str:
        return _indented("> ", "> ", self.blocks(block.inside))

    def write_formula(self, block: _Block) -> str:
        return self._formula(block.token) or code_block(block.token.markup)

    def _words(self, block: _Block) -> str:
        """Return the text of a block that holds no other blocks."""
        inline = (self._inline(line.token.children or []) for line in block.inside)
        return _at_line_start("".join(inline))

    def write_bullet_list(self, block: _Block) -> str:
        first = int(block.token.attrs.get("start", 1))
        is_ordered = block.token.type == "ordered_list_open"
        items = []
        for number, item in enumerate(block.inside, first):
            mark = f"{number if is_ordered else ''}{item.token.markup} "
            items.append(_indented(mark, " " * len(mark), self.blocks(item.inside)))
        is_tight = all(part.token.hidden for item in block.inside for part in item.inside[:1])
        return ("\n" if is_tight else "\n\n").join(items)

    write_ordered_list = write_bullet_list

    def write_table(self, block: _Block) -> str:
        self._in_table = True
        rows = [row.inside for part in block.inside for row in part.inside]
        lines = [f"| {' | '.join(map(self._words, row))} |" for row in rows]
        self._in_table = False
        styles = (str(cell.token.attrs.get("style", "")).rpartition(":")[2] for cell in rows[0])
        lines.insert(1, f"|{'|'.join(_SIDES.get(style, '---') for style in styles)}|")
        return "\n".join(lines)

    def _inline(self, tokens: Sequence[Token]) -> str:
        parts: list[str] = []
        is_formula = False  # whether a formula ends what is written
        ends: list[str] = []  # the ends of the open links
        for place, token in enumerate(tokens):
            if token.type == "link_open":
                text = markdown.text_of_link(tokens, place)
                part, end = ("", "") if ends else self._link(str(token.attrs["href"]), text)
                ends.append(end)
            elif token.type == "link_close":
                part = ends.pop()
            elif token.type == "image":
                part = self._image(token, in_link=bool(ends))
            else:
                part = self._part(token)
            if is_formula and part[:1].isdigit():
                part = f"&#{ord(part[0])};{part[1:]}"  # before a digit no dollar ends a formula
            elif is_formula and part.startswith("$"):
                part = f"{JOINER}{part}"  # two formulas must not make one "$$"
            parts.append(part)
            is_formula = part.endswith("$") if part else is_formula
        return "".join(parts)

    def _link(self, href: str, text: str) -> tuple[str, str]:
        """Return the Markdown before and after a link's text.

        A forbidden address makes no link, nor does one after the first
        :data:`chatmagic.render.markdown.MOST_ADDRESSES` characters.
        """
        self._addresses += len(href)
        if self._addresses > markdown.MOST_ADDRESSES:
            return "", ""
        note = _escaped(links.link_note(text, href))
        if not links.target(href):
            return "", note
        return "[", f"{note}](<{_IN_ADDRESS.sub(_reference, href)}>)"

    def _image(self, token: Token, *, in_link: bool) -> str:
        """Return a picture as a link to it."""
        href = str(token.attrs["src"])
        alt = _RENDERER.renderInlineAsText(token.children, _PARSER.options, {})
        name = markdown.picture_name(alt, href)
        before, after = ("", "") if in_link else self._link(href, name)
        return f"{before}{_escaped(f'image: {name}')}{after}"

    def _part(self, token: Token) -> str:
        match token.type:
            case "text":
                return _escaped(token.content)
            case "code_inline":
                return self._code(token.content)
            case "formula":
                return self._formula(token) or self._code(token.markup)
            case "footnote":
                return _escaped(f"[{token.content}]")
            case "task":
                return f"[{'x' if token.meta['done'] else ' '}]"
        return _BREAKS.get(token.type, token.markup)

    def _code(self, code: str) -> str:
        code = code.replace("\n", " ")
        runs = set(map(len, re.findall("`+", code)))
        if not code.strip():
            return "&#160;"
        if len(runs) > 1 or (self._in_table and "|" in code):
            return _escaped(code.strip())
        marks = "`" if 1 not in runs else "``"
        pad = " " if code[0] in " `" or code[-1] in " `" else ""
        return f"{marks}{pad}{_IN_CODE.sub(_apart, code)}{pad}{marks}"

    def _formula(self, token: Token) -> str:
        """Return a formula in dollars; empty if no page may typeset it."""
        tex = "" if _ENDS.search(token.content) else formula_allowlist.typeset_form(token.content)
        tex = _OUTER.sub(_inner, " ".join(tex.split())).strip()
        is_cut = self._in_table and "|" in tex
        if (
            not tex
            or is_cut
            or ("\\tag" in tex and ("\\begin" in tex or not token.meta["display"]))
        ):
            return ""
        marks = "$$" if token.meta["display"] else "$"
        return f"{marks}{_IN_FORMULA.sub(lambda match: f'{match[0]} ', tex)}{marks}"


def _inner(match: re.Match[str]) -> str:
    """Return the command inside dollars that replaces a command outside of dollars."""
    command, name = match.groups()
    if name == "equation":
        return ""
    if name == "eqnarray":
        return r"\begin{array}{rcl}" if command == "begin" else r"\end{array}"
    kinds = {"gather": "gathered", "multline": "gathered"}
    inner = "alignedat" if name.endswith("at") else kinds.get(name, "aligned")
    return f"\\{command}{{{inner}}}"


def _indented(first: str, rest: str, block: str) -> str:
    """Return a block with a mark before its first line, and an indent before each other line."""
    return (first + block.replace("\n", f"\n{rest}")).replace(f"\n{rest}\n", f"\n{rest.rstrip()}\n")
