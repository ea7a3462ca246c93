"""Untrusted text made safe to show: none of its characters acts.

Replies, prompts and error messages pass through here before a person sees them as text.

In printed text and in tracebacks, JupyterLab and Notebook 7 turn everything that looks like an
address into a link, even ``javascript://`` and ``data:``. An invisible word joiner prevents that
(:func:`unlinked`). In the HTML of a reply they make no such links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

# Patterns are compiled at their first use: loading the extension uses none of them.
FENCE: Final = r"(?m)^ {0,3}(`{3,}|~{3,})([^\n]*)$"
"""Line of Markdown that opens or closes a block of code: its marks, and the text after them."""
_SURROGATE: Final = "[\ud800-\udfff]"

UNTYPESET: Final = "mathjax_ignore tex2jax_ignore"
"""CSS classes of an element in which no page looks for formulas: dollars act in HTML, too.

JupyterLab and Notebook 7 read the first class, pages of nbconvert the second.
"""

TYPESET: Final = "mathjax_process tex2jax_process"
"""CSS classes of an inner element in which pages look for formulas again."""

PROSE: Final = (
    "white-space: pre-wrap; overflow: hidden; overflow-wrap: anywhere; word-break: normal;"
)
"""Style of a box for text as typed; no character leaves the box.

It replaces JupyterLab's ``word-break: break-all`` for each ``pre`` of an output, which cuts words
and takes Chromium 16 s for 3,000 marks without a letter.
"""

# C0 without tab and line ends, DEL, C1, bidi embeddings and isolates, surrogates, tags.
_ACTING: Final = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return a text in which every acting character is replaced by a visible one.

    Control characters other than tab, line feed and carriage return become their symbols
    (U+2400 and following, U+2421). C1 controls, bidi embeddings, overrides and isolates
    (U+202A-202E, U+2066-2069), tag characters (U+E0000-E007F) and lone surrogates become
    U+FFFD. Marks that ordinary text needs stay, such as U+200C to U+200F.

    Args:
        text: untrusted text.
    """
    return re.sub(_ACTING, _symbol, without_lone_surrogates(text))


def to_terminal(text: str) -> str:
    """Return a text that is safe to print in a terminal.

    It equals the text of :func:`visible` without carriage returns, which would overwrite the line.
    Characters are replaced one by one, so a text may come in fragments.

    Args:
        text: untrusted text, or a fragment of it.
    """
    return re.sub(_ACTING, _symbol, text.replace("\r", ""))


def one_line(text: str, limit: int = 60) -> str:
    """Return an excerpt of a text on one line: visible, white space folded.

    Args:
        text: untrusted text.
        limit: largest number of characters, with the ellipsis of a cut.
    """
    line = " ".join(visible(text).split())
    if len(line) <= limit:
        return line
    beginning = line[: max(limit - 1, 0)].rstrip()
    return f"{beginning}…"[:limit]


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 turn``, ``2,000 turns``.

    Args:
        count: the number.
        noun: the noun in the singular; its plural ends in "s".
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def numbered(numbers: Iterable[int], noun: str) -> str:
    """Return a noun with numbers: ``cell 3``, ``cells 3 and 5``.

    Args:
        numbers: the numbers, at least one; each is named once.
        noun: the noun in the singular.
    """
    names = [f"{number:,}" for number in dict.fromkeys(numbers)]
    if len(names) == 1:
        return f"{noun} {names[0]}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


MEMORY_ADDRESS: Final = r"\bat 0x[0-9A-Fa-f]{6,}"
"""Pattern of an object's address in memory, as in its default repr."""


def without_memory_addresses(text: str) -> str:
    """Return a text without objects' addresses in memory, which differ in each kernel.

    Args:
        text: any text.
    """
    return re.sub(MEMORY_ADDRESS, "at 0x…", text)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004 - the C0 controls, shown by U+2400 and following
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"  # noqa: PLR2004 - DEL has a symbol too


JOINER: Final = "\u2060"

# The beginning of an address; a joiner after it prevents the link.
_ADDRESS: Final = r"data(?=:(?:\S|\Z))|:/(?=/)"
_SCHEME: Final = r"[A-Za-z0-9+.-]*\Z"
_MOST_BEFORE: Final = 50
"""Number of characters of an earlier piece that an address may begin in."""
_FAR: Final = 42
"""Largest number of characters before "://" in a scheme: more than the front ends read."""


def unlinked(text: str, before: str = "") -> str:
    """Return a text in which only ``http://`` and ``https://`` make links.

    Args:
        text: a text, or a piece of a text that is shown piece by piece.
        before: the text that was shown before, or at least its last 50 characters.
    """
    before = before[-_MOST_BEFORE:]
    whole = before + text
    parts = []
    done = len(before)
    for match in re.finditer(_ADDRESS, whole):
        at = match.end()
        if at >= done and not _is_web_address(whole, match):
            parts += [whole[done:at], JOINER]
            done = at
    return "".join([*parts, whole[done:]])


def _is_web_address(text: str, match: re.Match[str]) -> bool:
    """Return whether a match of the beginning of an address follows ``http`` or ``https``."""
    if match[0] == "data":
        return False
    scheme = re.search(_SCHEME, text[max(match.start() - _FAR, 0) : match.start()])
    return scheme is not None and scheme[0].lower() in {"http", "https"}


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines with aligned columns.

    Args:
        rows: the cells of each row; all rows have the same number.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def fences(text: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Yield the opening and the closing fence of each block of code; ``None`` if it stays open.

    A fence has two groups: its marks, and the text after them.

    Args:
        text: any text.
    """
    opened: re.Match[str] | None = None
    for match in re.finditer(FENCE, text):
        if opened is None:
            opened = match
        elif match[1].startswith(opened[1]) and not match[2].strip():
            yield opened, match
            opened = None
    if opened is not None:
        yield opened, None


def open_fence(text: str) -> re.Match[str] | None:
    """Return the opening fence of the block of code that a text leaves open; ``None`` for none.

    Args:
        text: any text.
    """
    return next((opened for opened, closed in fences(text) if closed is None), None)


def fenced(code: str, language: str = "") -> str:
    """Return code as a block of Markdown, in a fence that nothing in it closes.

    Args:
        code: any text; a last line end belongs to the fence.
        language: the word after the opening fence.
    """
    marks = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    end = "" if code.endswith("\n") else "\n"
    return f"{marks}{language}\n{code}{end}{marks}"


def without_lone_surrogates(text: str) -> str:
    """Return a text with surrogate pairs joined, and each lone surrogate as U+FFFD.

    Args:
        text: any text.
    """
    if text.isascii() or not re.search(_SURROGATE, text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
