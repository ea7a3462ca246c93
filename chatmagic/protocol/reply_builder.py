"""A reply under construction, from the chunks of a stream or from one whole answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from chatmagic.models import BodyFacts, Origin, Reply, State
from chatmagic.protocol.api_key import Secret
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.growing_facts import NAME_FIELDS, GrowingFacts
from chatmagic.protocol.growing_text import RedactedText, SizeLimit, SurrogateJoiner
from chatmagic.protocol.thoughts import ThoughtSplitter, split_unopened
from chatmagic.safe_text import without_lone_surrogates


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
        keys = tuple(keys)
        self.on_thoughts: Callable[[str], object] | None = None
        self._limit = SizeLimit(most)
        self._facts = GrowingFacts(keys)
        self._refusal = RedactedText(keys)
        self._thoughts = RedactedText(keys)
        self._text = RedactedText(keys)
        self._splitter = ThoughtSplitter()
        self._joiner = SurrogateJoiner()
        self._in_deltas = False
        """Whether the latest text came as a fragment, not as a whole reply."""

    @property
    def facts(self) -> BodyFacts:
        """The facts beside the text so far; the latest value of each counts."""
        return BodyFacts(**self._named_facts())

    def _named_facts(self) -> dict[str, Any]:
        """Return the facts beside the text so far, by their names."""
        thoughts = (self._thoughts.whole() + self._splitter.held[0]).strip()
        return {
            **self._facts.by_name,
            "refusal": self._refusal.whole() or None,
            "reasoning": thoughts or None,
        }

    @property
    def has_removed_key(self) -> bool:
        """Whether the reply so far held a key, which was removed."""
        parts = (self._facts, self._refusal, self._thoughts, self._text)
        return any(part.has_removed_key for part in parts)

    @property
    def finish_reason(self) -> str | None:
        """The finish reason so far; it is read after each piece of a stream."""
        return self._facts.by_name.get("finish_reason")

    @property
    def names(self) -> Mapping[str, str | None]:
        """The names that the service gave so far, by their fields in a chunk."""
        return self._facts.names

    @property
    def is_full(self) -> bool:
        """Whether a text was cut, as it exceeds the limit."""
        return self._limit.is_exceeded

    @property
    def progress(self) -> tuple[object, ...]:
        """Value that changes with each part of the reply; of a fact, only the first one counts."""
        facts = self._facts.by_name
        return self._limit.size, "finish_reason" in facts, "usage" in facts

    @property
    def begun(self) -> bool:
        """Whether any part of a reply but the service's names has come."""
        facts = self._named_facts()
        unnamed = facts.keys() - NAME_FIELDS.values()
        return bool(self.text) or any(facts[name] is not None for name in unnamed)

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text.whole() + self._splitter.held[1]

    def add(self, chunk: Chunk) -> str:
        """Add a chunk.

        Some servers end a stream with a message that repeats all of it; only its new text is added.

        Args:
            chunk: the next chunk.

        Returns:
            The text that the chunk adds. Half of a surrogate pair at its end waits for the other
            half, and the beginning of a key for the rest of it.
        """
        self._facts.add(chunk)
        if chunk.refusal:
            self._refusal.add(self._limit.cut(chunk.refusal))
        if chunk.reasoning and not (chunk.whole and self._thoughts.length):
            self._add_thoughts(self._limit.cut(chunk.reasoning))
        if chunk.whole and self._in_deltas:
            self._joiner.drop()
            content = without_lone_surrogates(chunk.content)
            new = self._text.new_part(content, waiting=self._splitter.held[1])
            return self._add_text(self._limit.cut(new))
        if chunk.content:
            self._in_deltas = not chunk.whole
        return self._add_text(self._joiner.feed(self._limit.cut(chunk.content)))

    def append(self, content: str) -> str:
        """Add a delta that equals the one before it, except for its content.

        Args:
            content: its content, which is not empty.

        Returns:
            As :meth:`add`.
        """
        self._in_deltas = True
        return self._add_text(self._joiner.feed(self._limit.cut(content)))

    def rest(self) -> str:
        """Return the text that was held, because no more text arrives."""
        text = self._add_text(self._joiner.rest())
        thoughts, held = self._splitter.rest()
        self._add_thoughts(thoughts)
        self._tell_thoughts(self._thoughts.rest())
        self._refusal.rest()
        return text + self._add_text(held) + self._text.rest()

    def _add_text(self, text: str) -> str:
        """Add a text in whole characters; return what it adds, without thoughts and keys."""
        if not text:
            return ""
        if not self._splitter.has_reply:
            thoughts, text = self._splitter.feed(text)
            self._add_thoughts(thoughts)
        return self._text.add(text)

    def _add_thoughts(self, text: str) -> None:
        """Add a fragment of the reasoning."""
        if text:
            self._tell_thoughts(self._thoughts.add(without_lone_surrogates(text)))

    def _tell_thoughts(self, text: str) -> None:
        if text and self.on_thoughts is not None:
            self.on_thoughts(text)

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
