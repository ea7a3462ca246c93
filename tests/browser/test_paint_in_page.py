"""A reply under way as a page shows it: painted block by block, in every view, and drawn once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from held import held
from rig import Book

PARTS: Final = (
    "# A title\n\nThe first",
    " words",
    " of a *paragraph*.\n\n- a point\n- anoth",
    "er point\n\n```python\nx = 1\n",
    "y = 2\n```\n\nThe mean is $\\bar{x}$, and <b>this",
    "</b> is text. The end.",
)
HEARD: Final = """
  window.heard = [];
  panel.sessionContext.session.kernel.anyMessage.connect((_, {msg}) => {
    window.heard.push(msg.content.data?.kind ?? msg.header.msg_type);
  });
"""
PAINTED: Final = """
  window.heard.slice(window.heard.lastIndexOf('update_display_data') + 1)
    .filter(kind => kind === 'paint').length > 2
"""
"""Whether the kernel has noted that the page paints: until then most drawings are whole updates,
which replace what was painted."""
BOX: Final = "notebook.widgets[1].outputArea.node.querySelector('.chatmagic-reply')"
SHOWN: Final = f"{BOX} && {BOX}.innerText.includes(given)"
BLOCKS: Final = f"return Array.from({BOX}.children, node => node.innerText.trim())"
TOOLS: Final = f"{BOX}.querySelectorAll('.cm-in-cell button').length === 2"
MORE: Final = "# a line\n" * 60
AWAY: Final = """
  const outer = notebook.node.querySelector('.jp-WindowedPanel-outer');
  outer.scrollTop = given * outer.scrollHeight;
"""


def test_a_reply_under_way_is_painted(lab: Callable[..., Book]) -> None:
    """Its blocks come one by one and stay the same nodes, also in a second view and out of sight.

    Each part of the reply is sent when what came before was seen; behind the first words, more
    and more of them, because the bridge opens while a reply comes.
    """
    with held(*PARTS, repeats=" and more") as service:
        book = lab([service.setup, "%%chat\nGo on.", MORE, MORE])
        book.run(0)
        book.js(HEARD)
        book.start(1)
        book.until(SHOWN, "The first")
        book.until(PAINTED)
        service.go(0, 1)
        book.until(SHOWN, "anoth")
        book.js(f"window.title = {BOX}.firstElementChild; window.heard = []")
        book.command("docmanager:clone")
        other = Book(book.front, book.page, book.path, view=1)
        other.until(SHOWN, "anoth")
        service.go(2)
        for each in (book, other):
            each.until(SHOWN, "x = 1")
            title, words, points, code = each.js(BLOCKS)
            words = words.replace(" and more", "")
            assert (title, words) == ("A title", "The first words of a paragraph.")
            assert points.split() == ["a", "point", "another", "point"]
            assert code.startswith("python\nx = 1")
        other.js("panel.dispose()")
        book.activate()
        book.screenshot("painted")
        assert book.js(f"return {BOX}.firstElementChild === window.title")
        assert "update_display_data" not in book.js("return window.heard")
        book.js(f"window.heard = []; {AWAY}", 1)
        service.go(3, 4)
        book.until("window.heard.includes('paint')")
        book.js(AWAY, 0)
        book.until(SHOWN, "The end.")
        assert [text.endswith("<b>this</b> is text. The end.") for text in book.js(BLOCKS)[4:]] == [
            True
        ]
        # Of code that may be a part, and of formulas, which are typeset once, at the end.
        assert not book.js(f"return {BOX}.querySelector('button, mjx-container')")
        service.go()
        book.ended(1)
        book.until("!document.querySelector('.chatmagic-live')")
        book.until(f"{BOX}.querySelector('mjx-container') && {TOOLS}")
        assert book.js(f"return {BOX}.children.length") == 5
    assert book.front.heard.errors == []
