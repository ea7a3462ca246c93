"""Where a session's cassette is put in, and taken out."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from chatmagic import cassette
from chatmagic.settings import Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from chatmagic.cassette import Cassette, Choice, Play
    from chatmagic.patience import Timeout
    from chatmagic.reel import Question
    from chatmagic.tape import Recorded

CASSETTE: Final = Connection("https://cassette.invalid", "none", None, "the cassette")
"""Where a replayed request goes: nowhere. No name that ends like this can be looked up."""


@dataclass(frozen=True, slots=True)
class Taping:
    """Which cassette is in, and what else counts though nothing may be sent.

    Args:
        choice: the cassette, and what is done with it.
        timeout: how long to wait, where somebody is asked.
        extra_body: fields that every request has beside the interface's own.
    """

    choice: Choice
    timeout: Timeout | float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)


class Deck:
    """The place of one session's cassette.

    Args:
        in_notebook: reads the exchanges out of a notebook.
    """

    def __init__(self, in_notebook: Callable[[Path], tuple[Recorded, ...]]) -> None:
        """Begin empty; the environment says what is put in."""
        self.taping: Callable[[], Taping | None] = from_environment
        self.cassette: Cassette | None = None
        self._in_notebook = in_notebook
        self._failure: object = None

    def insert(self) -> Taping | None:
        """Put in the cassette that is chosen now, in the place of another one.

        Returns:
            What is chosen; ``None`` where no cassette is in.

        Raises:
            InputError: what is chosen cannot be used.
            ChatError: what the other one has still to save cannot be written.
        """
        taping = self.taping()
        choice = None if taping is None else taping.choice
        if self.cassette is not None and self.cassette.choice != choice:
            self.eject()
        if self.cassette is None and choice is not None:
            self.cassette = cassette.Cassette(choice, self._in_notebook)
            if choice.mode == "refresh":
                self._failure = _latest_failure()
                atexit.register(self._end)
        return taping

    def eject(self, *, whole: bool = False) -> str | None:
        """Take the cassette out.

        Args:
            whole: whether all was asked that is to be asked; a refresh then drops the rest.

        Returns:
            What was done with it, in one line; ``None`` where there was none.

        Raises:
            ChatError: what is still to be saved cannot be written.
        """
        if self.cassette is None:
            return None
        summary = self.cassette.close(whole=whole)
        self.cassette = None
        atexit.unregister(self._end)
        return summary

    def retry(self) -> None:
        """Save what could not be saved before.

        Raises:
            ChatError: it still cannot be written.
        """
        if self.cassette is not None:
            self.cassette.retry()

    def play(self, question: Question, warnings: Sequence[str]) -> Play | None:
        """Find out who answers; ``None`` where no cassette is in.

        Args:
            question: what is asked, and by whom.
            warnings: what of it will not run again as it is, for who records.

        Raises:
            NotRecordedError: the cassette is replayed, and does not hold it.
            ChatError: the file cannot be written.
        """
        return None if self.cassette is None else self.cassette.play(question, warnings=warnings)

    def _end(self) -> None:
        """End a refresh with the process; drop the rest only where nothing had failed."""
        with contextlib.suppress(Exception):
            self.eject(whole=_latest_failure() is self._failure)


def _latest_failure() -> object:
    """Give the exception that a cell failed with last; ``None`` where none did."""
    return getattr(sys, "last_value", None)


def from_environment() -> Taping | None:
    """Give what the environment alone says, for nobody's cell."""
    choice = cassette.choose(os.environ)
    return None if choice is None else Taping(choice)
