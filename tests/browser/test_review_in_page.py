"""A review in real pages: labelled by keys, in both themes, with another key for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from contrast import CONTRAST
from rig import Book, wait

HOSTILE = "<img src=x onerror=window.hit=1>"
CELLS = (
    "import chatmagic",
    f"""rows = [{{"text": f"{{n}} {HOSTILE} $x$", "reply": "no"}} for n in range(4)]
review = chatmagic.review(rows, ["yes", "{HOSTILE}"], n=3, seed=1, file=FILE)
review""",
    "review.gold.count('yes'), review.reviewed",
)
PALE = f"() => ({CONTRAST})(document.querySelector('.chatmagic-review'))"


def until(book: Book, progress: str) -> None:
    """Wait until the progress begins with some words."""
    script = "words => document.querySelector('.cm-progress')?.textContent.startsWith(words)"
    wait(book.page, script, arg=progress)


@pytest.mark.release
def test_rows_are_labelled_by_keys(lab: Callable[..., Book]) -> None:
    """No key is the notebook's; texts are texts; the model's label comes after the person's."""
    book = lab(CELLS)
    name = f"{book.path}.jsonl"
    book.run(0)
    book.run(1, CELLS[1].replace("FILE", repr(name.rpartition("/")[2])))
    node = book.page.locator(".chatmagic-review")
    row = node.get_by_role("group", name="Row")
    row.focus()
    assert node.get_attribute("aria-label") == "Review"
    assert "Row 1 of 3, 0 labelled by gold" in node.inner_text()
    assert HOSTILE in row.inner_text()
    assert "model" not in row.inner_text()
    assert [button.inner_text().split("\n")[-1] for button in node.get_by_role("button").all()] == [
        "yes",
        HOSTILE,
        "Skip",
        "Note",
    ]
    cells = book.ids()
    for key in ("x", "d", "d", "a", "Shift+Enter", "Escape"):  # of the notebook
        book.page.keyboard.press(key)
    assert book.ids() == cells
    assert "Row 1 of 3, 0 labelled" in node.inner_text()
    book.page.keyboard.press("n")
    book.page.keyboard.type("1 b, I think")  # no label, no step
    book.page.keyboard.press("Enter")
    book.page.keyboard.press("1")
    said = "Row 1: your label is yes, the model's is no."
    wait(book.page, "said => document.querySelector('.cm-said').textContent === said", arg=said)
    assert "Row 2 of 3, 1 labelled by gold" in node.inner_text()
    assert row.evaluate("node => node === document.activeElement")
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        book.front.theme(theme)
        assert book.page.evaluate(PALE) == []
    row.focus()
    outline = row.evaluate("node => getComputedStyle(node).outlineStyle")
    assert outline == "solid"
    book.page.keyboard.press("s")
    until(book, "Row 3 of 3")
    book.page.keyboard.press("b")
    until(book, "Row 2 of 3")
    assert "You skipped this row." in row.inner_text()
    book.page.keyboard.press("2")
    until(book, "Row 3 of 3, 2")
    assert book.run(2) == "(1, 2)"
    # After a restart it goes on where it was.
    book.restart()
    book.run(0)
    book.run(1)
    until(book, "Row 3 of 3, 2")
    node.get_by_role("button", name="yes").click()
    until(book, "All rows were seen, 3")
    held = (book.front.server.folder / name).read_text("utf-8")
    lines = [json.loads(line) for line in held.splitlines()]
    assert [line.get("label") for line in lines[1:]] == ["yes", None, HOSTILE, "yes"]
    assert lines[1]["note"] == "1 b, I think"
    assert book.page.evaluate("() => window.hit") is None
