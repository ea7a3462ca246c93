"""Chats in git, as the manual says: what nbstripout leaves, and what nbdime shows."""

from __future__ import annotations

import json
import os
import re
from copy import deepcopy
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest
from comparison import code
from lessons import NOTEBOOKS, read, write
from nbformat import NotebookNode, from_dict
from project import ROOT

from chatmagic import cli
from chatmagic.archive import notebook, restore
from chatmagic.archive.output import of_turn
from chatmagic.conversation.turn import Turn
from chatmagic.models import Credits, Reply

LESSON = "07-panel"


def tool(name: str) -> Any:
    """Give a tool's module; skip where it is not installed."""
    package = name.partition(".")[0]
    if find_spec(package) is None:
        assert not os.environ.get("CI"), f"{package} is not installed"
        pytest.skip(f"{package} is not installed")
    return import_module(name)


def stripped(notebook: NotebookNode) -> NotebookNode:
    """Give what nbstripout leaves of a notebook, as its users have it."""
    strip = tool("nbstripout").strip_output
    keeps = dict.fromkeys(("keep_output", "keep_count", "keep_id"), False)
    return cast("NotebookNode", strip(deepcopy(notebook), **keeps))


def replied(notebook: NotebookNode, *, credits_left: int) -> NotebookNode:
    """Give a notebook as asked with ``no_credits`` when so many credits were left."""
    made = deepcopy(notebook)
    credits = Credits(10, credits_left, None, None, datetime(2026, 1, 1, tzinfo=UTC))
    reply = Reply("*yes*", model="m", finish_reason="stop", credits=credits)
    record = Turn(prompt="p", reply=reply, credit_line=False).to_record("0" * 64)
    data, metadata = of_turn(reply, record)
    shown = {"output_type": "display_data", "data": data, "metadata": metadata}
    code(made)[-1].outputs = [from_dict(shown)]  # type: ignore[no-untyped-call]
    return made


def test_what_is_stripped_is_told_as_stripped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No outputs, and other ids; nothing of it is damaged."""
    path = tmp_path / "x.ipynb"
    write(stripped(read(NOTEBOOKS / f"{LESSON}.ipynb")), path)
    assert cli.main(["audit", str(path)]) == 1
    *cells, last = capsys.readouterr().out.splitlines()[1:]
    assert all(": not run, stripped, or cleared." in cell for cell in cells)
    assert last.endswith("ask and have no output: not run yet, run with --quiet, or stripped.")
    assert len(restore.restore(notebook.read_notebook(path)).conversation) == 0


def test_tagged_cells_keep_the_conversation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is restored as from the notebook itself, and an audit finds it in order."""
    whole = read(NOTEBOOKS / f"{LESSON}.ipynb")
    for cell in code(whole):
        if any("chatmagic" in output.get("metadata", {}) for output in cell.outputs):
            cell.metadata.setdefault("tags", []).append("keep_output")
    kept = stripped(whole)
    assert [cell.id for cell in kept.cells] != [cell.id for cell in whole.cells]
    assert any(not cell.outputs for cell in code(kept))
    write(kept, tmp_path / "x.ipynb")
    assert cli.main(["audit", str(tmp_path / "x.ipynb")]) == 0, capsys.readouterr().out
    own, theirs = (
        restore.restore(notebook.read_notebook(path)).conversation
        for path in (NOTEBOOKS / f"{LESSON}.ipynb", tmp_path / "x.ipynb")
    )
    assert [turn.prompt for turn in own] == [turn.prompt for turn in theirs]


def test_two_runs_differ_in_what_was_asked_and_replied() -> None:
    """With the settings of the manual's page nbdime leaves the rest aside."""
    diffing = tool("nbdime.diffing.notebooks")
    page = (ROOT / "notebooks/reference/keep.md").read_text("utf-8")
    blocks = re.findall(r"(?s)```json\n(.*?)```", page)
    settings = json.loads(next(block for block in blocks if '"Diff"' in block))
    notebook = read(NOTEBOOKS / f"{LESSON}.ipynb")
    other = deepcopy(notebook)
    for number, cell in enumerate(code(other)):
        cell.id, cell.execution_count = f"other{number}", 100 + number
        cell.metadata.execution = {"iopub.status.busy": "2026-01-01"}
        for output in cell.outputs:
            if "chatmagic" in output.get("metadata", {}):
                output.metadata.chatmagic = {**output.metadata.chatmagic, "seal": "0" * 64}
    other.metadata.language_info = {"version": "3.99"}
    assert diffing.diff_notebooks(notebook, other)
    diffing.set_notebook_diff_ignores(settings["Diff"]["Ignore"])
    try:
        assert diffing.diff_notebooks(notebook, other) == []
        credited = deepcopy(notebook)
        for cell in code(credited):
            for output in cell.outputs:
                for form, text in output.get("data", {}).items():
                    if isinstance(text, str):
                        output.data[form] = text.replace("of 100 credits", "of 70 credits")
        [cells] = diffing.diff_notebooks(notebook, credited)
        forms = set(re.findall(r"'key': '(text/\w+)'", str(cells)))
        assert forms == {"text/html", "text/markdown"}
        one, two = replied(notebook, credits_left=9), replied(notebook, credits_left=7)
        assert diffing.diff_notebooks(one, two) == []
        asked = next(cell for cell in code(other) if cell.source.startswith("%%chat\n"))
        asked.source += "?"
        asked.outputs[0].data["text/plain"] += "\nMore."
        [cells] = diffing.diff_notebooks(notebook, other)
        [cell] = cells.diff
        assert {entry.key for entry in cell.diff} == {"source", "outputs"}
        [output] = next(entry for entry in cell.diff if entry.key == "outputs").diff
        [data] = output.diff
        assert [entry.key for entry in data.diff] == ["text/plain"]
    finally:
        diffing.reset_notebook_differ()
