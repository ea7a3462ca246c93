"""The notebooks run again, strictly, offline, and fail when a word of a reply changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import nbformat
import pytest

if TYPE_CHECKING:
    from nbformat import NotebookNode

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def strict(path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run nbval over a notebook in an environment without any setting of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHATMAGIC_")}
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "-W", "default", "-c", os.devnull, str(path)],
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def read(path: Path) -> NotebookNode:
    """Read a notebook."""
    return cast("NotebookNode", nbformat.read(path, as_version=4))  # type: ignore[no-untyped-call]


def replies(notebook: NotebookNode) -> list[NotebookNode]:
    """Give the saved outputs that hold a reply."""
    return [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.get("metadata", {}).get("chatmagic", {}).get("kind") == "turn"
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_passes_strictly_in_another_time_zone(path: Path) -> None:
    """Its saved outputs come again, whatever the clock says and wherever it stands."""
    done = strict(path, TZ="Pacific/Kiritimati", NO_PROXY="", HTTP_PROXY="http://127.0.0.1:9")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_changed_word_of_a_saved_reply_fails(path: Path, tmp_path: Path) -> None:
    """One word, in the text alone, and the notebook is red."""
    notebook = read(path)
    reply = replies(notebook)[0]
    word = max(reply["data"]["text/plain"].split(), key=len)
    reply["data"]["text/plain"] = reply["data"]["text/plain"].replace(word, "changed", 1)
    changed = tmp_path / path.name
    nbformat.write(notebook, changed)  # type: ignore[no-untyped-call]
    done = strict(changed)
    assert done.returncode == 1
    assert "1 failed" in done.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_replies_and_their_records(path: Path) -> None:
    """Each reply is there as text and as HTML, beside the record of its turn."""
    for output in replies(read(path)):
        record = output["metadata"]["chatmagic"]
        assert output["data"]["text/plain"]
        assert 'class="chatmagic"' in output["data"]["text/html"]
        assert record["origin"] == "emulator"
        assert len(record["reply"]) == len(record["request"]) == 64
    assert len(replies(read(path))) >= 1


def test_the_readmes_first_notebook_is_there() -> None:
    """The demo opens it."""
    assert "01-quickstart" in [path.stem for path in NOTEBOOKS]
