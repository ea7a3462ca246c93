"""Sender of a map's rows: who answers them, through which links."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from threading import Lock

from chatmagic.advice import Place
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.client.work_lock import working
from chatmagic.conversation.question import RequestFacts
from chatmagic.errors import ChatError
from chatmagic.models import Credits, Reply
from chatmagic.protocol.api_key import redacted
from chatmagic.protocol.request import Request
from chatmagic.protocol.url import EMULATOR, shown_url
from chatmagic.session.client_pool import ClientPool
from chatmagic.session.environment import Environment
from chatmagic.session.exchange import Link, Sending, joined
from chatmagic.session.ledger import Ledger
from chatmagic.session.ledger_row import service_of
from chatmagic.session.map.pace import is_refusal
from chatmagic.session.map.shared_files import FolderPause
from chatmagic.session.meter import Meter
from chatmagic.session.source import AnswerFile


class RowSender:
    """Sender of a map's rows.

    Args:
        environment: the source of the endpoint.
        ledger: the ledger of the requests.
        clients: the session's clients.
        links: the links that each request goes through; the ledger is one of them.
        replayed: the file of answers that is replayed, so that nothing is sent; ``None`` for none.

    Raises:
        ChatError: nothing is connected.
    """

    pause: FolderPause | None = None
    """The pause that other processes share; ``None`` for none."""
    written_as: str | None = None
    """The address in another spelling, which is part of the keys; ``None`` for its own."""

    def __init__(
        self,
        environment: Environment,
        ledger: Ledger,
        clients: ClientPool,
        links: Sequence[Link],
        *,
        replayed: AnswerFile | None = None,
    ) -> None:
        """Find the service; send nothing."""
        self.replayed = replayed
        """The file of answers with which nothing is sent; ``None`` for none."""
        if replayed is None:
            self._client = clients.client("service", environment.service)
        else:
            self._client = clients.client("replay", lambda: environment.current().without_service)
        self.setup = (clients.given or self._client).setup
        """The settings of the requests."""
        self.environment = environment
        self.place: Place = environment.place if clients.given is None else "python"
        """The place whose words the map's errors have."""
        self.ledger = ledger
        self._exchange = joined(links)
        self._cell = environment.cell()[0]
        self._work_lock = Lock()

    def connect(self) -> AbstractContextManager[Client]:
        """Return a client for the threads of a map; of a user's own transport it is the user's."""
        return self._client.twin() or contextlib.nullcontext(self._client)

    def send(
        self, client: Client, request: Request, digest: str, question: RequestFacts, halt: Halt
    ) -> Reply:
        """Send a request once, and return the whole reply.

        Args:
            client: a client of :meth:`connect`.
            request: the row's request.
            digest: its digest.
            question: the question of all rows.
            halt: stops it from another thread.

        Raises:
            ChatError: the request exceeds a budget, or ended early.
            ChatInterrupted: it was stopped.
        """
        sending = Sending(client, request, digest, "map", self._cell, halt=halt, question=question)
        with self._working(client):
            answer = self._exchange(sending)
        problem = answer.problem
        if self.pause is not None and isinstance(problem, ChatError) and is_refusal(problem):
            self.pause.extend(problem.retry_soonest or problem.retry_after)
        self.ledger.note_tokens(request, answer.reply)
        return answer.whole()

    def _working(self, client: Client) -> AbstractContextManager[None]:
        """Return the block in which one thread works, while the others wait for the network.

        A user's own transport does not say when it waits, so its threads work without the lock.

        Args:
            client: a client of :meth:`connect`.
        """
        return contextlib.nullcontext() if client is self._client else working(self._work_lock)

    def pause_left(self) -> float:
        """Return the seconds until other processes let a request begin."""
        return 0.0 if self.pause is None else self.pause.left()

    @property
    def address(self) -> str | None:
        """The address that is part of each row's key; ``None`` if nothing is sent."""
        endpoint = self._client.endpoint
        if self.replayed is not None:
            return None
        if self.written_as is not None:
            return self.written_as
        return EMULATOR if endpoint.is_emulator else endpoint.base_url

    def shown(self, address: str) -> str:
        """Return the address that requests are posted to, for a message: no key is in it.

        Args:
            address: an address, as it is part of keys.
        """
        words = address if address == EMULATOR else shown_url(address)
        return redacted(words, self._client.endpoint.known_keys)

    @property
    def service(self) -> str:
        """Name of the service in the ledger."""
        return service_of(self._client.endpoint)

    @property
    def meter(self) -> Meter:
        """The meter of the service."""
        return self.ledger.meter(self.service)

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the credits, from any request."""
        figures = self.ledger.figures(self._client.endpoint)
        return None if figures is None else figures.credits
