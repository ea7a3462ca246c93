"""Endpoint: an address with its key, and the settings of the requests to it.

The settings are the time limits, and the fields and headers beside the interface's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from chatmagic import advice
from chatmagic._json import finite_number
from chatmagic.advice import Advice, Note
from chatmagic.errors import AuthenticationError, InputError
from chatmagic.protocol.api_key import Auth, Secret, is_secret_name, redacted
from chatmagic.protocol.url import (
    EMULATOR,
    is_loopback,
    key_place,
    origin,
    shown_place,
    shown_url,
)
from chatmagic.safe_text import one_line

KEY_VARIABLES: Final = ("CHATMAGIC_API_KEY", "CHATMAGIC_API_KEY_FILE")
"""The environment's variables of a key: itself, and the name of a file that holds it."""
AUTH_VARIABLE: Final = "CHATMAGIC_AUTH"
NO_ADDRESS: Final = "no address, as CHATMAGIC_BASE_URL gives none"
"""Owner of the environment's key if the environment has no address."""


@dataclass(frozen=True, slots=True)
class Server:
    """Server that is known by name, and its requirements.

    Args:
        name: name that a person types in place of its address.
        base_url: its address.
        auth: the way to send the key (fact 12).
        key_variable: the environment's variable of the service's own tools for the key; empty for
            none. It is read only where a person agrees.
        models_page: a page that lists its models, if its address does not; else empty.
        needs_model: whether it refuses a request that names no model.
        stream_usage: whether it reports a stream's tokens only if the request asks for them.
        response_format: whether a request may name the form of its reply.
        limit_field: the field that limits the tokens of a reply, of :data:`LIMIT_FIELDS`.
        refuses: further fields of a request that it does not take.
    """

    name: str
    base_url: str
    auth: Auth = "none"
    key_variable: str = ""
    models_page: str = ""
    needs_model: bool = False
    stream_usage: bool = False
    response_format: bool = True
    limit_field: str = "max_tokens"
    refuses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a service, with its key and how the key is sent.

    Args:
        base_url: address of the service, or ``emulator``.
        auth: the way to send the key (fact 12).
        key: the key; ``None`` if there is none for this address.
        url_from: source of the address, in words.
        key_from: source of the key, in words.
        elsewhere: the known key of another place that one might expect here, in words.
        guarded: the known keys of all addresses: no request may hold one.
        warnings: warnings about the address or the key's file, a line each.
        server: the server that is known by its name, or by the address of a hosted service;
            ``None`` for any other URL.
        is_named: whether the name of that server was given in place of the address.
        has_auth_variable: whether the environment sets the way to send the key.
    """

    base_url: str
    auth: Auth
    key: Secret | None
    url_from: str
    key_from: str | None = None
    elsewhere: str | None = None
    guarded: tuple[Secret, ...] = ()
    warnings: tuple[Note, ...] = ()
    server: Server | None = None
    is_named: bool = field(default=False, compare=False)
    has_auth_variable: bool = field(default=False, compare=False)
    known_keys: tuple[Secret, ...] = field(init=False, repr=False, compare=False)
    """The keys that no request may hold: this one's, and those for other addresses."""

    def __post_init__(self) -> None:
        """Join the keys once, as each request looks for them."""
        keys = tuple(key for key in (*self.guarded, self.key) if key is not None)
        object.__setattr__(self, "known_keys", keys)

    @property
    def origin(self) -> str:
        """Scheme, host and port of the address."""
        return origin(self.base_url)

    @property
    def key_place(self) -> str:
        """Place that a key for the address belongs to: its origin and its path."""
        return key_place(self.base_url)

    @property
    def is_emulator(self) -> bool:
        """Whether it is the emulator of this process."""
        return self.key_from == EMULATOR

    @property
    def account(self) -> tuple[str, Auth, Secret | None]:
        """Values that distinguish the requests of one account from those of another."""
        return self.base_url, self.auth, self.key

    @property
    def is_keyless(self) -> bool:
        """Whether requests are sent without a key: as is set, or as none is known on this machine.

        A server on this machine needs no key, as a rule; one that does answers that it does.
        """
        if self.auth == "none":
            return True
        return self.key is None and self.base_url != EMULATOR and is_loopback(self.base_url)

    def require_key(self) -> None:
        """Raise an error if requests need a key and there is none for the address.

        Raises:
            AuthenticationError: there is no key; the message says what to do.
        """
        if self.key is not None or self.is_keyless:
            return
        other_key = "" if self.elsewhere is None else f": {self.elsewhere}"
        message = f"There is no API key for {self.shown_place()}{other_key}. Nothing was sent."
        keyless = self.how_to_set_auth("none")
        hint = self.how_to_give_a_key() + "; for a server without keys: " + keyless
        raise AuthenticationError(message, hint=hint)

    def how_to_give_a_key(self) -> Advice:
        """Return the advice for an address without a key."""
        if self.server is not None and self.server.key_variable:
            return advice.key_of_service(self.server.name, self.server.key_variable)
        is_without = self.elsewhere is not None and self.elsewhere.endswith(NO_ADDRESS)
        return advice.key_source(self.posted_to() if is_without else None)

    def how_to_set_auth(self, auth: Auth) -> Advice:
        """Return the line that sets another way to send the key.

        Args:
            auth: the way.
        """
        return advice.auth_choice(auth, by_variable=self.has_auth_variable)

    def shown_place(self) -> str:
        """Return the place of a key for the address, for a message: no key is in it."""
        return redacted(shown_place(self.key_place), self.known_keys)

    def posted_to(self) -> str:
        """Return the address that requests are posted to, for a message: no key is in it."""
        return redacted(shown_url(self.base_url), self.known_keys)


