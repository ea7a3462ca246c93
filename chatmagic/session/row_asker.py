"""Sender of a job's requests: each through the ledger and its budgets, by a client of its own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from chatmagic.session.ledger import Reservation, service_of
from chatmagic.session.state import note_tokens

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from chatmagic.client.client import Client
    from chatmagic.client.halt import Halt
    from chatmagic.models import Credits, Reply
    from chatmagic.protocol.wire import Request
    from chatmagic.session.ledger import Estimate
    from chatmagic.session.state import SessionState


class RowAsker:
    """What a job asks by (:class:`chatmagic.batch.job.Asker`).

    Args:
        session: its ledger is written, and what it knows of tokens.
        client: the session's own client for the service.
        check: returns a whole reply, or raises the error of one that has another form.
    """

    def __init__(
        self, session: SessionState, client: Client, check: Callable[[Reply], Reply]
    ) -> None:
        """Send nothing yet."""
        self.session = session
        self._client = client
        self._check = check
        self._cell = session.environment.cell()[0]

    def connect(self) -> AbstractContextManager[Client]:
        """Return a client for one thread; a transport of the user's own is shared."""
        return self._client.twin() or contextlib.nullcontext(self._client)

    def ask(self, client: Client, request: Request, halt: Halt) -> Reply:
        """Send a request, and return the whole reply; see the protocol.

        Raises:
            ChatError: it does not go into a budget, or what ended it early.
            ChatInterrupted: it was stopped.
        """
        stream = client.send(request, halt)
        ledger = self.session.ledger
        reservation = Reservation(client.endpoint, "map", self._cell, request.digest())
        problem: BaseException | None = None
        try:
            ledger.begin(reservation)
            with stream:
                for _ in stream:
                    pass
        except BaseException as error:
            problem = error
            raise
        finally:
            ledger.end(reservation, stream.reply, problem)
            note_tokens(self.session, request, stream.reply)
        return self._check(stream.reply)

    @property
    def service(self) -> str:
        """What the ledger calls the service."""
        return service_of(self._client.endpoint)

    @property
    def _estimate(self) -> Estimate:
        """What a request took lately."""
        return self.session.ledger.meter(self.service).estimate

    def cost(self) -> int:
        """Return about what a request takes in credits, at least 1."""
        return self._estimate.dearest or 1

    def costs(self) -> tuple[int | None, int | None]:
        """Return the least and the most that a request took lately; ``None`` is unknown."""
        estimate = self._estimate
        return estimate.cheapest, estimate.dearest

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the credits, by whichever request told them."""
        figures = self.session.ledger.figures(self._client.endpoint)
        return None if figures is None else figures.credits
