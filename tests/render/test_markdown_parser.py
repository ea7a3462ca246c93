"""What a reply's Markdown means, and how much of it a page is shown."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from test_markdown import page

from chatmagic.render import markdown_parser
from chatmagic.render.markdown import to_html


def test_tasks_are_boxes_with_a_word() -> None:
    """For a screen reader, and a number stays a number; nothing else is a task."""
    html = to_html("- [ ] open *it*\n- [x] shut\n  1. [X] shut")
    open_, shut = (
        f'<span role="img" aria-label="{words}" title="{words}">{box}</span>'
        for box, words in (("☐", "not done"), ("☑", "done"))
    )
    item = '<li style="list-style-type: none;">'
    assert f"{item}{open_} open <em>it</em></li>" in html
    assert f"{item}{shut} shut\n<ol>\n<li>{shut} shut</li>" in html
    for text in (
        "- [x]",
        "- [x]shut",
        "- [y] what",
        "[x] no item",
        "- `[x] code`",
        "- **[x] bold**",
    ):
        assert "☑" not in to_html(text)


def test_footnotes_are_superscripts() -> None:
    """Where they are marked and where they are said; what is defined nowhere is text."""
    html = to_html("A fact[^1], [^a-z].\n\n[^1]: https://x.example\n[^n]: More[^1]: *two*")
    assert "<p>A fact<sup>1</sup>, [^a-z].</p>" in html
    assert (
        "<p><sup>1</sup> https://x.example<br>\n<sup>n</sup> More<sup>1</sup>: <em>two</em></p>"
        in html
    )
    assert "<a " not in html
    assert "[^1]: x" in to_html("`[^1]: x`[^1]: x")
    assert "A [^1]" in to_html("A [^1]", live=True)
    assert "A <sup>1</sup>" in to_html("A [^1]\n\n> [^1]:", live=True)
    assert 'href="https://x.example"' in to_html("[a]\n\n[a]: https://x.example")
    assert page("![a[^1]](https://x.example)\n\n[^1]: x").links == ["https://x.example"]


def table(columns: int, rows: int) -> str:
    """Give a table of so many cells in its head and in each row below it."""
    return "\n".join(
        [f"|{' h |' * columns}", f"|{'---|' * columns}", *[f"|{' c |' * columns}"] * rows]
    )


def cells(html: str) -> int:
    """Count the table cells."""
    return html.count("<th ") + html.count("<td ")


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    ("text", "shown", "left"),
    [
        (table(5, 9), 50, 0),
        (table(5, 10), 50, 5),
        (table(10, 100), 50, 960),
        (table(49, 1), 49, 49),
        (table(51, 1), 0, 102),
        ("\n\n".join([table(1, 50), table(1, 9), table(2, 2)]), 50, 17),
        ("\n\n".join([table(1, 48), table(1, 0), "words", table(1, 0)]), 50, 1),
        (f"> {table(7, 10)}".replace("\n", "\n> "), 49, 28),
        (f"- {table(7, 10)}".replace("\n", "\n  "), 49, 28),
        (table(1, 60) + "\n> quoted\n\n" + table(3, 3), 50, 23),
    ],
)
def test_a_replys_tables_have_a_bound(
    monkeypatch: pytest.MonkeyPatch, text: str, shown: int, left: int, *, live: bool
) -> None:
    """So many cells over a reply, whole rows of them, and one line says what is left out."""
    monkeypatch.setattr(markdown_parser, "MOST_CELLS", 50)
    text += "\n\nthe end"
    html = to_html(text, live=live)
    assert cells(html) == shown
    assert re.findall(r"Left out from here on: ([\d,]+) table cell", html) == (
        [f"{left:,}"] if left else []
    )
    assert page(text, live=live).text.rstrip().endswith("the end")


def test_a_page_is_not_frozen_by_tables() -> None:
    """Of a hundred thousand cells a page is given the first five thousand."""
    html = to_html(table(1_000, 100))
    assert cells(html) == 5_000
    assert "96,000 table cells; 5,000 are shown at most" in html


def test_another_librarys_lines_are_not_logged() -> None:
    """Logging at DEBUG shows no rule of Markdown's reader; who sets its level gets them."""
    code = """
import logging
logging.basicConfig(level=logging.DEBUG)
from chatmagic.render import markdown
markdown.to_html("# a")
logging.getLogger("markdown_it").setLevel(logging.DEBUG)
logging.debug("from here on")
markdown.to_html("# a")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, _, after = ran.stderr.partition("from here on")
    assert "markdown_it" not in before
    assert "markdown_it" in after
