"""Tables and folded parts for a page and for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, Literal

from chatmagic.render import markdown
from chatmagic.render.sanitize import frame
from chatmagic.safe_text import columns, to_terminal, visible

Shown = tuple[str, str]
"""A part of an output as safe HTML and as text."""
Row = Sequence[str | Shown]
"""The cells of a table's row: untrusted text, or safe HTML with its text."""


_TOP: Final = "text-align: left; vertical-align: top;"
_FACT: Final = f"{_TOP} white-space: nowrap;"
# No word, however long, makes a column wide; short ones stay whole.
_WRAPPED: Final = "overflow-wrap: anywhere; min-width: 5.5em;"


def tabulated(head: Sequence[str], rows: Sequence[Row], name: str, end: str) -> Shown:
    """Return a table with a line below, as HTML and as text.

    Args:
        head: the names of its columns.
        rows: the cells of each row: a number first, notes last.
        name: its subject, for a screen reader.
        end: the line.
    """
    if not rows:
        return page(end)
    lines = []
    for row in rows:
        number, *words, notes = (cell if isinstance(cell, str) else cell[1] for cell in row)
        parts = [*words, f"({notes})"] if notes else words
        lines.append(f"{number}. " + "\n   ".join(parts))
    return page((grid(head, rows, name), "\n".join(lines)), end)


def grid(head: Sequence[str], rows: Sequence[Row], name: str) -> str:
    """Return a table as HTML; the first cell of a row is its head.

    Args:
        head: the names of its columns; empty for rows of a name and its words.
        rows: the cells.
        name: its subject, for a screen reader.
    """
    shown = [[escape(cell) if isinstance(cell, str) else cell[0] for cell in row] for row in rows]
    columns = [" ".join(column) for column in zip(*shown, strict=True)][1:]
    sides = [_side(column) for column in columns]
    first_style = _TOP if head else _FACT
    html = "".join(_row_html(row, first_style, sides) for row in shown)
    if not head:
        return markdown.scrolling(f"{markdown.TABLE}><tbody>{html}</tbody></table>", name)
    heads = "".join(
        f'<th scope="col" style="text-align: {side};">{title}</th>'
        for title, side in zip(head, ["left", *sides], strict=True)
    )
    top = f"<thead><tr>{heads}</tr></thead>"
    return markdown.scrolling(f"{markdown.TABLE}>{top}<tbody>{html}</tbody></table>", name)


def _side(column: str) -> Literal["left", "right"]:
    """Return the side on which the cells of a column stand: numbers stand right.

    Args:
        column: its cells, joined.
    """
    return "right" if re.fullmatch(r"(?=.*\d)[\d,? ]+", column) else "left"


def _row_html(row: Sequence[str], first_style: str, sides: Sequence[str]) -> str:
    """Return a row as HTML.

    Args:
        row: its cells, as safe HTML.
        first_style: the style of the first cell, which is the head of the row.
        sides: the sides of the others.
    """
    first, *others = row
    cells = [f'<th scope="row" style="{first_style}">{first}</th>']
    for words, side in zip(others, sides, strict=True):
        wrap = _WRAPPED if side == "left" else ""
        style = f"vertical-align: top; {wrap} text-align: {side};"
        cells.append(f'<td dir="auto" style="{style}">{words}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def page(*parts: str | Shown, name: str = "Conversation") -> Shown:
    """Return lines and other parts, one below the other, as HTML and as text.

    Args:
        parts: the lines, as untrusted text, and the others as safe HTML and as text.
        name: their subject, for a screen reader.
    """
    html, text = _joined(parts)
    return frame(html, name), text


def folded(summary: str, *parts: str | Shown) -> Shown:
    """Return parts folded below a line, as HTML and as text.

    Args:
        summary: the line.
        parts: as for :func:`page`.
    """
    html, text = _joined(parts)
    return f"<details><summary>{escape(summary)}</summary>{html}</details>", text


def _joined(parts: Iterable[str | Shown]) -> Shown:
    """Return parts one below the other, as HTML and as text."""
    pairs = [
        (f"<p>{escape(visible(part))}</p>", to_terminal(part)) if isinstance(part, str) else part
        for part in parts
    ]
    return "".join(html for html, _ in pairs), "\n".join(text for _, text in pairs)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> Shown:
    """Return a table, as HTML and as text.

    Args:
        heads: the names of its columns.
        rows: the texts of its cells.
        name: its subject, for a screen reader.
    """
    return grid(heads, rows, name), "\n".join(map(to_terminal, columns([heads, *rows])))


def facts(rows: Sequence[tuple[str, str]], name: str) -> Shown:
    """Return a table of facts without headings, as HTML and as text.

    Args:
        rows: the name of each, and its words.
        name: its subject, for a screen reader.
    """
    return grid((), rows, name), to_terminal("\n".join(map(": ".join, rows)))
