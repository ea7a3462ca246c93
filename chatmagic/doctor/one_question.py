"""The one question that the doctor asks where it is told to, and what is seen of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import ChatError, NotRecordedError
from chatmagic.models import Message
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.wire import Request
from chatmagic.session.ledger import Reservation

if TYPE_CHECKING:
    from datetime import timedelta

    from chatmagic.client.connections import AtRest
    from chatmagic.client.transport import Exchange, Transport
    from chatmagic.session.session import Session

QUESTION: Final = "Count from 1 to 20, in digits with spaces between them."
MOST_TOKENS: Final = 100


@dataclass(slots=True)
class Answered:
    """What became of the one question.

    Args:
        error: why no whole reply came.
        is_sent: whether the question may have been sent.
        status: the HTTP status; ``None`` where no answer came.
        first: seconds to the first word.
        last: seconds to the last one.
        fragments: how many fragments the reply has.
        connection: what became of the connection; ``None`` is unknown.
        took: about how many credits it took; ``None`` is unknown.
        remaining: how many credits are left; ``None`` is unknown.
        has_date: whether the answer told the service's time.
        clock_off: how far the clock here is ahead at least (below 0: behind); ``None`` while it
            may be right.
    """

    error: ChatError | None = None
    is_sent: bool = True
    status: int | None = None
    first: float = 0.0
    last: float = 0.0
    fragments: int = 0
    connection: AtRest | None = None
    took: int | None = None
    remaining: int | None = None
    has_date: bool = False
    clock_off: timedelta | None = None


def ask(session: Session) -> Answered:
    """Ask the question, beside the conversation; budgets and ledger count it.

    Returns:
        What was seen.

    Raises:
        ChatError: what is set cannot be used, or a cassette is replayed; nothing was sent.
    """
    cassette = session.environment.cassette()
    if cassette is not None and cassette.config.mode == "replay":
        raise NotRecordedError(f"{cassette.config.name} is replayed here. Nothing was sent.")
    halt = Halt()
    return session.lock.alone("the doctor's question", partial(_ask, session, halt), halt)


def _ask(session: Session, halt: Halt) -> Answered:
    client = session.clients.client("service", session.environment.service)
    extra = client.setup.extra_body or {}
    request = Request((Message("user", QUESTION),), max_tokens=MOST_TOKENS, extra=extra)
    cell = session.environment.cell()[0]
    reservation = Reservation(client.endpoint, "doctor", cell, request.digest())
    seen, watched = Answered(), _Watched()
    stream = client.send(request, halt, watched.over)
    problem: BaseException | None = None
    asked, began = datetime.now(UTC), monotonic()
    try:
        session.ledger.begin(reservation)
        with stream:
            for _ in stream:
                seen.last = monotonic() - began
                seen.first = seen.first or seen.last
                seen.fragments += 1
    except ChatError as error:
        problem = seen.error = error
    except BaseException as error:
        problem = error
        raise
    finally:
        session.ledger.end(reservation, stream.reply, problem)
    credits = stream.reply.credits
    seen.is_sent, seen.took = reservation.was_sent(problem), reservation.took
    seen.remaining = None if credits is None else credits.remaining
    if (exchange := watched.exchange) is not None:
        seen.status = exchange.status
        written = crediting.date(exchange.headers)
        seen.has_date = written is not None
        seen.clock_off = crediting.clock_off(written, asked, watched.arrived)
    if problem is None and isinstance(watched.inner, HttpTransport):
        seen.connection = watched.inner.at_rest()
    return seen


class _Watched:
    """Transport that lets another one send, and keeps the answer and when its headers came."""

    inner: Transport
    arrived: datetime
    exchange: Exchange | None = None

    def over(self, inner: Transport) -> Transport:
        """Return it, over the transport that sends."""
        self.inner = inner
        return self

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Send a request; see :class:`chatmagic.client.transport.Transport`."""
        self.exchange = self.inner.send(body, stream=stream, halt=halt)
        self.arrived = datetime.now(UTC)
        return self.exchange

    def close(self) -> None:
        """Leave the other transport as it is."""
