"""Reading and replacing of files; after a fault a file is whole, old or new."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from chatmagic._log import swallowed
from chatmagic.errors import InputError

if sys.platform != "win32":
    import fcntl

LARGEST: Final = 256 * 2**20
"""Largest size of a file, in bytes; a larger one is not read."""


def content_of(path: Path) -> bytes | None:
    """Return a file's content; ``None`` if there is no file.

    Args:
        path: the file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        # Opening a pipe may wait forever, and a device may not end.
        if path.is_file() or not path.exists():
            with path.open("rb") as file:
                content = file.read(LARGEST + 1)
            if len(content) <= LARGEST:
                return content
            why = f"it is larger than {LARGEST // 2**20} MiB"
        else:
            why = "it is not a file"
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "this is not the name of a file"
    raise InputError(f"{path.name or path} cannot be read: {why}.")


def replace_content(path: Path, content: bytes, mode: int | None = None) -> None:
    """Replace a file's content in one step, and keep its permissions.

    Args:
        path: the file, which may not exist yet; not a link, which would be replaced itself.
        content: its new content.
        mode: its permissions from its first byte on; ``None`` keeps them.

    Raises:
        OSError: the file could not be written, and is as it was.
    """
    # All processes use the same name, so that each overwrites the remains of a killed process.
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("wb") as file:
            with swallowed(OSError):
                new.chmod(path.stat().st_mode & 0o777 if mode is None else mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        # On a full disk the remains would take the space that the next attempt needs.
        with swallowed(OSError):
            new.unlink()
        raise


@contextlib.contextmanager
def folder_lock(folder: Path, waiting: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Lock a folder, so that one kernel at a time reads and writes; nothing on Windows.

    Args:
        folder: the folder of the files that are written.
        waiting: called before waiting for another kernel.

    Raises:
        OSError: the folder cannot be opened.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        with swallowed(OSError):
            # Makes the new directory entry durable.
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
