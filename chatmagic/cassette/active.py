"""The active cassette of a session: inserted, ejected, and what could not be saved."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from chatmagic.cassette import mode
from chatmagic.cassette.cassette import Cassette
from chatmagic.client.endpoint import Endpoint
from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from chatmagic.cassette.interaction import Interaction
    from chatmagic.cassette.mode import CassetteConfig
    from chatmagic.client.endpoint import Timeout

CASSETTE: Final = Endpoint("https://cassette.invalid", "none", None, "the cassette")
"""Endpoint of a replayed request; no name in ``.invalid`` can be resolved (RFC 2606, 2)."""


@dataclass(frozen=True, slots=True)
class CassetteSetup:
    """The cassette to insert, and what a request has although nothing may be sent.

    Args:
        config: the cassette and its mode.
        timeout: as for :class:`chatmagic.Client`, where the emulator answers.
        extra_body: fields that every request has beside the interface's own.
        system_role: whether instructions are a message of the role ``system``.
    """

    config: CassetteConfig
    timeout: Timeout | float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    system_role: bool = False


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Interactions that could not be saved in the file they were recorded for.

    Args:
        path: the file.
        interactions: what was recorded.
        reason: why it could not be saved, as a message.
    """

    path: Path
    interactions: tuple[Interaction, ...]
    reason: str

    @property
    def message(self) -> str:
        """What will become of them, in one line."""
        return (
            f"{_count(len(self.interactions))} could not be saved in {self.path.name}, and will "
            "be lost with this kernel; %chat_cassette OTHER --record saves what it can there. "
            f"The reason: {self.reason}"
        )


class ActiveCassette:
    """The cassette that answers and records one session's requests."""

    def __init__(self) -> None:
        """Begin without a cassette."""
        self.current: Cassette | None = None
        self.unsaved: list[Unsaved] = []
        """What ejected cassettes could not save."""
        self._told: list[Unsaved] = []
        self._news: list[str] = []

    def insert(self, setup: CassetteSetup | None) -> Cassette | None:
        """Insert the cassette that is chosen now; one that is no longer chosen is ejected.

        Args:
            setup: what is chosen; ``None`` for no cassette.

        Returns:
            The active cassette.

        Raises:
            InputError: what is chosen cannot be used.
        """
        config = None if setup is None else setup.config
        if self.current is not None and self.current.config != config:
            self.eject()
        if self.current is None and config is not None:
            self.current = Cassette(config)
            self._take_along(self.current)
        return self.current

    def eject(self) -> str | None:
        """Eject the cassette; what it cannot save is kept in :attr:`unsaved`.

        Returns:
            What was done with it, in one line; ``None`` without a cassette.
        """
        if self.current is None:
            return None
        old, self.current = self.current, None
        old.retry()
        if old.trouble is not None and old.unsaved:
            self.unsaved.append(Unsaved(old.config.path, old.unsaved, old.trouble.message))
        return old.summary()

    def change(
        self, choose: Callable[[], CassetteSetup | None], *, again: bool, off: bool
    ) -> str | None:
        """Insert the cassette that is chosen now, and save what could not be saved before.

        Args:
            choose: returns what is chosen.
            again: eject the one that is in, also where the same is chosen.
            off: only eject the one that is in.

        Returns:
            What was done with the one that is out, in one line; ``None`` where none is.
        """
        summary = self.eject() if again else None
        if not off:
            # With it, none is wanted; what the environment names comes with the next ask.
            self.insert(choose())
        if not again:
            self.retry()
        return summary

    def news(self) -> list[str]:
        """Return once, a line each, what became of interactions that could not be saved."""
        lost = [item.message for item in self.unsaved if item not in self._told]
        news, self._news, self._told = [*lost, *self._news], [], [*self.unsaved]
        return news

    def retry(self) -> None:
        """Save what could not be saved before, as far as that works now."""
        if self.current is not None:
            self.current.retry()
            if self.current.trouble is None:
                self._take_along(self.current)

    def _take_along(self, target: Cassette) -> None:
        """Record into a cassette what others could not save."""
        left = []
        for item in self.unsaved:
            rest = target.take(item.interactions)
            if rest:
                left.append(replace(item, interactions=tuple(rest)))
            if len(rest) < len(item.interactions):
                taken = f"{_count(len(item.interactions) - len(rest))} from {item.path.name}"
                failed = target.trouble and f": {target.trouble.message}"
                self._news.append(taken + (failed or f" saved in {target.config.name}."))
        self.unsaved = left


def _count(number: int) -> str:
    return counted(number, "recorded exchange")


def from_environment() -> CassetteSetup | None:
    """Return the cassette that the environment alone chooses, as outside a notebook."""
    config = mode.resolve(os.environ)
    return None if config is None else CassetteSetup(config)
