r"""Parts of a reply: its blocks of code, and the text between them as Markdown for a cell.

A front end's own Markdown fetches images, reads HTML, draws diagrams and typesets any formula.
So the text of a reply is made safe before it becomes a cell: what would begin HTML, an image or
a fence is kept apart by a word joiner, which is not seen, and a formula that no page may typeset
(:mod:`chatmagic.render.formulas`) loses its delimiters.
"""

from __future__ import annotations

import re
import textwrap
from typing import Final

from markdown_it.renderer import RendererHTML

from chatmagic.models import CodeBlock
from chatmagic.render import formulas, markdown_parser
from chatmagic.text import JOINER, visible

_BLOCKS: Final = markdown_parser.parser(RendererHTML)
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])

_BEGINS: Final = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)|``(?=`)|~~(?=~)")
_DELIMITERS: Final = re.compile(r"\\(?=[(\[]|begin(?![A-Za-z]))")
_DOLLAR: Final = "\uff04"
"""The wide dollar: what a page takes for no delimiter, and a reader for a dollar."""


def parts(text: str) -> list[str | CodeBlock]:
    """Return the blocks of code of a reply and the texts between them, in order.

    Args:
        text: the reply.

    Returns:
        Texts as lines of the reply, none of them blank; a block that stands in a list or a
        quotation is without what indents it.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    cut: list[str | CodeBlock] = []
    at = 0
    for token in _BLOCKS.parse(text):
        if token.type not in {"fence", "code_block"} or token.map is None:
            continue
        first, after = token.map
        cut.append(_prose(lines[at:first]))
        words = token.info.split()
        cut.append(CodeBlock(token.content.removesuffix("\n"), words[0] if words else ""))
        at = after
    return [part for part in (*cut, _prose(lines[at:])) if part]


def markdown(text: str) -> str:
    """Return the text between blocks of code as Markdown that fetches and restyles nothing.

    Args:
        text: as :func:`parts` gives it.
    """
    kept: list[str] = []
    at = 0
    text = visible(text)
    for match in markdown_parser.FORMULA.finditer(text):
        tex = match[match.lastgroup or 0]
        if formulas.typesettable(tex) and not formulas.goes_back(tex):
            kept += [_harmless(text[at : match.start()]), _formula(match[0])]
            at = match.end()
    return "".join([*kept, _harmless(text[at:])])


def fenced(code: str) -> str:
    """Return code as a block of Markdown without a language, which a page might draw.

    Args:
        code: any text.
    """
    longest = max(map(len, re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{visible(code)}\n{fence}"


def _prose(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)).strip()


def _harmless(text: str) -> str:
    """Return text in which nothing begins a formula, HTML, an image or a fence."""
    return _DELIMITERS.sub(_apart, _BEGINS.sub(_apart, text)).replace("$", _DOLLAR)


def _formula(text: str) -> str:
    """Return a formula in which no HTML begins, wherever a page takes it to end."""
    return _BEGINS.sub(_apart, text.replace("<", r"\lt "))


def _apart(match: re.Match[str]) -> str:
    return match[0] + JOINER
