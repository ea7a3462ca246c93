"""Endpoint: an address with its key; and how a client asks there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from chatmagic.protocol.auth import redacted
from chatmagic.protocol.url import EMULATOR, origin, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmagic.client.timeouts import Timeout
    from chatmagic.protocol.auth import Auth, Secret

AUTH_LINE: Final = '%config ChatMagics.auth = "{}"'
KEY_STEP: Final = "%chat_login asks for {}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a request goes, and with which key.

    Args:
        base_url: address of the service, or ``emulator``.
        auth: in which of the interface's ways the key is given (fact 12).
        key: the key; ``None`` where there is none for this address.
        url_from: what decided the address, in words.
        key_from: where the key comes from, in words.
        elsewhere: what the environment's key belongs to, in words, where that is not here.
        guarded: the keys that are known, for whichever address: no request may hold one.
        warnings: what is unwise about the address or the key's file, a line each.
        auth_line: the line that sets another way of the key, with ``{}`` for the way.
        key_step: how to give a key, in words, with ``{}`` for which.
    """

    base_url: str
    auth: Auth
    key: Secret | None
    url_from: str
    key_from: str | None = None
    elsewhere: str | None = None
    guarded: tuple[Secret, ...] = ()
    warnings: tuple[str, ...] = ()
    auth_line: str = AUTH_LINE
    key_step: str = KEY_STEP

    @property
    def origin(self) -> str:
        """Scheme, host and port of the address."""
        return origin(self.base_url)

    @property
    def is_emulator(self) -> bool:
        """Whether it is the emulator of this process."""
        return self.key_from == EMULATOR

    @property
    def known_keys(self) -> tuple[Secret, ...]:
        """The keys that no request may hold: this one's, and those for other addresses."""
        return tuple(key for key in (*self.guarded, self.key) if key is not None)

    def is_same_service(self, other: Endpoint) -> bool:
        """Return whether both ask the same service with the same key."""
        ours = (self.base_url, self.auth, self.key)
        return ours == (other.base_url, other.auth, other.key)

    def no_key_message(self) -> tuple[str, str]:
        """Return that there is no key for the address, and what to do, as two lines."""
        what = f"There is no API key for {self.origin}. Nothing was sent."
        if self.elsewhere is not None:
            what += f" The environment's key belongs to {self.elsewhere}."
        none = self.line_to_set("none")
        return what, f"{self.key_step.format('one')}; for a server without keys: {none}"

    def posted_to(self) -> str:
        """Return the address that requests are posted to, for a message: no key is in it."""
        return redacted(shown(self.base_url), self.known_keys)

    def line_to_set(self, way: Auth) -> str:
        """Return the line that sends the key in another way from then on, to be typed as it is."""
        return self.auth_line.format(way)


@dataclass(frozen=True, slots=True)
class ServiceSetup:
    """Where and how a client asks.

    Args:
        endpoint: the address and its key.
        timeout: as for :class:`chatmagic.Client`, in seconds.
        extra_body: fields that every request has beside the interface's own.
        extra_headers: headers that every request has beside the connection's own.
    """

    endpoint: Endpoint
    timeout: Timeout | Mapping[str, float | None] | float | None = None
    extra_body: Mapping[str, Any] | None = None
    extra_headers: Mapping[str, str] | None = field(default=None, repr=False)
