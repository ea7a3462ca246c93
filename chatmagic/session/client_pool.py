"""The clients of one session: one for each who answers it, kept while its setup holds."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmagic import _lazy
from chatmagic.client import config, url
from chatmagic.client.config import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmagic.cassette.cassette import AnswerSource
    from chatmagic.client.client import Client
    from chatmagic.client.timeouts import Timeout


@dataclass(frozen=True, slots=True)
class ServiceSetup:
    """Where and how a session asks."""

    endpoint: Endpoint
    timeout: Timeout | Mapping[str, float | None] | float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class ClientPool:
    """Whom a session asks, and the connections that are kept to them.

    Args:
        given: whom to ask for the service; ``None`` makes a client as a setup says.
    """

    def __init__(self, given: Client | None = None) -> None:
        """Make none yet."""
        self.given = given
        self.latest = given
        """The client of the latest ask; ``None`` before the first."""
        self._made: dict[AnswerSource, tuple[ServiceSetup, Client]] = {}

    def of(self, who: AnswerSource, asked: Callable[[], ServiceSetup]) -> Client:
        """Give the client for what is set now; a new one only where that has changed.

        Args:
            who: who answers.
            asked: says where and how; asked where no client was given.
        """
        if who == "service" and self.given is not None:
            self.latest = self.given
            return self.given
        setup = asked()
        known = self._made.get(who)
        if known is None or known[0] != setup:
            # requests comes with the first question, not with the extension.
            _lazy.load("chatmagic.client.transport")
            from chatmagic.client.client import Client  # noqa: PLC0415

            door = setup.endpoint
            how: dict[str, Any] = {
                "timeout": setup.timeout,
                "extra_body": setup.extra_body,
                "extra_headers": setup.extra_headers,
            }
            if known is not None and door.is_same_service(known[1].endpoint):
                client = known[1]
                client.retune(door, **how)
            else:
                if known is not None:
                    known[1].close()
                client = Client.connected(door, **how)
            known = self._made[who] = setup, client
        self.latest = known[1]
        return self.latest

    def forget(self) -> None:
        """Close all, and make them anew when they are asked for."""
        self.close()
        self._made.clear()
        self.latest = self.given

    def close(self) -> None:
        """Close the connections that are kept."""
        for client in (self.given, *(client for _, client in self._made.values())):
            if client is not None:
                client.close()


def from_environment() -> ServiceSetup:
    """Say where and how the environment asks."""
    return ServiceSetup(config.resolve_for_client(os.environ))


def practice() -> Endpoint:
    """Give the emulator of this kernel, for what a cassette does not hold."""
    return config.with_local_emulator(
        Endpoint(url.EMULATOR, "bearer", None, "--else emulator", url.EMULATOR)
    )
