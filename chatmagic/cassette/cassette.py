"""A cassette and its modes: the source of each answer, and the recording of new ones.

===========  ========================================  ====================================
mode         a recorded request                        any other request
===========  ========================================  ====================================
``record``   is answered from the cassette             is sent, and its answer is recorded
``replay``   is answered from the cassette             is an error; nothing is ever sent
``refresh``  is sent; the new reply replaces the old   is sent, and its answer is recorded
``live``     is sent; no cassette is active            is sent; no cassette is active
===========  ========================================  ====================================

An interaction leaves the file only if a refresh brings a whole new reply for the same place, or
by :meth:`Cassette.prune`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chatmagic._log import swallowed
from chatmagic.advice import Note
from chatmagic.archive.cassette_file import FolderLockedError
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.choice import MAGIC, CassetteConfig
from chatmagic.cassette.item import CassetteItem, Query
from chatmagic.cassette.lookup import Lookup, lookup_in_replay, lookup_while_recording
from chatmagic.cassette.storage import CassetteStorage
from chatmagic.cassette.use import CassetteUse, refresh_words
from chatmagic.errors import ChatError, InputError


class Cassette:
    """A file of recorded interactions in one of the modes.

    Args:
        config: the file and the mode.
        news: list to which lines for the user are added, on interactions that the file had lost.
        notify: shows a line to the user at once.

    Raises:
        InputError: the file is missing in a replay, or cannot be used.
    """

    def __init__(
        self,
        config: CassetteConfig,
        news: list[Note] | None = None,
        notify: Callable[[Note], object] = str,
    ) -> None:
        """Read the file."""
        self.config = config
        self._news: list[Note] = [] if news is None else news
        self._storage = CassetteStorage(config, self._news, notify)
        self._matcher = self._storage.matcher
        self._use = CassetteUse()
        self._listed: tuple[Interaction, ...] | None = None
        """What the last :meth:`prune` listed; ``None`` before the first one."""

    @property
    def loaded(self) -> tuple[Interaction, ...]:
        """The interactions of the file when it was inserted."""
        return self._storage.loaded

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """The recorded interactions in their order."""
        return self._matcher.interactions

    @property
    def lacking(self) -> tuple[Interaction, ...]:
        """The interactions that the file lacked when it was last read or written here.

        A file that cannot be read any more lacks all of them.
        """
        return self._storage.lacking

    @property
    def unsaved(self) -> tuple[Interaction, ...]:
        """The interactions that are to be saved in the file, and could not be."""
        return self.lacking if self.config.is_recording else ()

    @property
    def trouble(self) -> ChatError | None:
        """Error of the last attempt to save; ``None`` if it succeeded."""
        return self._storage.trouble

    def look_up(self, query: Query, is_emulator: Callable[[], bool]) -> Lookup:
        """Return the source of the answer to a request.

        Args:
            query: the request.
            is_emulator: returns whether the configured service is the emulator.

        Raises:
            NotRecordedError: the cassette is replayed and does not hold the request.
            ChatError: no service is configured.
        """
        if self.config.is_recording:
            lookup = lookup_while_recording(query, self._matcher, self.config, is_emulator)
        else:
            lookup = lookup_in_replay(query, self._matcher, self.config)
        if lookup.interaction is not None:
            self._use.answered += 1
        if lookup.has_other_markdown:
            self._use.other_markdown += 1
        if lookup.news is not None:
            self._news.append(lookup.news)
        return lookup

    def record(self, recorded: Interaction, query: Query) -> None:
        """Record an interaction and save it at once.

        While another process has locked the folder, it stays :attr:`unsaved`.

        Args:
            recorded: the interaction.
            query: the request that it answers.

        Raises:
            ChatError: the file cannot be written.
        """
        if self._matcher.add(recorded, query, refresh=self.config.mode == "refresh"):
            self._use.recorded += 1
            # In a locked folder it stays unsaved, and a later question tries again to save it.
            with swallowed(FolderLockedError):
                self._storage.save()

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Record interactions that another cassette could not save.

        If saving fails here, too, :attr:`trouble` holds the error.

        Args:
            interactions: the interactions that were recorded there.

        Returns:
            The interactions that may not be recorded here.
        """
        if not self.config.is_recording:
            return [*interactions]
        rest = self._matcher.take(interactions)
        if len(rest) < len(interactions):
            with swallowed(ChatError):
                self._storage.save()
        return rest

    def prune(self, *, sure: bool) -> tuple[Interaction, ...]:
        """Remove the interactions that this kernel's cells did not use when they ran last.

        Args:
            sure: whether to remove them; otherwise they are only listed.

        Returns:
            The interactions that were, or would be, removed.

        Raises:
            InputError: nothing was removed: the cassette is replayed, none of it was used, the
                list has changed since it was shown, or the file cannot be read.
            ChatError: nothing was removed: the file cannot be written.
        """
        name = self.config.name
        if not self.config.is_recording:
            raise InputError(
                f"{name} is replayed, so nothing is removed from it.",
                hint=f"Use it with --record, run the notebook, then {MAGIC} --prune.",
            )
        # Saving takes in what other kernels have recorded: the list is of the file as it is now.
        self._storage.save()
        unused = self._matcher.unused()
        interactions = tuple(item.recorded for item in unused)
        if unused and len(unused) == len(self.interactions):
            raise InputError(
                f"Nothing of {name} was used here since it was chosen, so all would be removed.",
                hint="Run the notebook from top to bottom first: its exchanges are kept.",
            )
        if sure and interactions != self._listed:
            raise InputError(
                f"The exchanges to remove from {name} are not those that were listed.",
                hint=f"{MAGIC} --prune lists them; nothing was removed.",
            )
        if sure:
            self._remove(unused)
        self._listed = interactions
        return interactions

    def _remove(self, unused: Sequence[CassetteItem]) -> None:
        """Remove interactions from the file; keep them if it cannot be written."""
        matcher = self._matcher
        before = matcher.items
        matcher.items = [item for item in before if item not in unused]
        try:
            self._storage.save()
        except ChatError:
            new = [item for item in matcher.items if item not in before]
            matcher.items = [*before, *new]
            raise

    def keep(self) -> None:
        """Save the interactions that the file lacks; :attr:`trouble` holds the error if that fails.

        In a replay the file is only read again.
        """
        self._storage.keep()

    def summary(self) -> str:
        """Return the use of the cassette since it was inserted, in one line."""
        if self.config.mode == "refresh":
            return refresh_words(self._matcher.items)
        return self._use.words()
