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

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Literal

from chatmagic._files import LONGEST_WAIT
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import HIDES, OTHER_CASSETTE, PRUNES, RECORD_FIRST, Note
from chatmagic.archive.cassette_file import BEFORE_REFRESH, CassetteFile, FolderLockedError
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.choice import MAGIC, CassetteConfig
from chatmagic.cassette.match import Item, Matcher, Query, difference, nearest
from chatmagic.cassette.notebook_cassette import from_notebook
from chatmagic.errors import ChatError, InputError, NotRecordedError
from chatmagic.safe_text import counted

AnswerSource = Literal["cassette", "service", "emulator"]

_DOING: Final = {"record": "recording into", "refresh": "refreshing"}


@dataclass(frozen=True, slots=True)
class Lookup:
    """Source of the answer to one request while a cassette is active.

    Args:
        source: the cassette, the service or the emulator.
        query: the request.
        notes: lines to show while the cell is live.
        interaction: the recorded answer; ``None`` if the cassette does not answer.
        by_order: whether the answer was chosen by its position, for a request that differs from
            the recorded one.
    """

    source: AnswerSource
    query: Query
    notes: tuple[str, ...]
    interaction: Interaction | None = None
    by_order: bool = False


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
        self._notify = notify
        self.trouble: ChatError | None = None
        """Error of the last attempt to save; ``None`` if it succeeded."""
        self._news: list[Note] = [] if news is None else news
        self._file = CassetteFile(config.path)
        self._is_merge_noted = False
        self.loaded = self._load()
        """The interactions of the file when it was inserted."""
        self._has_copy = False
        self._matcher = Matcher(self.loaded)
        self._answered = 0
        self._recorded = 0
        self._other_markdown = 0
        self._gone = 0
        self._listed: tuple[Interaction, ...] | None = None

    def _load(self) -> tuple[Interaction, ...]:
        config = self.config
        if config.mode == "replay" and not os.path.exists(config.path):  # noqa: PTH110 - of any name
            raise InputError(
                f"There is no cassette {config.path} to replay. Nothing was sent.",
                hint=RECORD_FIRST,
            )
        if config.is_notebook:
            return from_notebook(config.path)
        interactions = self._file.read_interactions()
        self._note_merge()
        return interactions

    def _note_merge(self) -> None:
        """Add a line for the user if the file has the marks of a merge, once for each merge."""
        if self._file.is_merged and not self._is_merge_noted:
            self._news.append(
                f"{self.config.name} has the marks of a merge conflict, and both of its halves are "
                "used. Recording writes it without the marks."
            )
        self._is_merge_noted = self._file.is_merged

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """The recorded interactions in their order."""
        return self._matcher.interactions

    @property
    def lacking(self) -> tuple[Interaction, ...]:
        """The interactions that the file lacked when it was last read or written here.

        A file that cannot be read any more lacks all of them.
        """
        if self.config.is_notebook:
            return ()
        in_file = {*map(id, self._file.held if self._file.is_readable else ())}
        return tuple(item for item in self.interactions if id(item) not in in_file)

    @property
    def unsaved(self) -> tuple[Interaction, ...]:
        """The interactions that are to be saved in the file, and could not be."""
        return self.lacking if self.is_recording else ()

    @property
    def is_recording(self) -> bool:
        """Whether answers are recorded."""
        return self.config.mode in _DOING

    def look_up(self, query: Query, is_emulator: Callable[[], bool]) -> Lookup:
        """Return the source of the answer to a request.

        Args:
            query: the request.
            is_emulator: returns whether the configured service is the emulator.

        Raises:
            NotRecordedError: the cassette is replayed and does not hold the request.
            ChatError: no service is configured.
        """
        config = self.config
        name = self.config.name
        if not self.is_recording:
            return self._replay(query)
        is_refresh = config.mode == "refresh"
        if not is_refresh and (recorded := self._matcher.answer(query, recording=True)) is not None:
            self._answered += 1
            note = f"not sent: answered from {name}, where it is recorded"
            return Lookup("cassette", query, (note,), recorded)
        try:
            is_practice = is_emulator()
        except ChatError as error:
            if not is_refresh:
                event = f"This request is not in {name}. {error.message}"
                raise type(error)(event, hint=error.advice) from None
            raise
        if is_practice and not self._matcher.admits(replace(query.asked, origin="emulator")):
            note = f"not recorded: {name} holds a service's replies, not the emulator's"
            return Lookup("service", query, (note,))
        doing = f"{_DOING[config.mode]} {name}"
        notes = [doing]
        if not is_refresh and self._matcher.is_changed_cell(query):
            notes.append(f"this cell's earlier exchange stays in {name} until {MAGIC} --prune")
        return Lookup("service", query, tuple(notes))

    def _replay(self, query: Query) -> Lookup:
        config = self.config
        name = self.config.name
        interaction = self._matcher.answer(query)
        note = f"replayed from {name}: nothing is sent"
        by_order = False
        if interaction is not None and not interaction.has_markdown_of(query.asked):
            self._other_markdown += 1
            note += "; the Markdown cells that it carries are not those that were recorded"
        if interaction is None and config.by_order:
            interaction = self._matcher.by_order(query)
            by_order = True
            if interaction is not None:
                differs = difference(query.asked, interaction)
                note = (
                    f"replayed from {name} by order, though another request was recorded: {differs}"
                )
        if interaction is not None:
            self._answered += 1
            return Lookup("cassette", query, (note,), interaction, by_order)
        like = nearest(query.asked, self.interactions)
        hint = "The cassette is empty." if like is None else difference(query.asked, like)
        if config.fallback == "emulator":
            if like is not None and like.as_typed == query.asked.as_typed:
                # Of a question that the reader was given.
                self._news.append(
                    f"This question is recorded in {name}, but not this request, so the emulator "
                    f"answered. {hint} " + HIDES
                )
            note = f"not in {name}: the emulator answers, practice only"
            return Lookup("emulator", query, (note,))
        if config.is_notebook:
            hint += (
                " A notebook does not hold turns without a reply in an output (-q, Python, errors)."
            )
        raise NotRecordedError(
            f"This request is not in {name}, which is replayed. Nothing was sent.", hint=hint
        )

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
            self._recorded += 1
            # In a locked folder it stays unsaved, and a later question tries again to save it.
            with swallowed(FolderLockedError):
                self.save()

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Record interactions that another cassette could not save.

        If saving fails here, too, :attr:`trouble` holds the error.

        Args:
            interactions: the interactions that were recorded there.

        Returns:
            The interactions that may not be recorded here.
        """
        if not self.is_recording:
            return [*interactions]
        rest = self._matcher.take(interactions)
        if len(rest) < len(interactions):
            with swallowed(ChatError):
                self.save()
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
        if not self.is_recording:
            raise InputError(
                f"{name} is replayed, so nothing is removed from it.",
                hint=f"Use it with --record, run the notebook, then {MAGIC} --prune.",
            )
        self.save()
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

    def _remove(self, unused: Sequence[Item]) -> None:
        """Remove interactions from the file; keep them if it cannot be written."""
        matcher = self._matcher
        before = matcher.items
        matcher.items = [item for item in before if item not in unused]
        try:
            self.save()
        except ChatError:
            new = [item for item in matcher.items if item not in before]
            matcher.items = [*before, *new]
            raise

    def save(self) -> None:
        """Save the changes.

        Raises:
            ChatError: the file cannot be written.
        """
        # While another process has locked the folder, only the first exchange waits for it.
        longest = LONGEST_WAIT if self.trouble is None else 0.0
        try:
            self._copy_old()
            self._file.save(self._merge, self._say_waiting, longest=longest)
        except ChatError as error:
            log_swallowed(error)
            kind = FolderLockedError if isinstance(error, FolderLockedError) else ChatError
            self.trouble = kind(
                f"{error.message} The recorded replies are kept in memory.",
                hint=OTHER_CASSETTE,
            )
            raise self.trouble from None
        self.trouble = None
        self._matcher.note_saved()
        if self._gone:
            self._news.append(
                f"{_count(self._gone)} had gone from {self.config.name} since it was read here: "
                + PRUNES
            )
            self._gone = 0

    def _copy_old(self) -> None:
        """Copy the file before the first reply of a refresh replaces one, which keeps its text."""
        if self.config.mode == "refresh" and self.loaded and not self._has_copy:
            self._file.copy(f"{BEFORE_REFRESH}{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
            self._has_copy = True

    def _say_waiting(self) -> None:
        self._notify(
            f"Another process has locked the folder of {self.config.name}; the recorded reply "
            f"waits {LONGEST_WAIT:.0f} s at most to be saved."
        )

    def keep(self) -> None:
        """Save the interactions that the file lacks; :attr:`trouble` holds the error if that fails.

        In a replay the file is only read again.
        """
        if self.config.is_notebook or not (self.trouble or self._file.has_changed()):
            return
        with swallowed(ChatError):
            if self.is_recording:
                self.save()
            else:
                before = self._file.held
                self._merge(before, self._file.read_interactions())

    def summary(self) -> str:
        """Return the use of the cassette since it was inserted, in one line."""
        if self.config.mode != "refresh":
            done = f"{self._answered:,} answered from it, {self._recorded:,} recorded"
            if self._other_markdown:
                done += f"; {self._other_markdown:,} with other Markdown cells than recorded"
        else:
            count = self._matcher.outcomes()
            done = (
                f"{count['kept']:,} kept word for word, {count['changed']:,} changed, "
                f"{count['new']:,} new, {count['not asked again']:,} not asked again, which stay"
            )
        return f"{done}."

    def _merge(
        self, before: tuple[Interaction, ...], now: tuple[Interaction, ...]
    ) -> tuple[Interaction, ...]:
        self._note_merge()
        if now is not before:
            self._gone = self._matcher.merge(before, now)
        return self._matcher.interactions


def _count(number: int) -> str:
    return counted(number, "recorded exchange")
