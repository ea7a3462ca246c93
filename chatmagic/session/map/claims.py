"""Claims on rows that are being asked, so that no other task of a folder asks them meanwhile.

A claim is a lock on one byte of a file, at an offset that the row's key names. The system ends the
locks of a process that was killed, so no claim outlives its row. Where there are no such locks, all
claims are granted.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from chatmagic._fork import Lock, belongs_to_process
from chatmagic._log import log_swallowed, swallowed

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

CLAIMS: Final = ".claims"
"""Name of the file of a folder whose bytes are locked; it stays empty."""
_OFFSETS: Final = 2**62 if sys.platform != "win32" else 2**31 - 1
"""Number of bytes that are locked; two rows with one byte are asked one after the other."""


class Claims:
    """Claims of this process on the rows of a folder, by all its tasks together.

    Args:
        path: the file whose bytes are locked.
    """

    def __init__(self, path: Path) -> None:
        """Claim nothing yet."""
        self._path = path
        self._held: set[int] = set()
        self._lock = Lock()
        self._descriptor: int | None = None
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Hold nothing, in a forked child, which has none of its parent's locks."""
        self._held.clear()

    def take(self, key: str) -> bool:
        """Claim a row; return whether no other task has it.

        Args:
            key: the row's key.
        """
        offset = _offset(key)
        with self._lock:
            if offset in self._held:
                return False
            if not self._locked(offset):
                return False
            self._held.add(offset)
            return True

    def give_back(self, key: str) -> None:
        """End the claim on a row.

        Args:
            key: the row's key.
        """
        offset = _offset(key)
        with self._lock:
            self._held.discard(offset)
            if self._descriptor is not None:
                with swallowed(OSError):
                    _unlock_byte(self._descriptor, offset)

    def _locked(self, offset: int) -> bool:
        """Lock a byte; return false if another process has it."""
        try:
            descriptor = self._opened()
        except OSError as error:
            # It may be another person's file, which is no sign that a row is claimed.
            log_swallowed(error)
            return True
        try:
            _lock_byte(descriptor, offset)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            log_swallowed(error)
        return True

    def _opened(self) -> int:
        """Return the descriptor of the file, which is never closed: that would end all locks.

        Raises:
            OSError: the file cannot be opened for writing.
        """
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        return self._descriptor


def _lock_byte(descriptor: int, offset: int) -> None:
    """Lock a byte of a file.

    Raises:
        BlockingIOError: another process has it; on Windows it is a ``PermissionError``.
        OSError: there are no locks here.
    """
    if sys.platform == "win32":
        os.lseek(descriptor, offset, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)


def _unlock_byte(descriptor: int, offset: int) -> None:
    """Unlock a byte of a file; the system does so, too, when the process ends.

    Raises:
        OSError: it is not locked.
    """
    if sys.platform == "win32":
        os.lseek(descriptor, offset, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, offset)


_of_folders: dict[Path, Claims] = {}
_lock = Lock()


def claims_of(folder: Path) -> Claims:
    """Return the claims of this process on the rows of a folder, however its path is written.

    Args:
        folder: the folder.
    """
    folder = folder.resolve()
    with _lock:
        if folder not in _of_folders:
            _of_folders[folder] = Claims(folder / CLAIMS)
        return _of_folders[folder]


def _offset(key: str) -> int:
    """Return the offset of a row's byte."""
    return int(key[:16], 16) % _OFFSETS
