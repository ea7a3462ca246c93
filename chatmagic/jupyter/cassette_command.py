"""``%chat_cassette``: options, state and pruning of the active cassette."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from chatmagic.cassette import active, reproducibility
from chatmagic.cassette.mode import CassetteOptions, resolve
from chatmagic.cassette.pruning import Pruning
from chatmagic.client.config import FILE_VARIABLE, MODE_VARIABLE
from chatmagic.errors import ChatError, InputError
from chatmagic.text import counted

if TYPE_CHECKING:
    from chatmagic.jupyter.environment import KernelEnvironment
    from chatmagic.jupyter.settings import KernelSettings
    from chatmagic.session.session import Session

USAGE: Final = (
    "%chat_cassette FILE [--record|--replay|--refresh] [--else emulator] [--by-order], "
    "%chat_cassette --off, %chat_cassette --prune, or %chat_cassette alone."
)
DOES: Final = {
    "record": "what is recorded is answered from it; what is new is asked, and saved",
    "replay": "nothing is sent, no key is needed",
    "refresh": "everything is asked again, and saved",
}
_WORD: Final = re.compile(r"\S+")
_MODES: Final = ("--record", "--replay", "--refresh")


class CassetteCommand:
    """The magic ``%chat_cassette`` of one kernel.

    Args:
        session: the kernel's session.
        environment: the environment of the session.
        settings: the settings, read at each use.
    """

    def __init__(
        self, session: Session, environment: KernelEnvironment, settings: KernelSettings
    ) -> None:
        """Choose nothing yet."""
        self._session = session
        self._environment = environment
        self._settings = settings
        self._pruning = Pruning()

    @property
    def _options(self) -> CassetteOptions:
        """What ``%chat_cassette`` set last, also before the extension was loaded again."""
        return self._settings.kept.cassette or CassetteOptions()

    def run(self, line: str) -> str:
        """Run ``%chat_cassette``, and return what it prints.

        The line for a new cassette does not name the mode, so that a notebook prints the same
        when it is recorded and when it is replayed.

        Args:
            line: what stands after the magic's name.

        Raises:
            ChatError: the line is wrong, or the cassette cannot be used.
        """
        if not line.strip():
            return self._status()
        first, *words = line.split()
        if first == "--prune":
            return self._prune(words)
        is_off = [first, *words] == ["--off"]
        options = CassetteOptions(off=True) if is_off else parse(line, self._options.file)
        self._settings.kept.cassette = options
        self._settings.kept.changed_later.clear()
        before = self._session.cassette.current
        summary = self._session.change_cassette(off=is_off)
        chosen = "No cassette is chosen here."
        if options.file is not None:
            chosen = f"Cassette chosen here: {Path(options.file).name}."
        refreshed = before is not None and before.config.mode == "refresh"
        done = [summary] if is_off and refreshed and summary else []
        lines = [f"{chosen} %chat_cassette shows what is in force.", *done]
        return "\n".join([*lines, *self._session.cassette.news()])

    def state(self) -> str | None:
        """Return a line on the active cassette; ``None`` without one."""
        try:
            choice = self._environment.choice()
        except ChatError as error:
            return str(error)
        if choice is None:
            return None
        return (
            f"Cassette {choice.name} ({choice.file_from}), {choice.mode} ({choice.mode_from}): "
            f"{DOES[choice.mode]}."
        )

    def of_the_figures(self) -> str | None:
        """Return a line that the credits shown are recorded ones; ``None`` where they are not."""
        connection = self._session.endpoint
        if connection is None or connection != active.CASSETTE:
            return None
        return "Replayed from a cassette: figures as recorded, nothing was sent."

    def _status(self) -> str:
        unsaved = [item.message for item in self._session.cassette.unsaved]
        state = self.state()
        if state is None:
            asks = f"No cassette is in use: every question is sent to the service. {USAGE}"
            return "\n".join([asks, *unsaved])
        try:
            self._session.change_cassette(again=False)
        except ChatError as error:
            unsaved = [item.message for item in self._session.cassette.unsaved]
            out = f"Nothing is sent until that is resolved; {self._way_out()}."
            return "\n".join(dict.fromkeys([state, str(error), out, *unsaved]))
        return "\n".join([state, *self._in()])

    def _way_out(self) -> str:
        """Return how to take the cassette out, as ``--off`` does not beat the environment."""
        configured = CassetteOptions(self._settings.cassette, self._settings.mode)
        try:
            is_out = resolve(os.environ, CassetteOptions(off=True), configured) is None
        except InputError:
            is_out = False
        if is_out:
            return "%chat_cassette --off ends its use"
        if os.environ.get(MODE_VARIABLE, "").strip() or os.environ.get(FILE_VARIABLE, "").strip():
            return f"{MODE_VARIABLE}=live in the environment asks without it"
        return '%config ChatMagics.mode = "live" asks without it'

    def _in(self) -> list[str]:
        """Return the lines on the active cassette, and on what could not be saved."""
        session = self._session
        cassette = session.cassette.current
        lines = session.cassette.news()
        unsaved = [item.message for item in session.cassette.unsaved]
        lines += [message for message in unsaved if message not in lines]
        if cassette is None:
            return lines
        choice, count = cassette.config, len(cassette.interactions)
        others = [
            *(["what it does not hold is answered by the emulator"] if choice.fallback else []),
            *(["a request that differs is answered by its place"] if choice.by_order else []),
        ]
        lines += [f"{other[0].upper()}{other[1:]}." for other in others]
        superseded = sum(item.superseded for item in cassette.interactions)
        marked = f", {superseded:,} of them superseded (%chat_cassette --prune)"
        lines.append(
            f"It holds {counted(count, 'exchange')}"
            f"{marked if superseded else ''}; in this use: {cassette.summary()}"
        )
        if cassette.trouble is not None:
            lines.append(f"{len(cassette.unsaved):,} of them not saved: {cassette.trouble}")
        if cassette.is_recording:
            troubles = reproducibility.state(session.conversation)
            lines += [f"Will not run again as it is: {trouble}." for trouble in troubles]
        return lines

    def _prune(self, words: list[str]) -> str:
        """Run ``%chat_cassette --prune``."""
        self._session.change_cassette(again=False)
        cassette = self._session.cassette.current
        if cassette is None:
            raise InputError("No cassette is in use, so there is nothing to prune.", hint=USAGE)
        pruning = self._pruning
        return self._session.alone(
            lambda: pruning.removed(cassette, words) if words else pruning.listed(cassette)
        )


def parse(line: str, before: str | None = None) -> CassetteOptions:
    """Return the options on a line of ``%chat_cassette``.

    Args:
        line: a file, and options before or after it; the file's name may hold spaces.
        before: the file that counts where the line names none.

    Raises:
        InputError: an option is not known, or does not go with the others.
    """
    chosen, rest = CassetteOptions(), line
    while match := re.search(r"(?<!\S)--\S*", rest):
        word = match[0]
        rest, after = rest[: match.start()], rest[match.end() :]
        if word in _MODES:
            if chosen.mode is not None:
                _wrong(f"{word} and --{chosen.mode} do not go together.")
            chosen = replace(chosen, mode=word[2:])
        elif word == "--by-order":
            chosen = replace(chosen, by_order=True)
        elif word == "--else":
            value = _WORD.search(after)
            if value is None or value[0].lower() != "emulator":
                _wrong("--else takes one word: emulator.")
            chosen, after = replace(chosen, fallback="emulator"), after[value.end() :]
        else:
            _wrong(f"{word[:20]} is not an option of %chat_cassette, or has to stand alone.")
        rest += after
    name = rest.strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        name = name[1:-1]
    if (chosen.fallback or chosen.by_order) and chosen.mode not in (None, "replay"):
        _wrong("--else and --by-order go with --replay.")
    return replace(chosen, file=name or before)


def _wrong(what: str) -> NoReturn:
    raise InputError(what, hint=USAGE)
