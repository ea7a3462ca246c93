"""The last wall: what nh3 lets through of a reply's HTML, whatever the renderer wrote."""

from __future__ import annotations

import re

import nh3
import pytest
from test_markdown import HOSTILE, ROOT

from chatmagic.render.markdown import to_html
from chatmagic.render.sanitize import frame, live_box, live_mark, reply_box
from chatmagic.safe_text import visible


def test_nh3_alone_would_hold() -> None:
    """The last wall stands by itself: with HTML let through by the reader, nothing acts."""
    html = reply_box(visible("\n".join(HOSTILE)))
    for word in ("<script", "<img", "<style", "<form", "<base", "<svg", "<iframe", "<button"):
        assert word not in html
    inside = html.removeprefix(ROOT)
    assert inside != html
    assert not re.search(r"<[^>]*\s(id|name|style|on\w+|data-\w+)=", inside)
    assert 'class="jp-Notebook"' not in html


def test_only_absolute_addresses_are_let_through() -> None:
    """Relative addresses and other schemes lose their address even there."""
    hrefs = [
        "/lab",
        "//evil.example",
        "javascript:x",
        "data:,x",
        "http://[::1",
        "https://good.example",
    ]
    links = "".join(f'<a href="{href}">x</a>' for href in hrefs)
    assert re.findall(r'href="([^"]*)"', reply_box(links)) == ["https://good.example"]


@pytest.mark.unmeasured
def test_the_html_is_what_nh3_would_make_of_it_again() -> None:
    """Reading the page again changes nothing: there is no second meaning in it."""
    for text in HOSTILE:
        html = to_html(text)
        assert nh3.is_html(html)
        root, _, inside = html.partition(">\n")
        side = "rtl" if 'dir="rtl"' in root else "auto"
        assert reply_box(inside.removesuffix("</div>"), side) == html


def test_a_page_finds_a_box_by_the_name_of_its_ask() -> None:
    """Which stands among the classes of the box, and no other box has it."""
    html = live_box("", "auto", live_mark("a1"))
    (classes,) = html.split('class="')[1:]
    assert {"chatmagic-live", "chatmagic-live-a1"} < set(classes.split('"')[0].split())
    assert frame(html).startswith('<div class="chatmagic ')
    assert 'role="group" aria-label="Reply"' in frame(html)
