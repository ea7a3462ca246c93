"""The clients of one session: one for each source of answers, kept while its setup holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmagic.client.client import Client
from chatmagic.client.credit_tracker import CreditState

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.cassette.cassette import AnswerSource
    from chatmagic.client.endpoint import ServiceSetup


class ClientPool:
    """The clients that a session asks with, and the connections that they keep.

    Args:
        given: the client for the service; ``None`` makes one as the environment says.
    """

    def __init__(self, given: Client | None = None) -> None:
        """Start without any."""
        self.given = given
        self.latest = given
        """The client of the latest ask; ``None`` before the first."""
        self._made: dict[AnswerSource, Client] = {}

    @property
    def credit_state(self) -> CreditState:
        """The credits as the client of the latest ask knows them."""
        return CreditState() if self.latest is None else self.latest.credit_tracker.state

    def client(self, source: AnswerSource, setup: Callable[[], ServiceSetup]) -> Client:
        """Return the client for an ask: the one that is kept, where its setup still holds.

        Args:
            source: what answers.
            setup: returns where and how to ask; not called for the client that was given.

        Raises:
            ChatError: what is set cannot be used.
        """
        if source == "service" and self.given is not None:
            self.latest = self.given
            return self.given
        new, client = setup(), self._made.get(source)
        if client is not None and new.endpoint.is_same_service(client.endpoint):
            client.retune(new)
        else:
            if client is not None:
                client.close()
            client = Client.connected(new)
        self._made[source] = self.latest = client
        return client

    def forget(self) -> None:
        """Close all; the next ask makes its own."""
        self.close()
        self._made.clear()
        self.latest = self.given

    def close(self) -> None:
        """Close the connections that are kept."""
        for client in (self.given, *self._made.values()):
            if client is not None:
                client.close()
