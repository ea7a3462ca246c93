"""Table of replies as HTML that cannot act: the beginnings of many replies, a line each."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final

from chatmagic.safe_text import one_line

SHOWN: Final = 20
"""Largest number of rows that are shown by default."""
_EXCERPT: Final = 200


def as_html(head: Sequence[str], rows: Sequence[Iterable[object]], *, shown: int = SHOWN) -> str:
    """Return a table of the first rows as HTML.

    Args:
        head: names of the columns.
        rows: the values of each row; ``None`` is an empty cell.
        shown: largest number of rows that are shown.
    """
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:shown])
    names = "".join(f'<th scope="col">{_safe(name)}</th>' for name in head)
    left = len(rows) - shown
    note = f"<p>{left:,} more rows</p>" if left > 0 else ""
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>{note}"


def _cell(value: object) -> str:
    return f'<td dir="auto">{"" if value is None else _safe(str(value))}</td>'


def _safe(text: str) -> str:
    return html.escape(one_line(text, _EXCERPT))
