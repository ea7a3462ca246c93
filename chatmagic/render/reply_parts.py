r"""Parts of a reply: its blocks of code, and the text between them as Markdown for a cell.

A front end's own Markdown fetches images, reads HTML, draws diagrams and typesets any formula.
So the text of a reply is made safe before it becomes a cell: what would begin HTML, an image,
a fence or a command is kept apart by a word joiner, which is not seen, and no dollar is left but
those of formulas that a page may typeset (:mod:`chatmagic.render.formulas`).
"""

from __future__ import annotations

import re
import textwrap
from typing import Final

from markdown_it.renderer import RendererHTML

from chatmagic.models import CodeBlock
from chatmagic.render import formulas, markdown_parser
from chatmagic.text import JOINER, fence, visible

_BLOCKS: Final = markdown_parser.parser(RendererHTML)
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])

_BEGINS: Final = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)|``(?=`)|~~(?=~)")
_COMMAND: Final = re.compile(r"\\(?=[(\[A-Za-z])")
_DOLLAR: Final = re.compile(r"\\?\$")
_WIDE_DOLLAR: Final = "\uff04"
"""What a page takes for no delimiter, and a reader for a dollar."""
_ENDS: Final = re.compile(r"[$`]|\n\s*\n")
"""What may end a formula of a Markdown cell before its own end."""


def parts(text: str) -> list[str | CodeBlock]:
    """Return the blocks of code of a reply and the texts between them, in order.

    Returns:
        Texts as lines of the reply, and blocks, none of them blank; a block in a list or a
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
        at = after
        if token.content.strip():
            language = (token.info.split() or [""])[0]
            cut.append(CodeBlock(token.content.removesuffix("\n"), language))
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
        tex = match[match.lastgroup or 0].strip()
        if _ENDS.search(tex) or formulas.goes_back(tex) or not formulas.typesettable(tex):
            continue
        # Pages read no other delimiters in a Markdown cell, and no HTML if they end it elsewhere.
        mark = "$$" if match.lastgroup in {"dollars", "square"} else "$"
        formula = _BEGINS.sub(_apart, tex.replace("<", "< "))
        between = _harmless(text[at : match.start()]) or JOINER * bool(kept)  # not one "$$"
        kept += [between, mark, formula, mark]
        at = match.end()
    return "".join([*kept, _harmless(text[at:])])


def fenced(code: str) -> str:
    """Return code as a block of Markdown without a language, which a page might draw."""
    marks = fence(code)
    return f"{marks}\n{visible(code)}\n{marks}"


def _prose(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)).strip()


def _harmless(text: str) -> str:
    """Return text in which nothing begins a formula or a command, HTML, an image or a fence."""
    text = _DOLLAR.sub(_WIDE_DOLLAR, _BEGINS.sub(_apart, text))
    return _COMMAND.sub(_apart, text)


def _apart(match: re.Match[str]) -> str:
    return match[0] + JOINER
