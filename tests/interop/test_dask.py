"""A mapper on a Dask cluster of two processes, one of which is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT


@pytest.mark.release  # four processes with all of Dask take half a minute
@pytest.mark.skipif(sys.platform == "win32", reason="has no such signal")
def test_a_killed_worker_costs_its_requests_under_way(tmp_path: Path) -> None:
    """No row is lost, other parts ask nothing, and neither graph nor file holds the key.

    The cluster has a process of its own: what it leaves behind is logged whenever Python collects
    it, and would be logged in another test.
    """
    paths = map(str, (ROOT, ROOT / "tests", ROOT / "tests/support"))
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("dask_rows.py"), tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
