"""API key that no repr, message or log shows by accident, and the ways to send it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, NoReturn, Self

from chatmagic.errors import InputError
from chatmagic.protocol.key_spellings import KeySpellings

Auth = Literal["bearer", "x-api-key", "query", "none"]

AUTH_WAYS: Final[tuple[Auth, ...]] = ("bearer", "x-api-key", "query", "none")
SECRET_LENGTH: Final = 8
"""A key that is shorter than this is a placeholder (``none``, ``ollama``), and no secret."""
REMOVED: Final = "[key removed]"
"""Text in place of a key."""

# Names of headers and query parameters, by their words: X-API-Key, access_token, AuthToken, sig.
_TELLING_WORD: Final = (
    r"\w*(?:token|secret|cookie|passw(?:or)?d|credential|authoriz|authentic|apikey|accesskey)\w*"
    r"|keys?|auth|authn|authz|pass|pwd|passphrase|jwt|bearer|sid|sig|signature"
)
# A known prefix, a long run of letters and digits, or a UUID.
_LIKE_A_KEY: Final = (
    r"(?i)\b(?:sk|pk|rk|ghp|gsk|hf|xox\w)[-_]\w|[a-z0-9]{20}|[0-9a-f]{8}-[0-9a-f]{4}-"
)


def is_secret_name(name: str) -> bool:
    """Return whether a header or a query parameter of this name holds a secret.

    Args:
        name: the name, in any case.
    """
    return any(re.fullmatch(_TELLING_WORD, word) for word in re.split(r"[^a-z0-9]+", name.lower()))


def looks_like_a_key(text: str) -> bool:
    """Return whether a text looks as if it held a key; this is a guess.

    Args:
        text: a text that should hold no key, such as a part of an address.
    """
    return re.search(_LIKE_A_KEY, text) is not None


class Secret:
    """API key that no repr, pickle or format shows (fact 12).

    Args:
        value: the key, an opaque string.

    Raises:
        ValueError: the key is empty, or holds a character that no header can carry.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        """Keep the key."""
        if not (isinstance(value, str) and value.isascii() and value.isprintable()) or (
            not value or " " in value
        ):
            del value  # a traceback may show local variables
            raise ValueError("an API key must be one word of printable ASCII characters") from None
        self._value = value

    @classmethod
    def or_none(cls, value: object) -> Self | None:
        """Return the key that ``value`` is; ``None`` if it cannot be one.

        Args:
            value: a possible key.
        """
        try:
            return cls(value)  # type: ignore[arg-type] # checked there
        except ValueError:
            return None

    def reveal(self) -> str:
        """Return the key itself; to be called only by the code that writes the request."""
        return self._value

    @property
    def is_quoted(self) -> bool:
        """Whether quotation marks stand around the key, as a file of variables may have them."""
        return self._value[0] == self._value[-1] and self._value[0] in "\"'"

    @property
    def spellings(self) -> KeySpellings | None:
        """Matcher of the key in a text; ``None`` for a placeholder, which is never looked for."""
        return _spellings(self)

    def is_in(self, text: str) -> bool:
        """Return whether a text holds the key, in any of its spellings.

        Args:
            text: any text.
        """
        spellings = self.spellings
        return spellings is not None and spellings.is_in(text)

    def redact(self, text: str) -> str:
        """Return ``text`` without the key, in any of its spellings.

        An end of the text that may be a key cut in the middle is removed, too.

        Args:
            text: the text to show.
        """
        if (spellings := self.spellings) is None:
            return text
        text = spellings.replaced(text, REMOVED)
        at, count = spellings.tail(text)
        return text[:at] + REMOVED if count >= SECRET_LENGTH else text

    def __repr__(self) -> str:
        """Show that there is a key, and nothing of it."""
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        """Two secrets are equal when their keys are."""
        return self._value == other._value if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        """Hash like the key."""
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled, so that no key gets into a file by accident.

        Raises:
            TypeError: always.
        """
        raise TypeError("an API key is not pickled")


def redacted(text: str, keys: Iterable[Secret]) -> str:
    """Return ``text`` without any of these keys (:meth:`Secret.redact`).

    Args:
        text: the text to show.
        keys: the keys that are known.
    """
    for key in keys:
        text = key.redact(text)
    return text


@lru_cache(256)
def _spellings(key: Secret) -> KeySpellings | None:
    """Return the matcher of a key; ``None`` if the key is as short as a word."""
    value = key.reveal()
    is_placeholder = len(value.replace("\\", "")) < SECRET_LENGTH
    return None if is_placeholder else KeySpellings(value)


@lru_cache(64)
def _patterns(keys: tuple[Secret, ...]) -> tuple[list[KeySpellings], frozenset[str]]:
    """Return the matchers of keys, longer ones first, and the characters that keys begin with."""
    found = (key.spellings for key in dict.fromkeys(keys))
    spellings = [spelling for spelling in found if spelling is not None]
    # A key may begin as a shorter one does.
    spellings.sort(key=lambda spelling: -len(spelling.letters))
    return spellings, frozenset[str]().union(*(spelling.begins for spelling in spellings))


class KeyRedactor:
    """Removal of keys from a text that arrives in fragments.

    A tail that may begin a key waits for more text, or for the end. Any other text is passed on at
    once.

    Args:
        keys: the keys that are known.
    """

    def __init__(self, keys: Iterable[Secret]) -> None:
        """Start before the first fragment."""
        self._spellings, self._begins = _patterns(tuple(keys))
        self._held = ""
        self.has_removed = False
        """Whether a key was removed."""

    def feed(self, text: str) -> str:
        """Return the text that a fragment adds, without the tail that may begin a key.

        Args:
            text: the next fragment.
        """
        if not self._held and self._begins.isdisjoint(text):
            return text
        text = self.without_keys(self._held + text)
        at = min((spelling.tail(text)[0] for spelling in self._spellings), default=len(text))
        self._held = text[at:]
        return text[:at]

    @property
    def held(self) -> str:
        """The tail that waits, as it is at the end: without the larger part of a key."""
        for spelling in self._spellings:
            at, count = spelling.tail(self._held)
            if count >= max(SECRET_LENGTH, len(spelling.letters) / 2):
                return self._held[:at] + REMOVED
        return self._held

    def rest(self) -> str:
        """Return :attr:`held` as final, because no more text arrives."""
        if not self._held:
            return ""
        held = self.held
        self.has_removed = self.has_removed or held != self._held
        self._held = ""
        return held

    def drop(self) -> None:
        """Forget the tail that waits."""
        self._held = ""

    def without_keys(self, text: str) -> str:
        """Return a text without keys; nothing of it waits.

        Args:
            text: the text.
        """
        for spelling in self._spellings:
            without = spelling.replaced(text, REMOVED)
            self.has_removed = self.has_removed or without != text
            text = without
        return text


def refuse_keys(texts: Iterable[str], keys: Iterable[Secret]) -> None:
    """Raise an error if a text that is to be sent or logged holds a key.

    Args:
        texts: the texts to send or to log.
        keys: the keys that are known.

    Raises:
        InputError: one of the texts holds one of the keys.
    """
    known = {*keys}
    if any(key.is_in(text) for text in texts for key in known):
        raise InputError(
            "The prompt, the conversation, extra_body, extra_headers or the address holds your API "
            "key, or one of another address. Nothing was sent.",
            hint="Remove it; a key that others may have seen should be revoked.",
        )
