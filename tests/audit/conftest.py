"""The command on notebooks and cassettes, with what it printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from audits import Audited, Ran, run
from pages import save


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    """Give the command: its exit code and what it printed."""
    return lambda *words: run(capsys, words)


@pytest.fixture
def audited(tmp_path: Path, ran: Ran) -> Audited:
    """Give the command on a notebook of these cells: its exit code and what it printed."""
    return lambda cells: ran(save(tmp_path / "n.ipynb", cells))
