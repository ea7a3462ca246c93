"""A cassette's file, which several kernels share."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from chatmagic._files import LONGEST_WAIT, content_of, folder_lock, replace_content
from chatmagic._json import NOT_UTF_8, json_text
from chatmagic._log import log_swallowed, swallowed
from chatmagic.archive.cassette_format import (
    REPAIR,
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


@dataclass(frozen=True, slots=True)
class _FileContent:
    """What a cassette's file holds.

    Args:
        content: its bytes; ``None`` if there is no file.
        interactions: its interactions.
        names: the names of these exchanges.
        is_merged: whether it has the marks of a merge conflict, both halves of which were read.
        may_be_extended: whether exchanges may be added behind its lines as they are.
    """

    content: bytes | None = None
    interactions: tuple[Interaction, ...] = ()
    names: ExchangeNames = field(default_factory=dict)
    is_merged: bool = False
    may_be_extended: bool = True

    @classmethod
    def of(cls, content: bytes | None, name: str) -> Self:
        """Return what a file holds.

        Args:
            content: its bytes; ``None`` if there is no file.
            name: its name, for messages.

        Raises:
            InputError: it is no cassette of a known version.
        """
        if content is None:
            return cls()
        try:
            text = json_text(content, "utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"{name} cannot be read: {NOT_UTF_8}.", hint=REPAIR) from None
        read = content_from(text, name)
        has_our_line_ends = content.endswith(b"\n") and b"\r" not in content  # as editors may not
        return cls(
            content,
            read.interactions,
            exchange_names(read.interactions),
            is_merged=read.is_merged,
            may_be_extended=has_our_line_ends and not (read.is_merged or read.is_older),
        )

    def replaced_by(self, new: tuple[Interaction, ...]) -> Self:
        """Return what the file is to hold; lines that stay are kept as they are.

        Args:
            new: the new interactions.
        """
        count = len(self.interactions)
        if self.content is None or not self.may_be_extended or new[:count] != self.interactions:
            content = cassette_text(new).encode()
            return type(self)(content, new, exchange_names(new))
        added = new[count:]
        names = exchange_names(added, self.names)
        content = self.content + exchange_lines(added, names).encode()
        return type(self)(content, new, names)


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
        self._known = _FileContent()
        """What the file held when it was last read or written here."""
        self.is_readable = True
        """Whether the file could be read when that was last tried."""

    @property
    def held(self) -> tuple[Interaction, ...]:
        """The interactions of the file when it was last read or written."""
        return self._known.interactions

    @property
    def is_merged(self) -> bool:
        """Whether it has the marks of a merge conflict, both halves of which were read."""
        return self._known.is_merged

    def has_changed(self) -> bool:
        """Return whether the file is another one than was last read or written here."""
        try:
            return content_of(self.path) != self._known.content
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
        if content != self._known.content:
            self._known = _FileContent.of(content, self.path.name)
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
            replace_content(path, self._known.content or b"")
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
                    written = self._known.replaced_by(new)
                    replace_content(self.path, written.content or b"")
                    self._known = written
        except OSError as error:
            kind = FolderLockedError if isinstance(error, TimeoutError) else ChatError
            why = error.strerror or type(error).__name__
            raise kind(f"{self.path.name} could not be written: {why}.") from None
