"""Tables and folded parts, as HTML and as text."""

from __future__ import annotations

from chatmagic.jupyter.tables import Row, folded, grid, page, tabulated


def test_a_table_is_html_and_lines() -> None:
    """Numbers stand right; a cell that is a pair gives its HTML and its text."""
    rows: list[Row] = [("1", "a <b>", ("<em>r</em>", "r"), ""), ("2", "c", "7", "stale")]
    html, text = tabulated(("Turn", "You", "Reply", "Notes"), rows, "Turns", "2 turns.")
    assert text.splitlines() == ["1. a <b>", "   r", "2. c", "   7", "   (stale)", "2 turns."]
    assert "a &lt;b&gt;" in html
    assert "<em>r</em>" in html
    assert tabulated(("Turn", "Notes"), [], "Turns", "No turn.")[1] == "No turn."


def test_columns_of_numbers_stand_right() -> None:
    """A column of unknown figures alone does not; without heads there is no row of them."""
    html = grid(("At", "Took", "Left"), [("1", "3", "?"), ("2", "1,000", "?")], "Credits")
    assert html.count('<th scope="col" style="text-align: right;">') == 1
    assert html.count("text-align: right;") == 3
    assert "<thead>" not in grid((), [("Service", "here")], "State")


def test_parts_stand_one_below_the_other() -> None:
    """A line is untrusted text; a folded part has its line."""
    inner = folded("the <line>", "one", ("<i>two</i>", "two"))
    assert inner[0].startswith("<details><summary>the &lt;line&gt;</summary><p>one</p><i>two</i>")
    assert inner[1].splitlines()[-2:] == ["one", "two"]
    assert page("first", inner)[1].splitlines() == ["first", "one", "two"]
