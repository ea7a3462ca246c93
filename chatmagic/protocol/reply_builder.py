"""A reply in the making: what each chunk adds to it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from chatmagic._json import shared
from chatmagic.models import BodyFacts, Origin, Reply, State
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from datetime import datetime

    from chatmagic.models import Credits
    from chatmagic.protocol.wire import Chunk

JOINED_AT: Final = 1_000_000
"""How many characters are put to the text at once: a long reply is not held twice."""

_FACTS: Final = tuple(item.name for item in fields(BodyFacts))


class ReplyBuilder:
    """A reply in the making: what each chunk adds, in time linear in the text."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.credits: Credits | None = None
        self.date: datetime | None = None
        self.origin: Origin = "live"
        self.held_back = False
        self.facts = BodyFacts()
        self._refusal: list[str] = []
        self._text = ""
        self._pieces: list[str] = []
        self._waiting = 0
        self._held = ""
        self._index: int | None = None
        self._in_deltas = False

    @property
    def begun(self) -> bool:
        """Whether anything has come that only a reply holds."""
        facts = replace(self.facts, model=None)
        return bool(self._text or self._pieces or facts != BodyFacts())

    @property
    def text(self) -> str:
        """The text as far as it has come."""
        self._join()
        return self._text

    def add(self, chunk: Chunk) -> str:
        """Take a chunk in and give the text that it adds.

        Of several choices the one that speaks first is the reply. Some servers end a stream
        with a message that says all of it again: of that, only what is new is added.

        Half of a surrogate pair at a fragment's end waits for the other half.
        """
        if self._index is None and (chunk.content or chunk.finish_reason):
            self._index = chunk.index
        is_other = self._index not in (None, chunk.index)
        if is_other:
            chunk = replace(chunk, finish_reason=None, refusal=None)
        self._add_facts(chunk)
        if is_other:
            return ""
        text = self._held + chunk.content
        self._held = ""
        if chunk.whole and self._in_deltas:
            text = without_lone_surrogates(chunk.content).removeprefix(self.text)
        elif chunk.content:
            self._in_deltas = not chunk.whole
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return self._keep(without_lone_surrogates(text))

    def _add_facts(self, chunk: Chunk) -> None:
        """Take in what a chunk tells beside its text: the latest word counts."""
        if chunk.refusal:  # it comes in fragments, as the text does
            self._refusal.append(chunk.refusal)
        told = {name: fact for name in _FACTS if (fact := getattr(chunk, name))}
        if told:
            self.facts = replace(self.facts, **told)

    def rest(self) -> str:
        """Give what was waiting for its other half."""
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
        """Give the reply as far as it has come."""
        return Reply(
            text=self.text,
            **{**shared(self.facts, BodyFacts), "refusal": "".join(self._refusal) or None},
            credits=self.credits,
            state=state,
            date=self.date,
            origin=self.origin,
            held_back=self.held_back,
        )
