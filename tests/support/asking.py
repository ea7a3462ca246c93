"""A view that keeps what it is told, and may act on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatmagic.session.ask import Outcome
from chatmagic.session.session import Session
from chatmagic.session.views import View

PATIENCE = 60.0


@dataclass
class Seen(View):
    """A view that keeps what it is told, and may act on it."""

    told: list[tuple[str, Any]] = field(default_factory=list)
    at_fragment: Callable[[str], object] = str
    at_end: Callable[[], object] = str
    at_wait: Callable[[], object] = str

    @property
    def names(self) -> list[str]:
        """What it was told, in order, without fragments."""
        return [name for name, _ in self.told if name != "fragment"]

    def waiting(self, holder: str) -> None:
        """Another ask is under way."""
        self.told.append(("waiting", holder))
        self.at_wait()

    def began(self, notes: Sequence[str]) -> None:
        """The request is about to be sent."""
        self.told.append(("began", list(notes)))

    def fragment(self, text: str) -> None:
        """A fragment came."""
        self.told.append(("fragment", text))
        self.at_fragment(text)

    def ended(self, answer: Outcome) -> None:
        """There is a reply."""
        self.told.append(("ended", answer))
        self.at_end()

    def failed(self) -> None:
        """There is none."""
        self.told.append(("failed", None))


def prompts(session: Session) -> list[str]:
    """Give the prompts of the turns that are kept."""
    return [turn.prompt for turn in session.conversation]


def stop(*_: object) -> None:
    """Press Stop."""
    raise KeyboardInterrupt
