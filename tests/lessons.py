"""Record the lessons' cassettes and save the lessons' outputs: ``python tests/lessons.py``.

To change a lesson, run this and read the difference. Each lesson that has a cassette
is asked once of an emulator, whose clock stands still, and each lesson is then run as a
reviewer runs it, and saved. Names of lessons, such as ``06-homework``, choose some of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT: Final = Path(__file__).parents[1]
NOTEBOOKS: Final = ROOT / "notebooks"
CASSETTES: Final = NOTEBOOKS / "cassettes"
sys.path.insert(0, str(ROOT))

from chatmagic._started_emulators import VARIABLE as STARTED  # noqa: E402
from chatmagic.emulator.server import FRESH, Emulator, Settings  # noqa: E402 - found by the line above

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The time of the lessons' clock, so that their outputs repeat."""
RECORDED: Final = {
    "02-analysis": replace(FRESH, delay=0.0, now=NOON),
    "03-label-and-report": replace(FRESH, delay=0.0, now=NOON),
    "06-homework": replace(FRESH, delay=0.0, now=NOON, credits=30, cost=9),
    "07-panel": replace(FRESH, delay=0.0, now=NOON),
}
"""How the emulator behaves that the cassettes are recorded from."""
ASKING: Final = re.compile(r"%%?chat(_retry|_fix|_continue)?\b|chatmagic\.ask")
"""A question in a cell."""


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give this process's environment without any setting of ours, and with this source."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("CHATMAGIC_")}
    path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, **(more or {})}


def read(path: Path) -> NotebookNode:
    """Read a notebook; what one print wrote is one output, as in a page.

    A kernel sends what is printed whenever it finds the time, and machines keep the pieces.
    """
    notebook = cast("NotebookNode", nbformat.read(path, as_version=4))  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    return notebook


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join the pieces of each stream that follow one another."""
    whole: list[NotebookNode] = []
    for output in outputs:
        last = whole[-1] if whole else None
        if last and output.get("name") and last.get("name") == output.name:
            last.text += output.text
        else:
            whole.append(output)
    return whole


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook."""
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


def fresh(notebook: NotebookNode) -> NotebookNode:
    """Take away what a notebook's cells have shown."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def executed(path: Path, more: Mapping[str, str] | None = None) -> NotebookNode:
    """Run a notebook where it is; give it as it would be saved, without what is of the moment.

    Args:
        path: where it is.
        more: variables for its kernel beside this process's.
    """
    with tempfile.TemporaryDirectory() as name:
        command = ["nbconvert", "--to", "notebook", "--execute", "--log-level=WARN"]
        subprocess.run(
            [sys.executable, "-m", *command, f"--output-dir={name}", str(path)],
            env=environment(more),
            check=True,
        )
        done = read(Path(name) / path.name)
    for cell in done.cells:
        cell.metadata.pop("execution", None)
    done.metadata.language_info = {"name": "python"}
    return done


def record(path: Path, settings: Settings) -> None:
    """Record a lesson's cassette anew.

    It is run to its last question by a cell: the map of a study is not asked of an emulator.
    """
    cassette = CASSETTES / f"{path.stem}.jsonl"
    cassette.unlink(missing_ok=True)
    notebook = read(path)
    asking = [
        place
        for place, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and ASKING.search(cell.source)
    ]
    del notebook.cells[asking[-1] + 1 :]
    client = NotebookClient(notebook, resources={"metadata": {"path": str(path.parent)}})
    with Emulator(settings) as emulator:
        recording = {
            "CHATMAGIC_BASE_URL": emulator.url,
            "CHATMAGIC_API_KEY": "practice",
            "CHATMAGIC_CASSETTE": str(cassette),
            "CHATMAGIC_MODE": "record",
            # A kernel that this process starts knows its emulator, and labels its replies.
            STARTED: os.environ[STARTED],
        }
        client.execute(env=environment(recording))


def main(names: list[str]) -> None:
    """Record and save the lessons of these names; without any, all."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        if path.stem in RECORDED:
            record(path, RECORDED[path.stem])
        write(executed(path), path)


if __name__ == "__main__":
    main(sys.argv[1:])
