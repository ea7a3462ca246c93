"""A cassette's file: read as a whole, written as a whole, shared with whoever else writes it."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from chatmagic.cassette import serializer
from chatmagic.errors import ChatError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chatmagic.cassette.interaction import Recorded

if sys.platform != "win32":
    import fcntl


class CassetteFile:
    """The file of one cassette.

    Whoever ends this process at any moment leaves the old file or the new one, whole.

    Args:
        path: where it is, or will be.
    """

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        # What a link points to is replaced, not the link; a link to itself is found at reading.
        try:
            self.path = path.resolve()
        except (OSError, RuntimeError, ValueError):
            self.path = path
        self._text: str | None = None
        self._writer = serializer.Writer()
        self.held: tuple[Recorded, ...] = ()
        """What it held when it was read or written last."""

    def exists(self) -> bool:
        """Tell whether there is something of this name."""
        try:
            return self.path.exists()
        except (OSError, ValueError):
            # It is there or not; reading it says why it cannot be.
            return True

    def read(self) -> tuple[Recorded, ...]:
        """Give what the file holds; nothing where there is none yet.

        Raises:
            InputError: it cannot be read, or is no cassette of this version.
        """
        text = self._content()
        if text != self._text or text is None:
            self.held = () if text is None else serializer.read(text, self.path.name)
            self._text = text
        return self.held

    def save(
        self, merged: Callable[[tuple[Recorded, ...], tuple[Recorded, ...]], tuple[Recorded, ...]]
    ) -> None:
        """Put a new content in the place of the old one, at once and for good.

        Args:
            merged: gives the new content from what was read before and what is there now.

        Raises:
            InputError: what is there now cannot be read.
            ChatError: it cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(self.path.parent):
                before, now = self.held, self.read()
                # A file that is gone tells nothing of what was in it.
                new = merged(before, before if self._text is None else now)
                text = self._writer.write(new)
                if text != self._text:
                    self._replace(text)
                self._text, self.held = text, new
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ChatError(f"{self.path.name} could not be written: {why}.", fault="you") from None

    def _content(self) -> str | None:
        try:
            if self.path.is_file() or not self.path.exists():
                return self.path.read_bytes().decode("utf-8-sig")
            # Who reads a pipe or a device may wait for ever.
            why = "it is no file"
        except FileNotFoundError:
            return None
        except OSError as error:
            why = error.strerror or type(error).__name__
        except UnicodeDecodeError:
            why = "it is not text"
        except ValueError:
            why = "this is no file's name"
        raise InputError(f"The cassette {self.path.name} cannot be read: {why}.")

    def _replace(self, text: str) -> None:
        # One name for whoever writes, so that what a killed process left is not left for good.
        new = self.path.with_name(f".{self.path.name}.new")
        try:
            with new.open("wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(OSError):
                new.chmod(self.path.stat().st_mode & 0o777)
            new.replace(self.path)
        except OSError:
            # On a full disk it would be in the way of what is tried next.
            with contextlib.suppress(OSError):
                new.unlink()
            raise


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other kernels from writing into the same folder meanwhile."""
    if sys.platform == "win32":
        # It has no lock on a folder: two kernels that save at one moment take their chances.
        yield
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
        with contextlib.suppress(OSError):
            # The new name is on the disk too when this is over.
            os.fsync(place)
    finally:
        os.close(place)
