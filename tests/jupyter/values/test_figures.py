"""Figures of matplotlib in a prompt: titles, labels, the data behind lines and bars."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from libraries import library

from chatmagic.jupyter.values.describe import describe
from chatmagic.jupyter.values.description import LIMIT

if TYPE_CHECKING:
    from shells import Shell


@pytest.fixture(scope="module")
def figure_of() -> Any:
    """Give the class of the figures, which needs no screen."""
    return library("matplotlib.figure").Figure


def parts(value: Any, seen: dict[int, Any] | None = None) -> dict[int, Any]:
    """Give which attributes all objects of matplotlib have that are reached from one."""
    seen = {} if seen is None else seen
    if id(value) in seen:
        return seen
    if isinstance(value, (list, tuple)):
        for item in value:
            parts(item, seen)
    elif type(value).__module__.startswith("matplotlib") and hasattr(value, "__dict__"):
        # A copy, which keeps the attributes alive, so that no other has the identity of one.
        held = dict(vars(value))
        seen[id(value)] = {name: (id(item), item) for name, item in held.items()}
        for item in held.values():
            parts(item, seen)
    return seen


def text(bare: Shell, value: object) -> str:
    """Give the description of a figure, which keeps to its bound and changes nothing."""
    before = parts(value)
    described = describe(value, bare.shell).text
    assert parts(value) == before
    assert len(described) <= LIMIT
    return described


def test_a_figure_is_described(bare: Shell, figure_of: Any) -> None:
    """By its titles, labels and lines, with a line that no picture is sent."""
    figure = figure_of()
    figure.suptitle("Both years")
    left, right = figure.subplots(1, 2)
    left.plot([1, 2, 3], [4.0, 5.0, 9.0], label="rising")
    left.set(title="2025", xlabel="month", ylabel="sales", yscale="log")
    right.set_title("2026", loc="left")
    assert text(bare, figure) == (
        "matplotlib figure with 2 plots: Both years\n"
        "[no picture is sent: this describes the figure]\n"
        "\nPlot 1 of 2\ntitle: 2025\nx: month\ny: sales (log scale)\n"
        "line “rising”: 3 points; y: min 4.0, max 9.0, mean 6, missing 0; all 3 points: "
        "(1, 4.0), (2, 5.0), (3, 9.0)\n"
        "\nPlot 2 of 2\ntitle: 2026"
    )
    assert (
        describe(figure, bare.shell).words("fig").startswith("fig: figure with 2 plots described")
    )
    assert text(bare, left).startswith("matplotlib figure with 1 plot\n[no picture is sent")


def test_bars_are_named_as_the_axis_names_them(bare: Shell, figure_of: Any) -> None:
    """By category, by label, by date, or by their place."""
    axes = figure_of().subplots(2, 4).flat
    axes[0].bar(["p", "q"], [3, 4.5], label="named")
    axes[1].barh(["p", "q"], [3, 4])
    axes[2].bar([0, 1], [3, 4])
    axes[2].set_xticks([0, 1], ["zero", "one"])
    axes[3].bar([date(2026, 1, day) for day in (1, 2)], [3, 4])
    axes[4].bar([0.5, 2], [3, 4])
    axes[5].bar([0, 1], [3, 4])
    axes[5].xaxis.set_major_locator(library("matplotlib.ticker").FixedLocator([0, 1]))
    axes[5].xaxis.set_major_formatter(library("matplotlib.ticker").FixedFormatter(["u", "v"]))
    for side in (-0.2, 0.2):  # side by side, as pandas draws two columns
        axes[6].bar([side, 1 + side], [3, 4], width=0.4)
    axes[6].set_xticks([0, 1], ["east", "west"])
    described = text(bare, axes[0].figure)
    assert [line for line in described.splitlines() if line.startswith("bars")] == [
        "bars “named”: all 2 bars: p: 3.0, q: 4.5",
        "bars: all 2 bars: p: 3, q: 4",
        "bars: all 2 bars: zero: 3, one: 4",
        "bars: all 2 bars: 2026-01-01 00:00:00+00:00: 3, 2026-01-02 00:00:00+00:00: 4",
        "bars: all 2 bars: 0.5: 3, 2.0: 4",
        "bars: all 2 bars: u: 3, v: 4",
        "bars: all 2 bars: east: 3, west: 4",
        "bars: all 2 bars: east: 3, west: 4",
    ]


def test_what_else_is_drawn_is_named(bare: Shell, figure_of: Any) -> None:
    """Points and pictures by their number and shape, in one line each."""
    axes = figure_of().subplots()
    axes.scatter([1, 2, 3], [4, 5, 6], label="seen")
    axes.imshow([[1, 2, 3], [4, 5, 6]])
    axes.fill_between([1, 2], [3, 4])
    described = text(bare, axes.figure)
    assert "collection “seen”: PathCollection of 3 points" in described
    assert "image: AxesImage of shape (2, 3)" in described
    assert re.search("^collection: .*PolyCollection$", described, re.MULTILINE)
    pie = figure_of().subplots()
    pie.pie([1, 3], labels=["few", "many"])
    assert text(bare, pie.figure).splitlines()[-4:] == [
        "shape “few”: Wedge, 25.0% of the circle",
        "shape “many”: Wedge, 75.0% of the circle",
        "text: few",
        "text: many",
    ]


def test_a_figure_of_very_much_is_bounded(bare: Shell, figure_of: Any) -> None:
    """It says how many lines and points are described, and how much of the text was cut."""
    numpy = library("numpy")
    axes = figure_of().subplots()
    for _ in range(30):
        axes.plot([])
    axes.lines[0].set_data(numpy.arange(1_000_001), numpy.arange(1_000_001))
    described = text(bare, axes.figure)
    assert "points 1 to 8 and 999,998 to 1,000,001 of 1,000,001: (0, 0), " in described
    assert "(of a sample of 90,910 values, one in every 11)" in described
    assert "line: 0 points" in described
    assert "[line: 20 of 30 are described]" in described
    many = figure_of()
    for axes in many.subplots(2, 40).flat:
        axes.set_title("A title that takes its room in the description")
    assert text(bare, many).endswith(" characters of the description]")
