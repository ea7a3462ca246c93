r"""Parts of a reply: its blocks of code, and the text between them as Markdown for a cell.

A front end's own Markdown fetches images, reads HTML, draws diagrams and typesets any formula.
So the text of a reply is made safe before it becomes a cell. A word joiner, which is invisible,
splits each mark that would begin HTML, an image, a fence or a command. Dollars stay only around
formulas that a page may typeset (:mod:`chatmagic.render.formulas`).
"""

from __future__ import annotations

import re
import textwrap
from typing import Final

from chatmagic.models import CodeBlock
from chatmagic.render import formulas, markdown_parser
from chatmagic.text import JOINER, fence, visible

_BEGINS: Final = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)|``(?=`)|~~(?=~)")
_COMMAND: Final = re.compile(r"\\(?=[(\[A-Za-z])")
_DOLLAR: Final = re.compile(r"\\?\$")
_WIDE_DOLLAR: Final = "\uff04"
"""A dollar to a reader, and no delimiter to a page."""
_ENDS: Final = re.compile(r"[$`]|\n\s*\n")
"""Marks that may end a formula of a Markdown cell before its own end."""


def parts(text: str) -> list[str | CodeBlock]:
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
    for token in markdown_parser.OUTLINE.parse(text):
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
        text: a text from :func:`parts`.
    """
    kept: list[str] = []
    at = 0
    text = visible(text)
    for match in markdown_parser.FORMULA.finditer(text):
        tex = match[match.lastgroup or 0].strip()
        if (
            _ENDS.search(tex)
            or formulas.has_negative_space(tex)
            or not formulas.is_typesettable(tex)
        ):
            continue
        # In a Markdown cell pages read no delimiters but dollars. A page that ends the formula
        # elsewhere must find no HTML in it.
        mark = "$$" if match.lastgroup in {"dollars", "square"} else "$"
        formula = _BEGINS.sub(_apart, tex.replace("<", "< "))
        between = _harmless(text[at : match.start()]) or JOINER * bool(
            kept
        )  # two formulas must not make one "$$"
        kept += [between, mark, formula, mark]
        at = match.end()
    return "".join([*kept, _harmless(text[at:])])


def fenced(code: str) -> str:
    """Return code as a block of Markdown, without a language: a page might draw a diagram of it.

    Args:
        code: any text.
    """
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
