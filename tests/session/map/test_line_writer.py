"""Writer of lines: they stand whole at the end of the file, and their room is made before."""

from __future__ import annotations

from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from jobs import full_disk

from chatmagic.session.map.line_writer import ROOM, LineWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a file with a line, and a torn one behind it."""
    made = tmp_path / "lines.jsonl"
    made.write_bytes(b"first\ntor")
    return made


@pytest.fixture
def file(path: Path) -> Iterator[FileIO]:
    """Give it open for writing."""
    with path.open("r+b", buffering=0) as opened:
        assert isinstance(opened, FileIO)
        yield opened


def test_lines_follow_one_another(path: Path, file: FileIO) -> None:
    """What stood behind the last one is gone; each tells its place."""
    writer = LineWriter(file, 6)
    assert path.read_bytes() == b"first\n"
    assert [writer.append(b"second\n"), writer.append(b"third\n")] == [6, 13]
    assert path.read_bytes() == b"first\nsecond\nthird\n"
    assert writer.end == 19


def test_room_is_blanks_that_lines_overwrite(path: Path, file: FileIO) -> None:
    """It is made for several lines at once, and removed at the end."""
    writer = LineWriter(file, 6)
    writer.make_room(1)
    size = path.stat().st_size
    assert size >= 6 + ROOM
    assert path.read_bytes()[6:].isspace()
    writer.append(b"second\n")
    writer.make_room(1)
    assert path.stat().st_size == size
    writer.make_room(2)
    assert path.stat().st_size >= 13 + 2 * ROOM
    writer.cut()
    assert path.read_bytes() == b"first\nsecond\n"
    writer.make_room(1)
    assert path.stat().st_size >= 13 + ROOM


def test_a_long_line_needs_more_room(path: Path, file: FileIO) -> None:
    """The next one may be as long."""
    writer = LineWriter(file, 6, extra=ROOM)
    writer.make_room(1)
    assert path.stat().st_size >= 6 + 3 * ROOM
    writer.append(b"x" * 5 * ROOM)
    writer.make_room(1)
    assert path.stat().st_size >= 6 + 15 * ROOM


def test_a_full_disk_refuses_the_room(path: Path, file: FileIO) -> None:
    """If there is no more than needed, that is taken; a line that was torn is taken back."""
    writer = LineWriter(file, 6)
    with full_disk(6 + ROOM + 10):
        writer.make_room(1)
        with pytest.raises(OSError, match=r"the disk is full|File too large"):
            writer.make_room(2)
        with pytest.raises(OSError, match=r"the disk is full|File too large"):
            writer.append(b"x" * 2 * ROOM)
    assert path.read_bytes() == b"first\n"
    assert writer.append(b"second\n") == 6


def test_without_pwrite_lines_are_written_at_their_places(
    path: Path, file: FileIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.delattr("os.pwrite")
    writer = LineWriter(file, 6)
    writer.make_room(1)
    writer.append(b"second\n")
    writer.cut()
    assert path.read_bytes() == b"first\nsecond\n"


def test_lines_are_brought_to_the_disk(file: FileIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """When that is asked for."""
    sync = Mock()
    monkeypatch.setattr("os.fsync", sync)
    writer = LineWriter(file, 6)
    writer.append(b"second\n")
    assert sync.call_count == 0
    writer.flush()
    sync.assert_called_once_with(file.fileno())
