"""A file's content is replaced in one step (tests/cassette/test_storage.py kills it at each)."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from chatmagic.archive.files import replace_content

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_has_its_new_content(tmp_path: Path) -> None:
    """Made or replaced, with nothing beside it; what an earlier attempt left is overwritten."""
    path = tmp_path / "file"
    (tmp_path / ".file.new").write_bytes(b"left by a process that was killed")
    for content in (b"one", b"", b"two"):
        replace_content(path, content)
        assert path.read_bytes() == content
        assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old content stays, and what was written is removed."""
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_content(path, b"new")
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="no such permissions there")
def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    """They hold before its content is written, so that nobody reads it meanwhile."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    replace_content(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
