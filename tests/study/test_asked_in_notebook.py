"""Questions in a notebook, and what else its cells tell."""

from __future__ import annotations

from pathlib import Path

from audits import page
from pages import save
from project import ROOT

from chatmagic.study.sources import read_source

SAMPLES = ROOT / "tests" / "samples"


def test_a_hidden_turn_and_commands_are_told() -> None:
    """They are no answers, and are counted."""
    source = read_source(SAMPLES / "saved_notebook.ipynb")
    assert any(asked.is_hidden for asked in source.asked)
    assert source.counts["commands undo"] == 1


def test_what_no_reply_came_to_is_counted(tmp_path: Path) -> None:
    """A cell that failed, and one that was not run."""
    failed = page("a")
    failed["outputs"] = [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]
    silent = page("b")
    silent["outputs"] = []
    source = read_source(save(tmp_path / "a.ipynb", [page("c"), failed, silent]))
    assert source.counts["cells whose question failed"] == 1
    assert source.counts["cells whose question has no reply in the file"] == 1
    assert source.problems
