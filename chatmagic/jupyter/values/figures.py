"""Figures of matplotlib: titles, labels, and the data behind lines and bars; no picture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from chatmagic.jupyter.values import arrays
from chatmagic.jupyter.values.description import (
    Description,
    cell,
    ends,
    is_a,
    places,
)
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NO_PICTURE: Final = "[no picture is sent: this describes the figure]"
_POINTS: Final = 12
_BARS: Final = 24
_MARKS: Final = 20
"""How many lines, bars or other marks of one kind are described."""
_SHOWN: Final = 200


def describe(value: Any) -> Description | None:
    """Return the description of a figure or of its axes; ``None`` of anything else."""
    if is_a(value, "matplotlib.figure", "Figure"):
        axes, title = value.axes, one_line(value.get_suptitle(), _SHOWN)
    elif is_a(value, "matplotlib.axes", "Axes"):
        axes, title = [value], ""
    else:
        return None
    what = f"figure with {counted(len(axes), 'plot')}"
    lines = [f"matplotlib {what}{f': {title}' if title else ''}", NO_PICTURE]
    for number, each in enumerate(axes, 1):
        lines += ["", f"Plot {number} of {len(axes)}", *_plot(each)]
    return Description("\n".join(lines), what)


def _plot(axes: Any) -> list[str]:
    """Return the description of one plot of a figure, line by line."""
    titles = [axes.get_title(loc) for loc in ("left", "center", "right")]
    named = [
        ("title", "; ".join(filter(None, titles))),
        ("x", _axis(axes.get_xlabel(), axes.get_xscale())),
        ("y", _axis(axes.get_ylabel(), axes.get_yscale())),
    ]
    lines = [f"{name}: {one_line(text, _SHOWN)}" for name, text in named if text]
    bars = [each for each in axes.containers if is_a(each, "matplotlib.container", "BarContainer")]
    lines += _each("line", axes.lines, _line)
    lines += _each("bars", bars, lambda container: _bars(axes, container))
    in_bars = {id(patch) for container in bars for patch in container.patches}
    shapes = [patch for patch in axes.patches if id(patch) not in in_bars]
    others = (("collection", axes.collections), ("image", axes.images), ("shape", shapes))
    for word, marks in others:
        lines += _each(word, marks, _other)
    lines += _each("text", axes.texts, lambda text: one_line(text.get_text(), _SHOWN))
    return lines


def _axis(label: str, scale: str) -> str:
    """Return an axis's label, and its scale unless that is linear."""
    return label if scale == "linear" else f"{label} ({scale} scale)".lstrip()


def _each(word: str, marks: Sequence[Any], words: Callable[[Any], str]) -> list[str]:
    """Return the descriptions of the first marks of one kind.

    Args:
        word: for the kind.
        marks: all of it.
        words: describes one mark.
    """
    shown = list(marks)[:_MARKS]
    lines = [f"{word}{_label(mark)}: {words(mark)}" for mark in shown]
    if len(shown) < len(marks):
        lines.append(f"[{word}: {len(shown):,} of {len(marks):,} are described]")
    return lines


def _label(mark: Any) -> str:
    """Return the label that a legend shows; matplotlib's own begin with an underscore."""
    label = str(mark.get_label())
    return "" if not label or label.startswith("_") else f" “{one_line(label, _SHOWN)}”"


def _line(line: Any) -> str:
    """Return the number of a line's points, a summary, and the first and last of them."""
    # The data as given: the processed ones are made, and kept, when they are asked for.
    numpy: Any = sys.modules["numpy"]
    x, y = (numpy.asarray(data) for data in (line.get_xdata(), line.get_ydata()))
    at = ends(len(x), _POINTS)
    points = ", ".join(f"({cell(x[place])}, {cell(y[place])})" for place in at)
    summary = "".join(f"; y: {words}" for words in (arrays.summary(y) if y.size else []))
    return f"{counted(len(x), 'point')}{summary}; {places('point', at, len(x))}: {points}"


def _bars(axes: Any, container: Any) -> str:
    """Return the sizes of the bars that were drawn together, by what their axis calls them."""
    lying = container.orientation == "horizontal"
    axis = axes.yaxis if lying else axes.xaxis
    at = ends(len(container.patches), _BARS)
    named = []
    for patch in (container.patches[place] for place in at):
        begin, extent = (
            (patch.get_y(), patch.get_height()) if lying else (patch.get_x(), patch.get_width())
        )
        size = patch.get_width() if lying else patch.get_height()
        named.append(f"{_tick(axis, begin + extent / 2)}: {cell(size)}")
    return f"{places('bar', at, len(container.patches))}: {', '.join(named)}"


def _tick(axis: Any, place: float) -> str:
    """Return what the axis calls a place: a category, a date, or the number."""
    formatter, locator = axis.get_major_formatter(), axis.get_major_locator()
    if is_a(formatter, "matplotlib.category", "StrCategoryFormatter"):
        return cell(formatter(place))
    if is_a(formatter, "matplotlib.ticker", "FixedFormatter"):
        labels = dict(zip(getattr(locator, "locs", ()), formatter.seq, strict=False))
        return cell(labels.get(round(place), round(place, 6)))
    if is_a(formatter, "matplotlib.ticker", "FuncFormatter"):
        # Bars that stand side by side are beside the place that has the label.
        return cell(formatter(place) or formatter(round(place)) or round(place, 6))
    if type(formatter).__module__ == "matplotlib.dates":
        return cell(sys.modules["matplotlib.dates"].num2date(place))
    return cell(round(place, 6))


def _other(mark: Any) -> str:
    """Return the kind of a mark, with its number of points or its shape."""
    kind = type(mark).__name__
    if is_a(mark, "matplotlib.image", "AxesImage"):
        return f"{kind} of shape {mark.get_array().shape}"
    if is_a(mark, "matplotlib.patches", "Wedge"):
        return f"{kind}, {(mark.theta2 - mark.theta1) / 360:.1%} of the circle"
    if is_a(mark, "matplotlib.collections", "PathCollection"):
        return f"{kind} of {counted(len(mark.get_offsets()), 'point')}"
    return kind
