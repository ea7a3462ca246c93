"""File of a job: a line of JSON for each row that has ended, only ever added to.

A line is written at once, when its row has ended, so that a process which is killed has lost no
row that ended before. It is brought to the disk (``fsync``) once a second and at the end, so that
a power cut takes the last second at most. A row that is asked again has another line; the last
one counts. One job at a time has the file: another one is refused, where the system has locks.
"""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING, Final, Self, cast

from chatmagic._log import log_swallowed, swallowed
from chatmagic.batch.row_reply import BEGINNING, RowReply
from chatmagic.errors import ChatError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import FileIO
    from pathlib import Path

if sys.platform != "win32":
    import fcntl

SYNCED_EVERY: Final = 1.0
"""Seconds between two times at which what was written is brought to the disk."""


class JobFile:
    """File of one job, which has it for itself while it is open.

    Args:
        path: the file, which may not exist yet.
        replays: whether it is only read: each row that it has is as it was, also one that failed.
    """

    def __init__(self, path: Path, *, replays: bool = False) -> None:
        """Open nothing yet."""
        self.path = path
        self._replays = replays
        self._file: FileIO | None = None
        self._at: dict[bytes, int] = {}
        """Where the last line of each key begins; 16 bytes of a digest tell keys apart."""
        self._failed: set[bytes] = set()
        self._end = 0
        self._synced = 0.0
        self._is_ours = False

    def open(self) -> Self:
        """Open, lock and read the file; repair what a killed process left behind.

        One that is replayed is read alone.

        Whatever ends it early, it is the caller's to close.

        Raises:
            InputError: it cannot be opened, another job has it, or it is another file.
        """
        if self._replays:
            self._read_only()
            return self
        try:
            self._file = self.path.open("ab", buffering=0)
        except (OSError, ValueError) as error:
            raise self._refused("written", error) from None
        self._lock(self._file)
        self._is_ours = True
        self._read(self._file)
        return self

    def is_answered(self, key: str) -> bool:
        """Return whether a row has ended well, or is replayed."""
        short = _short(key)
        return short in self._at and short not in self._failed

    def failed(self) -> frozenset[bytes]:
        """Return the keys of the rows that have ended otherwise, as :func:`is_in` takes them."""
        return frozenset(self._failed)

    def append(self, reply: RowReply) -> None:
        """Add a line for a row that has ended.

        Raises:
            ChatError: it cannot be written; the file is as before.
        """
        line, file = reply.to_line(), cast("FileIO", self._file)
        try:
            if file.write(line) != len(line):
                raise OSError("the disk is full")  # noqa: TRY301 - undone below, as others
            if monotonic() - self._synced > SYNCED_EVERY:
                self._sync(file)
        except OSError as error:
            with swallowed(OSError):
                os.ftruncate(file.fileno(), self._end)
            why = error.strerror or str(error)
            raise ChatError(
                f"{self.path.name} cannot be written: {why}. A reply that has come is lost.",
                hint="The rows before it are in the file.",
                fault="you",
            ) from None
        self._note(reply, self._end)
        self._end += len(line)

    def replies(self, keys: Iterable[str]) -> Iterator[RowReply | None]:
        """Return what came of rows, in the order of their keys; ``None`` of one without a line."""
        places = (self._at.get(_short(key)) for key in keys)
        if not self._at:
            yield from (None for _ in places)
            return
        with self.path.open("rb") as file:
            for at in places:
                file.seek(at or 0)
                yield None if at is None else RowReply.from_line(file.readline())

    def close(self) -> None:
        """Bring what was written to the disk, and close the file; may be repeated.

        A file without any line is taken away.
        """
        if self._file is not None and not self._file.closed:
            with swallowed(OSError):
                self._sync(self._file)
                if self._is_ours and not self.path.stat().st_size:
                    self.path.unlink()
            self._file.close()

    def _read_only(self) -> None:
        try:
            self._read(None)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._refused("read", error) from None

    def _lock(self, file: FileIO) -> None:
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{self.path.name} is in use by another map, here or in another kernel. Nothing "
                "was sent.",
                hint="Wait for it, stop it, or name another file=….",
            ) from None
        except OSError as error:
            log_swallowed(error)  # a file system without locks

    def _read(self, file: FileIO | None) -> None:
        """Note where each row's last line is; end or drop a last line that was not ended.

        Args:
            file: where that is done; ``None`` leaves the last line as it is.
        """
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    self._note(RowReply.from_line(line), self._end)
                except (ValueError, RecursionError):
                    if line.endswith(b"\n") or not _is_torn(line):
                        raise InputError(
                            f"Line {number:,} of {self.path.name} is none of a map's. Nothing was "
                            "sent, and the file is as it was.",
                            hint="Name another file=….",
                        ) from None
                    if file is not None:
                        os.ftruncate(file.fileno(), self._end)
                    return
                self._end += len(line)
                if file is not None and not line.endswith(b"\n"):
                    self._end += file.write(b"\n")
                    return

    def _note(self, reply: RowReply, at: int) -> None:
        key = _short(reply.replay_key if self._replays else reply.key)
        self._at[key] = at
        if reply.error is None or self._replays:
            self._failed.discard(key)
        else:
            self._failed.add(key)

    def _sync(self, file: FileIO) -> None:
        os.fsync(file.fileno())
        self._synced = monotonic()

    def _refused(self, what: str, error: OSError | ValueError) -> InputError:
        why = getattr(error, "strerror", None) or "this is not the name of a file"
        return InputError(f"{self.path.name} cannot be {what}: {why}. Nothing was sent.")


def is_in(key: str, keys: frozenset[bytes]) -> bool:
    """Return whether a key is among those that :meth:`JobFile.failed` gave."""
    return _short(key) in keys


def _short(key: str) -> bytes:
    return bytes.fromhex(key)[:16]


def _is_torn(line: bytes) -> bool:
    """Return whether a last line is the beginning of one of ours, or what a power cut left."""
    line = line.rstrip(b"\0")
    return line.startswith(BEGINNING) or BEGINNING.startswith(line)
