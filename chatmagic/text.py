"""Untrusted text, shown without letting any of its characters act.

Replies, prompts and error messages go through here before a person sees them as text.

JupyterLab and Notebook 7 make links of what looks like an address in printed text and in
tracebacks, of any scheme: ``javascript://`` and ``data:`` too. A word joiner, which is not
seen, keeps those apart (:func:`unlinked`). In the HTML of a reply they look for nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Patterns are compiled with their first use: the extension loads this, and uses none.
FENCE: Final = r"(?m)^ {0,3}(`{3,}|~{3,})([^\n]*)$"
"""Line of Markdown that opens or ends a block of code: its marks, and what follows them."""
_SURROGATE: Final = "[\ud800-\udfff]"

UNTYPESET: Final = "mathjax_ignore tex2jax_ignore"
"""Classes of an element in which no page looks for formulas: a dollar acts in HTML, too.

The first is read by JupyterLab and Notebook 7, the second by pages that nbconvert makes.
"""

TYPESET: Final = "mathjax_process tex2jax_process"
"""Classes of an element inside such a one in which they do look."""

PROSE: Final = (
    "white-space: pre-wrap; overflow: hidden; overflow-wrap: anywhere; word-break: normal;"
)
"""Style of a box for words as typed: they keep to it, whatever their letters carry.

JupyterLab has ``word-break: break-all`` for each ``pre`` of an output: that cuts words, and
takes Chromium 16 s for 3,000 marks without a letter.
"""

# C0 without tab and line ends, DEL, C1, bidi embeddings and isolates, surrogates, tags.
_ACTING: Final = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return ``text`` with every character shown that would act instead of being seen.

    Control characters other than tab, line feed and carriage return become their symbols
    (U+2400 and following, U+2421). C1 controls, bidi embeddings, overrides and isolates
    (U+202A-202E, U+2066-2069), tag characters (U+E0000-E007F) and lone surrogates become
    U+FFFD. The marks that ordinary text needs (U+200C-200F, for one) stay.
    """
    return re.sub(_ACTING, _symbol, without_lone_surrogates(text))


def to_terminal(text: str) -> str:
    """Return ``text`` safe to print in a terminal.

    As :func:`visible`, and without carriage returns, which would write over the line. Each
    character is taken by itself, so fragments may be given one by one.
    """
    return re.sub(_ACTING, _symbol, text.replace("\r", ""))


def one_line(text: str, limit: int = 60) -> str:
    """Return ``text`` as one line for an excerpt: visible, white space folded.

    Args:
        text: any text.
        limit: the most characters to give, the ellipsis of a cut included; as a message has room
            for by default.
    """
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else (line[: max(limit - 1, 0)].rstrip() + "…")[:limit]


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 turn``, ``2,000 turns``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def numbered(numbers: Iterable[int], noun: str) -> str:
    """Return a noun with the places it is at: ``cell 3``, ``cells 3 and 5``.

    Args:
        numbers: the places, from 1; each is named once.
        noun: what stands there, in the singular.
    """
    names = [f"{number:,}" for number in dict.fromkeys(numbers)]
    if len(names) == 1:
        return f"{noun} {names[0]}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


_MEMORY: Final = r"\bat 0x[0-9A-Fa-f]{6,}"


def without_memory_addresses(text: str) -> str:
    """Return ``text`` without the addresses of objects, which differ whenever it is made."""
    return re.sub(_MEMORY, "at 0x…", text)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004 - the C0 controls, shown by U+2400 and following
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"  # noqa: PLR2004 - DEL has a symbol too


JOINER: Final = "\u2060"

# What such a link needs, up to the character before which a joiner ends it.
_ADDRESS: Final = r"data(?=:(?:\S|\Z))|:/(?=/)"
_SCHEME: Final = r"[A-Za-z0-9+.-]*\Z"
_FAR: Final = 42
"""How far back a scheme is looked for: further than the front ends look."""


def unlinked(text: str, before: str = "") -> str:
    """Return a text in which nothing but ``http://`` and ``https://`` makes a link.

    Args:
        text: a text, or a piece of one that is shown piece by piece.
        before: what was shown before, or at least the last 50 characters of it.
    """
    before = before[-50:]
    whole = before + text
    parts, done = [], len(before)
    for match in re.finditer(_ADDRESS, whole):
        at = match.end()
        scheme = re.search(_SCHEME, whole[max(match.start() - _FAR, 0) : match.start()])
        web = scheme is not None and scheme[0].lower() in {"http", "https"}
        if at < done or (match[0] != "data" and web):
            continue
        parts += [whole[done:at], JOINER]
        done = at
    return "".join([*parts, whole[done:]])


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines, in which each column begins at one place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def fences(text: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Yield for each block of code the fence that opens it, and that which closes it, if any.

    A fence has two groups: its marks, and what stands behind them.
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
    """Return the fence of the block of code that a text leaves open: its marks, and the rest."""
    return next((opened for opened, closed in fences(text) if closed is None), None)


def fence(text: str) -> str:
    """Return the backquotes of a fence that nothing in a text closes."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


def without_lone_surrogates(text: str) -> str:
    """Return ``text`` with surrogate pairs joined and each lone one as U+FFFD."""
    if text.isascii() or not re.search(_SURROGATE, text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_JSON_ESCAPES: Final = (
    ("\\", "\\\\"),
    ('"', '\\"'),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\t", "\\t"),
)
_CONTROLS: Final = bytes(range(32))


def json_escaped(text: str) -> str:
    """Return a text as it stands between quotes in JSON, if :func:`is_json_escaped` agrees.

    It takes a third of the time of :mod:`json`, which looks at each letter twice.
    """
    # What a subclass, as a member of an Enum, is to str() or to a format may be another text.
    text = str.__str__(text)
    for letter, written in _JSON_ESCAPES:
        if letter in text:
            text = text.replace(letter, written)
    return text


def is_json_escaped(written: bytes) -> bool:
    """Return whether what :func:`json_escaped` made holds no control character, which it leaves."""
    return len(written.translate(None, _CONTROLS)) == len(written)
