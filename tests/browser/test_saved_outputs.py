"""What JupyterLab saves after "Run All" is what a machine saves, for the lessons that chat."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lessons import NOTEBOOKS, fresh, read, write
from project import files
from rig import FAILED, Book, Tabs

from chatmagic.conversation.record import FIELD, is_sealed

WIDGET = "application/vnd.jupyter.widget-view+json"
"""A reference to a widget, which only its kernel can follow; nbval leaves it aside, too."""

ENDED = f"""{FAILED}.length > 0 || (cell => cell.executionCount && cell.executionState === 'idle')(
    notebook.model.cells.get(given))"""

PANEL, ORDER = NOTEBOOKS / "07-panel.ipynb", NOTEBOOKS / "02-analysis.ipynb"


@pytest.fixture
def lesson(tabs: Tabs) -> Iterator[Callable[[Path], Book]]:
    """Open a copy of a lesson, beside the cassettes, with a kernel of its own.

    Its folder is its own, since a server keeps one kernel for a path, also for the next test.
    It is left to the server's end: JupyterLab opens a dialog when its folder is gone.
    """
    front = tabs.front("lab")
    folder = Path(tempfile.mkdtemp(dir=front.server.folder))
    opened: list[Book] = []

    def open_one(path: Path) -> Book:
        shutil.copytree(NOTEBOOKS, folder, dirs_exist_ok=True)
        write(fresh(read(path)), folder / path.name)
        book = Book(front, front.page, f"{folder.name}/{path.name}")
        book.load()
        opened.append(book)
        return book

    yield open_one
    for book in opened:
        book.close()
    front.server.tidy()


def seen(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give a cell's outputs without what only a page has: the cell's hash, and widgets.

    The seal covers the hash, so it differs with it; it has to fit its own output instead.
    """
    found = []
    for output in outputs:
        metadata = {**output.get("metadata", {})}
        if "chatmagic" in metadata:
            known = metadata["chatmagic"]
            assert is_sealed(known, output["data"])
            alike = known.keys() - {"owner", FIELD}
            metadata["chatmagic"] = {name: known[name] for name in alike}
            values = known.get("values")
            if values:
                kept = [{k: v for k, v in value.items() if k != "cell"} for value in values]
                metadata["chatmagic"]["values"] = kept
        data = {
            kind: "".join(text) if isinstance(text, list) else text
            for kind, text in output.get("data", {}).items()
            if kind != WIDGET
        }
        text = "".join(output.get("text", ""))
        found.append({**output, "metadata": metadata, "data": data, "text": text})
    return found


def run_whole(book: Book, path: Path) -> None:
    """Run all cells, also behind one whose error is expected, where the page's command ends."""
    book.run_all()
    last = max(place for place, cell in enumerate(read(path).cells) if cell.cell_type == "code")
    book.until(ENDED, last)
    assert book.js(f"return {FAILED}.map(cell => cell.toJSON())") == []


def compare(book: Book, path: Path) -> None:
    """Run all, save, and compare byte for byte: text, HTML, records and their order."""
    run_whole(book, path)
    saved = [cell for cell in book.save()["cells"] if cell["cell_type"] == "code"]
    wanted = [cell for cell in read(path).cells if cell.cell_type == "code"]
    for cell, other in zip(saved, wanted, strict=True):
        assert seen(cell["outputs"]) == seen(other.outputs), other.source
        assert cell["execution_count"] == other.execution_count


@pytest.mark.release
def test_run_all_and_save_leaves_what_a_machine_leaves(lesson: Callable[[Path], Book]) -> None:
    """With a widget."""
    compare(lesson(PANEL), PANEL)


@pytest.mark.release
def test_a_cell_between_two_others_does_what_the_lesson_says(
    lesson: Callable[[Path], Book],
) -> None:
    """What the reader is told to try in 02, done, after all cells were run."""
    cells = read(ORDER).cells
    told = next(
        cell.source
        for cell in cells
        if "**Try it.** Insert a cell below the first question" in cell.source
    )
    question = re.findall(r"`(%chat .*?)`", told)[0]
    book = lesson(ORDER)
    run_whole(book, ORDER)
    first = next(place for place, cell in enumerate(cells) if cell.source.startswith("%%chat\n"))
    book.insert(first + 1, question)
    assert "Your request carried 3 messages: this is question 2" in book.run(first + 1)
    book.insert(len(cells) + 1, "%chat_history")
    history = book.run(len(cells) + 1).splitlines()
    second = next(line for line in history if line.startswith("2. "))
    assert second == f"2. {question.removeprefix('%chat ')}"
    assert "stale" in history[history.index(second) + 5]


@pytest.mark.release
@pytest.mark.parametrize("path", files("*.ipynb", NOTEBOOKS), ids=lambda path: path.stem)
def test_each_lesson_runs_in_a_page(lesson: Callable[[Path], Book], path: Path) -> None:
    """All of its cells run, and only those fail whose error is expected."""
    book = lesson(path)
    run_whole(book, path)
    cells = [cell for cell in book.save()["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        failed = any(output["output_type"] == "error" for output in cell["outputs"])
        expected = "raises-exception" in cell["metadata"].get("tags", [])
        assert cell["execution_count"], cell["source"]
        assert failed == expected, cell["source"]
