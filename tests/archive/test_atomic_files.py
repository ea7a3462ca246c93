"""A file's content is replaced in one step (tests/cassette/test_file.py kills it at each)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from chatmagic.archive import atomic_files
from chatmagic.archive.atomic_files import content_of, folder_lock, replace_content
from chatmagic.errors import InputError


def test_a_file_has_its_new_content(tmp_path: Path) -> None:
    """Made or replaced, with nothing beside it; what an earlier attempt left is overwritten."""
    path = tmp_path / "file"
    (tmp_path / ".file.new").write_bytes(b"left by a process that was killed")
    for content in (b"one", b"", b"two"):
        replace_content(path, content)
        assert path.read_bytes() == content
        assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_device_or_a_huge_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading ends in any case."""
    with pytest.raises(InputError, match="it is not a file"):
        content_of(Path(os.devnull))
    path = tmp_path / "large"
    monkeypatch.setattr(atomic_files, "LARGEST", 2**20)
    path.write_bytes(bytes(2**20))
    assert content_of(path) == bytes(2**20)
    path.write_bytes(bytes(2**20 + 1))
    with pytest.raises(InputError, match=r"^large cannot be read: it is larger than 1 MiB\.$"):
        content_of(path)


def test_a_file_that_is_not_there_has_no_content(tmp_path: Path) -> None:
    """It is no error; a name that is none is one."""
    assert content_of(tmp_path / "none") is None
    with pytest.raises(InputError, match="not the name of a file"):
        content_of(tmp_path / "a\0b")


@pytest.mark.skipif(os.name != "posix", reason="there is no lock")
def test_who_waits_for_a_folder_hears_of_it(tmp_path: Path) -> None:
    """And nobody else."""
    waits, has_it = threading.Event(), threading.Event()

    def second() -> None:
        with folder_lock(tmp_path, waits.set):
            has_it.set()

    thread = threading.Thread(target=second)
    with folder_lock(tmp_path, pytest.fail):
        thread.start()
        assert waits.wait(60)
        assert not has_it.is_set()
    thread.join(60)
    assert has_it.is_set()
