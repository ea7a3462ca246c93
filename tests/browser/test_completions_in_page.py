"""Tab in a cell that asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rig import Book

NOTE: Final = """
  window.completed = [];
  panel.sessionContext.session.kernel.anyMessage.connect((_, {msg}) => {
    if (msg.header.msg_type === 'complete_reply') window.completed.push(msg.content.matches);
  });
"""
"""Note in the page what the kernel completes with."""


OFFERED: Final = ".jp-Completer:not(.lm-mod-hidden) .jp-Completer-item"
"""What the page offers."""


def tab(book: Book, text: str) -> list[str]:
    """Type a text into the last cell, press Tab, and return what the kernel completes it with."""
    book.js("window.completed.length = 0")
    book.write(1, "")
    book.select(1)
    book.command("notebook:enter-edit-mode")
    book.page.keyboard.insert_text(text)
    book.page.keyboard.press("Tab")
    book.until("window.completed.length")
    return list(book.js("return window.completed[0]"))


def source(book: Book) -> Any:
    """Return what stands in the last cell."""
    return book.js("return notebook.model.cells.get(1).sharedModel.getSource()")


def test_tab(lab: Callable[..., Book]) -> None:
    """It offers what the kernel completes with, and nothing in prose."""
    # A page waits a second for a kernel's answer, and Jedi may take longer the first time.
    book = lab(["%load_ext chatmagic\n%config IPCompleter.use_jedi = False\nreport = 1", ""])
    book.run(0)
    book.js(NOTE)
    for typed, put in (
        ("%%chat --max", "%%chat --max-tokens"),
        ("%%chat\n🎈 See {{ repo", "%%chat\n🎈 See {{ report"),
    ):
        assert len(tab(book, typed)) == 1
        book.until("document.querySelector(given)", OFFERED)
        book.page.keyboard.press("Enter")
        book.until("notebook.model.cells.get(1).sharedModel.getSource() === given", put)
    assert tab(book, "%%chat --last ") == ["0", "1", "2", "4", "8"]
    book.page.locator(OFFERED, has_text="4").first.click()
    book.until("notebook.model.cells.get(1).sharedModel.getSource() === '%%chat --last 4'")
    for prose in ("%%chat\nWhat does imp", "%chat What does prin"):
        assert tab(book, prose) == []
        assert source(book) == prose
        assert book.page.locator(OFFERED).count() == 0
    assert book.front.heard.errors == []
