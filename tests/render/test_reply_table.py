"""Many replies as a table of HTML that cannot act."""

from __future__ import annotations

from chatmagic.render import reply_table


def test_it_shows_the_first_rows() -> None:
    """Each in a line, and how many there are besides."""
    html = reply_table.as_html(["reply"], [[f"row {n}"] for n in range(23)])
    assert html.count("<tr>") == reply_table.SHOWN + 1
    assert "row 19</td>" in html
    assert "row 20" not in html
    assert html.endswith("<p>3 more rows</p>")
    assert reply_table.as_html(["reply"], []).endswith("<tbody></tbody></table>")
    assert "more rows" not in reply_table.as_html(["reply"], [["row"]] * 23, shown=23)


def test_what_a_model_wrote_is_text() -> None:
    """In a cell and in a name, on one line, shortened; nothing is an empty cell."""
    hostile = "<script>alert(1)</script>\n\u202eabc\x1b[31m" + "x" * 999
    html = reply_table.as_html([hostile], [[hostile, None, 5]])
    assert "<script" not in html
    assert not {"\n", "\u202e", "\x1b"} & {*html}
    assert len(html) < 1_000
    assert '<td dir="auto"></td><td dir="auto">5</td>' in html
