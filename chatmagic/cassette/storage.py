"""The interactions of a cassette, in this process and in its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime

from chatmagic._files import LONGEST_WAIT
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import OTHER_CASSETTE, PRUNES, RECORD_FIRST, Note, joined_sentences
from chatmagic.archive.cassette_file import BEFORE_REFRESH, CassetteFile, FolderLockedError
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.choice import CassetteConfig
from chatmagic.cassette.match import Matcher
from chatmagic.cassette.merge import merged_with_file
from chatmagic.cassette.notebook_cassette import from_notebook
from chatmagic.errors import ChatError, InputError
from chatmagic.safe_text import counted


class CassetteStorage:
    """The interactions of a cassette, in this process and in its file.

    Attributes:
        loaded: the interactions of the file when it was first read.
        matcher: the interactions in this process.
        trouble: error of the last attempt to save; ``None`` if it succeeded.

    Args:
        config: the file and the mode.
        news: list to which lines for the user are added, on interactions that the file had lost.
        notify: shows a line to the user at once.

    Raises:
        InputError: the file is missing in a replay, or cannot be used.
    """

    def __init__(
        self, config: CassetteConfig, news: list[Note], notify: Callable[[Note], object]
    ) -> None:
        """Read the file."""
        self._config = config
        self._news = news
        self._notify = notify
        self._file = CassetteFile(config.path)
        self._is_merge_noted = False
        self._has_copy = False
        """Whether the file from before this refresh was copied."""
        self._lost = 0
        """Number of interactions that the file has lost, and of which the user was not told."""
        self.trouble: ChatError | None = None
        self.loaded = self._load()
        self.matcher = Matcher(self.loaded)

    def _load(self) -> tuple[Interaction, ...]:
        """Return the interactions of the file, which a recording need not have yet."""
        path = self._config.path
        is_replay = self._config.mode == "replay"
        if is_replay and not os.path.exists(path):  # noqa: PTH110 - of any name
            raise InputError(
                f"There is no cassette {path} to replay. Nothing was sent.", hint=RECORD_FIRST
            )
        if self._config.is_notebook:
            return from_notebook(path)
        interactions = self._file.read_interactions()
        self._note_merge_conflict()
        return interactions

    def _note_merge_conflict(self) -> None:
        """Add a line for the user if the file has the marks of a merge, once for each merge."""
        if self._file.is_merged and not self._is_merge_noted:
            self._news.append(
                f"{self._config.name} has the marks of a merge conflict, and both of its halves "
                "are used. Recording writes it without the marks."
            )
        self._is_merge_noted = self._file.is_merged

    @property
    def lacking(self) -> tuple[Interaction, ...]:
        """The interactions that the file lacked when it was last read or written here.

        A file that cannot be read any more lacks all of them.
        """
        if self._config.is_notebook:
            return ()
        in_file = {*map(id, self._file.held if self._file.is_readable else ())}
        return tuple(item for item in self.matcher.interactions if id(item) not in in_file)

    def save(self) -> None:
        """Save the changes.

        Raises:
            ChatError: the file cannot be written.
        """
        # While another process has locked the folder, only the first exchange waits for it.
        longest = LONGEST_WAIT if self.trouble is None else 0.0
        try:
            self._copy_before_refresh()
            self._file.save(self._merge, self._tell_waiting, longest=longest)
        except ChatError as error:
            log_swallowed(error)
            kind = FolderLockedError if isinstance(error, FolderLockedError) else ChatError
            self.trouble = kind(
                joined_sentences([error.message, "The recorded replies are kept in memory."]),
                hint=OTHER_CASSETTE,
            )
            raise self.trouble from None
        self.trouble = None
        for item in self.matcher.items:
            item.was_saved = True
        self._note_lost()

    def keep(self) -> None:
        """Save the interactions that the file lacks; :attr:`trouble` holds the error if that fails.

        In a replay the file is only read again.
        """
        if self._config.is_notebook or not (self.trouble or self._file.has_changed()):
            return
        with swallowed(ChatError):
            if self._config.is_recording:
                self.save()
            else:
                before = self._file.held
                self._merge(before, self._file.read_interactions())

    def _copy_before_refresh(self) -> None:
        """Copy the file before the first reply of a refresh replaces one, which keeps its text."""
        if self._config.mode == "refresh" and self.loaded and not self._has_copy:
            self._file.copy(f"{BEFORE_REFRESH}{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
            self._has_copy = True

    def _merge(
        self, before: tuple[Interaction, ...], now: tuple[Interaction, ...]
    ) -> tuple[Interaction, ...]:
        """Take in the changes of another kernel; return all interactions."""
        self._note_merge_conflict()
        if now is not before:
            merged = merged_with_file(self.matcher.items, before, now)
            self.matcher.items = merged.items
            self._lost = merged.lost
        return self.matcher.interactions

    def _tell_waiting(self) -> None:
        self._notify(
            f"Another process has locked the folder of {self._config.name}; the recorded reply "
            f"waits {LONGEST_WAIT:.0f} s at most to be saved."
        )

    def _note_lost(self) -> None:
        """Add a line for the user if the file had lost interactions, which it has again now."""
        if self._lost:
            self._news.append(
                f"{counted(self._lost, 'recorded exchange')} had gone from {self._config.name} "
                "since it was read here: " + PRUNES
            )
            self._lost = 0
