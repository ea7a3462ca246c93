"""Small plot of what requests took, as SVG in the colour of the text around it. Pure.

Kinds of bars differ in their shape: full, outlined, or a question mark.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST: Final = 30
"""How many bars there are at most, the latest."""
_STEP: Final = 12
_LEFT: Final = 40
_HEIGHT: Final = 60
_TOP: Final = 12


class Bar(NamedTuple):
    """One request.

    Args:
        height: what it took; ``None`` is unknown.
        is_full: whether it is drawn full, else as an outline.
    """

    height: int | None
    is_full: bool


def svg(bars: Sequence[Bar], label: str) -> str:
    """Return the plot.

    Args:
        bars: oldest first.
        label: what it shows, in words.
    """
    bars = bars[-MOST:]
    top = max((bar.height or 0 for bar in bars), default=0)
    right, bottom = _LEFT + _STEP * max(len(bars), 1), _TOP + _HEIGHT
    drawn = "".join(
        _drawn(bar, _LEFT + 2 + _STEP * place, bottom, top) for place, bar in enumerate(bars)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {right} {bottom + 6}" width="{right}" height="{bottom + 6}" '
        'fill="currentColor" stroke="none" font-size="11" style="max-width: 100%;">'
        f'<text x="{_LEFT - 4}" y="{_TOP + 4}" text-anchor="end">{top:,}</text>'
        f'<text x="{_LEFT - 4}" y="{bottom + 4}" text-anchor="end">0</text>'
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="currentColor"/>'
        f"{drawn}</svg>"
    )


def _drawn(bar: Bar, left: int, bottom: int, top: int) -> str:
    if bar.height is None:
        return f'<text x="{left + 1}" y="{bottom - 3}">?</text>'
    height = round(_HEIGHT * bar.height / top, 1) if top else 0
    look = "" if bar.is_full else ' fill="none" stroke="currentColor" stroke-dasharray="2 1"'
    return (
        f'<rect x="{left}" y="{bottom - height:g}" width="{_STEP - 4}" height="{height:g}"{look}/>'
    )
