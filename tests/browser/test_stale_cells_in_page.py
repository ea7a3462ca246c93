"""Stale cells asked again in a real page: by a button, and by ``%chat_retry --stale``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from logged import Emulator
from rig import Book

LOAD = "%load_ext chatmagic"
MARKS = "notebook.node.querySelectorAll('.chatmagic-mark')"
BELOW = "notebook.node.querySelectorAll('.chatmagic-below')"
STATUS = "document.getElementById('chatmagic-status')"
BRIDGE = "notebook.model[Symbol.for('chatmagic.bridge')]"


def taken(service: Emulator) -> list[list[str]]:
    """Give the questions of each request since the last time."""
    bodies = [request.body["messages"] for request in service.requests]
    service.requests.clear()
    return [[message["content"] for message in body[::2]] for body in bodies]


@pytest.mark.release
@pytest.mark.parametrize("front", ["lab", "notebook7"])
def test_stale_cells_are_run_as_their_reader_would(
    request: pytest.FixtureRequest, front: str, service: Emulator
) -> None:
    """In order and no others, with what is put in evaluated again; nothing of it is saved."""
    opened: Callable[..., Book] = request.getfixturevalue(front)
    book = opened([LOAD, "n = 0", "%%chat\necho:a", "%%chat\necho:b {{ n }}", "%%chat\necho:c"])
    book.run_all()
    book.until(f"{STATUS}?.textContent && {BRIDGE}")
    book.run(1, "n = 1")
    book.run(2, "%%chat\necho:A")
    taken(service)
    book.until(f"{BELOW}.length === 1 && {MARKS}.length === 2")
    words = book.js(f"return {BELOW}[0].innerText")
    assert words.startswith("2 turns below are stale: about ")
    assert "because cell [" in book.js(f"return {MARKS}[0].textContent")
    book.screenshot(f"stale-below-{front}")
    book.js("notebook.activeCellIndex = 1; notebook.extendContiguousSelectionTo(4)")
    book.page.get_by_role("button", name="Run them again").click()
    book.until(f"{BELOW}.length === 0 && {MARKS}.length === 0")
    assert taken(service) == [["echo:A", "echo:b 1"], ["echo:A", "echo:b 1", "echo:c"]]
    book.insert(5, "%chat_retry --stale")
    book.run(2, "%%chat\necho:a")
    book.run(1, "n = 2")
    book.until(f"{MARKS}.length === 2")
    taken(service)
    book.start(5)
    book.page.locator(".jp-Stdin-input").fill("y")
    book.page.keyboard.press("Enter")
    book.until(f"{BELOW}.length === 0 && {MARKS}.length === 0")
    assert taken(service) == [["echo:a", "echo:b 2"], ["echo:a", "echo:b 2", "echo:c"]]
    book.until("notebook.widgets[5].outputArea.node.innerText.includes('Running 2 cells again')")
    assert book.js("return notebook.widgets.length") == 6
    assert "chatmagic-below" not in str(book.save())
    assert book.front.heard.errors == []
