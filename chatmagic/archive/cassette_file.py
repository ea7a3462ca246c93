"""A cassette's file, which several kernels share."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from chatmagic._files import LONGEST_WAIT, content_of, folder_lock, replace_content
from chatmagic._json import (
    NOT_UTF_8,
    json_text,
)
from chatmagic._log import log_swallowed, swallowed
from chatmagic.archive.cassette_format import (
    REPAIR,
    Content,
    ExchangeNames,
    cassette_text,
    content_from,
    exchange_lines,
    exchange_names,
)
from chatmagic.archive.interaction import Interaction
from chatmagic.errors import ChatError, InputError

BEFORE_REFRESH: Final = ".before-"
"""Beginning of what the name of a cassette's copy has behind the cassette's own name."""
Merge = Callable[[tuple[Interaction, ...], tuple[Interaction, ...]], Iterable[Interaction]]


class FolderLockedError(ChatError):
    """Another process has locked the folder of a cassette for too long."""


def copies_before_refresh(path: Path) -> list[Path]:
    """Return the copies of a cassette from before its refreshes, the oldest first.

    Args:
        path: the cassette.
    """
    names = path.parent.glob(f"{glob.escape(path.name + BEFORE_REFRESH)}*")
    return sorted(names)


class CassetteFile:
    """The file of one cassette. Each change is one step, so the file is never half written.

    Args:
        path: the file, which may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self.path = path
        with swallowed(OSError):
            self.path = path.absolute()
        self._content: bytes | None = None
        self._names: ExchangeNames = {}
        self._is_kept = True
        """Whether exchanges may be added behind its lines as they are."""
        self.held: tuple[Interaction, ...] = ()
        """The interactions of the file when it was last read or written."""
        self.is_readable = True
        """Whether the file could be read when that was last tried."""
        self.is_merged = False
        """Whether it has the marks of a merge conflict, both halves of which were read."""

    def has_changed(self) -> bool:
        """Return whether the file is another one than was last read or written here."""
        try:
            return content_of(self.path) != self._content
        except InputError as error:
            log_swallowed(error)
            return True

    def read_interactions(self) -> tuple[Interaction, ...]:
        """Return the interactions of the file; an empty tuple if there is no file.

        Content that has not changed is not parsed again.

        Raises:
            InputError: the file cannot be read, or is no cassette of a known version.
        """
        self.is_readable = False
        content = content_of(self.path)
        if content != self._content:
            try:
                text = json_text(content or b"", "utf-8-sig")
            except UnicodeDecodeError:
                why = f"{self.path.name} cannot be read: {NOT_UTF_8}."
                raise InputError(why, hint=REPAIR) from None
            read = Content() if content is None else content_from(text, self.path.name)
            self.held = read.interactions
            self.is_merged = read.is_merged
            self._is_kept = not (read.is_merged or read.is_older)
            self._names = exchange_names(self.held)
            self._content = content
        self.is_readable = True
        return self.held

    def copy(self, suffix: str) -> None:
        """Write the content that was last read into a file beside it.

        Args:
            suffix: the end of its name, behind the cassette's own name.

        Raises:
            ChatError: it cannot be written.
        """
        path = self.path.with_name(f"{self.path.name}{suffix}")
        try:
            replace_content(path, self._content or b"")
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ChatError(f"{path.name} could not be written: {why}.") from None

    def save(
        self,
        merge: Merge,
        waiting: Callable[[], object] = lambda: None,
        *,
        longest: float = LONGEST_WAIT,
    ) -> None:
        """Write the file anew in one step, if its exchanges change; a link becomes a file.

        Args:
            merge: returns the interactions to write. Its arguments are the interactions that the
                file held when it was last read or written here, and those that it holds now.
            waiting: called if another process has locked the folder for a second.
            longest: seconds after which its lock is no longer waited for.

        Raises:
            InputError: the present content cannot be read.
            FolderLockedError: another process has had the lock for too long.
            ChatError: the file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with folder_lock(self.path.parent, waiting, longest=longest):
                before = self.held
                now = self.read_interactions()
                new = tuple(merge(before, now))
                if new != now or self.is_merged:
                    names, content = self._content_with(now, new)
                    replace_content(self.path, content)
                    self.held = new
                    self._names = names
                    self._content = content
                    self.is_merged = False
                    self._is_kept = True
        except OSError as error:
            kind = FolderLockedError if isinstance(error, TimeoutError) else ChatError
            why = error.strerror or type(error).__name__
            raise kind(f"{self.path.name} could not be written: {why}.") from None

    def _content_with(
        self, now: tuple[Interaction, ...], new: tuple[Interaction, ...]
    ) -> tuple[ExchangeNames, bytes]:
        """Return the names and the content for new exchanges; lines that stay are kept."""
        old = self._content or b""
        added = new[len(now) :]
        # An editor may have left other line ends.
        if not self._is_kept or new[: len(now)] != now or not old.endswith(b"\n") or b"\r" in old:
            return exchange_names(new), cassette_text(new).encode()
        names = exchange_names(added, self._names)
        return names, old + exchange_lines(added, names).encode()
