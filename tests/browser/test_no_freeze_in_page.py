"""What would freeze a real page: words that are broken anywhere, huge tables, huge replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from rig import Book

ASK: Final = "get_ipython().run_cell_magic('chat', '', 'echo:' + {})"
MARKS: Final = "\u0e49" * 300
CUT: Final = """
  return [...document.querySelectorAll('.chatmagic pre')].map(node => getComputedStyle(node))
    .filter(style => style.wordBreak !== 'normal' && style.whiteSpace !== 'pre').length;
"""
"""How many boxes break their words anywhere: Chromium takes 16 s for one with 3,000 marks."""


@pytest.mark.release
def test_no_word_is_broken_anywhere(lab: Callable[..., Book]) -> None:
    """In prompts, kept values, and replies that are plain text; fresh, and reloaded untrusted."""
    book = lab(
        [
            f"%load_ext chatmagic\n%config ChatMagics.keep_values = True\nmarks = {MARKS!r}",
            "%%chat\necho:{{ marks }}",
            ASK.format("marks + ' has a bar ' * 40"),
            ASK.format("'> ' * 30 + marks"),
            ASK.format("r'\\[' + marks + r'\\]'"),
            "%chat_history 2",
            "%chat_history all",
        ]
    )
    book.run_all()
    count = book.js("return document.querySelectorAll('.chatmagic pre').length")
    assert count >= 7
    assert book.js(CUT) == 0
    other = lab([*book.save()["cells"]])
    other.until("document.querySelectorAll('.chatmagic pre').length >= given", count)
    assert not other.js("return notebook.widgets.some(cell => cell.model.trusted)")
    assert other.js(CUT) == 0


@pytest.mark.release
def test_a_huge_reply_does_not_stop_the_page(lab: Callable[..., Book]) -> None:
    """A table of 5,200 cells is plain text, with all of its text, and so are many headings.

    JupyterLab's outline takes more than a minute for 5,000 headings, which a page must not.
    """
    rows = "'|' + ' h |' * 200 + '\\n|' + '---|' * 200 + ('\\n|' + ' c |' * 200) * 25"
    heads = (f"'# h\\n' * {count}" for count in (501, 500))
    book = lab(["%load_ext chatmagic", *map(ASK.format, (rows, *heads))])
    book.run_all()
    assert book.js("return document.querySelectorAll('.chatmagic :is(td, th)').length") == 0
    assert "Shown as plain text: it has more than 5,000" in book.shown(1)
    assert book.shown(1).count("c |") == 25 * 200
    assert book.text(1).count("c |") == 25 * 200
    assert book.js(CUT) == 0
    assert "Shown as plain text: it has more than 5,000" in book.shown(2)
    assert book.js("return document.querySelectorAll('.chatmagic h4').length") == 500
