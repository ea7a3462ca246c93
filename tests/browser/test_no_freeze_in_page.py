"""What would freeze a real page: words that are broken anywhere, huge tables, huge replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from rig import Book

MARKS: Final = "\u0e49" * 3_000
CUT: Final = """
  return [...document.querySelectorAll('.chatmagic pre')].map(node => getComputedStyle(node))
    .filter(style => style.wordBreak !== 'normal' && style.whiteSpace !== 'pre').length;
"""
"""How many boxes break their words anywhere: Chromium takes 16 s for one with these marks."""


def test_no_word_is_broken_anywhere(lab: Callable[..., Book]) -> None:
    """In prompts, kept values, and replies that are plain text; fresh, and reloaded untrusted."""
    ask = "get_ipython().run_cell_magic('chat', '', 'echo:' + {})"
    book = lab(
        [
            f"%load_ext chatmagic\n%config ChatMagics.keep_values = True\nmarks = {MARKS!r}",
            "%%chat\necho:{{ marks }}",
            ask.format("marks + ' has a bar ' * 40"),
            ask.format("'> ' * 30 + marks"),
            ask.format("r'\\[' + marks + r'\\]'"),
            ask.format("'x' * 500_000"),
            "%chat_history 2",
            "%chat_history all",
        ]
    )
    book.run_all()
    count = book.js("return document.querySelectorAll('.chatmagic pre').length")
    assert count >= 9
    assert book.js(CUT) == 0
    other = lab([*book.save()["cells"]])
    other.until("document.querySelectorAll('.chatmagic pre').length >= given", count)
    assert not other.js("return notebook.widgets.some(cell => cell.model.trusted)")
    assert other.js(CUT) == 0


def test_a_huge_table_is_plain_text_in_the_page(lab: Callable[..., Book]) -> None:
    """The page has no cell of it, says why, and has all of its text."""
    rows = "'|' + ' h |' * 200 + '\\n|' + '---|' * 200 + ('\\n|' + ' c |' * 200) * 60"
    book = lab(
        ["%load_ext chatmagic", f"get_ipython().run_cell_magic('chat', '', 'echo:' + {rows})"]
    )
    book.run_all()
    assert book.js("return document.querySelectorAll('.chatmagic :is(td, th)').length") == 0
    assert "Shown as plain text: it has more than 5,000" in book.shown(1)
    assert book.shown(1).count("c |") == 60 * 200
    assert book.text(1).count("c |") == 60 * 200


def test_thousands_of_headings_do_not_stop_the_page(lab: Callable[..., Book]) -> None:
    """JupyterLab's outline takes more than a minute for 5,000 headings, which a page must not."""
    ask = "get_ipython().run_cell_magic('chat', '', 'echo:' + {})"
    book = lab(["%load_ext chatmagic", ask.format("'# h\\n' * 5_000"), "x = 1"])
    book.run(0)
    book.run(1)
    book.run(2)
    assert book.js("return document.querySelectorAll('.chatmagic h4').length") == 200
    assert book.js("return document.querySelectorAll('.chatmagic p > strong').length") == 4_800
