"""Record and replay: what is asked of whom, while a cassette is in.

===========  ==============================  ==================================
mode         what the cassette holds         what it does not hold
===========  ==============================  ==================================
``record``   is answered from it             is asked, and saved at once
``replay``   is answered from it             is an error; nothing is ever sent
``refresh``  is asked again, and replaced    is asked, and saved at once
``live``     is asked, and nothing is saved  is asked, and nothing is saved
===========  ==============================  ==================================

What was recorded leaves the file only when a refresh gets a whole new reply to the same
place, or by :meth:`Cassette.prune`.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from chatmagic.cassette import mismatch
from chatmagic.cassette.matching import Matcher, Query
from chatmagic.cassette.mode import MAGIC
from chatmagic.cassette.storage import CassetteFile
from chatmagic.errors import ChatError, InputError, NotRecordedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from chatmagic.cassette.interaction import Recorded
    from chatmagic.cassette.mode import CassetteConfig

AnswerSource = Literal["cassette", "service", "emulator"]

_DOING: Final = {"record": "recording into", "refresh": "refreshing"}


@dataclass(frozen=True, slots=True)
class Lookup:
    """Who answers one request, while a cassette is in.

    Args:
        source: the recording, the service, or the emulator.
        query: what is asked.
        interaction: what answers, where it is the recording.
        by_order: whether it answers for its place, to a request that was another one.
        notes: what to say while the cell is live.
    """

    source: AnswerSource
    query: Query
    interaction: Recorded | None
    by_order: bool
    notes: tuple[str, ...]


class Cassette:
    """A cassette that is in.

    Args:
        config: which, and what is done with it.

    Raises:
        InputError: the file is missing where it is needed, or cannot be used.
    """

    def __init__(self, config: CassetteConfig) -> None:
        """Read the file."""
        self.config = config
        self.trouble: ChatError | None = None
        """Why it could not be saved when that was last tried; ``None`` where it was."""
        self._file = CassetteFile(config.path)
        self._reel = Matcher(self._load())
        self._answered = 0
        self._recorded = 0
        self._refused = 0

    @property
    def exchanges(self) -> Sequence[Recorded]:
        """What it holds."""
        return self._reel.exchanges

    @property
    def unsaved(self) -> tuple[Recorded, ...]:
        """What was recorded, and is in no file as it could not be saved."""
        return () if self.trouble is None else self._reel.beyond(self._file.held)

    @property
    def is_recording(self) -> bool:
        """Whether what is answered is recorded."""
        return self.config.mode in _DOING

    def _load(self) -> tuple[Recorded, ...]:
        config = self.config
        if config.mode == "replay" and not self._file.exists():
            raise InputError(
                f"There is no cassette {config.path} to replay. Nothing was sent.",
                hint="Record it first: %chat_cassette FILE --record, or CHATMAGIC_MODE=record.",
            )
        if not config.is_notebook:
            return self._file.read()
        # nbformat comes with the first notebook that is read.
        from chatmagic.cassette import from_notebook  # noqa: PLC0415

        return from_notebook.recorded(config.path)

    def look_up(
        self,
        query: Query,
        *,
        warnings: Sequence[str] = (),
        is_emulator: Callable[[], bool] = bool,
    ) -> Lookup:
        """Find out who answers a request.

        Args:
            query: what is asked, and by whom.
            warnings: what of it will not run again as it is, for who records.
            is_emulator: tells whether the service that would be asked is the emulator.

        Raises:
            NotRecordedError: nobody does.
            ChatError: the file cannot be written, or the service is not known.
        """
        if not self.is_recording:
            return self._replayed(query)
        recorded = None
        if self.config.mode == "record":
            recorded, changed = self._reel.recall(query)
            if changed:
                self.save()
        name = self.config.name
        if recorded is not None:
            self._answered += 1
            notes = (f"not sent: answered from {name}, where it is recorded", *warnings)
            return Lookup("cassette", query, recorded, by_order=False, notes=notes)
        notes = (*self._doing(query, is_emulator=is_emulator()), *warnings)
        return Lookup("service", query, None, by_order=False, notes=notes)

    def _doing(self, query: Query, *, is_emulator: bool) -> list[str]:
        """Say what is done with a reply that is asked for."""
        config = self.config
        if is_emulator and not self._reel.admits(replace(query.asked, origin="emulator")):
            return [f"not recorded: {config.name} holds a service's replies, not the emulator's"]
        doing = f"{_DOING[config.mode]} {config.name}"
        said = [doing if self._recorded else f"{doing} from here on: {config.path}"]
        if self._reel.leaves_behind(query, renewing=config.mode == "refresh"):
            said.append(
                f"what this cell asked before stays in {config.name}: {MAGIC} --prune lists it"
            )
        return said

    def _replayed(self, query: Query) -> Lookup:
        config, name = self.config, self.config.name
        recorded = self._reel.replay(query)
        note, by_order = f"replayed from {name}: nothing is sent", False
        if recorded is None and config.by_order:
            recorded, by_order = self._reel.by_order(query), True
            if recorded is not None:
                differs = mismatch.difference(query.asked, recorded)
                note = f"replayed from {name} by order, for another request was recorded: {differs}"
        if recorded is not None:
            self._answered += 1
            return Lookup("cassette", query, recorded, by_order=by_order, notes=(note,))
        if config.fallback == "emulator":
            note = f"not in {name}: the emulator answers, practice only"
            return Lookup("emulator", query, None, by_order=False, notes=(note,))
        raise self._miss(query.asked)

    def _miss(self, asked: Recorded) -> NotRecordedError:
        near = mismatch.nearest(asked, self._reel.standing)
        hint = "The cassette is empty." if near is None else mismatch.difference(asked, near)
        if near is None and self.exchanges:
            hint = "All that it holds is superseded, and was another request."
        if self.config.is_notebook:
            hint += (
                " A notebook holds no turn that left no reply in an output (-q, Python, errors)."
            )
        return NotRecordedError(
            f"This request is not in {self.config.name}, which is replayed. Nothing was sent.",
            hint=hint,
        )

    def keep(self, recorded: Recorded, query: Query) -> None:
        """Take in an exchange and save it at once.

        Args:
            recorded: what was asked and what answered.
            query: who asked.

        Raises:
            ChatError: the file cannot be written.
        """
        renewing = self.config.mode == "refresh"
        kept = (self._reel.renew if renewing else self._reel.put)(recorded, query)
        if kept is None:
            self._refused += not self._reel.admits(recorded)
            return
        self._recorded += 1
        self.save()

    def take(self, exchanges: Sequence[Recorded]) -> list[Recorded]:
        """Take in what another cassette could not save, and save it; :attr:`trouble` if it cannot.

        Args:
            exchanges: what was recorded.

        Returns:
            What is not for this one.
        """
        if not self.is_recording:
            return [*exchanges]
        left = self._reel.take(exchanges)
        if len(left) < len(exchanges):
            with contextlib.suppress(ChatError):
                self.save()
        return left

    def read_again(self) -> None:
        """Take in what others have put into the file since, or taken out of it.

        Raises:
            InputError: it cannot be read.
        """
        if not self.config.is_notebook and self._file.exists():
            before = self._file.held
            self._merged(before, self._file.read())

    def prune(self, exchanges: Iterable[Recorded]) -> int:
        """Take exchanges out of the file, or none at all; give how many.

        Args:
            exchanges: as it holds them.

        Raises:
            ChatError: the file cannot be written.
        """
        before = self.exchanges
        count = self._reel.remove(exchanges)
        rest = self.exchanges
        try:
            self.save()
        except ChatError:
            self._reel.join(rest, before)
            raise
        return count

    def save(self) -> None:
        """Save what has changed.

        Raises:
            ChatError: the file cannot be written.
        """
        try:
            self._file.save(self._merged)
        except ChatError as error:
            self.trouble = ChatError(
                f"{error.message} What was recorded is kept here.",
                hint=f"{MAGIC} tries again, {MAGIC} OTHER --record takes it along.",
                fault="you",
            )
            raise self.trouble from None
        self.trouble = None

    def retry(self) -> None:
        """Try again to save what could not be saved; :attr:`trouble` says what came of it."""
        if self.trouble is not None:
            with contextlib.suppress(ChatError):
                self.save()

    def summary(self) -> str:
        """Say what was done so far, in one line."""
        if self.config.mode != "refresh":
            done = f"{self._answered:,} answered from it, {self._recorded:,} recorded"
        else:
            fates = self._reel.fates()
            failed = f"{fates['failed']:,} kept as an error came, " if fates["failed"] else ""
            done = (
                f"{fates['kept']:,} kept word for word, {fates['changed']:,} changed, "
                f"{fates['new']:,} new, {failed}{fates['not asked']:,} not asked, which stay"
            )
        refused = f"; {self._refused:,} of the emulator's not recorded" if self._refused else ""
        return f"{done}{refused}."

    def _merged(
        self, before: tuple[Recorded, ...], now: tuple[Recorded, ...]
    ) -> tuple[Recorded, ...]:
        if now is not before:
            self._reel.join(before, now)
        return self._reel.exchanges
