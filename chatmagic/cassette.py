"""Record and replay: what is asked of whom, while a cassette is in.

===========  ==============================  ==================================
mode         what the cassette holds         what it does not hold
===========  ==============================  ==================================
``record``   is answered from it             is asked, and saved at once
``replay``   is answered from it             is an error; nothing is ever sent
``refresh``  is asked again, and replaced    is asked, and saved at once
``live``     is asked, and nothing is saved  is asked, and nothing is saved
===========  ==============================  ==================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

from chatmagic import nearest
from chatmagic.errors import InputError, NotRecordedError
from chatmagic.recording import File
from chatmagic.reel import Question, Reel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chatmagic.tape import Recorded

Mode = Literal["live", "record", "replay", "refresh"]
Who = Literal["recording", "service", "emulator"]

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
FILE_VARIABLE: Final = "CHATMAGIC_CASSETTE"
MODE_VARIABLE: Final = "CHATMAGIC_MODE"
MAGIC: Final = "%chat_cassette"
NOTEBOOK: Final = ".ipynb"
_DOING: Final = {"record": "recording into", "replay": "replaying", "refresh": "refreshing"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """What one place says of the cassette: the magic, or the configuration.

    Args:
        file: the cassette; ``None`` says nothing.
        mode: ``record``, ``replay``, ``refresh`` or ``live``; ``None`` says nothing.
        otherwise: who answers what is not recorded: ``emulator``; ``None`` is nobody.
        by_order: whether a request that differs is answered by its place.
    """

    file: str | None = None
    mode: str | None = None
    otherwise: str | None = None
    by_order: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The cassette that is in, and what is done with it.

    Args:
        path: the file.
        mode: what is done.
        otherwise: as for :class:`Chosen`.
        by_order: as for :class:`Chosen`.
        file_from: who decided the file, in words.
        mode_from: who decided the mode, in words.
    """

    path: Path
    mode: Mode
    otherwise: str | None = None
    by_order: bool = False
    file_from: str = FILE_VARIABLE
    mode_from: str = ""

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return self.path.name

    @property
    def is_notebook(self) -> bool:
        """Whether it is a notebook, which is only replayed."""
        return self.path.suffix.lower() == NOTEBOOK


def choose(
    environ: Mapping[str, str],
    magic: Chosen | None = None,
    config: Chosen | None = None,
    *,
    person: bool = False,
) -> Choice | None:
    """Find out which cassette is in: the environment beats the magic, which beats the config.

    Args:
        environ: the environment's variables.
        magic: what ``%chat_cassette`` said last; ``None`` if nothing.
        config: what ``ChatMagics`` says.
        person: whether a person asks; a machine replays what nobody said to record.

    Returns:
        The choice; ``None`` where every question goes to the service, as without a cassette.

    Raises:
        InputError: what is said does not go together.
    """
    magic, config = magic or Chosen(), config or Chosen()
    if magic.mode == "live":
        # %chat_cassette --off takes out what the magic or the configuration has put in.
        magic = config = Chosen()
    file, file_from = _first(
        (environ.get(FILE_VARIABLE), FILE_VARIABLE),
        (magic.file, MAGIC),
        (config.file, "ChatMagics.cassette"),
    )
    word, mode_from = _first(
        (environ.get(MODE_VARIABLE), MODE_VARIABLE),
        (magic.mode, MAGIC),
        (config.mode, "ChatMagics.mode"),
    )
    mode = _mode(word, mode_from)
    if mode == "live":
        return None
    if not file:
        if mode is None:
            return None
        raise InputError(
            f"{mode_from} says {mode}, but no cassette is set. Nothing was sent.",
            hint="Set CHATMAGIC_CASSETTE, or run %chat_cassette FILE.",
        )
    try:
        path = Path(file).expanduser()
    except RuntimeError:
        raise InputError(f"{file_from} names a home folder that there is not.") from None
    is_notebook = path.suffix.lower() == NOTEBOOK
    if is_notebook and file_from == FILE_VARIABLE and mode_from != MODE_VARIABLE:
        # It can only be replayed, so it beats the mode that was meant for another file.
        mode = None
    if mode is None:
        mode, mode_from = _unstated(magic, is_notebook=is_notebook, person=person)
    if is_notebook and mode != "replay":
        raise InputError(
            f"A notebook is only replayed, and {mode_from} says {mode}. Nothing was sent.",
            hint=f"Record into a file of its own: {path.stem}.jsonl.",
        )
    return Choice(path, mode, magic.otherwise, magic.by_order, file_from, mode_from)


def is_replay(environ: Mapping[str, str]) -> bool:
    """Tell whether the environment says that nothing is ever sent."""
    return environ.get(MODE_VARIABLE, "").strip().lower() == "replay"


def _unstated(magic: Chosen, *, is_notebook: bool, person: bool) -> tuple[Mode, str]:
    """Give the mode where nobody said one."""
    if is_notebook:
        return "replay", "a notebook"
    if magic.otherwise or magic.by_order:
        return "replay", "its option"
    return ("record", "a person asks") if person else ("replay", "no person asks")


