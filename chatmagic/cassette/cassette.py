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

import atexit
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from chatmagic._files import LONGEST_WAIT
from chatmagic._fork import belongs_to_process
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import HIDES, NO_CASSETTE, OTHER_CASSETTE, PRUNES, RECORD_FIRST, UNSAVED, Note
from chatmagic.cassette.file import (
    CassetteFile,
    FolderLockedError,
    Interaction,
    from_notebook,
)
from chatmagic.cassette.match import Matcher, Query, difference, nearest
from chatmagic.client.config import FILE_VARIABLE, MODE_VARIABLE, first_set
from chatmagic.client.endpoint import Endpoint, Limits, Timeout
from chatmagic.errors import ChatError, InputError, NotRecordedError
from chatmagic.safe_text import counted

# --- Choice of the cassette and its mode: environment, magic and configuration -------------------

Mode = Literal["live", "record", "replay", "refresh"]

MODES: Final[tuple[Mode, ...]] = get_args(Mode)

MAGIC: Final = "%chat_cassette"


@dataclass(frozen=True, slots=True)
class CassetteOptions:
    """The cassette's settings from one source: the magic, or the configuration.

    Args:
        file: path of the cassette; ``None`` if the source does not set it.
        mode: one of :data:`MODES`, unchecked; ``None`` if the source does not set it.
        fallback: ``emulator`` if the emulator answers requests that are not recorded; ``None`` if
            they are errors.
        by_order: whether a request that differs is answered by its position.
        off: whether the source ejects the cassette.
    """

    file: str | None = None
    mode: str | None = None
    fallback: str | None = None
    by_order: bool = False
    off: bool = False


@dataclass(frozen=True, slots=True)
class CassetteConfig:
    """The active cassette and its mode, and the settings that its requests need without a client.

    Args:
        path: the file.
        mode: any mode except ``live``, in which no cassette is active.
        fallback: as for :class:`CassetteOptions`.
        by_order: as for :class:`CassetteOptions`.
        file_from: the source of the file, as messages name it.
        mode_from: the source of the mode, as messages name it.
        timeout: as for :class:`chatmagic.Client`; used if the emulator answers.
        limits: as for :class:`chatmagic.Client`.
        extra_body: fields that every request has beside the interface's own.
        system_role: whether instructions are a message of the role ``system``.
    """

    path: Path
    mode: Mode
    fallback: str | None = None
    by_order: bool = False
    file_from: str = FILE_VARIABLE
    mode_from: str = ""
    timeout: Timeout | float | None = field(default=None, compare=False)
    limits: Limits | Mapping[str, int] | None = field(default=None, compare=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, compare=False)
    system_role: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """The file's name without its folder, for messages."""
        return self.path.name

    @property
    def is_notebook(self) -> bool:
        """Whether the file is a notebook, which can only be replayed."""
        return self.path.suffix.lower() == ".ipynb"


def resolve(
    environ: Mapping[str, str],
    magic: CassetteOptions | None = None,
    config: CassetteOptions | None = None,
    *,
    changed_later: AbstractSet[str] = frozenset(),
    interactive: bool = False,
) -> CassetteConfig | None:
    """Return the active cassette and its mode.

    The environment takes precedence over the magic and the configuration. Of these two the one
    that was set later counts.

    Args:
        environ: the environment's variables.
        magic: the settings of the last ``%chat_cassette``; ``None`` before its first use.
        config: the settings of ``ChatMagics``; ``None`` for none.
        changed_later: the options, ``cassette`` or ``mode``, that were configured after the magic
            ran.
        interactive: whether a person runs the cells. It decides if no mode is set: a person
            records, a program replays.

    Returns:
        The cassette; ``None`` if none is active, so that every request goes to the service.

    Raises:
        InputError: the sources contradict each other.
    """
    magic = magic or CassetteOptions()
    config = config or CassetteOptions()
    if magic.off:
        # Later configuration counts. An earlier replay stays, so that nothing is sent.
        is_replay = (config.mode or "").strip().lower() == "replay"
        config = CassetteOptions(
            config.file if "cassette" in changed_later else None,
            config.mode if changed_later or is_replay else None,
        )

    def first(name: Literal["file", "mode"], variable: str, trait: str) -> tuple[str, str]:
        """Return the value that takes precedence and its source; two empty texts for none."""
        sources = [(getattr(magic, name), MAGIC), (getattr(config, name), f"ChatMagics.{trait}")]
        if trait in changed_later:
            sources.reverse()
        return first_set([(environ.get(variable), variable), *sources])

    file, file_from = first("file", FILE_VARIABLE, "cassette")
    word, mode_from = first("mode", MODE_VARIABLE, "mode")
    mode = cast("Mode | Literal['']", word.lower())
    if mode and mode not in MODES:
        raise InputError(f"{mode_from} is one of {', '.join(MODES)}, not {word[:20]!r}.")
    if mode == "live" or not (mode or file):
        return None
    if not file:
        raise InputError(
            f"{mode_from} says {mode}, but no cassette is set. Nothing was sent.",
            hint=NO_CASSETTE,
        )
    try:
        path = Path(file).expanduser()
    except RuntimeError:
        raise InputError(f"{file_from} names a home folder that does not exist.") from None
    chosen = CassetteConfig(path, mode or "replay", magic.fallback, magic.by_order, file_from)
    if chosen.is_notebook:
        return replace(chosen, mode="replay", mode_from="a notebook")
    if interactive and not (mode or magic.fallback or magic.by_order):
        return replace(chosen, mode="record", mode_from="a person asks")
    return replace(chosen, mode_from=mode_from or "by default")


