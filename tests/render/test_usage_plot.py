"""The plot of what requests took."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from chatmagic.render.usage_plot import MOST, Bar, svg

NS = "{http://www.w3.org/2000/svg}"


def drawn(*bars: Bar, label: str = "Credits") -> ET.Element:
    """Return the plot as a tree of elements."""
    return ET.fromstring(svg(bars, label))  # noqa: S314 - our own


def test_kinds_of_bars_differ_in_their_shape() -> None:
    """Full, outlined, or a question mark; the scale is in figures, and no colour is named."""
    plot = drawn(Bar(1_500, is_full=True), Bar(750, is_full=False), Bar(None, is_full=False))
    full, outlined = plot.findall(f"{NS}rect")
    assert (full.get("height"), full.get("fill")) == ("60", None)
    assert (outlined.get("height"), outlined.get("fill")) == ("30", "none")
    assert [text.text for text in plot.findall(f"{NS}text")] == ["1,500", "0", "?"]
    colours = {each.get(name) for each in plot.iter() for name in ("fill", "stroke")}
    assert colours == {"currentColor", "none", None}


def test_it_is_small_and_has_a_name() -> None:
    """The latest bars alone; what it shows is said to who does not see it."""
    plot = drawn(*[Bar(0, is_full=True)] * 100, label='<"took">')
    assert len(plot.findall(f"{NS}rect")) == MOST
    assert (plot.get("role"), plot.get("aria-label")) == ("img", '<"took">')
    assert drawn().findall(f"{NS}rect") == []
