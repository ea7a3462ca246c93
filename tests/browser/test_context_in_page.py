"""Cells along with a question in real pages: tags, the page's order, and the stale mark."""

from __future__ import annotations

from collections.abc import Callable

from logged import Emulator
from rig import Book, cell

from chatmagic.conversation import template

LOAD = "%load_ext chatmagic"
MARKS = "notebook.node.querySelectorAll('.chatmagic-mark')"


def taken(service: Emulator) -> list[str]:
    """Give the prompt of every request since the last time."""
    prompts = [request.body["messages"][-1]["content"] for request in service.requests]
    service.requests.clear()
    return prompts


def front_of(*cells: tuple[str, str]) -> str:
    """Give what stands in front of a question: cells with their outputs."""
    return "".join(f"{template.cell_text(source, output)}\n\n" for source, output in cells)


def test_cells_go_along_as_the_page_has_them(lab: Callable[..., Book], service: Emulator) -> None:
    """A tag is the page's own; what is put in above counts; another output makes stale."""
    book = lab(
        [
            LOAD,
            cell("x = 1\nx", metadata={"tags": ["data"]}),
            "%%chat --above 1\nWhat?",
            "print('below')",
            "%%chat --tag data\nWhy?",
        ]
    )
    book.run_all()
    first = front_of(("x = 1\nx", "1"))
    assert taken(service) == [f"{first}What?", f"{first}Why?"]
    book.until("document.getElementById('chatmagic-status')?.textContent")
    book.insert(2, "y = 5")
    book.run(2)
    book.run(3)
    assert taken(service) == [f"{front_of(('y = 5', ''))}What?"]
    book.until(f"{MARKS}.length === 1")
    book.run(5)
    assert taken(service) == [f"{first}Why?"]
    book.until(f"{MARKS}.length === 0")
    book.run(1)
    book.run(1, "x = 2\nx")
    book.until(f"{MARKS}.length === 1")
    assert "Stale" in book.js(f"return {MARKS}[0].textContent")
    book.run(5)
    assert taken(service) == [f"{front_of(('x = 2' + chr(10) + 'x', '2'))}Why?"]
    book.until(f"{MARKS}.length === 0")
    assert book.front.heard.errors == []
