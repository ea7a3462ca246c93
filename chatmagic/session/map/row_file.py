"""File of rows that is only read: its index, and the replies in it.

A map's file is read so in a replay, and so are the files of other tasks in a folder, which may grow
meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from time import time
from typing import Final, Self

from chatmagic._files import open_file
from chatmagic._fork import Lock
from chatmagic._log import swallowed
from chatmagic.errors import InputError
from chatmagic.session.map.row_index import RowIndex
from chatmagic.session.map.row_lines import lines_at, lines_of
from chatmagic.session.map.row_reply import RowReply

MOST_UNREAD: Final = 10_000
"""Number of lines without any row after which a file is no file of rows."""
YOUNG: Final = 2.0
"""Seconds after a change for which a file may change again without a new time."""


class RowFile:
    """File of rows, as it is read.

    Args:
        path: the file, which may not exist yet.
        replays: as for :class:`RowIndex`.
    """

    def __init__(self, path: Path, *, replays: bool = False) -> None:
        """Read nothing yet."""
        self.path = path
        self.index = RowIndex(replays=replays)
        """Where the lines of the rows stand."""
        self._lock = Lock()
        """Guards the index."""
        self._end = 0
        """The end of the lines that were read."""
        self._state = (0, 0, 0)
        """The state of the file when it was last refreshed."""

    def read(self) -> Self:
        """Read the file as it is now; a file that is not there is empty.

        Raises:
            InputError: it cannot be read, or is another file.
        """
        try:
            self._read_rows()
        except FileNotFoundError:
            return self
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "this is not the name of a file"
            raise InputError(f"{self.path.name} cannot be read: {why}. Nothing was sent.") from None
        return self

    def refresh(self) -> None:
        """Read the lines that another task has added meanwhile."""
        with swallowed(OSError), self._lock:
            found = self.path.stat()
            state = found.st_ino, found.st_size, found.st_mtime_ns
            # The time of a file is coarse: a young one may have changed since without a new time.
            if state != self._state or time() - found.st_mtime < YOUNG:
                self._read_on()
                self._state = state

    def replies(self, keys: Iterable[bytes]) -> Iterator[RowReply | None]:
        """Yield the replies to rows; ``None`` for a row without a line.

        Args:
            keys: the rows' short keys, in the wanted order.

        Raises:
            OSError: the file was removed after it was read.
        """
        places = map(self.index.place, keys)
        if not self.index.keys:
            yield from (None for _ in places)
            return
        with open_file(self.path) as file:
            for line in lines_at(file, places):
                yield RowReply.unread(line) if line else None

    def _read_rows(self) -> bool:
        """Read the whole file; return whether its last line has an end.

        Raises:
            InputError: it is another file.
        """
        is_ended = self._read_on()
        if self.index.unread and not self.index.keys:
            raise InputError(
                f"{self.path.name} is no file of a map. Nothing was sent or changed.",
                hint="Name another file=….",
            )
        return is_ended

    def _read_on(self) -> bool:
        """Note the lines behind those that were read; return whether the last one has an end."""
        index = self.index
        is_ended = True
        with open_file(self.path) as file:
            for line in lines_of(file, self._end):
                if not index.add(line):
                    break
                self._end = line.at + line.size
                is_ended = line.has_end
                if index.unread == MOST_UNREAD and not index.keys:
                    break
        return is_ended
