"""Rows of a Dask cluster are asked from one process; the cluster reads the file as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from project import ROOT


def test_partitions_in_and_a_file_out(tmp_path: Path) -> None:
    """No partition is computed before it is needed, and no result is kept in memory.

    The cluster has a process of its own: what it leaves behind is logged whenever Python collects
    it, and would be logged in another test.
    """
    if find_spec("distributed") is None and not os.environ.get("CI"):
        pytest.skip("distributed is not installed")
    paths = map(str, (ROOT, ROOT / "tests", ROOT / "tests/support"))
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("dask_rows.py"), tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
