"""Files that are replaced as a whole: after a fault at any step one is old or new."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chatmagic._log import swallowed

if TYPE_CHECKING:
    from pathlib import Path


def replace_content(path: Path, content: bytes) -> None:
    """Return a file a new content in one step, and keep its permissions.

    Args:
        path: the file, which may not exist yet; not a link, which would be replaced itself.
        content: what it holds from now on.

    Raises:
        OSError: it could not be written, and is as it was.
    """
    # Every process writes to the same name, so that what a killed one left is overwritten.
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("wb") as file:
            with swallowed(OSError):
                new.chmod(path.stat().st_mode & 0o777)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        # On a full disk the remains would take the room that the next attempt needs.
        with swallowed(OSError):
            new.unlink()
        raise
