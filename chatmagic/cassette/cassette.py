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
from chatmagic.cassette.matching import Question, Reel
from chatmagic.cassette.mode import MAGIC
from chatmagic.cassette.storage import File
from chatmagic.errors import ChatError, InputError, NotRecordedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from chatmagic.cassette.interaction import Recorded
    from chatmagic.cassette.mode import Choice

Who = Literal["recording", "service", "emulator"]

_DOING: Final = {"record": "recording into", "refresh": "refreshing"}


@dataclass(frozen=True, slots=True)
class Play:
    """Who answers one request, while a cassette is in.

    Args:
        who: the recording, the service, or the emulator.
        question: what is asked.
        recorded: what answers, where it is the recording.
        by_order: whether it answers for its place, to a request that was another one.
        notes: what to say while the cell is live.
    """

    who: Who
    question: Question
    recorded: Recorded | None
    by_order: bool
    notes: tuple[str, ...]


class Cassette:
    """A cassette that is in.

    Args:
        choice: which, and what is done with it.

    Raises:
        InputError: the file is missing where it is needed, or cannot be used.
    """

    def __init__(self, choice: Choice) -> None:
        """Read the file."""
        self.choice = choice
        self.trouble: ChatError | None = None
        """Why it could not be saved when that was last tried; ``None`` where it was."""
        self._file = File(choice.path)
        self._reel = Reel(self._load())
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
        return self.choice.mode in _DOING

    def _load(self) -> tuple[Recorded, ...]:
        choice = self.choice
        if choice.mode == "replay" and not self._file.exists():
            raise InputError(
                f"There is no cassette {choice.path} to replay. Nothing was sent.",
                hint="Record it first: %chat_cassette FILE --record, or CHATMAGIC_MODE=record.",
            )
        if not choice.is_notebook:
            return self._file.read()
        # nbformat comes with the first notebook that is read.
        from chatmagic.cassette import from_notebook  # noqa: PLC0415

        return from_notebook.recorded(choice.path)

    def play(
        self,
        question: Question,
        *,
        warnings: Sequence[str] = (),
        is_emulator: Callable[[], bool] = bool,
    ) -> Play:
        """Find out who answers a request.

        Args:
            question: what is asked, and by whom.
            warnings: what of it will not run again as it is, for who records.
            is_emulator: tells whether the service that would be asked is the emulator.

        Raises:
            NotRecordedError: nobody does.
            ChatError: the file cannot be written, or the service is not known.
        """
        if not self.is_recording:
            return self._replayed(question)
        recorded = None
        if self.choice.mode == "record":
            recorded, changed = self._reel.recall(question)
            if changed:
                self.save()
        name = self.choice.name
        if recorded is not None:
            self._answered += 1
            notes = (f"not sent: answered from {name}, where it is recorded", *warnings)
            return Play("recording", question, recorded, by_order=False, notes=notes)
        notes = (*self._doing(question, is_emulator=is_emulator()), *warnings)
        return Play("service", question, None, by_order=False, notes=notes)

    def _doing(self, question: Question, *, is_emulator: bool) -> list[str]:
        """Say what is done with a reply that is asked for."""
        choice = self.choice
        if is_emulator and not self._reel.admits(replace(question.asked, origin="emulator")):
            return [f"not recorded: {choice.name} holds a service's replies, not the emulator's"]
        doing = f"{_DOING[choice.mode]} {choice.name}"
        said = [doing if self._recorded else f"{doing} from here on: {choice.path}"]
        if self._reel.leaves_behind(question, renewing=choice.mode == "refresh"):
            said.append(
                f"what this cell asked before stays in {choice.name}: {MAGIC} --prune lists it"
            )
        return said

    def _replayed(self, question: Question) -> Play:
        choice, name = self.choice, self.choice.name
        recorded = self._reel.replay(question)
        note, by_order = f"replayed from {name}: nothing is sent", False
        if recorded is None and choice.by_order:
            recorded, by_order = self._reel.by_order(question), True
            if recorded is not None:
                differs = mismatch.difference(question.asked, recorded)
                note = f"replayed from {name} by order, for another request was recorded: {differs}"
        if recorded is not None:
            self._answered += 1
            return Play("recording", question, recorded, by_order=by_order, notes=(note,))
        if choice.otherwise == "emulator":
            note = f"not in {name}: the emulator answers, practice only"
            return Play("emulator", question, None, by_order=False, notes=(note,))
        raise self._miss(question.asked)

    def _miss(self, asked: Recorded) -> NotRecordedError:
        near = mismatch.nearest(asked, self._reel.standing)
        hint = "The cassette is empty." if near is None else mismatch.difference(asked, near)
        if near is None and self.exchanges:
            hint = "All that it holds is superseded, and was another request."
        if self.choice.is_notebook:
            hint += (
                " A notebook holds no turn that left no reply in an output (-q, Python, errors)."
            )
        return NotRecordedError(
            f"This request is not in {self.choice.name}, which is replayed. Nothing was sent.",
            hint=hint,
        )

    def keep(self, recorded: Recorded, question: Question) -> None:
        """Take in an exchange and save it at once.

        Args:
            recorded: what was asked and what answered.
            question: who asked.

        Raises:
            ChatError: the file cannot be written.
        """
        renewing = self.choice.mode == "refresh"
        kept = (self._reel.renew if renewing else self._reel.put)(recorded, question)
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
        if not self.choice.is_notebook and self._file.exists():
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
        if self.choice.mode != "refresh":
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
