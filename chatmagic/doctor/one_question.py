"""The one question that the doctor asks where it is told to, and what is seen of its answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, cast

from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.doctor.gathering import credits_in_words, trouble_of
from chatmagic.doctor.observations import Answered, Clock
from chatmagic.errors import ChatError, NotRecordedError
from chatmagic.models import Message
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.wire import Request
from chatmagic.session.ledger import Reservation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.client.connections import AtRest
    from chatmagic.client.transport import Exchange, Transport
    from chatmagic.models import Origin
    from chatmagic.session.session import Session

QUESTION: Final = "Count from 1 to 20, in digits with spaces between them."
MOST_TOKENS: Final = 100


def ask(session: Session) -> tuple[Answered, Clock]:
    """Ask the question, beside the conversation; budgets and ledger count it.

    Returns:
        What was seen, and the service's time by its answer.

    Raises:
        NotRecordedError: a replay never sends.
    """
    cassette = session.environment.cassette()
    if cassette is not None and cassette.config.mode == "replay":
        raise NotRecordedError(f"{cassette.config.name} is replayed here. Nothing was sent.")
    halt = Halt()
    return session.lock.alone("the doctor's question", partial(_ask, session, halt), halt)


def _ask(session: Session, halt: Halt) -> tuple[Answered, Clock]:
    client = session.clients.client("service", session.environment.service)
    extra = client.setup.extra_body or {}
    request = Request((Message("user", QUESTION),), max_tokens=MOST_TOKENS, extra=extra)
    cell = session.environment.cell()[0]
    reservation = Reservation(client.endpoint, "doctor", cell, request.digest())
    watched = Watched()
    stream = client.send(request, halt, watched.over)
    problem, fragments = cast("BaseException | None", None), 0
    asked = datetime.now(UTC)
    try:
        session.ledger.begin(reservation)
        watched.began = monotonic()
        with stream:
            for fragment in stream:
                fragments += bool(fragment)
    except ChatError as error:
        problem = error
    except BaseException as error:
        problem = error
        raise
    finally:
        session.ledger.end(reservation, stream.reply, problem)
    credits = stream.reply.credits
    seen = replace(
        watched.seen,
        fragments=fragments,
        is_sent=reservation.was_sent(problem),
        cost=credits_in_words(reservation.took, None if credits is None else credits.remaining),
    )
    if isinstance(problem, ChatError):
        return replace(seen, trouble=trouble_of(problem)), watched.clock(asked)
    return replace(seen, connection=watched.connection()), watched.clock(asked)


@dataclass(slots=True)
class Watched:
    """Transport that lets another one send, and notes when something came.

    Args:
        began: when the request was sent, by ``monotonic``.
        seen: what came so far.
        headers: those of the answer.
        arrived: the time here when they had come.
    """

    began: float = 0.0
    seen: Answered = field(default_factory=Answered)
    headers: Sequence[tuple[str, str]] = ()
    arrived: datetime | None = None
    _inner: Transport | None = None

    def over(self, inner: Transport) -> Transport:
        """Return it, over the transport that sends."""
        self._inner = inner
        return self

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Send a request; see :class:`chatmagic.client.transport.Transport`."""
        exchange = cast("Transport", self._inner).send(body, stream=stream, halt=halt)
        self.headers, self.arrived = exchange.headers, datetime.now(UTC)
        self.seen = replace(self.seen, status=exchange.status)
        return _WatchedExchange(exchange, self)

    def close(self) -> None:
        """Leave the other transport as it is."""

    def note(self) -> None:
        """Note that something of the body came."""
        now = monotonic() - self.began
        first = self.seen.first if self.seen.reads else now
        self.seen = replace(self.seen, first=first, last=now, reads=self.seen.reads + 1)

    def connection(self) -> AtRest | None:
        """Return what became of the connection; ``None`` where that is not known."""
        inner = self._inner
        return inner.at_rest() if isinstance(inner, HttpTransport) else None

    def clock(self, asked: datetime) -> Clock:
        """Return the clock here beside the answer's date.

        Args:
            asked: the time here when the request was sent.
        """
        written = crediting.date(self.headers)
        if written is None or self.arrived is None:
            return Clock()
        return Clock(True, crediting.clock_off(written, asked, self.arrived))


class _WatchedExchange:
    """Exchange whose reads are noted."""

    def __init__(self, exchange: Exchange, watched: Watched) -> None:
        self._exchange = exchange
        self._watched = watched
        self.status, self.headers = exchange.status, exchange.headers

    @property
    def origin(self) -> Origin:
        return self._exchange.origin

    def read(self) -> bytes:
        piece = self._exchange.read()
        if piece:
            self._watched.note()
        return piece

    def close(self, *, ended: bool) -> None:
        self._exchange.close(ended=ended)