NO_SERVICE: Final = Endpoint("https://cassette.invalid", "none", None, "the cassette")
"""Endpoint of a recorded answer; no name in ``.invalid`` can be resolved (RFC 2606, 2)."""


@dataclass(frozen=True, slots=True)
class ServiceSetup:
    """Endpoint of a client, its time limits, and its additions to each request.

    Args:
        endpoint: the address and its key.
        timeout: as for :class:`chatmagic.Client`, in seconds.
        extra_body: fields that every request has beside the interface's own.
        extra_headers: headers that every request has beside the connection's own.
        system_role: whether instructions are a message of the role ``system``.
        stream_usage: whether a stream asks for its token counts (``stream_options``).
        response_format: whether a question for JSON has the field ``response_format``.
        limits: as for :class:`chatmagic.Client`.
    """

    endpoint: Endpoint
    timeout: Timeout | Mapping[str, float | None] | float | None = None
    extra_body: Mapping[str, Any] | None = None
    extra_headers: Mapping[str, str] | None = field(default=None, repr=False)
    system_role: bool = False
    stream_usage: bool = False
    response_format: bool = True
    limits: Limits | Mapping[str, int] | None = None


LONGEST_TIMEOUT: Final = 4_000_000
"""The longest timeout, in seconds, that every system can count: 46 days."""


@dataclass(frozen=True, slots=True)
class Timeout:
    """Time limits of a request, in seconds; ``None`` waits forever.

    Args:
        connect: for the connection, TLS and a proxy's tunnel included.
        first_byte: for the whole head of the answer, and then for the first byte of its body.
        silence: between two new parts of the reply; what brings none, such as a comment or an
            empty event, does not end a silence.
        total: for all of it, from the beginning to the end of the answer.

    Raises:
        InputError: a time is not a number above 0 and below :data:`LONGEST_TIMEOUT`.
    """

    connect: float | None = 10.0
    first_byte: float | None = 60.0
    silence: float | None = 60.0
    total: float | None = None

    def __post_init__(self) -> None:
        """Check the times."""
        for name in self.__slots__:
            seconds = getattr(self, name)
            if seconds is not None and not 0 < (finite_number(seconds) or 0) <= LONGEST_TIMEOUT:
                raise InputError(
                    f"The timeout {name} is a number of seconds above 0, {LONGEST_TIMEOUT:,} at "
                    "most; None waits for ever."
                )

    @classmethod
    def from_value(cls, value: Timeout | Mapping[str, float | None] | float | None) -> Timeout:
        """Return the timeouts that ``value`` stands for.

        Args:
            value: a number is ``first_byte`` and ``silence``; a mapping has times by name.

        Raises:
            InputError: it is none of these.
        """
        if isinstance(value, Timeout):
            return value
        if isinstance(value, Mapping):
            names = [field.name for field in fields(cls)]
            if unknown := [name for name in value if name not in names]:
                raise InputError(
                    f"There is no timeout {unknown[0]!r}; there are {', '.join(names)}."
                )
            return cls(**value)
        return cls() if value is None else cls(first_byte=value, silence=value)


MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest sizes of a reply, in bytes; the text that came before a limit is kept.

    Args:
        text: of the text of a reply, its thoughts included, in UTF-8. A whole answer in
            JSON may be half as large again, an event three quarters of it.
        body: of the body of an answer, decompressed, in which a piece counts as 32 bytes at least.

    Raises:
        InputError: a size is not a whole number above 0.
    """

    text: int = 16 * MIB
    body: int = 64 * MIB

    def __post_init__(self) -> None:
        """Check the sizes."""
        for name in self.__slots__:
            size = getattr(self, name)
            if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
                raise InputError(f"The limit {name} is a whole number of bytes above 0.")

    @classmethod
    def from_value(cls, value: Limits | Mapping[str, int] | None) -> Limits:
        """Return the limits that ``value`` stands for.

        Args:
            value: a mapping has sizes by name; ``None`` is the default.

        Raises:
            InputError: it is none of these.
        """
        if isinstance(value, Limits):
            return value
        names = [field.name for field in fields(cls)]
        if value is not None and not isinstance(value, Mapping):
            raise InputError(f"The limits are sizes by name, of {', '.join(names)}.")
        if unknown := [name for name in value or () if name not in names]:
            raise InputError(f"There is no limit {unknown[0]!r}; there are {', '.join(names)}.")
        return cls(**(value or {}))

    @property
    def json(self) -> int:
        """Largest size of a whole answer in JSON."""
        return self.text + self.text // 2 + _AROUND

    @property
    def event(self) -> int:
        """Largest size of an event, which takes twice the memory of a whole answer to read."""
        return self.text * 3 // 4 + _AROUND


_AROUND: Final = 65_536
"""Room, in bytes, for what stands around a text in JSON."""

ADDRESS_SETTINGS: Final = ("model", "extra_headers", "system_role")
"""The settings that belong to the address that they were set for, as a key does."""

OWN_HEADERS: Final = (
    r"(?i)accept-encoding|connection|content-(?:encoding|length|type)|expect|host|keep-alive|te|trailer"
    "|transfer-encoding|upgrade"
)
"""Headers that the connection sets itself."""

# A name and a value (RFC 9110, 5.6.2 and 5.5).
_NAME: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_VALUE: Final = r"[!-~](?:[ -~]*[!-~])?"


LIMIT_FIELDS: Final = ("max_tokens", "max_completion_tokens")
"""Names of the field that limits the tokens of a reply: the interface's, and OpenAI's later one."""

ASKS_FOR_USAGE: Final[Mapping[str, Any]] = {"stream_options": {"include_usage": True}}
"""The field by which a request for a stream asks for its token counts, as OpenAI's API has it."""


def request_fields(extra_body: object, model: object = None) -> dict[str, Any]:
    """Return the fields that a request has beside the interface's own.

    Args:
        extra_body: a mapping of names to values; ``None`` is empty.
        model: the request's ``model``; ``None`` leaves it to ``extra_body``.

    Raises:
        InputError: one of them is of the wrong kind, or they name two models.
    """
    if model is not None and not (isinstance(model, str) and model.strip()):
        raise InputError("The name of a model is a text that is not empty.")
    if extra_body is not None and not isinstance(extra_body, Mapping):
        raise InputError(
            "extra_body is a mapping of field names to values, such as {'model': 'small'}, "
            f"not {type(extra_body).__name__}."
        )
    given: dict[str, Any] = dict(extra_body or {})
    if model is None:
        return given
    if given.setdefault("model", model) != model:
        raise InputError(
            "extra_body names another model than the setting.",
            hint="Name it in one of the two places.",
        )
    return given


def request_headers(extra_headers: object) -> dict[str, str]:
    """Return the headers that a request has beside the connection's headers.

    Args:
        extra_headers: a mapping of names to values; ``None`` is empty.

    Raises:
        InputError: a header cannot be sent, is the connection's own, or holds a secret.
    """
    if extra_headers is not None and not isinstance(extra_headers, Mapping):
        raise InputError(
            "extra_headers is a mapping of names to texts, such as {'X-Team': 'a'}, "
            f"not {type(extra_headers).__name__}."
        )
    given = dict(extra_headers or {})
    are_texts = all(isinstance(text, str) for item in given.items() for text in item)
    are_headers = are_texts and all(
        re.fullmatch(_NAME, name) and re.fullmatch(_VALUE, value) for name, value in given.items()
    )
    if not are_headers or len({name.lower() for name in given}) < len(given):
        raise InputError(
            "extra_headers holds a name or a value that no header can have: a name is one word and "
            "stands there once, a value is printable ASCII text without spaces around it."
        )
    for name in given:
        if is_secret_name(name) or re.fullmatch(OWN_HEADERS, name):
            raise InputError(
                f"extra_headers cannot set {one_line(name)}, which the connection sets.",
                hint=advice.KEY_PLACE if is_secret_name(name) else None,
            )
    return given
