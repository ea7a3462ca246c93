"""Where a session's cassette is put in, and taken out."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from chatmagic.cassette import cassette, mode
from chatmagic.client.config import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from chatmagic.cassette.cassette import Cassette, Lookup
    from chatmagic.cassette.interaction import Recorded
    from chatmagic.cassette.matching import Query
    from chatmagic.cassette.mode import CassetteConfig
    from chatmagic.client.timeouts import Timeout

CASSETTE: Final = Endpoint("https://cassette.invalid", "none", None, "the cassette")
"""Where a replayed request goes: nowhere. No name that ends like this can be looked up."""


@dataclass(frozen=True, slots=True)
class CassetteSetup:
    """Which cassette is in, and what else counts though nothing may be sent.

    Args:
        config: the cassette, and what is done with it.
        timeout: how long to wait, where somebody is asked.
        extra_body: fields that every request has beside the interface's own.
    """

    config: CassetteConfig
    timeout: Timeout | float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)


class ActiveCassette:
    """The place of one session's cassette."""

    def __init__(self) -> None:
        """Begin empty; the environment says what is put in."""
        self.choose_setup: Callable[[], CassetteSetup | None] = from_environment
        self.current: Cassette | None = None
        self.unsaved: list[Unsaved] = []
        """What could not be saved in the file that it was recorded for."""
        self._news: list[str] = []

    def insert(self) -> CassetteSetup | None:
        """Put in the cassette that is chosen now, in the place of another one.

        What another one could not save goes along into one that records.

        Returns:
            What is chosen; ``None`` where no cassette is in.

        Raises:
            InputError: what is chosen cannot be used.
        """
        setup = self.choose_setup()
        config = None if setup is None else setup.config
        if self.current is not None and self.current.config != config:
            self.eject()
        if self.current is None and config is not None:
            self.current = cassette.Cassette(config)
            self._take_along(self.current)
        return setup

    def eject(self) -> str | None:
        """Take the cassette out; what it cannot save is kept here, and told.

        Returns:
            What was done with it, in one line; ``None`` where there was none.
        """
        if self.current is None:
            return None
        old, self.current = self.current, None
        old.retry()
        if old.trouble is not None and old.unsaved:
            self.unsaved.append(Unsaved(old.config.path, old.unsaved, old.trouble.message))
            self._news.append(self.unsaved[-1].told)
        return old.summary()

    def news(self) -> list[str]:
        """Give what was not told yet of replies that could not be saved, a line each."""
        news, self._news = self._news, []
        return news

    def retry(self) -> None:
        """Save what could not be saved before, as far as that works now."""
        if self.current is not None:
            self.current.retry()
            if self.current.trouble is None:
                self._take_along(self.current)

    def look_up(
        self, query: Query, warnings: Sequence[str], is_emulator: Callable[[], bool]
    ) -> Lookup | None:
        """Find out who answers; ``None`` where no cassette is in.

        Args:
            query: what is asked, and by whom.
            warnings: what of it will not run again as it is, for who records.
            is_emulator: tells whether the service that would be asked is the emulator.

        Raises:
            NotRecordedError: the cassette is replayed, and does not hold it.
            ChatError: the file cannot be written, or the service is not known.
        """
        if self.current is None:
            return None
        return self.current.look_up(query, warnings=warnings, is_emulator=is_emulator)

    def _take_along(self, to: Cassette) -> None:
        """Let a cassette that records save what others could not; it tells if it cannot."""
        left, self.unsaved = self.unsaved, []
        for one in left:
            rest = to.take(one.exchanges)
            if to.trouble is None and not rest:
                # It is saved, so that it is not told any more that it will be lost.
                self._news = [told for told in self._news if told != one.told]
            count = _exchanges(len(one.exchanges) - len(rest))
            if to.trouble is not None:
                self._news.append(f"{to.trouble.message} {count} from {one.path.name} with it.")
            elif len(rest) < len(one.exchanges):
                self._news.append(f"{count} from {one.path.name} saved in {to.config.name}.")
            if rest:
                self.unsaved.append(Unsaved(one.path, tuple(rest), one.why))


@dataclass(frozen=True, slots=True)
class Unsaved:
    """What was recorded and could not be saved in its file.

    Args:
        path: the file.
        exchanges: what was recorded.
        why: what was in the way, in words.
    """

    path: Path
    exchanges: tuple[Recorded, ...]
    why: str

    @property
    def told(self) -> str:
        """What became of it, in one line."""
        return (
            f"{_exchanges(len(self.exchanges))} could not be saved in {self.path.name}, and will "
            "be lost with this kernel; %chat_cassette OTHER --record saves what it can there. "
            f"It was: {self.why}"
        )


def _exchanges(count: int) -> str:
    return f"{count:,} recorded exchange{'' if count == 1 else 's'}"


def from_environment() -> CassetteSetup | None:
    """Give what the environment alone says, for nobody's cell."""
    config = mode.resolve(os.environ)
    return None if config is None else CassetteSetup(config)
