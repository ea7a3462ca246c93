"""Facts beside a reply's text, collected from the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from chatmagic.models import BodyFacts
from chatmagic.protocol.api_key import Secret, redacted
from chatmagic.protocol.chunk import Chunk

NAME_FIELDS: Final = {
    "id": "response_id",
    "model": "model",
    "system_fingerprint": "system_fingerprint",
}
"""The facts that a service may repeat in each chunk, by their fields there."""
_GROWING: Final = {"refusal", "reasoning"}
"""The facts that come in fragments, as the text does: they are no part of this."""
_FACTS: Final = tuple(item.name for item in fields(BodyFacts) if item.name not in _GROWING)


class GrowingFacts:
    """Facts of a reply so far, without any key; the latest value of each counts.

    Attributes:
        by_name: the facts, by their names in :class:`~chatmagic.models.BodyFacts`.
        has_removed_key: whether one of them held a key, which was removed.

    Args:
        keys: the keys that are known.
    """

    def __init__(self, keys: Iterable[Secret]) -> None:
        """Start with nothing."""
        self.by_name: dict[str, Any] = {}
        self.has_removed_key = False
        self._keys = tuple(keys)
        self._received: dict[str, Any] = {}
        """The facts as they were received."""

    @property
    def names(self) -> Mapping[str, str | None]:
        """The names that the service gave so far, as received, by their fields in a chunk."""
        return {field: self._received.get(name) for field, name in NAME_FIELDS.items()}

    def add(self, chunk: Chunk) -> None:
        """Take the facts of a chunk.

        Args:
            chunk: the next chunk.
        """
        for name in _FACTS:
            fact = getattr(chunk, name)
            if fact and fact != self._received.get(name):
                self._received[name] = fact
                self.by_name[name] = self._without_keys(fact)

    def _without_keys(self, fact: Any) -> Any:
        """Return a fact; a text without the keys."""
        if not isinstance(fact, str):
            return fact
        text = redacted(fact, self._keys)
        if text != fact:
            self.has_removed_key = True
        return text
