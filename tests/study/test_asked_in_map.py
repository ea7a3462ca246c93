"""Questions in the file of a map."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import ROOT

from chatmagic.errors import InputError
from chatmagic.study.sources import read_source

SAMPLES = ROOT / "tests" / "samples"


def test_a_map_with_damaged_lines(tmp_path: Path) -> None:
    """They are left out, and told."""
    lines = (SAMPLES / "saved_job_file.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "map.jsonl"
    path.write_bytes(lines[0] + b"{\n" + b"\n" + lines[1])
    source = read_source(path)
    assert len(source.asked) == 2
    assert source.problems == ["line 2 cannot be read, and was left out."]
    path.write_bytes(b'{"key": "')
    with pytest.raises(InputError, match="no file of a map"):
        read_source(path)
