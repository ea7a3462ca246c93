"""A reply in the making: what each chunk adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmagic.wire import Chunk, Credits, Origin, Reply, State, Usage, without_lone_surrogates

if TYPE_CHECKING:
    from datetime import datetime


class Assembly:
    """A reply in the making: what each chunk adds, in time linear in the text."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.credits: Credits | None = None
        self.date: datetime | None = None
        self.origin: Origin = "live"
        self.finish_reason: str | None = None
        self._model: str | None = None
        self._usage: Usage | None = None
        self._refusal: list[str] = []
        self._pieces: list[str] = []
        self._held = ""

    @property
    def text(self) -> str:
        """The text as far as it has come."""
        return "".join(self._pieces)

    def add(self, chunk: Chunk) -> str:
        """Take a chunk in and give the text that it adds.

        Half of a surrogate pair at a fragment's end waits for the other half.
        """
        self.finish_reason = chunk.finish_reason or self.finish_reason
        self._model = chunk.model or self._model
        self._usage = chunk.usage or self._usage
        if chunk.refusal:
            self._refusal.append(chunk.refusal)
        text = self._held + chunk.content
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return self._keep(without_lone_surrogates(text))

    def rest(self) -> str:
        """Give what was waiting for its other half."""
        text, self._held = self._held, ""
        return self._keep(without_lone_surrogates(text))

    def _keep(self, text: str) -> str:
        if text:
            self._pieces.append(text)
        return text

    def reply(self, state: State) -> Reply:
        """Give the reply as far as it has come."""
        return Reply(
            text=self.text,
            model=self._model,
            finish_reason=self.finish_reason,
            usage=self._usage,
            credits=self.credits,
            state=state,
            refusal="".join(self._refusal) or None,
            date=self.date,
            origin=self.origin,
        )