def _first(*said: tuple[str | None, str]) -> tuple[str, str]:
    found = ((word.strip(), whence) for word, whence in said if word and word.strip())
    return next(found, ("", ""))


def _mode(word: str, whence: str) -> Mode | None:
    if word and word.lower() not in MODES:
        raise InputError(f"{whence} is one of {', '.join(MODES)}, not {word[:20]!r}.")
    return cast("Mode", word.lower()) if word else None


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
        in_notebook: reads the exchanges out of a notebook.

    Raises:
        InputError: the file is missing where it is needed, or cannot be used.
    """

    def __init__(self, choice: Choice, in_notebook: Callable[[Path], tuple[Recorded, ...]]) -> None:
        """Read the file."""
        self.choice = choice
        self._in_notebook = in_notebook
        self._file = File(choice.path)
        self._reel = Reel(self._load())
        self._unsaved = False
        self._answered = 0
        self._recorded = 0

    @property
    def exchanges(self) -> Sequence[Recorded]:
        """What it holds."""
        return self._reel.exchanges

    def _load(self) -> tuple[Recorded, ...]:
        choice = self.choice
        if choice.mode == "replay" and not self._file.exists():
            raise InputError(
                f"There is no cassette {choice.path} to replay. Nothing was sent.",
                hint="Record it first: %chat_cassette FILE --record, or CHATMAGIC_MODE=record.",
            )
        return self._in_notebook(choice.path) if choice.is_notebook else self._file.read()

    def play(self, question: Question, *, warnings: Sequence[str] = ()) -> Play:
        """Find out who answers a request.

        Args:
            question: what is asked, and by whom.
            warnings: what of it will not run again as it is, for who records.

        Raises:
            NotRecordedError: nobody does.
            ChatError: the file cannot be written.
        """
        if self.choice.mode == "replay":
            return self._replayed(question)
        recorded = None
        if self.choice.mode == "record":
            recorded, came_back = self._reel.recall(question)
            if came_back:
                self.save()
        name = self.choice.name
        if recorded is not None:
            self._answered += 1
            notes = (f"not sent: answered from {name}, where it is recorded", *warnings)
            return Play("recording", question, recorded, by_order=False, notes=notes)
        doing = _DOING[self.choice.mode]
        return Play("service", question, None, by_order=False, notes=(f"{doing} {name}", *warnings))

    def _replayed(self, question: Question) -> Play:
        choice, name = self.choice, self.choice.name
        recorded = self._reel.replay(question)
        note, by_order = f"replayed from {name}: nothing is sent", False
        if recorded is None and choice.by_order:
            recorded, by_order = self._reel.by_order(question), True
            if recorded is not None:
                differs = nearest.difference(question.asked, recorded)
                note = f"replayed from {name} by order, for another request was recorded: {differs}"
        if recorded is not None:
            self._answered += 1
            return Play("recording", question, recorded, by_order=by_order, notes=(note,))
        if choice.otherwise == "emulator":
            note = f"not in {name}: the emulator answers, practice only"
            return Play("emulator", question, None, by_order=False, notes=(note,))
        raise self._miss(question.asked)

    def _miss(self, asked: Recorded) -> NotRecordedError:
        near = nearest.nearest(asked, self.exchanges)
        hint = "The cassette is empty." if near is None else nearest.difference(asked, near)
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
        if self.choice.mode == "refresh":
            self._reel.renew(recorded, question)
        else:
            self._reel.put(recorded, question)
        self._recorded += 1
        self.save()

    def save(self) -> None:
        """Save what has changed.

        Raises:
            ChatError: the file cannot be written.
        """
        self._unsaved = True
        self._file.save(self._merged)
        self._unsaved = False

    def retry(self) -> None:
        """Save what could not be saved before.

        Raises:
            ChatError: it still cannot be written.
        """
        if self._unsaved:
            self.save()

    def close(self, *, whole: bool) -> str:
        """Be done with it: save what could not be saved, and say what a refresh did.

        Args:
            whole: whether all was asked that is to be asked; then a refresh drops the rest.
        """
        if self.choice.mode == "refresh" and whole and self._recorded:
            self._reel.drop_the_rest()
            self._unsaved = True
        self.retry()
        return self.summary()

    def summary(self) -> str:
        """Say what was done so far, in one line."""
        if self.choice.mode != "refresh":
            return f"{self._answered:,} answered from it, {self._recorded:,} recorded."
        fates = self._reel.fates()
        return (
            f"{fates['kept']:,} kept word for word, {fates['changed']:,} changed, "
            f"{fates['new']:,} new, {fates['dropped']:,} dropped, "
            f"{self._reel.unasked:,} not asked yet."
        )

    def _merged(
        self, before: tuple[Recorded, ...], now: tuple[Recorded, ...]
    ) -> tuple[Recorded, ...]:
        if now is not before:
            self._reel.join(before, now)
        return self._reel.exchanges
