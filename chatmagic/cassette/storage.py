"""A cassette's file: read and written as a whole, and shared by several kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmagic._log import swallowed
from chatmagic.archive.files import content_of, folder_lock, replace_content
from chatmagic.cassette import serializer
from chatmagic.errors import ChatError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chatmagic.cassette.interaction import Interaction

    Merge = Callable[[tuple[Interaction, ...], tuple[Interaction, ...]], tuple[Interaction, ...]]


class CassetteFile:
    """The file of one cassette; a process that dies at any step leaves it old or new, and whole.

    Args:
        path: the file, which may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        # A link's target is replaced, not the link. A link to itself fails when it is read.
        self.path = path
        with swallowed(OSError, RuntimeError, ValueError):
            self.path = path.resolve()
        self._text: str | None = None
        self.held: tuple[Interaction, ...] = ()
        """The interactions of the file when it was last read or written."""

    def exists(self) -> bool:
        """Return whether there is something of this name, readable or not."""
        with swallowed(OSError, ValueError):
            return self.path.exists()
        # The name itself is impossible, which :meth:`read` reports.
        return True

    def read(self) -> tuple[Interaction, ...]:
        """Return the interactions of the file; none where there is no file.

        Raises:
            InputError: the file cannot be read, or is no cassette of a known version.
        """
        content = content_of(self.path)
        try:
            text = None if content is None else content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"{self.path.name} cannot be read: it is not text.") from None
        if text != self._text or text is None:
            self.held = () if text is None else serializer.read(text, self.path.name)
            self._text = text
        return self.held

    def save(self, merge: Merge) -> None:
        """Replace the file's content in one step.

        Args:
            merge: returns the interactions to write, from those that the file held when it was
                last read or written here and those that it holds now.

        Raises:
            InputError: the present content cannot be read.
            ChatError: the file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with folder_lock(self.path.parent):
                before, now = self.held, self.read()
                # A deleted file does not mean that its interactions are to be forgotten.
                new = merge(before, before if self._text is None else now)
                text = serializer.write(new)
                if text != self._text:
                    replace_content(self.path, text.encode())
                self._text, self.held = text, new
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ChatError(f"{self.path.name} could not be written: {why}.", fault="you") from None
