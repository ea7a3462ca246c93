"""Picture of some rows: bars with their figures, as SVG.

It has a ground of its own, so that it can be read on a dark page too, and tells ours from the
peers by filled bars and bold words, not by a colour.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from rows import OURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rows import Row

DRAWN: Final = (
    "CPU a fragment, one event a chunk",
    "CPU a fragment, one event a chunk, each with another time",
    "CPU a fragment, one event a chunk, 50 a second",
)
WIDTH: Final = 720
BARS_FROM: Final = 120
LONGEST: Final = 530
LINE: Final = 20


def svg(rows: Iterable[Row]) -> str:
    """Return the picture of those rows that are drawn, each with bars from short to long."""
    lines = [line for row in rows if row.what in DRAWN for line in _lines(row)]
    height = LINE * len(lines)
    words = "; ".join(DRAWN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
            '     font-family="sans-serif" font-size="13" fill="#111">',
            f"<title>{escape(words)}</title>",
            f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff" stroke="#888"/>',
            *(f'<g transform="translate(0 {LINE * n})">{x}</g>' for n, x in enumerate(lines, 1)),
            "</svg>\n",
        ]
    )


def _lines(row: Row) -> Iterator[str]:
    yield f'<text x="12" font-weight="bold">{escape(row.what)}; {escape(row.base)} = 1</text>'
    longest = max(row.figures.values())
    for name, figure in sorted(row.figures.items(), key=lambda item: item[1]):
        width = LONGEST * figure / longest
        look = 'fill="#111"' if name == OURS else 'fill="#ddd" stroke="#111"'
        weight = ' font-weight="bold"' if name == OURS else ""
        yield (
            f'<text x="{BARS_FROM - 8}" text-anchor="end"{weight}>{escape(name)}</text>'
            f'<rect x="{BARS_FROM}" y="-11" width="{width:.1f}" height="14" {look}/>'
            f'<text x="{BARS_FROM + width + 8:.1f}"{weight}>{figure / row.figures[row.base]:.2f}'
            "</text>"
        )
    yield ""
