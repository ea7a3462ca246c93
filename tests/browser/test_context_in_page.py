"""Cells along with a question in real pages: tags, the page's order, and the stale mark."""

from __future__ import annotations

from collections.abc import Callable

import nbformat
import pytest
from logged import Emulator
from nbclient import NotebookClient
from rig import Book, cell
from shells import KEY

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


@pytest.mark.release
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


ABOVE_NEW = [
    cell("# Heights\nIn cm.", kind="markdown"),
    f"{LOAD}\n%config ChatMagics.above = 'new'",
    cell("The *data*:", kind="markdown"),
    "x = [170, 180]\nx",
    "%%chat\nWhat is it?",
    cell("## Means", kind="markdown"),
    "sum(x) / 2",
    "%%chat\nIs it right?",
    "%%chat --no-markdown\nAnd now?",
]


@pytest.mark.release
def test_a_page_and_a_machine_send_the_same(
    lab: Callable[..., Book], service: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at once in a new kernel; a machine that does not know the notebook replays it."""
    book = lab(ABOVE_NEW)
    book.insert(1, f"{LOAD}\n%chat_cassette heights.jsonl")
    book.run_all()
    bodies = [request.body for request in service.requests]
    texts = ("# Heights\nIn cm.", "The *data*:", "## Means")
    words = [f"{template.markdown_text(text)}\n\n" for text in texts]
    data = front_of(("x = [170, 180]\nx", "[170, 180]"))
    assert taken(service) == [
        f"{words[0]}{words[1]}{data}What is it?",
        f"{words[2]}{front_of(('sum(x) / 2', '175.0'))}Is it right?",
        "And now?",
    ]
    book.save()
    folder = book.front.server.folder

    def replies(*, again: bool = True) -> list[str]:
        """Give the replies in the file, or those of a run as nbclient does it."""
        read = nbformat.read(folder / book.path, as_version=4)  # type: ignore[no-untyped-call]
        if again:
            NotebookClient(read, resources={"metadata": {"path": str(folder)}}).execute()
        outputs = [output for each in read.cells for output in each.get("outputs", ())]
        turns = [output for output in outputs if "chatmagic" in output.get("metadata", {})]
        return [output["data"]["text/plain"] for output in turns]

    shown = replies(again=False)
    assert len(shown) == 3
    assert replies() == shown
    assert taken(service) == []
    known = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY, "CHATMAGIC_MODE": "live"}
    known["JPY_SESSION_NAME"] = book.path
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    assert len(replies()) == 3
    assert [request.body for request in service.requests] == bodies
    book.write(len(book.ids()) - 4, "## Averages")
    book.until(f"{MARKS}.length === 1")
    words_shown = book.js(f"return {MARKS}[0].textContent")
    assert "a Markdown cell, sent along with it, has changed" in words_shown
