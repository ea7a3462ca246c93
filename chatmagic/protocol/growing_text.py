"""Texts of a reply that grow by fragments: within a limit, in whole characters, without keys."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from chatmagic.protocol.api_key import KeyRedactor, Secret
from chatmagic.safe_text import without_lone_surrogates

MOST_PIECES: Final = 64
"""Number of fragments of a text that are kept one by one, until they are joined."""


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


class SurrogateJoiner:
    """Joiner of characters that are cut in two by the end of a fragment."""

    def __init__(self) -> None:
        """Start before the first fragment."""
        self._half = ""
        """The half of a surrogate pair that waits for the other half."""

    def feed(self, fragment: str) -> str:
        """Return the whole characters that a fragment adds.

        Args:
            fragment: the next fragment; may be empty.
        """
        if fragment.isascii() and not self._half:
            return fragment
        text = self._half + fragment
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._half = text[-1]
            text = text[:-1]
        return without_lone_surrogates(text)

    def rest(self) -> str:
        """Return what stands for the half that waits, because no more text arrives."""
        half = self._half
        self._half = ""
        return without_lone_surrogates(half)

    def drop(self) -> None:
        """Forget the half that waits."""
        self._half = ""


class RedactedText:
    """Text that grows by fragments, without any key.

    Args:
        keys: the keys that are known.
    """

    def __init__(self, keys: Iterable[Secret]) -> None:
        """Start with the empty text."""
        self._redactor = KeyRedactor(keys)
        self._text = GrowingText()

    @property
    def has_removed_key(self) -> bool:
        """Whether the text held a key, which was removed."""
        return self._redactor.has_removed

    @property
    def length(self) -> int:
        """Number of characters, without a tail that may begin a key."""
        return self._text.length

    def add(self, fragment: str) -> str:
        """Add a fragment; return what it adds, without a tail that may begin a key.

        Args:
            fragment: the next fragment.
        """
        text = self._redactor.feed(fragment)
        self._text.append(text)
        return text

    def rest(self) -> str:
        """Add the tail that waited, because no more text arrives, and return it."""
        rest = self._redactor.rest()
        self._text.append(rest)
        return rest

    def whole(self) -> str:
        """Return the text so far, with a tail that waits."""
        return self._text.whole() + self._redactor.held

    def new_part(self, repeated: str, waiting: str) -> str:
        """Return what a text adds that may repeat this one from its beginning.

        Args:
            repeated: the other text.
            waiting: what has come behind this text and was not added yet.

        Returns:
            The end of the other text, to be added; all of it if it does not repeat this one.
        """
        repeated = self._redactor.without_keys(repeated)
        # A shorter one cannot repeat this text, which is not joined for it.
        if len(repeated) < self.length:
            return repeated
        known = self._text.whole() + waiting
        if not repeated.startswith(known):
            return repeated
        self._redactor.drop()  # the other text holds the tail, too
        return repeated[len(known) :]
