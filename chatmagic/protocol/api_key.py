"""API key that no repr, message or log shows by accident, and the ways to send it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, NoReturn, Self
from urllib.parse import quote

from chatmagic.errors import InputError

Auth = Literal["bearer", "x-api-key", "query", "none"]

AUTH_WAYS: Final[tuple[Auth, ...]] = ("bearer", "x-api-key", "query", "none")
SECRET_LENGTH: Final = 8
"""A key that is shorter than this is no secret."""
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

    __slots__ = ("_forms", "_value")

    def __init__(self, value: str) -> None:
        """Keep the key."""
        if not (isinstance(value, str) and value.isascii() and value.isprintable()) or (
            not value or " " in value
        ):
            del value  # a traceback may show local variables
            raise ValueError("an API key must be one word of printable ASCII characters") from None
        self._value = value
        forms = {value, quote(value), quote(value, safe="")}
        bare = {form.replace("\\", "") for form in forms}
        self._forms = forms | {form for form in bare if len(form) >= SECRET_LENGTH}

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

    def is_in(self, text: str) -> bool:
        """Return whether a text holds the key, as it is or as URLs or JSON write it.

        A key of a few letters may be a word of the text, so it is never found.

        Args:
            text: any text.
        """
        if len(self._value) < SECRET_LENGTH:
            return False
        # Quoting by JSON or Python, however often, only adds backslashes.
        readings = [text, text.replace("\\", "")] if "\\" in text else [text]
        return any(form in reading for reading in readings for form in self._forms)

    def redact(self, text: str) -> str:
        """Return ``text`` without the key, in any of its spellings.

        An end of the text that may be a key cut in the middle is removed, too.

        Args:
            text: the text to show.
        """
        # A short key would be found inside words.
        edge = (r"(?<!\w)", r"(?!\w)") if len(self._value) < SECRET_LENGTH else ("", "")
        letters = "".join(map(_spellings, self._value)).join(edge)
        text = re.sub(letters, REMOVED, text, flags=re.IGNORECASE | re.ASCII)
        parts = range(len(self._value) - 1, SECRET_LENGTH - 1, -1)
        part = next((size for size in parts if text.endswith(self._value[:size])), 0)
        return text[:-part] + REMOVED if part else text

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


def _spellings(letter: str) -> str:
    """Return the pattern of one letter as it is, and as URLs, JSON and Python write it."""
    code = ord(letter)
    # A text may be quoted within a quoted text; the bound keeps the search linear.
    return rf"\\{{0,4}}(?:{re.escape(letter)}|%(?:25)*{code:02x}|u00{code:02x})"


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
            "key. Nothing was sent.",
            hint="Remove it; a key that others may have seen should be revoked.",
        )
