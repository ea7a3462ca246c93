"""``%%chat --background`` in a real page: under Run All, and stopped by its button."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from logged import Emulator, Settings
from rig import Book

LOAD = "%load_ext chatmagic"
ASKING = "document.querySelectorAll('.chatmagic-asking')"
WAITS = "notebook.widgets[given].outputArea.node.innerText.includes('the reply to cell [2]')"


@pytest.mark.release
def test_a_reply_goes_on_under_its_cell(lab: Callable[..., Book], service: Emulator) -> None:
    """Its cell ends, the next runs, the next question waits, and Stop ends it; nothing is left."""
    background = "%%chat --background\necho:one two three four five"
    book = lab([LOAD, background, "6 * 7", "%%chat\necho:after", "%%chat\necho:last"])
    service.settings = Settings(credits=1000, fault="hold", fault_after=3)
    book.activate()
    book.js("app.commands.execute('notebook:run-all-cells')")
    book.until(WAITS, 3)
    assert book.text(2) == "42"
    book.ended(1)
    book.until("notebook.widgets[given].outputArea.node.innerText.includes('one two')", 1)
    book.until(f"{ASKING}.length === 1")
    book.screenshot("background")
    service.settings = Settings(credits=1000)
    book.page.get_by_role("button", name="Stop", exact=True).focus()
    book.page.keyboard.press("Enter")
    book.until(f"{ASKING}.length === 0")
    assert book.js("return notebook.widgets[1].node.contains(document.activeElement)")
    book.ended(3)
    assert "as cell [2] failed in the background: Interrupted" in book.text(3)
    assert "nterrupted" in book.shown(1)
    assert len(service.requests) == 1
    book.run_all()
    book.ended(4)
    assert [book.text(index) for index in (1, 3, 4)] == [
        "one two three four five",
        "after",
        "last",
    ]
    assert [len(request.body["messages"]) for request in service.requests[1:]] == [1, 3, 5]
    assert [len(book.outputs(index)) for index in (1, 3, 4)] == [1, 1, 1]
    assert "chatmagic-asking" not in str(book.save())
    assert book.front.heard.errors == []
