r"""A reply as safe Markdown, for paper and for pages that show no HTML.

The Markdown is written from the tokens of :mod:`chatmagic.render.markdown_parser`, never copied
from the reply. Each character that could act in CommonMark, GitHub, pandoc, Quarto or MathJax is a
character reference. Pictures are links, and headings begin at level 4. A formula that a page may
typeset (:mod:`chatmagic.render.formula_allowlist`) stands in dollars; any other formula is code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
    return fenced_text(f"{_IN_CODE.sub(_with_joiner, visible(code))}\n", language)


def _typed(line: str) -> str:
    """Return a line as typed, its indent as spaces that no page folds."""
    indent = len(line) - len(line.lstrip())
    return "&#160;" * indent + _at_line_start(_escaped(line.strip()))


def _escaped(text: str) -> str:
    """Return a text in which no character acts inside a line of Markdown."""
    return _SIGN.sub(_as_reference, _DELIMITER.sub(_with_joiner, text))


def _at_line_start(inline: str) -> str:
    """Return inline Markdown whose lines begin no block."""
    inline = _LINE_SIGN.sub(_as_reference, inline)
    return _NUMBER.sub(lambda match: f"{match[1]}&#{ord(match[2])};", inline)


def _as_reference(match: re.Match[str]) -> str:
    """Return a character as its HTML reference, which no Markdown takes for a sign."""
    return f"&#{ord(match[0])};"


def _with_joiner(match: re.Match[str]) -> str:
    """Return a text with a joiner behind it, so that it makes no sign with what follows."""
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
        """Write nothing yet."""
        self._above: list[int] = []
        self._in_table = False
        self._addresses = 0  # characters of the addresses written so far

    def blocks(self, blocks: Sequence[_Block]) -> str:
        """Return blocks one below the other.

        Args:
            blocks: the blocks.
        """
        written: list[str] = []
        for place, block in enumerate(blocks):
            kind = block.token.type.removesuffix("_open")
            if place > 0:
                # In a tight list no empty line stands between an item's text and its inner list.
                is_tight = blocks[place - 1].token.hidden and kind.endswith("_list")
                written.append("\n" if is_tight else "\n\n")
            write = getattr(self, f"write_{kind}", self._words)
            written.append(write(block))
        return "".join(written)

    def write_heading(self, block: _Block) -> str:
        """Return a heading, at a level that skips none below the headings above."""
        level = int(block.token.tag[1])
        self._above = [*(other for other in self._above if other < level), level]
        return f"{'#' * int(markdown.heading_tag(self._above)[1])} {self._words(block)}"

    def write_hr(self, _: _Block) -> str:
        """Return a line across the page."""
        return "___"

    def write_fence(self, block: _Block) -> str:
        """Return a block of code."""
        token = block.token
        return code_block(token.content.removesuffix("\n"), markdown.language_name(token.info))

    write_code_block = write_fence

    def write_blockquote(self, block: _Block) -> str:
        """Return a quotation."""
        return _indented("> ", "> ", self.blocks(block.inside))

    def write_formula(self, block: _Block) -> str:
        """Return a formula; as code if no page may typeset it."""
        return self._formula(block.token) or code_block(block.token.markup)

    def _words(self, block: _Block) -> str:
        """Return the text of a block that holds no other blocks."""
        inline = (self._inline(line.token.children or []) for line in block.inside)
        return _at_line_start("".join(inline))

    def write_bullet_list(self, block: _Block) -> str:
        """Return a list with its marks, or its numbers."""
        first = int(block.token.attrs.get("start", 1))
        is_ordered = block.token.type == "ordered_list_open"
        items = []
        for number, item in enumerate(block.inside, first):
            sign = item.token.markup
            mark = f"{number}{sign} " if is_ordered else f"{sign} "
            items.append(_indented(mark, " " * len(mark), self.blocks(item.inside)))
        is_tight = all(part.token.hidden for item in block.inside for part in item.inside[:1])
        return ("\n" if is_tight else "\n\n").join(items)

    write_ordered_list = write_bullet_list

    def write_table(self, block: _Block) -> str:
        """Return a table; the sides of its columns are those of the first row."""
        self._in_table = True
        rows = [row.inside for part in block.inside for row in part.inside]
        lines = [f"| {' | '.join(map(self._words, row))} |" for row in rows]
        self._in_table = False
        styles = (str(cell.token.attrs.get("style", "")).rpartition(":")[2] for cell in rows[0])
        lines.insert(1, f"|{'|'.join(_SIDES.get(style, '---') for style in styles)}|")
        return "\n".join(lines)

    def _inline(self, tokens: Sequence[Token]) -> str:
        """Return a line of text with its links, pictures, code and formulas."""
        written = ""
        parts: list[str] = []
        for part in self._inline_parts(tokens):
            if part:
                parts.append(_behind_formula(part) if written.endswith("$") else part)
                written = part
        return "".join(parts)

    def _inline_parts(self, tokens: Sequence[Token]) -> Iterator[str]:
        """Yield the parts of a line of text; a link in a link is only its text."""
        ends: list[str] = []
        """What is written where each open link ends."""
        for place, token in enumerate(tokens):
            if token.type == "link_open":
                begin = ""
                end = ""
                if not ends:
                    text = markdown.text_of_link(tokens, place)
                    begin, end = self._link(str(token.attrs["href"]), text)
                ends.append(end)
                yield begin
            elif token.type == "link_close":
                yield ends.pop()
            elif token.type == "image":
                yield self._image(token, in_link=bool(ends))
            else:
                yield self._part(token)

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
        return "[", f"{note}](<{_IN_ADDRESS.sub(_as_reference, href)}>)"

    def _image(self, token: Token, *, in_link: bool) -> str:
        """Return a picture as a link to it."""
        href = str(token.attrs["src"])
        alt = _RENDERER.renderInlineAsText(token.children, _PARSER.options, {})
        name = markdown.picture_name(alt, href)
        before, after = ("", "") if in_link else self._link(href, name)
        return f"{before}{_escaped(f'image: {name}')}{after}"

    def _part(self, token: Token) -> str:
        """Return a part of a line that is neither a link nor a picture."""
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
        """Return code in a line; as text if it has backticks of several lengths."""
        code = code.replace("\n", " ")
        if not code.strip():
            return "&#160;"
        lengths = {len(run) for run in re.findall("`+", code)}
        if len(lengths) > 1 or (self._in_table and "|" in code):
            return _escaped(code.strip())
        marks = "``" if 1 in lengths else "`"
        pad = " " if code[0] in " `" or code[-1] in " `" else ""
        return f"{marks}{pad}{_IN_CODE.sub(_with_joiner, code)}{pad}{marks}"

    def _formula(self, token: Token) -> str:
        """Return a formula in dollars; empty if no page may typeset it."""
        if _ENDS.search(token.content):
            return ""
        tex = formula_allowlist.typeset_form(token.content)
        tex = _OUTER.sub(_inner, " ".join(tex.split())).strip()
        is_display = bool(token.meta["display"])
        is_cut_by_table = self._in_table and "|" in tex
        has_lost_tag = "\\tag" in tex and ("\\begin" in tex or not is_display)
        if not tex or is_cut_by_table or has_lost_tag:
            return ""
        marks = "$$" if is_display else "$"
        return f"{marks}{_IN_FORMULA.sub(lambda match: f'{match[0]} ', tex)}{marks}"


def _behind_formula(part: str) -> str:
    """Return a part of a line that follows a formula, so that the formula ends before it."""
    if part[:1].isdigit():
        return f"&#{ord(part[0])};{part[1:]}"  # before a digit no dollar ends a formula
    if part.startswith("$"):
        return f"{JOINER}{part}"  # two formulas must not make one "$$"
    return part


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
