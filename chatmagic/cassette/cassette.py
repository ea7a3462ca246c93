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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from chatmagic._log import log_swallowed, swallowed
from chatmagic.cassette import mode
from chatmagic.cassette.file import CassetteFile, by_identity, from_notebook
from chatmagic.cassette.match import Matcher, difference, nearest
from chatmagic.cassette.mode import MAGIC
from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import ChatError, InputError, NotRecordedError
from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chatmagic.cassette.file import Interaction
    from chatmagic.cassette.match import Query
    from chatmagic.cassette.mode import CassetteConfig
    from chatmagic.client.endpoint import Timeout

AnswerSource = Literal["cassette", "service", "emulator"]

CASSETTE: Final = Endpoint("https://cassette.invalid", "none", None, "the cassette")
"""Endpoint of a replayed request; no name in ``.invalid`` can be resolved (RFC 2606, 2)."""
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

    Raises:
        InputError: the file is missing in a replay, or cannot be used.
    """

    def __init__(self, config: CassetteConfig) -> None:
        """Read the file."""
        self.config = config
        self.trouble: ChatError | None = None
        """Reason why the last attempt to save failed; ``None`` if it succeeded."""
        self.news: list[str] = []
        """Lines for the person on interactions that the file had lost; the reader empties it."""
        self._file = CassetteFile(config.path)
        self._matcher = Matcher(self._load())
        self._answered = self._recorded = self._refused = self._gone = 0
        self._listed: tuple[Interaction, ...] | None = None

    def _load(self) -> tuple[Interaction, ...]:
        config = self.config
        if config.mode == "replay" and not self._file.exists():
            raise InputError(
                f"There is no cassette {config.path} to replay. Nothing was sent.",
                hint="Record it first: %chat_cassette FILE --record, or CHATMAGIC_MODE=record.",
            )
        return from_notebook(config.path) if config.is_notebook else self._file.read()

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """The recorded interactions in their order."""
        return self._matcher.interactions

    @property
    def unsaved(self) -> tuple[Interaction, ...]:
        """The recorded interactions that could not be saved in the file."""
        if self.trouble is None:
            return ()
        saved = by_identity(self._file.held)
        return tuple(
            item for key, item in by_identity(self.interactions).items() if key not in saved
        )

    @property
    def is_recording(self) -> bool:
        """Whether answers are recorded."""
        return self.config.mode in _DOING

    def look_up(
        self,
        query: Query,
        *,
        warnings: Sequence[str] = (),
        is_emulator: Callable[[], bool] = bool,
    ) -> Lookup:
        """Return the source of the answer to a request.

        Args:
            query: the request.
            warnings: reasons why a rerun would send another request, a line each; they become
                notes while recording.
            is_emulator: returns whether the configured service is the emulator.

        Raises:
            NotRecordedError: the cassette is replayed and does not hold the request.
            ChatError: no service is configured.
        """
        if not self.is_recording:
            return self._replay(query)
        name, is_refresh = self.config.name, self.config.mode == "refresh"
        interaction = None if is_refresh else self._matcher.recall(query)
        if interaction is not None:
            self._answered += 1
            note = f"not sent: answered from {name}, where it is recorded"
            return Lookup("cassette", query, (note, *warnings), interaction)
        try:
            notes = self._recording_notes(query, is_emulator=is_emulator())
        except ChatError as error:
            if not is_refresh:
                is_there = self._file.exists()
                what = "This request is not in {}" if is_there else "There is no cassette {} yet"
                error.message = f"{what.format(name)}. {error.message}"
            raise
        return Lookup("service", query, (*notes, *warnings))

    def _recording_notes(self, query: Query, *, is_emulator: bool) -> list[str]:
        config = self.config
        if is_emulator and not self._matcher.admits(replace(query.asked, origin="emulator")):
            return [f"not recorded: {config.name} holds a service's replies, not the emulator's"]
        doing = f"{_DOING[config.mode]} {config.name}"
        notes = [doing if self._recorded else f"{doing} from here on: {config.path}"]
        if self._matcher.is_changed_cell(query, refresh=config.mode == "refresh"):
            notes.append(
                f"what this cell asked before stays in {config.name} until {MAGIC} --prune"
            )
        return notes

    def _replay(self, query: Query) -> Lookup:
        config, name = self.config, self.config.name
        interaction = self._matcher.replay(query)
        note, by_order = f"replayed from {name}: nothing is sent", False
        if interaction is None and config.by_order:
            interaction, by_order = self._matcher.by_order(query), True
            if interaction is not None:
                differs = difference(query, interaction, self.interactions)
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
        held = self.interactions
        like = nearest(query.asked, held)
        hint = "The cassette is empty." if like is None else difference(query, like, held)
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

        Args:
            recorded: the interaction.
            query: the request that it answers.

        Raises:
            ChatError: the file cannot be written.
        """
        if self._matcher.add(recorded, query, refresh=self.config.mode == "refresh"):
            self._recorded += 1
            self.save()
        else:
            self._refused += not self._matcher.admits(recorded)

    def take(self, interactions: Sequence[Interaction]) -> list[Interaction]:
        """Record interactions that another cassette could not save.

        If saving fails here, too, :attr:`trouble` holds the reason.

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
        if self._file.exists():
            self.save()
        unused = self._matcher.unused()
        interactions = tuple(item.recorded for item in unused)
        if len(unused) == len(self.interactions) > 0:
            raise InputError(
                f"Nothing of {name} was used here since it was put in, so all of it would go.",
                hint="Run the notebook from top to bottom first: what it asks is kept.",
            )
        if sure and interactions != self._listed:
            raise InputError(
                f"What would go from {name} was not listed as it is now.",
                hint=f"{MAGIC} --prune lists it; nothing was removed.",
            )
        if sure:
            before = self._matcher.remove(unused)
            try:
                self.save()
            except ChatError:
                self._matcher.put_back(before)
                raise
        self._listed = interactions
        return interactions

    def save(self) -> None:
        """Save the changes.

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
        if self._gone:
            self.news.append(
                f"{_count(self._gone)} had gone from {self.config.name} since it was read here, "
                f"and was written again; {MAGIC} --prune removes."
            )
            self._gone = 0

    def retry(self) -> None:
        """Try again to save; :attr:`trouble` holds the reason if that fails."""
        if self.trouble is not None:
            with swallowed(ChatError):
                self.save()

    def summary(self) -> str:
        """Return the use of the cassette since it was inserted, in one line."""
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
            self._gone += self._matcher.merge(before, now)
        return self._matcher.interactions


