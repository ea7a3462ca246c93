"""A cassette and its modes: what answers a request, and what is recorded.

===========  ====================================  ==================================
mode         a request that is recorded            one that is not
===========  ====================================  ==================================
``record``   is answered from the cassette         is sent, and its reply is saved
``replay``   is answered from the cassette         is an error; nothing is ever sent
``refresh``  is sent, and its reply replaces this  is sent, and its reply is saved
``live``     is sent; no cassette is active        is sent; no cassette is active
===========  ====================================  ==================================

An interaction leaves the file only when a refresh gets a whole new reply to the same place, or
by :meth:`Cassette.prune`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from chatmagic._log import log_swallowed, swallowed
from chatmagic.cassette import from_notebook, mismatch
from chatmagic.cassette.interaction import missing
from chatmagic.cassette.matching import Matcher
from chatmagic.cassette.mode import MAGIC
from chatmagic.cassette.storage import CassetteFile
from chatmagic.errors import ChatError, InputError, NotRecordedError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from chatmagic.cassette.interaction import Interaction
    from chatmagic.cassette.items import Query
    from chatmagic.cassette.mode import CassetteConfig

AnswerSource = Literal["cassette", "service", "emulator"]

_DOING: Final = {"record": "recording into", "refresh": "refreshing"}


@dataclass(frozen=True, slots=True)
class Lookup:
    """Source of the answer to one request while a cassette is active.

    Args:
        source: the cassette, the service or the emulator.
        query: the request.
        notes: lines to show while the cell is live.
        interaction: what answers, where that is the cassette.
        by_order: whether it answers by its position a request that differs from the recorded one.
    """

    source: AnswerSource
    query: Query
    notes: tuple[str, ...]
    interaction: Interaction | None = None
    by_order: bool = False


class Cassette:
    """A file of recorded interactions in one of the modes.

    Raises:
        InputError: the file is missing in a replay, or cannot be used.
    """

    def __init__(self, config: CassetteConfig) -> None:
        """Read the file."""
        self.config = config
        self.trouble: ChatError | None = None
        """Why the last attempt to save failed; ``None`` where it did not."""
        self._file = CassetteFile(config.path)
        self._matcher = Matcher(self._load())
        self._answered = self._recorded = self._refused = 0

    @property
    def interactions(self) -> Sequence[Interaction]:
        """The recorded interactions in their order."""
        return self._matcher.interactions

    @property
    def unsaved(self) -> tuple[Interaction, ...]:
        """The interactions that were recorded and could not be saved in the file."""
        if self.trouble is None:
            return ()
        return missing(self.interactions, self._file.held)

    @property
    def is_recording(self) -> bool:
        """Whether answers are recorded."""
        return self.config.mode in _DOING

    def _load(self) -> tuple[Interaction, ...]:
        config = self.config
        if config.mode == "replay" and not self._file.exists():
            raise InputError(
                f"There is no cassette {config.path} to replay. Nothing was sent.",
                hint="Record it first: %chat_cassette FILE --record, or CHATMAGIC_MODE=record.",
            )
        if not config.is_notebook:
            return self._file.read()
        return from_notebook.recorded(config.path)

    def look_up(
        self,
        query: Query,
        *,
        warnings: Sequence[str] = (),
        is_emulator: Callable[[], bool] = bool,
    ) -> Lookup:
        """Return what answers a request.

        Args:
            query: the request.
            warnings: why a rerun would send another request, a line each; noted when recording.
            is_emulator: returns whether the configured service is the emulator.

        Raises:
            NotRecordedError: the cassette is replayed, and does not hold the request.
            ChatError: the file cannot be written, or no service is configured.
        """
        if not self.is_recording:
            return self._replay(query)
        interaction = None
        if self.config.mode == "record":
            interaction, changed = self._matcher.recall(query)
            if changed:
                self.save()
        if interaction is None:
            try:
                notes = self._recording_notes(query, is_emulator=is_emulator())
            except ChatError as error:
                if self.config.mode == "record":
                    what = (
                        f"This request is not in {self.config.name}"
                        if self._file.exists()
                        else f"There is no cassette {self.config.name} yet"
                    )
                    error.message = f"{what}. {error.message}"
                raise
            return Lookup("service", query, (*notes, *warnings))
        self._answered += 1
        note = f"not sent: answered from {self.config.name}, where it is recorded"
        return Lookup("cassette", query, (note, *warnings), interaction)

    def _recording_notes(self, query: Query, *, is_emulator: bool) -> list[str]:
        config = self.config
        if is_emulator and not self._matcher.admits(replace(query.asked, origin="emulator")):
            return [f"not recorded: {config.name} holds a service's replies, not the emulator's"]
        doing = f"{_DOING[config.mode]} {config.name}"
        notes = [doing if self._recorded else f"{doing} from here on: {config.path}"]
        if self._matcher.supersedes(query, refresh=config.mode == "refresh"):
            notes.append(
                f"what this cell asked before stays in {config.name}: {MAGIC} --prune lists it"
            )
        return notes

    def _replay(self, query: Query) -> Lookup:
        config, name = self.config, self.config.name
        interaction = self._matcher.replay(query)
        note, by_order = f"replayed from {name}: nothing is sent", False
        if interaction is None and config.by_order:
            interaction, by_order = self._matcher.by_order(query), True
            if interaction is not None:
                differs = mismatch.difference(query, interaction, self.interactions)
                note = (
                    f"replayed from {name} by order, though another request was recorded: {differs}"
                )
        if interaction is not None:
            self._answered += 1
            return Lookup("cassette", query, (note,), interaction, by_order)
        if config.fallback == "emulator":
            note = f"not in {name}: the emulator answers, practice only"
            return Lookup("emulator", query, (note,))
        raise self._not_recorded(query)

    def _not_recorded(self, query: Query) -> NotRecordedError:
        nearest = mismatch.nearest(query.asked, self._matcher.standing)
        if nearest is not None:
            hint = mismatch.difference(query, nearest, self.interactions)
        elif self.interactions:
            hint = "All that it holds is superseded, and differs from this request."
        else:
            hint = "The cassette is empty."
        if self.config.is_notebook:
            hint += (
                " A notebook does not hold turns without a reply in an output (-q, Python, errors)."
            )
        return NotRecordedError(
            f"This request is not in {self.config.name}, which is replayed. Nothing was sent.",
            hint=hint,
        )

    def record(self, recorded: Interaction, query: Query) -> None:
        """Record an interaction and save it at once.

        Raises:
            ChatError: the file cannot be written.
        """
        if self._matcher.add(recorded, query, refresh=self.config.mode == "refresh") is None:
            self._refused += not self._matcher.admits(recorded)
            return
        self._recorded += 1
        self.save()

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Record what another cassette could not save; :attr:`trouble` tells whether it is saved.

        Args:
            interactions: what was recorded there.

        Returns:
            Those that may not be recorded here.
        """
        if not self.is_recording:
            return [*interactions]
        rest = self._matcher.take(interactions)
        if len(rest) < len(interactions):
            with swallowed(ChatError):
                self.save()
        return rest

    def reload(self) -> None:
        """Merge what other kernels have changed in the file since.

        Raises:
            InputError: the file cannot be read.
        """
        if not self.config.is_notebook and self._file.exists():
            before = self._file.held
            self._merge(before, self._file.read())

    def prune(self, places: Collection[int]) -> None:
        """Remove interactions from the file; all of them, or none if it cannot be saved.

        Raises:
            ChatError: the file cannot be written.
        """
        removed = self._matcher.remove(places)
        try:
            self.save()
        except ChatError:
            self._matcher.put_back(removed)
            raise

    def save(self) -> None:
        """Save what has changed.

        Raises:
            ChatError: the file cannot be written.
        """
        try:
            self._file.save(self._merge)
        except ChatError as error:
            log_swallowed(error)
            self.trouble = ChatError(
                f"{error.message} What was recorded is kept in this kernel.",
                hint=f"{MAGIC} tries again, {MAGIC} OTHER --record saves it in another file.",
                fault="you",
            )
            raise self.trouble from None
        self.trouble = None

    def retry(self) -> None:
        """Save what could not be saved; :attr:`trouble` tells whether that failed again."""
        if self.trouble is not None:
            with swallowed(ChatError):
                self.save()

    def summary(self) -> str:
        """Return what was done since the cassette was inserted, in one line."""
        if self.config.mode != "refresh":
            done = f"{self._answered:,} answered from it, {self._recorded:,} recorded"
        else:
            count = self._matcher.outcomes()
            failed = f"{count['failed']:,} kept as an error came, " if count["failed"] else ""
            done = (
                f"{count['kept']:,} kept word for word, {count['changed']:,} changed, "
                f"{count['new']:,} new, {failed}{count['not asked']:,} not asked, which stay"
            )
        refused = f"; {self._refused:,} of the emulator's not recorded" if self._refused else ""
        return f"{done}{refused}."

    def _merge(
        self, before: tuple[Interaction, ...], now: tuple[Interaction, ...]
    ) -> tuple[Interaction, ...]:
        if now is not before:
            self._matcher.merge(before, now)
        return self._matcher.interactions
