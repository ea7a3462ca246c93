"""Lines of a file of rows, as they are read: one after the other, or those at known offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from chatmagic._files import LARGEST
from chatmagic.session.map.row_reply import BEGINNING


class Line(NamedTuple):
    """Line of a file.

    Args:
        at: its offset.
        content: the line, cut at the largest size. Reserved space may be larger, and no other line
            that was written here.
        size: its size in bytes.
        has_end: whether it has a line end.
    """

    at: int
    content: bytes
    size: int
    has_end: bool


def lines_of(file: BinaryIO, at: int = 0) -> Iterator[Line]:
    """Yield the lines of a file.

    Args:
        file: the file.
        at: offset of the first line.
    """
    file.seek(at)
    while line := file.readline(LARGEST):
        size = len(line)
        last = line
        while not last.endswith(b"\n") and (last := file.readline(LARGEST)):
            size += len(last)
        yield Line(at, line, size, last.endswith(b"\n"))
        at += size


def lines_at(file: BinaryIO, places: Iterable[int | None]) -> Iterator[bytes]:
    """Yield the lines at offsets; an empty one for ``None``.

    Args:
        file: the file.
        places: the offsets.
    """
    position = 0
    for at in places:
        if at is None:
            yield b""
            continue
        if at != position:
            file.seek(at)
        line = file.readline(LARGEST)
        position = at + len(line)
        yield line


def is_torn(line: bytes) -> bool:
    """Return whether a last line is reserved space, or the beginning of a line."""
    written = line.rstrip(b"\0 ")
    return written.startswith(BEGINNING) or BEGINNING.startswith(written)
