"""Use chatmagic in a page of the JupyterLab and the Notebook that are installed here.

This is a script for an environment with the least versions, where pytest cannot run the tests of
pages: ``python tests/interop/front_ends_script.py``. It needs Chromium and Playwright, and starts a
server and an emulator on this machine.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "support"), str(TESTS / "browser")]

from chat import HELD, LOAD, Chat  # noqa: E402 - found by the line above
from lessons import NOTEBOOKS, fresh, read, write  # noqa: E402 - as above
from logged import Emulator, Settings  # noqa: E402 - as above
from rig import FAILED, Book, Front, FrontEnd, Tabs  # noqa: E402 - as above
from serving import server  # noqa: E402 - as above

PACKAGES: Final[Mapping[FrontEnd, str]] = {"lab": "jupyterlab", "notebook": "notebook"}
"""The package of each front end."""
QUICKSTART: Final = "01-quickstart"
PANEL: Final = "07-panel"
HAS_ENDED: Final = """notebook.model.cells.get(given).executionCount
  && panel.sessionContext.session.kernel.status === 'idle'"""
"""Whether a cell has run and nothing runs behind it."""
SHOWS: Final = "notebook.widgets[given[0]].outputArea.node.innerText.includes(given[1])"
IN_PANEL: Final = "notebook.node.querySelector('.chatmagic-panel').innerText"
MARKS: Final = "notebook.node.querySelectorAll('.chatmagic-mark').length"


def run_lesson(front: Front, name: str) -> Book:
    """Run all cells of a lesson; only those fail whose error is expected.

    Args:
        front: the front end.
        name: the lesson.
    """
    notebook = fresh(read(NOTEBOOKS / f"{name}.ipynb"))
    folder = f"{front.kind}-{name}"  # a server keeps one kernel for a path
    shutil.copytree(NOTEBOOKS, front.server.folder / folder)
    write(notebook, front.server.folder / folder / f"{name}.ipynb")
    book = Book(front, front.page, f"{folder}/{name}.ipynb")
    book.load()
    book.run_all()
    code = [place for place, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    book.until(f"{FAILED}.length || {HAS_ENDED}", code[-1])
    for place in code:
        expected = "raises-exception" in notebook.cells[place].metadata.get("tags", [])
        failed = any(output["output_type"] == "error" for output in book.outputs(place))
        if failed != expected:
            raise SystemExit(f"{name}, cell {place}: {book.text(place)}")
    return book


def try_quickstart(front: Front) -> None:
    """Run the first lesson, change its first question, and see the mark on the second."""
    book = run_lesson(front, QUICKSTART)
    cells = read(NOTEBOOKS / f"{QUICKSTART}.ipynb").cells
    first = next(place for place, cell in enumerate(cells) if cell.source.startswith("%%chat\n"))
    book.run(first, "%%chat\nHow do I stop a reply?")
    book.until(f"{MARKS} > 0")
    book.screenshot(f"least-{front.kind}-mark", first)
    book.close()


def try_panel(front: Front) -> None:
    """Run the lesson of the panel, and ask in the panel, whose gauge shows credits."""
    book = run_lesson(front, PANEL)
    Chat(book).ask("count to 5")
    for words in ("one, two, three, four, five", "credits left"):
        book.until(f"{IN_PANEL}.includes(given)", words)
    book.screenshot(f"least-{front.kind}-panel", len(read(NOTEBOOKS / f"{PANEL}.ipynb").cells) - 1)
    book.close()


def try_stream(front: Front, emulator: Emulator) -> None:
    """See a reply in the page before it has ended, and stop it."""
    emulator.settings = HELD
    book = front.open([LOAD, "%%chat\ncount to 40"])
    book.run(0)
    book.start(1)
    book.until(SHOWS, [1, "one, two"])
    book.screenshot(f"least-{front.kind}-stream")
    book.command("notebook:interrupt-kernel")
    book.until(HAS_ENDED, 1)
    book.until(SHOWS, [1, "ChatInterrupted"])
    emulator.settings = Settings()
    book.close()


def main() -> None:
    """Try both front ends, and print a line for each."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise SystemExit("Chromium is not installed.")
    with tempfile.TemporaryDirectory() as name, Emulator(Settings()) as emulator:
        environment = {"CHATMAGIC_BASE_URL": emulator.url, "CHATMAGIC_API_KEY": "sk-front-end"}
        with server(Path(name), environment) as running:
            tabs = Tabs(program, running)
            try:
                for kind, package in PACKAGES.items():
                    front = tabs.front(kind)
                    try_stream(front, emulator)
                    try_quickstart(front)
                    try_panel(front)
                    if front.heard.errors or front.heard.fetched:
                        raise SystemExit(f"{front.heard}")
                    print("ok  ", package, version(package), flush=True)  # noqa: T201 - for a person
            finally:
                tabs.close()


if __name__ == "__main__":
    main()
