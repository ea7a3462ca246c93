"""Writer of lines at the end of a file, with room for those that are to come.

The room is blanks behind the last line, which new lines overwrite. So a full disk refuses the room,
and not a line.
"""

from __future__ import annotations

import os
from io import FileIO
from typing import BinaryIO, Final

from chatmagic._log import swallowed

ROOM: Final = 65_536
"""Bytes that are kept free for each line to come, or twice the longest line where that is more."""


class LineWriter:
    """Writer of lines at the end of a file.

    Args:
        file: the file, open for writing at any place, which nobody else changes.
        end: the end of its lines; what stands behind it is removed.
        extra: size of what one line may have besides, in bytes.

    Raises:
        OSError: the file cannot be cut.
    """

    def __init__(self, file: FileIO | BinaryIO, end: int, extra: int = 0) -> None:
        """Cut the file behind its lines."""
        self._file = file
        self._end = end
        self._room = end
        self._longest = ROOM // 2 + extra
        self.cut()

    @property
    def end(self) -> int:
        """The end of the lines."""
        return self._end

    def append(self, line: bytes) -> int:
        """Write a line, and return its offset.

        Args:
            line: the line.

        Raises:
            OSError: it cannot be written; the file has the lines before it.
        """
        place = self._end
        try:
            self._write(line, place)
        except OSError:
            with swallowed(OSError):
                self.cut()
            raise
        self._end += len(line)
        self._longest = max(self._longest, len(line))
        return place

    def has_room(self, lines: int) -> bool:
        """Return whether there is room for lines.

        Args:
            lines: their number.
        """
        return self._end + self._size_of(lines) <= self._room

    def _size_of(self, lines: int) -> int:
        """Return the size of the room for lines."""
        return 2 * self._longest * lines

    def make_room(self, lines: int) -> None:
        """Make room for lines.

        Args:
            lines: their number.

        Raises:
            OSError: there is no room.
        """
        if self.has_room(lines):
            return
        begin = max(self._room, self._end)
        needed = self._size_of(lines)
        try:
            # A quarter more, so that not each line makes some; less if the disk is nearly full.
            self._make_room(begin, self._end + needed * 5 // 4)
        except OSError:
            self._make_room(begin, self._end + needed)

    def flush(self) -> None:
        """Bring all lines to the disk, so that a power cut does not lose them.

        Raises:
            OSError: the disk does not take them.
        """
        os.fsync(self._file.fileno())

    def cut(self) -> None:
        """Remove the room.

        Raises:
            OSError: the file cannot be cut.
        """
        os.ftruncate(self._file.fileno(), self._end)
        self._room = self._end

    def _make_room(self, begin: int, end: int) -> None:
        self._write(b" " * (end - begin), begin)
        self._room = end

    def _write(self, content: bytes, place: int) -> None:
        if hasattr(os, "pwrite"):
            written = os.pwrite(self._file.fileno(), content, place)
        else:
            self._file.seek(place)
            written = self._file.write(content)
        if written != len(content):
            raise OSError("the disk is full")
