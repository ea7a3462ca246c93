"""Reply builder: from chunks to the reply, in time linear in the text."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from chatmagic._json import shared
from chatmagic.models import BodyFacts, Origin, Reply, State, Usage
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from datetime import datetime

    from chatmagic.models import Credits
    from chatmagic.protocol.wire import Chunk

JOINED_AT: Final = 1_000_000
"""Characters that are put to the text at once: a long reply is not held twice."""

_FACTS: Final = tuple(item.name for item in fields(BodyFacts))


class ReplyBuilder:
    """Reply that is coming in: its text and its facts as far as they have come.

    Attributes:
        credits: what the response's headers named.
        date: the response's own ``Date``.
        origin: where the response came from.
        held_back: whether the text was kept from the screen.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.credits: Credits | None = None
        self.date: datetime | None = None
        self.origin: Origin = "live"
        self.held_back = False
        self._facts: dict[str, Any] = {}
        self._refusal: list[str] = []
        self._text = ""
        self._pieces: list[str] = []
        self._waiting = 0
        self._held = ""
        self._in_deltas = False

    @property
    def facts(self) -> BodyFacts:
        """What has come beside the text; of each fact the latest value counts."""
        refusal = "".join(self._refusal) or None  # it comes in fragments, as the text does
        return BodyFacts(**{**self._facts, "refusal": refusal})

    @property
    def finish_reason(self) -> str | None:
        """The finish reason as far as one has come; asked after each piece of a stream."""
        return self._facts.get("finish_reason")

    @property
    def model(self) -> str | None:
        """The model's name as far as it was told."""
        return self._facts.get("model")

    @property
    def begun(self) -> bool:
        """Whether anything has come that only a reply holds."""
        return bool(self._text or self._pieces or replace(self.facts, model=None) != BodyFacts())

    @property
    def text(self) -> str:
        """The text as far as it has come."""
        self._join()
        return self._text

    def add(self, chunk: Chunk) -> str:
        """Take a chunk in.

        Some servers end a stream with a message that says all of it again: of that, only what
        is new is added.

        Returns:
            The text that the chunk adds. Half of a surrogate pair at its end waits for the
            other half.
        """
        for name in _FACTS:
            if fact := getattr(chunk, name):
                self._facts[name] = fact
        if chunk.refusal:
            self._refusal.append(chunk.refusal)
        if chunk.whole and self._in_deltas:
            self._held = ""
            return self._keep(without_lone_surrogates(chunk.content).removeprefix(self.text))
        if chunk.content:
            self._in_deltas = not chunk.whole
        return self._put_together(chunk.content)

    def append(self, content: str, usage: object = None) -> str:
        """Take in a delta that tells, but for its content, what the chunk before it told.

        Args:
            content: its content, which is not empty.
            usage: JSON of the usage that it tells beside, if any.

        Returns:
            As :meth:`add`.
        """
        if usage and (counts := Usage.from_json(usage)):
            self._facts["usage"] = counts
        self._in_deltas = True
        return self._put_together(content)

    def _put_together(self, content: str) -> str:
        """Add the text, but for half of a surrogate pair at its end."""
        text = self._held + content
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return self._keep(without_lone_surrogates(text))

    def rest(self) -> str:
        """Return what was waiting for its other half, where no more comes."""
        text, self._held = self._held, ""
        return self._keep(without_lone_surrogates(text))

    def _keep(self, text: str) -> str:
        if text:
            self._pieces.append(text)
            self._waiting += len(text)
            if self._waiting >= JOINED_AT:
                self._join()
        return text

    def _join(self) -> None:
        """Put the pieces to the text before them, which grows where it is if it can."""
        whole, joined = self._text, "".join(self._pieces)
        try:
            self._pieces.clear()
            self._waiting = 0
            # Held by the local name alone, the text is not copied, only lengthened.
            self._text = ""
        finally:
            whole += joined
            self._text = whole

    def reply(self, state: State) -> Reply:
        """Return the reply as far as it has come.

        Args:
            state: how the reply ended, or that it has not.
        """
        return Reply(
            text=self.text,
            **shared(self.facts, BodyFacts),
            credits=self.credits,
            state=state,
            date=self.date,
            origin=self.origin,
            held_back=self.held_back,
        )
