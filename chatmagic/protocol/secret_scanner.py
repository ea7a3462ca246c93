"""Secrets that a text may hold: values of environment variables, and known kinds of keys.

Pure: the environment is passed as a mapping. A secret that is found is named, never shown.
``secret_scanner.toml`` beside this file lists the kinds: keys that are known by their shape,
secrets that are known by the place where they stand, and the names of environment variables.
The API key of the service has a check of its own (:func:`chatmagic.protocol.api_key.refuse_keys`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote, unquote

SHORTEST_KEY: Final = 12
"""Smallest number of characters of a key in a variable."""
SHORTEST_PASSWORD: Final = 8
"""Smallest number of characters of a password with a digit, in a variable."""
SHORTEST_PASSPHRASE: Final = 16
"""Smallest number of characters of a password without a digit, in a variable."""

_TABLE: Final[dict[str, Any]] = tomllib.loads(
    files("chatmagic.protocol").joinpath("secret_scanner.toml").read_text("utf-8")
)
# A start counts only if no letter, digit, underscore or hyphen precedes it, but for those of a
# quoted line break or percent sign. The check stands behind the start, because a pattern that
# begins with a literal is searched for quickly.
_EDGE: Final = r"(?:(?<![\w-]{0})|(?<=\\[nrt]{0})|(?<=%[0-9A-Fa-f]{{2}}{0}))"
_SECRET_NAME: Final = {
    way: re.compile(rf"(?:{pattern})[0-9]*(?![A-Z0-9])")
    for way, pattern in _TABLE["variable"].items()
}
_PLACEHOLDER_PART: Final = re.compile(_TABLE["placeholder"]["part"])
_PLACEHOLDER: Final = re.compile(_TABLE["placeholder"]["whole"], re.VERBOSE)

_PUBLIC: Final = frozenset({"PUBLIC", "FINGERPRINT"})
_SIGNING: Final = frozenset({"GPG", "PGP"})
_FINGERPRINT: Final = r"(?:0x)?[0-9A-Fa-f]{16,64}"
_PATH: Final = r"(?:~|\.{1,2})?/[^=+]*|[A-Za-z]:[\\/].*|[^\s=+]*/[^\s=+]*\.\w{1,5}"
_ADDRESS: Final = r"[A-Za-z][\w.+-]*://\S*|[^@\s]+@[\w-]+(?:\.[\w-]+)+|[\w.-]+:\d{1,5}"


@dataclass(frozen=True, slots=True)
class SecretKind:
    """Kind of secrets that a pattern finds in a text.

    Args:
        name: its name in words, such as ``a GitHub token``.
        marks: literals in lower case, one of which a text with such a secret holds.
        pattern: the pattern, whose group ``secret`` is the secret.
    """

    name: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]

    def secrets_in(self, text: str) -> Iterator[str]:
        """Yield the secrets of this kind in a text, but no placeholders.

        Args:
            text: the text to search.
        """
        for match in self.pattern.finditer(text):
            if not _is_placeholder(match["secret"]):
                yield match["secret"]


@dataclass(frozen=True, slots=True)
class SecretVariable:
    """Environment variable whose value is a secret, or holds one.

    Args:
        name: its name.
        value: the secret, which no repr shows.
        is_part: whether the secret is only a part of the variable's value.
    """

    name: str
    value: str = field(repr=False)
    is_part: bool = False

    def is_in(self, text: str) -> bool:
        """Return whether a text holds the secret, as it is or by JSON, Python, a URL or a table.

        Args:
            text: the text to search.
        """
        forms = (
            self.value,
            json.dumps(self.value)[1:-1],
            repr(self.value)[1:-1],
            quote(self.value, safe=""),
            self.value.replace("|", "\\|"),
        )
        return any(form in text for form in forms)


def _kinds_by_shape() -> tuple[SecretKind, ...]:
    """Return the kinds of keys that begin with a literal."""
    return tuple(
        SecretKind(
            row["name"],
            (start.lower(),),
            re.compile(
                rf"(?a)(?P<secret>{re.escape(start)}{_EDGE.format(re.escape(start))}{row['rest']})"
            ),
        )
        for row in _TABLE["shape"]
        for start in row["starts"]
    )


def _kinds_by_place() -> tuple[SecretKind, ...]:
    """Return the kinds of secrets that are known by the text before them."""
    return tuple(
        SecretKind(
            row["name"], tuple(row["marks"]), re.compile(row["pattern"], re.ASCII | re.VERBOSE)
        )
        for row in _TABLE["place"]
    )


KINDS_BY_SHAPE: Final = _kinds_by_shape()
"""The kinds of keys that begin with a literal."""
KINDS_BY_PLACE: Final = _kinds_by_place()
"""The kinds of secrets that are known by the text before them."""
KINDS: Final = KINDS_BY_SHAPE + KINDS_BY_PLACE
"""The kinds of secrets that a text may hold."""
_OFTEN: Final = "etaoinshrdlucmwfgypbvkxjqz"
"""The letters of English texts, the most frequent first; a sign or a digit is rarer."""


def _rarity(character: str) -> int:
    """Return the place of a character in the order of frequency."""
    return _OFTEN.index(character) if character in _OFTEN else len(_OFTEN)


class _Marks:
    """The marks of kinds of secrets, each under its rarest character.

    So only a few of some two hundred marks are looked for in a text.

    Args:
        kinds: the kinds.
    """

    def __init__(self, kinds: Sequence[SecretKind]) -> None:
        self._kinds = kinds
        self._by_character: dict[str, list[tuple[str, int]]] = {}
        for place, kind in enumerate(kinds):
            for mark in kind.marks:
                rarest = max(mark, key=_rarity)
                self._by_character.setdefault(rarest, []).append((mark, place))

    def kinds_in(self, text: str) -> list[SecretKind]:
        """Return the kinds of which a text holds a mark: that is faster than their patterns."""
        lowered = text.lower()
        places = {
            place
            for character in self._by_character.keys() & set(lowered)
            for mark, place in self._by_character[character]
            if mark in lowered
        }
        return [self._kinds[place] for place in sorted(places)]


_MARKS: Final = _Marks(KINDS)
_MARKS_OF_PLACES: Final = _Marks(KINDS_BY_PLACE)


def secret_variables(environ: Mapping[str, str]) -> tuple[SecretVariable, ...]:
    """Return the variables whose values are secrets, or hold one in a known place.

    Args:
        environ: the environment.
    """
    return tuple(
        variable for name in environ for variable in _secrets_of(name, environ[name].strip())
    )


def secret_in(text: str, variables: Iterable[SecretVariable] = ()) -> str | None:
    """Return the name of a secret in a text, in words; ``None`` if there is none.

    Args:
        text: any text.
        variables: the variables whose values are secrets.
    """
    for variable in variables:
        if variable.is_in(text):
            part = "a part of " if variable.is_part else ""
            return f"{part}the value of the environment variable {variable.name}"
    names = secret_kinds_in(text)
    return f"a text that looks like {names[0]}" if names else None


def secret_kinds_in(text: str) -> list[str]:
    """Return the names of the kinds of secrets that a text seems to hold, each once.

    Args:
        text: the text to search.
    """
    names = (kind.name for kind in _MARKS.kinds_in(text) for _ in kind.secrets_in(text))
    return [*dict.fromkeys(names)]


def _is_placeholder(secret: str) -> bool:
    """Return whether a text only stands for a secret, as in manuals and in the text of models."""
    return bool(_PLACEHOLDER_PART.search(secret) or _PLACEHOLDER.fullmatch(secret))


def _secrets_of(name: str, value: str) -> Iterator[SecretVariable]:
    """Yield the value of a variable if it is a secret, and the secrets within it."""
    if _is_secret(name.upper(), value):
        yield SecretVariable(name, value)
    for kind in _MARKS_OF_PLACES.kinds_in(value):
        for secret in kind.secrets_in(value):
            # Within a URL it may be quoted.
            for form in dict.fromkeys((secret, unquote(secret))):
                if _is_password(form):
                    yield SecretVariable(name, form, is_part=True)


def _is_secret(name: str, value: str) -> bool:
    """Return whether a variable is a secret, by its name and by its value."""
    is_named = (_SECRET_NAME["key"].search(name) and _is_key(value)) or (
        _SECRET_NAME["password"].search(name) and _is_password(value)
    )
    return bool(is_named) and not (
        re.fullmatch(_PATH, value)
        or re.fullmatch(_ADDRESS, value)
        or _is_public(frozenset(re.split(r"[^A-Z0-9]+", name)), value)
    )


def _is_key(value: str) -> bool:
    """Return whether a value may be a key: it is long, with a digit and a letter."""
    has_digit = any(letter.isdigit() for letter in value)
    return len(value) >= SHORTEST_KEY and has_digit and any(letter.isalpha() for letter in value)


def _is_password(value: str) -> bool:
    """Return whether a value may be a password: no number, and no word of a text."""
    has_digit = any(letter.isdigit() for letter in value)
    shortest = SHORTEST_PASSWORD if has_digit else SHORTEST_PASSPHRASE
    return (
        len(value) >= shortest and any(letter.isalpha() for letter in value) and not value.isalpha()
    )


def _is_public(parts: frozenset[str], value: str) -> bool:
    """Return whether a value is public: a public key, or the fingerprint of one."""
    if parts & _PUBLIC or value.startswith(("SHA256:", "ssh-", "ecdsa-")):
        return True
    return bool(parts & _SIGNING) and re.fullmatch(_FINGERPRINT, value) is not None
