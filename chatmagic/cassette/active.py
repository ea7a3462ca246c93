"""The cassette of a session, which is inserted, kept and ejected."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable
from typing import Final

from chatmagic._fork import belongs_to_process
from chatmagic.advice import UNSAVED, Note
from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.cassette import Cassette
from chatmagic.cassette.choice import CassetteConfig
from chatmagic.safe_text import counted


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
        self._news.clear()
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
