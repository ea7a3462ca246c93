"""A reply under construction, from the chunks of a stream or from one whole answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from chatmagic._json import shared_fields
from chatmagic.models import BodyFacts, Origin, Reply, State
from chatmagic.protocol.api_key import KeyRedactor, Secret, redacted
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.thoughts import ThoughtSplitter, split_unopened
from chatmagic.safe_text import without_lone_surrogates

MOST_PIECES: Final = 64
"""Number of fragments of a text that are kept one by one, until they are joined."""

_FACTS: Final = tuple(item.name for item in fields(BodyFacts))
_NAME_FACTS: Final = {
    "id": "response_id",
    "model": "model",
    "system_fingerprint": "system_fingerprint",
}
"""The facts that a service may repeat in each chunk, by their fields there."""


class GrowingText:
    """Text that grows by fragments, in time linear in its length.

    Attributes:
        length: its number of characters.
    """

    def __init__(self) -> None:
        """Start with the empty text."""
        self.length = 0
        self._joined = ""
        self._pieces: list[str] = []

    def append(self, piece: str) -> None:
        """Add a fragment.

        Args:
            piece: the next fragment; may be empty.
        """
        self._pieces.append(piece)
        self.length += len(piece)
        if len(self._pieces) == MOST_PIECES:
            self._join()

    def whole(self) -> str:
        """Return the text so far."""
        self._join()
        return self._joined

    def _join(self) -> None:
        """Join the fragments to the text before them."""
        text = self._joined
        pieces = "".join(self._pieces)
        try:
            self._pieces.clear()
            # With the local name as its only reference, the text is lengthened in place, not
            # copied.
            self._joined = ""
        finally:
            text += pieces
            self._joined = text


class SizeLimit:
    """Limit on the size of all texts of a reply together, in bytes of UTF-8.

    Attributes:
        size: the size so far, with what exceeded the limit.

    Args:
        most: the largest size; ``None`` is unlimited.
    """

    def __init__(self, most: int | None) -> None:
        """Start with no text."""
        self.size = 0
        self._most: float = math.inf if most is None else most

    @property
    def is_exceeded(self) -> bool:
        """Whether a text was cut."""
        return self.size > self._most

    def cut(self, text: str) -> str:
        """Count a text; return as much of it as the limit allows.

        Args:
            text: the next text.
        """
        room = self._most - self.size
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        self.size += size
        if size <= room:
            return text
        kept = text.encode("utf-8", "surrogatepass")[: max(int(room), 0)]
        return kept.decode("utf-8", "ignore")


class ReplyBuilder:
    """Reply under construction: its text and its facts so far, without any key.

    Attributes:
        on_thoughts: called with each fragment of the reasoning.

    Args:
        keys: the keys that are known.
        most: largest number of bytes of its texts in UTF-8, thoughts included; ``None`` is
            unlimited. What exceeds it is left out.
    """

    def __init__(self, keys: Iterable[Secret] = (), *, most: int | None = None) -> None:
        """Start with nothing."""
        self._keys = tuple(keys)
        self._text_keys = KeyRedactor(self._keys)
        self._thought_keys = KeyRedactor(self._keys)
        self._has_key_in_facts = False
        self.on_thoughts: Callable[[str], object] | None = None
        self._limit = SizeLimit(most)
        self._facts: dict[str, Any] = {}
        self._refusal: list[str] = []
        self._thoughts: list[str] = []
        self._splitter = ThoughtSplitter()
        self._text = GrowingText()
        self._held = ""
        self._in_deltas = False

    @property
    def facts(self) -> BodyFacts:
        """The facts beside the text so far; the latest value of each counts."""
        return BodyFacts(**self._named_facts())

    def _named_facts(self) -> dict[str, Any]:
        """Return the facts beside the text so far, by their names."""
        # These two come in fragments, as the text does.
        held = self._thought_keys.held + self._splitter.held[0]
        thoughts = "".join([*self._thoughts, held]).strip()
        refusal = "".join(self._refusal)
        facts = {**self._facts, "refusal": refusal or None, "reasoning": thoughts or None}
        without = {name: self._without_keys(fact) for name, fact in facts.items()}
        self._has_key_in_facts = self._has_key_in_facts or without != facts
        return without

    def _without_keys(self, fact: Any) -> Any:
        """Return a fact; a text without the keys."""
        return redacted(fact, self._keys) if isinstance(fact, str) else fact

    @property
    def has_removed_key(self) -> bool:
        """Whether the reply so far held a key, which was removed."""
        has_key_in_texts = self._text_keys.has_removed or self._thought_keys.has_removed
        return has_key_in_texts or self._has_key_in_facts

    @property
    def finish_reason(self) -> str | None:
        """The finish reason so far; it is read after each piece of a stream."""
        return self._facts.get("finish_reason")

    @property
    def names(self) -> Mapping[str, str | None]:
        """The names that the service gave so far, by their fields in a chunk."""
        return {field: self._facts.get(name) for field, name in _NAME_FACTS.items()}

    @property
    def is_full(self) -> bool:
        """Whether a text was cut, as it exceeds the limit."""
        return self._limit.is_exceeded

    @property
    def progress(self) -> tuple[object, ...]:
        """Value that changes with each part of the reply; of a fact, only the first one counts."""
        return self._limit.size, "finish_reason" in self._facts, "usage" in self._facts

    @property
    def begun(self) -> bool:
        """Whether any part of a reply but the service's names has come."""
        facts = shared_fields(self.facts, BodyFacts)
        unnamed = facts.keys() - _NAME_FACTS.values()
        return bool(self.text) or any(facts[name] is not None for name in unnamed)

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text.whole() + self._text_keys.held + self._splitter.held[1]

    def add(self, chunk: Chunk) -> str:
        """Add a chunk.

        Some servers end a stream with a message that repeats all of it; only its new text is added.

        Args:
            chunk: the next chunk.

        Returns:
            The text that the chunk adds. Half of a surrogate pair at its end waits for the other
            half, and the beginning of a key for the rest of it.
        """
        for name in _FACTS:
            if fact := getattr(chunk, name):
                self._facts[name] = fact
        if chunk.refusal:
            self._refusal.append(self._limit.cut(chunk.refusal))
        if chunk.reasoning and not (chunk.whole and self._thoughts):
            self._think(self._limit.cut(chunk.reasoning))
        if chunk.whole and self._in_deltas:
            self._held = ""
            new = self._new_of_whole(without_lone_surrogates(chunk.content))
            return self._keep(self._limit.cut(new))
        if chunk.content:
            self._in_deltas = not chunk.whole
        return self._put_together(chunk.content)

    def _new_of_whole(self, content: str) -> str:
        """Return the part of a whole reply that has not come in fragments."""
        content = self._text_keys.without_keys(content)
        # A shorter one cannot repeat the text, which is not joined for it.
        if len(content) < self._text.length:
            return content
        before = self._text.whole() + self._splitter.held[1]
        if not content.startswith(before):
            return content
        self._text_keys.drop()  # the whole reply holds it, too
        return content[len(before) :]

    def append(self, content: str) -> str:
        """Add a delta that equals the one before it, except for its content.

        Args:
            content: its content, which is not empty.

        Returns:
            As :meth:`add`.
        """
        self._in_deltas = True
        return self._put_together(content)

    def _put_together(self, content: str) -> str:
        """Add the text, without half of a surrogate pair at its end."""
        content = self._limit.cut(content)
        if content.isascii() and not self._held:
            return self._keep(content)
        text = self._held + content
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._held = text[-1]
            text = text[:-1]
        return self._keep(without_lone_surrogates(text))

    def rest(self) -> str:
        """Return the text that was held, because no more text arrives."""
        text = self._keep(without_lone_surrogates(self._held))
        self._held = ""
        thoughts, held = self._splitter.rest()
        self._think(thoughts)
        self._add_thoughts(self._thought_keys.rest())
        text += self._keep(held)
        rest = self._text_keys.rest()
        self._text.append(rest)
        return text + rest

    def _think(self, text: str) -> None:
        """Add a fragment of the reasoning."""
        if text:
            self._add_thoughts(self._thought_keys.feed(text))

    def _add_thoughts(self, text: str) -> None:
        if text:
            self._thoughts.append(without_lone_surrogates(text))
            if self.on_thoughts is not None:
                self.on_thoughts(text)

    def _keep(self, text: str) -> str:
        """Add a text without thoughts and keys; return what it adds."""
        if not text:
            return ""
        if not self._splitter.has_reply:
            thoughts, text = self._splitter.feed(text)
            self._think(thoughts)
        text = self._text_keys.feed(text)
        self._text.append(text)
        return text

    def reply(self, state: State, origin: Origin, known: Mapping[str, Any]) -> Reply:
        """Return the reply so far.

        Args:
            state: the end of the reply; ``interrupted`` if it has none yet.
            origin: source of the response.
            known: the facts beside the body, such as those of its headers, by the names of a
                reply's facts.
        """
        facts = {**self._named_facts(), **known}
        text = self.text
        if facts["reasoning"] is None:
            thoughts, text = split_unopened(text)
            facts["reasoning"] = thoughts or None
        return Reply(text=text, state=state, origin=origin, **facts)
