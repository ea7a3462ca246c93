"""The box of a reply under way."""

from __future__ import annotations

from chatmagic.render.live_box import live_box, live_mark


def test_a_page_finds_a_box_by_the_name_of_its_ask() -> None:
    """Which stands among the classes of the box, and no other box has it."""
    html = live_box("", "auto", live_mark("a1"))
    (classes,) = html.split('class="')[1:]
    assert {"chatmagic-live", "chatmagic-live-a1"} < set(classes.split('"')[0].split())
