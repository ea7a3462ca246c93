"""The clients of a session, one for each source of answers."""

from __future__ import annotations

from collections.abc import Callable

from chatmagic.client.client import Client
from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.client.endpoint import ServiceSetup


class ClientPool:
    """The clients that a session asks with, and the connections that they keep.

    Args:
        given: the client for the service; ``None`` makes one by the environment.
    """

    def __init__(self, given: Client | None = None) -> None:
        """Start without other clients."""
        self.given = given
        self.latest = given
        """The client of the latest ask; ``None`` before the first."""
        self._made: dict[str, Client] = {}

    @property
    def credit_state(self) -> CreditTracker:
        """The credits that the client of the latest ask knows."""
        return CreditTracker() if self.latest is None else self.latest.credit_tracker

    def client(self, source: str, setup: Callable[[], ServiceSetup]) -> Client:
        """Return the client for an ask: the kept one, if its setup is still the same.

        Args:
            source: name of the source of the answer; ``service`` is the service.
            setup: returns the endpoint and its settings; not called for a given client.

        Raises:
            ChatError: a setting cannot be used.
        """
        if source == "service" and self.given is not None:
            self.latest = self.given
            return self.given
        new = setup()
        client = self._made.get(source)
        if client is not None and new.endpoint.account == client.endpoint.account:
            client.retune(new)
        else:
            if client is not None:
                client.close()
            client = Client.connected(new)
        self._made[source] = client
        self.latest = client
        return client

    def forget(self) -> None:
        """Close and forget all clients; the next ask makes new ones."""
        self.close()
        self._made.clear()
        self.latest = self.given

    def close(self) -> None:
        """Close the connections that are kept."""
        for client in (self.given, *self._made.values()):
            if client is not None:
                client.close()
