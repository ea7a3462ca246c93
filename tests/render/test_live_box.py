"""The box of a reply under way, and its first words in it, before there is a renderer."""

from __future__ import annotations

import pytest

from chatmagic.render.live_box import FirstWords, live_box, live_mark
from chatmagic.render.reply_forms import LiveReply


@pytest.mark.parametrize("format", ["markdown", "text", "code", "json"])
@pytest.mark.parametrize(
    "text", ["Hello", "a <b> & <img src=x onerror=alert(1)>", "x\u202ey\x1b[0m"]
)
def test_first_words_are_safe_and_in_the_replys_box(text: str, format: str) -> None:
    """Nothing of them acts, and a page finds the box that the renderer fills later."""
    html = FirstWords(f"\n{text} ", format).box("mark")
    inner = html.split(">", 2)[2]
    assert "<" not in inner.replace("</p>", "").replace("</pre>", "").replace("</div>", "")
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert html.startswith(LiveReply(format).box("mark").removesuffix("</div>"))


def test_words_of_prose_look_as_the_renderer_shows_them() -> None:
    """So that nothing jumps when it comes."""
    words, reply = FirstWords("Hello & welcome", "markdown"), LiveReply("markdown")
    reply.feed("Hello & welcome")
    assert words.box("mark") == reply.box("mark")


def test_a_long_beginning_is_cut() -> None:
    """A page never has to lay out more for a moment's sake."""
    assert len(FirstWords("x" * 1_000_000, "text").box("")) < 3_000


def test_a_page_finds_a_box_by_the_name_of_its_ask() -> None:
    """Which stands among the classes of the box, and no other box has it."""
    html = live_box("", "auto", live_mark("a1"))
    (classes,) = html.split('class="')[1:]
    assert {"chatmagic-live", "chatmagic-live-a1"} < set(classes.split('"')[0].split())
