"""Secrets that a text may hold: values of environment variables, and known shapes of keys.

Pure: the environment is passed as a mapping. A secret that is found is named, never shown.
The API key of the service has a check of its own (:func:`chatmagic.protocol.api_key.refuse_keys`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

SHORTEST: Final = 12
"""Smallest number of characters of a variable's value that counts as a secret."""

KEY_SHAPES: Final = (
    (
        "an API key (sk-…)",
        "sk-",
        r"(?:(?:ant|proj|svcacct|admin|or-v1)-[\w-]{20,}|[A-Za-z0-9]{20,})",
    ),
    ("an AWS access key", "A[KS]IA", "[A-Z0-9]{16}"),
    ("a GitHub token", "gh[oprsu]_", "[A-Za-z0-9]{36,}"),
    ("a GitHub token", "github_pat_", r"\w{22,}"),
    ("a GitLab token", "glpat-", r"[\w-]{20,}"),
    ("a Google API key", "AIza", r"[\w-]{35}"),
    ("a Groq key", "gsk_", "[A-Za-z0-9]{40,}"),
    ("a Hugging Face token", "hf_", "[A-Za-z0-9]{30,}"),
    ("an npm token", "npm_", "[A-Za-z0-9]{36}"),
    ("a PyPI token", "pypi-", r"[\w-]{50,}"),
    ("a SendGrid key", r"SG\.", r"[\w-]{22}\.[\w-]{43}"),
    ("a Slack token", "xox[abeoprs]-", r"[\w-]{20,}"),
    ("a Stripe key", "sk_", "(?:live|test)_[A-Za-z0-9]{16,}"),
    ("a Stripe key", "rk_", "(?:live|test)_[A-Za-z0-9]{16,}"),
    ("a JSON web token", "eyJ", r"[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    ("a private key", "-----BEGIN ", "[A-Z ]{0,30}PRIVATE KEY-----"),
)
"""Keys that are known by their look: a name, and patterns of the beginning and of the rest."""

# A beginning counts only if no letter, digit or hyphen precedes it, so each text is read once. The
# empty group at the end of each alternative shows which one matched.
_SHAPES: Final = re.compile(
    "(?a)" + "|".join(rf"{begin}(?<![\w-]{begin}){rest}()" for _, begin, rest in KEY_SHAPES)
)
# Placeholders for a key in manuals and in the text of models.
_PLACEHOLDER: Final = r"(?i)example|x{4}|your|0{8}|12345678"

_SECRET_PARTS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD")
_PUBLIC: Final = frozenset({"PUBLIC", "FINGERPRINT"})
_SIGNING: Final = frozenset({"GPG", "PGP"})
_FINGERPRINT: Final = r"(?:0x)?[0-9A-Fa-f]{16,64}"
_PATH: Final = r"(?:~|\.{1,2})?/[^=+]*|[A-Za-z]:[\\/].*|[^\s=+]*/[^\s=+]*\.\w{1,5}"
_ADDRESS: Final = r"[A-Za-z][\w.+-]*://\S*|[^@\s]+@[\w-]+(?:\.[\w-]+)+|[\w.-]+:\d{1,5}"


@dataclass(frozen=True, slots=True)
class SecretVariable:
    """Environment variable whose value is a secret.

    Args:
        name: its name.
        value: its value, which no repr shows.
    """

    name: str
    value: str = field(repr=False)

    def is_in(self, text: str) -> bool:
        """Return whether a text holds the value, as it is or written by JSON, Python or a table.

        Args:
            text: the text to search.
        """
        forms = (
            self.value,
            json.dumps(self.value)[1:-1],
            repr(self.value)[1:-1],
            self.value.replace("|", "\\|"),
        )
        return any(form in text for form in forms)


def secret_variables(environ: Mapping[str, str]) -> tuple[SecretVariable, ...]:
    """Return the variables whose values are secrets, by their names and their look.

    Args:
        environ: the environment.
    """
    return tuple(
        SecretVariable(name, value.strip())
        for name, value in environ.items()
        if _is_secret(name, value.strip())
    )


def secret_in(text: str, variables: Iterable[SecretVariable] = ()) -> str | None:
    """Return the name of a secret in a text, in words; ``None`` if there is none.

    Args:
        text: any text.
        variables: the variables whose values are secrets.
    """
    for variable in variables:
        if variable.is_in(text):
            return f"the value of the environment variable {variable.name}"
    names = key_shapes_in(text)
    return f"a text that looks like {names[0]}" if names else None


def key_shapes_in(text: str) -> list[str]:
    """Return the names of the keys that a text seems to hold, each once, in order.

    Args:
        text: the text to search.
    """
    shapes = (
        KEY_SHAPES[(match.lastindex or 1) - 1][0]
        for match in _SHAPES.finditer(text)
        if not re.search(_PLACEHOLDER, match[0])
    )
    return [*dict.fromkeys(shapes)]


def _is_secret(name: str, value: str) -> bool:
    """Return whether a variable is a secret: by a part of its name, and by its value."""
    name = name.upper()
    if not any(part in name for part in _SECRET_PARTS):
        return False
    parts = re.split(r"[^A-Z0-9]+", name)
    return (
        any(part.endswith(_SECRET_PARTS) for part in parts)
        and len(value) >= SHORTEST
        and any(letter.isdigit() for letter in value)
        and any(letter.isalpha() for letter in value)
        and not (re.fullmatch(_PATH, value) or re.fullmatch(_ADDRESS, value))
        and not _is_public(frozenset(parts), value)
    )


def _is_public(parts: frozenset[str], value: str) -> bool:
    """Return whether a value is public: a public key, or the fingerprint of one."""
    if parts & _PUBLIC or value.startswith(("SHA256:", "ssh-", "ecdsa-")):
        return True
    return bool(parts & _SIGNING) and re.fullmatch(_FINGERPRINT, value) is not None
