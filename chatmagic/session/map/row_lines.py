"""Lines of a file of rows, as they are read: one after the other, or those at known offsets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final, NamedTuple

from chatmagic._files import LARGEST
from chatmagic.session.map.row_reply import BEGINNING, is_well_formed, seal_of

MOST_TOGETHER: Final = 500_000
"""Largest number of bytes of lines that are parsed together."""
MOST_IN_BLOCK: Final = 64
"""Largest number of lines that are parsed together."""


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


def lines_at(file: BinaryIO, places: Iterable[int | None]) -> Iterator[Line]:
    """Yield the lines at offsets; an empty line for ``None``."""
    position = 0
    for at in places:
        if at is None:
            yield Line(0, b"", 0, False)
            continue
        if at != position:
            file.seek(at)
        line = file.readline(LARGEST)
        size = len(line)
        position = at + size
        yield Line(at, line, size, True)


def with_fields(lines: Iterable[Line]) -> Iterator[tuple[Line, dict[str, Any] | None]]:
    """Yield each line with its fields; ``None`` for one that must be read by itself."""
    for block in blocks(lines):
        for line, value in zip(block, parsed(block), strict=True):
            seal = value.pop("digest", None) if isinstance(value, dict) else None
            is_ours = seal == seal_of(line.content) and is_well_formed(value)
            yield line, value if is_ours else None


def blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield lines in lists that are small enough to be parsed together; a large one is alone."""
    block: list[Line] = []
    size = 0
    for line in lines:
        size += line.size
        if block and (size > MOST_TOGETHER or len(block) == MOST_IN_BLOCK):
            yield block
            block = []
            size = line.size
        block.append(line)
    if block:
        yield block


def parsed(lines: Sequence[Line]) -> list[Any]:
    """Return the JSON value of each line; ``None`` for all if one of them is none.

    Lines are parsed together, which takes a third of the time.
    """
    unread = [None] * len(lines)
    if sum(line.size for line in lines) > MOST_TOGETHER:
        return unread
    try:
        values = json.loads(b"[%b]" % b",".join([line.content or b"null" for line in lines]))
    except (ValueError, RecursionError):
        return unread
    return values if len(values) == len(lines) else unread


def is_torn(line: bytes) -> bool:
    """Return whether a last line is reserved space, or the beginning of a line."""
    written = line.rstrip(b"\0 ")
    return written.startswith(BEGINNING) or BEGINNING.startswith(written)