# --- A cassette in one of its modes --------------------------------------------------------------

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
        self._matcher = Matcher(self._load())
        self._answered = self._recorded = self._other_markdown = self._gone = 0
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
        if len(unused) == len(self.interactions) > 0:
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
            matcher = self._matcher
            before = self._matcher.items
            matcher.items = [item for item in before if item not in unused]
            try:
                self.save()
            except ChatError:
                matcher.items = [*before, *(item for item in matcher.items if item not in before)]
                raise
        self._listed = interactions
        return interactions

    def save(self) -> None:
        """Save the changes.

        Raises:
            ChatError: the file cannot be written.
        """
        # While another process has locked the folder, only the first exchange waits for it.
        longest = LONGEST_WAIT if self.trouble is None else 0.0
        try:
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
                f"{count['new']:,} new, {count['not renewed']:,} not renewed, which stay"
            )
        return f"{done}."

    def _merge(
        self, before: tuple[Interaction, ...], now: tuple[Interaction, ...]
    ) -> tuple[Interaction, ...]:
        self._note_merge()
        if now is not before:
            self._gone = self._matcher.merge(before, now)
        return self._matcher.interactions


# --- The cassette of a session ------------------------------------------------------------------


class ActiveCassette:
    """The cassette that answers and records one session's requests.

    Args:
        notify: shows a line to the user at once.
    """

    def __init__(self, notify: Callable[[Note], object] = str) -> None:
        """Start without a cassette."""
        self._notify = notify
        _ACTIVE.add(self)
        belongs_to_process(self)
        self.leave_to_parent()

    def leave_to_parent(self) -> None:
        """Be without a cassette, as in a forked child: its next ask reads the file."""
        self.current: Cassette | None = None
        self._left: list[Interaction] = []
        """Interactions that ejected cassettes could not save; the next recording one takes them."""
        self._news: list[Note] = []

    @property
    def unsaved(self) -> list[Interaction]:
        """The recorded interactions that are in no file yet."""
        return [*self._left, *(() if self.current is None else self.current.unsaved)]

    def insert(self, config: CassetteConfig | None) -> None:
        """Insert the chosen cassette, and eject one that is no longer chosen.

        Exchanges that could not be saved before are saved now, if that is possible.

        Args:
            config: the chosen cassette; ``None`` for none.

        Raises:
            InputError: the cassette cannot be used.
        """
        if self.current is not None and self.current.config != config:
            self.eject()
        if self.current is None and config is not None:
            self.current = Cassette(config, self._news, self._notify)
            self._left = self.current.take(self._left)
        self.keep()

    def keep(self) -> None:
        """Save the interactions that the cassette's file lacks, as far as that is possible."""
        if self.current is not None:
            self.current.keep()

    def eject(self) -> str | None:
        """Eject the cassette; interactions that it cannot save stay in :attr:`unsaved`.

        Returns:
            Its use in one line; ``None`` without a cassette.
        """
        if (old := self.current) is None:
            return None
        old.keep()
        self._left = self.unsaved
        self.current = None
        return old.summary()

    def news(self) -> list[Note]:
        """Return lines on interactions that a file lost, once, and on unsaved ones, each time."""
        news = [*self._news]
        self._news[:] = []
        if unsaved := self.unsaved:
            trouble = None if self.current is None else self.current.trouble
            why = "" if trouble is None else f"{trouble.message} "
            news.append(f"{why}{_count(len(unsaved))} " + UNSAVED)
        return news

    def end(self) -> None:
        """Save what the file lacks, as the process ends, and show the lines on it."""
        if self.current is not None:
            self.current.keep()
            for line in self.news():
                self._notify(line)


_ACTIVE: Final[weakref.WeakSet[ActiveCassette]] = weakref.WeakSet()


@atexit.register
def _end() -> None:
    """Save what the files of all cassettes lack when the interpreter exits."""
    for cassette in [*_ACTIVE]:
        cassette.end()


def _count(number: int) -> str:
    return counted(number, "recorded exchange")
