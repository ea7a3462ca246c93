"""Endpoint: an address with its key; and how a client asks there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from chatmagic.protocol.auth import redacted
from chatmagic.protocol.url import EMULATOR, origin, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmagic.client.servers import Server
    from chatmagic.client.timeouts import Timeout
    from chatmagic.protocol.auth import Auth, Secret

KEY_VARIABLES: Final = ("CHATMAGIC_API_KEY", "CHATMAGIC_API_KEY_FILE")
"""The environment's variables of a key: itself, and the name of a file that holds it."""
SET_AUTH: Final = 'CHATMAGIC_AUTH={0}, Client(auth="{0}") or %config ChatMagics.auth = "{0}"'
"""What sends the key in another way; the environment counts before the setting."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a service, with its key and how the key is sent.

    Args:
        base_url: address of the service, or ``emulator``.
        auth: in which of the interface's ways the key is given (fact 12).
        key: the key; ``None`` where there is none for this address.
        url_from: what decided the address, in words.
        key_from: where the key comes from, in words.
        elsewhere: what the environment's key belongs to, in words, where that is not here.
        guarded: the keys that are known, for whichever address: no request may hold one.
        warnings: what is unwise about the address or the key's file, a line each.
        server: the server whose name was given in place of the address; ``None`` for a URL.
    """

    base_url: str
    auth: Auth
    key: Secret | None
    url_from: str
    key_from: str | None = None
    elsewhere: str | None = None
    guarded: tuple[Secret, ...] = ()
    warnings: tuple[str, ...] = ()
    server: Server | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port of the address."""
        return origin(self.base_url)

    @property
    def is_emulator(self) -> bool:
        """Whether it is the emulator of this process."""
        return self.key_from == EMULATOR

    @property
    def stream_usage(self) -> bool:
        """Whether its requests ask for the token counts of streams, as this server needs."""
        return self.server is not None and self.server.stream_usage

    @property
    def known_keys(self) -> tuple[Secret, ...]:
        """The keys that no request may hold: this one's, and those for other addresses."""
        return tuple(key for key in (*self.guarded, self.key) if key is not None)

    @property
    def account(self) -> tuple[str, Auth, Secret | None]:
        """What tells the requests of one account from those of another."""
        return self.base_url, self.auth, self.key

    def is_same_service(self, other: Endpoint) -> bool:
        """Return whether both ask the same service with the same key."""
        return self.account == other.account

    def no_key_message(self) -> tuple[str, str]:
        """Return that there is no key for the address, and what to do, as two lines."""
        what = f"There is no API key for {self.origin}. Nothing was sent."
        if self.elsewhere is not None:
            what += f" The environment's key belongs to {self.elsewhere}."
        keyless = SET_AUTH.format("none")
        return what, (
            "%chat_login asks for one, Client(api_key=…) takes one; "
            f"for a server without keys: {keyless}"
        )

    def posted_to(self) -> str:
        """Return the address that requests are posted to, for a message: no key is in it."""
        return redacted(shown(self.base_url), self.known_keys)


@dataclass(frozen=True, slots=True)
class ServiceSetup:
    """Endpoint that a client asks, its time limits, and what it adds to each request.

    Args:
        endpoint: the address and its key.
        timeout: as for :class:`chatmagic.Client`, in seconds.
        extra_body: fields that every request has beside the interface's own.
        extra_headers: headers that every request has beside the connection's own.
        system_role: whether instructions are a message of the role ``system``.
    """

    endpoint: Endpoint
    timeout: Timeout | Mapping[str, float | None] | float | None = None
    extra_body: Mapping[str, Any] | None = None
    extra_headers: Mapping[str, str] | None = field(default=None, repr=False)
    system_role: bool = False
