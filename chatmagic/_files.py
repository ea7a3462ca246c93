"""Files that are read, written and locked, each in the one way of this module.

A folder may be shared, or come from a stranger with links, pipes and files of any name in it. So

- a file is written under a new name that nobody can foresee, then takes its own name in one step. A
  link of that name is replaced, not followed, and another file of the same content is not changed;
- only a regular file is read or replaced, and nothing is waited for in its place;
- a lock is on the folder, or on the file itself, and makes no file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO, Final, Literal

from chatmagic._log import log_swallowed, swallowed
from chatmagic.errors import InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LARGEST: Final = 64 * 2**20
"""Largest size of a file that is read as a whole, or of a line of another one, in bytes."""
SMALLER: Final = "Clear large outputs in a copy of it, or divide it into several files."
"""Hint for a file that is too large."""
PRIVATE: Final = 0o600
"""Permissions of a file that only its owner can read and write."""
SAID_AFTER: Final = 1.0
"""Seconds of waiting for a lock after which it is said."""
LONGEST_WAIT: Final = 10.0
"""Seconds after which a lock is no longer waited for, where something else can be done."""
_LOCKED_BYTE: Final = 2**62
NAP: Final = 0.05
"""Seconds between two attempts to get a lock."""

_TEMPORARY: Final = (".chatmagic-", ".new")
"""Beginning and end of the name of a file that is being written."""
_CAREFULLY: Final = (
    getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)
"""Flags for a file of any kind: a pipe is not waited for, and a terminal stays another's."""
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CAREFULLY | _NO_LINK
_NOT_A_FILE: Final = "it is not a file"


# --- Reading ------------------------------------------------------------------------------------