# --- The cassette of a session ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CassetteSetup:
    """The cassette to insert, and the settings that its requests need without a client.

    Args:
        config: the cassette and its mode.
        timeout: as for :class:`chatmagic.Client`; used if the emulator answers.
        extra_body: fields that every request has beside the interface's own.
        system_role: whether instructions are a message of the role ``system``.
    """

    config: CassetteConfig
    timeout: Timeout | float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    system_role: bool = False


def from_environment() -> CassetteSetup | None:
    """Return the cassette that the environment names, for use outside a notebook."""
    config = mode.resolve(os.environ)
    return None if config is None else CassetteSetup(config)


class ActiveCassette:
    """The cassette that answers and records one session's requests."""

    def __init__(self) -> None:
        """Begin without a cassette."""
        self.current: Cassette | None = None
        self.unsaved: Sequence[Interaction] = ()
        """Interactions that ejected cassettes could not save; the next recording one takes them."""
        self._why = ""
        self._is_told = True
        self._news: list[str] = []

    @property
    def lost(self) -> list[str]:
        """The fate of :attr:`unsaved` in one line; an empty list if everything is saved."""
        return (
            [f"{_count(len(self.unsaved))} could not be saved{self._why}"] if self.unsaved else []
        )

    def insert(self, setup: CassetteSetup | None) -> None:
        """Insert the chosen cassette, and eject one that is no longer chosen.

        Args:
            setup: the chosen cassette; ``None`` for none.

        Raises:
            InputError: the cassette cannot be used.
        """
        config = None if setup is None else setup.config
        if self.current is not None and self.current.config != config:
            self.eject()
        if self.current is None and config is not None:
            self.current = Cassette(config)
            self._take_along(self.current)

    def eject(self) -> str | None:
        """Eject the cassette; interactions that it cannot save stay in :attr:`unsaved`.

        Returns:
            Its use in one line; ``None`` without a cassette.
        """
        old = self.current
        if old is None:
            return None
        old.retry()
        self._news += old.news
        if old.trouble is not None and old.unsaved:
            self.unsaved = [*self.unsaved, *old.unsaved]
            self._why = (
                f" in {old.config.name}, and will be lost with this kernel; "
                f"{MAGIC} OTHER --record saves what it can there. The reason: {old.trouble.message}"
            )
            self._is_told = False
        self.current = None
        return old.summary()

    def change(
        self, choose: Callable[[], CassetteSetup | None], *, again: bool, off: bool
    ) -> str | None:
        """Insert the chosen cassette, and save what could not be saved before.

        Args:
            choose: returns the chosen cassette; ``None`` for none.
            again: whether to eject the present cassette even if the same one is chosen.
            off: whether to eject the present cassette without inserting one.

        Returns:
            The use of the ejected cassette in one line; ``None`` if none was ejected.
        """
        summary = self.eject() if again else None
        if not off:
            # With `off` none is wanted; the environment's cassette comes with the next ask.
            self.insert(choose())
        if not again and self.current is not None:
            self.current.retry()
            self._take_along(self.current)
        return summary

    def news(self) -> list[str]:
        """Return, once, a line on each loss of interactions from a file or failure to save them."""
        news = [*([] if self._is_told else self.lost), *self._news]
        self._is_told, self._news = True, []
        if self.current is not None:
            news += self.current.news
            self.current.news = []
        return news

    def _take_along(self, target: Cassette) -> None:
        """Record into a cassette the interactions that others could not save."""
        rest = target.take(self.unsaved)
        if count := len(self.unsaved) - len(rest):
            failed = target.trouble and f": {target.trouble.message}"
            done = failed or f" is saved in {target.config.name} now."
            self._news.append(f"{_count(count)} that could not be saved before{done}")
        self.unsaved = rest


def _count(number: int) -> str:
    return counted(number, "recorded exchange")