def content_of(path: Path) -> bytes | None:
    """Return a file's content; ``None`` if there is no file.

    Args:
        path: the file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        with open_file(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) <= LARGEST:
            return content
        why = f"it is larger than {LARGEST // 2**20} MiB"
        hint = SMALLER
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "this is not the name of a file"
        hint = ""
    raise InputError(f"{path.name or path} cannot be read: {why}.", hint=hint)


def open_file(path: Path, *, follows: bool = True) -> BinaryIO:
    """Return a regular file that is open for reading.

    Args:
        path: the file.
        follows: whether it may be a link to the file.

    Raises:
        OSError: it cannot be opened, or is a folder, a pipe, a socket or a device.
        ValueError: this is not the name of a file.
    """
    return os.fdopen(_opened(path, os.O_RDONLY | (0 if follows else _NO_LINK)), "rb")


def _opened(path: Path, flags: int) -> int:
    """Return the descriptor of a regular file."""
    try:
        descriptor = os.open(path, flags | _CAREFULLY, 0o666)
    except OSError as error:
        # A socket cannot be opened, and a link is opened as one of too many.
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, _NOT_A_FILE, str(path)) from None
        if flags & _NO_LINK and path.is_symlink():
            raise OSError(error.errno, "it is a link", str(path)) from None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, _NOT_A_FILE, str(path))


# --- Writing ------------------------------------------------------------------------------------


def replace_content(path: Path, content: bytes, mode: int | None = None) -> None:
    """Make a file, or replace its content in one step; a link is replaced by a file.

    A new file has the permissions of the umask, and a file of the user's keeps its own. The copy of
    another user's file gets none that the umask denies.

    Args:
        path: the file, which may not exist yet.
        content: its new content.
        mode: its permissions from its first byte on; ``None`` for the rules above.

    Raises:
        OSError: the file could not be written, and is as it was.
    """
    if len(content) > LARGEST:
        why = f"it would be larger than {LARGEST // 2**20} MiB, which is not read again"
        raise OSError(errno.EFBIG, why, str(path))
    target = _target(path)
    kept = target if mode is None and target is not None and _is_own(target) else None
    if mode is None and target is not None:
        mode = stat.S_IMODE(target.st_mode) & 0o666
    begin, end = _TEMPORARY
    new = path.with_name(f"{begin}{secrets.token_hex(8)}{end}")
    # Not tempfile.mkstemp: the system itself applies the umask, which no thread can read safely.
    descriptor = os.open(new, _NEW, PRIVATE if kept else 0o666 if mode is None else mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if kept is not None:
                _keep_permissions(descriptor, kept)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        new.replace(path)
    except BaseException:
        # The content may be a key, and a full disk needs the space for the next attempt.
        with swallowed(OSError):
            new.unlink()
        raise


def _target(path: Path) -> os.stat_result | None:
    """Return the state of a file that is to be replaced; ``None`` for a link or no file."""
    try:
        state = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(state.st_mode):
        return None
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, _NOT_A_FILE, str(path))
    return state


def _is_own(state: os.stat_result) -> bool:
    return sys.platform != "win32" and state.st_uid == os.getuid()


def _keep_permissions(descriptor: int, old: os.stat_result) -> None:
    """Give a new file, which is private so far, the group and permissions of an old one."""
    if sys.platform == "win32":
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if os.fstat(descriptor).st_gid != old.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except OSError as error:
            log_swallowed(error)
            mode &= ~stat.S_IRWXG  # of another group than before
    with swallowed(OSError):
        os.fchmod(descriptor, mode)


def clear_unfinished(folder: Path, *patterns: str) -> int:
    """Remove the unfinished files that killed processes left in a folder; return their number.

    Args:
        folder: the folder, which is locked, so that no other process writes in it.
        *patterns: patterns of further names that earlier releases used.
    """
    count = 0
    for pattern in ("*".join(_TEMPORARY), *patterns):
        for path in folder.glob(pattern):
            with swallowed(OSError):
                path.unlink()
                count += 1
    return count


def open_to_change(path: Path) -> FileIO:
    """Return a file that is open for reading and writing in its place; made if there is none.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be opened, or is not a file of this name alone.
        ValueError: this is not the name of a file.
    """
    if path.is_symlink():  # where the system has no flag for it
        raise OSError(errno.ELOOP, "it is a link", str(path))
    file = FileIO(_opened(path, os.O_RDWR | os.O_CREAT | _NO_LINK), "r+")
    if os.fstat(file.fileno()).st_nlink > 1:
        file.close()
        raise OSError(errno.EMLINK, "it is a file of several names (hard links)", str(path))
    return file


def set_time(path: Path, seconds: float) -> None:
    """Set the time of a file's last change; made, without content, if there is none.

    Args:
        path: the file.
        seconds: the time, in seconds since 1970 in UTC.

    Raises:
        OSError: it cannot be opened, is not a file, or belongs to another user.
    """
    descriptor = _opened(path, os.O_WRONLY | os.O_CREAT | _NO_LINK)
    try:
        if os.utime in os.supports_fd:
            os.utime(descriptor, (seconds, seconds))
        else:
            os.utime(path, (seconds, seconds))
    finally:
        os.close(descriptor)


# --- Locks --------------------------------------------------------------------------------------


def lock_state(descriptor: int) -> Literal["ours", "taken", "none"]:
    """Lock a file or folder here now, and return whose lock it is.

    It is ``none`` on a file system without locks.

    Args:
        descriptor: the open file or folder; the lock ends when it is closed.
    """
    try:
        _lock(descriptor)
    except OSError as error:
        is_taken = isinstance(error, BlockingIOError)
        if is_taken or (sys.platform == "win32" and isinstance(error, PermissionError)):
            return "taken"
        log_swallowed(error)
        return "none"
    return "ours"


def _lock(descriptor: int) -> None:
    """Lock a file or folder.

    Raises:
        OSError: another process has it, or there are no locks here.
    """
    if sys.platform == "win32":
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)  # far behind the end: all can be read
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_file_of(path: Path, descriptor: int) -> bool:
    """Return whether a name is still that of an open file, which may have been removed meanwhile.

    Args:
        path: the name.
        descriptor: the open file.
    """
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def try_lock(descriptor: int) -> bool:
    """Return whether a file or folder is locked here now, and not by anything else.

    It is true without a lock, too, on a file system without locks.

    Args:
        descriptor: the open file or folder; the lock ends when it is closed.
    """
    return lock_state(descriptor) != "taken"


@contextlib.contextmanager
def folder_lock(
    folder: Path,
    waiting: Callable[[], object] = lambda: None,
    *,
    longest: float | None = LONGEST_WAIT,
) -> Iterator[None]:
    """Lock a folder, so that one process at a time reads and writes; nothing on Windows.

    Args:
        folder: the folder of the files that are written.
        waiting: called after :data:`SAID_AFTER` seconds of waiting for another process.
        longest: seconds after which it is no longer waited for; ``None`` waits for any time.

    Raises:
        OSError: the folder cannot be opened, or another process had it for too long.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _CAREFULLY)
    try:
        _wait_for_lock(descriptor, waiting, longest)
        yield
        with swallowed(OSError):
            # Makes the new directory entry durable.
            os.fsync(descriptor)
    finally:
        with swallowed(OSError):
            # A child that was forked meanwhile has the descriptor, too, and would keep the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _wait_for_lock(descriptor: int, waiting: Callable[[], object], longest: float | None) -> None:
    """Lock a folder; see :func:`folder_lock`."""
    begun = monotonic()
    is_said = False
    while not try_lock(descriptor):
        waited = monotonic() - begun
        if longest is not None and waited >= longest:
            raise TimeoutError(errno.ETIMEDOUT, "another process has locked its folder")
        if waited >= SAID_AFTER and not is_said:
            waiting()
            is_said = True
        sleep(NAP)
