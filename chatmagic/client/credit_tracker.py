"""Credit tracker of one client: credits, requests left, and how far the clock here is off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from chatmagic.client.endpoint import Endpoint
from chatmagic.client.transport import Exchange
from chatmagic.models import Credits
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.credits import RequestLimit
from chatmagic.protocol.url import is_loopback


@dataclass(frozen=True, slots=True)
class CreditState:
    """State of a service's credits, from the answers so far.

    Args:
        credits: the last figures that any answer gave; ``None`` before the first.
        received_at: the time here when the answer with ``credits`` came.
        clock_off: how far the clock here is ahead of the service's (below 0: behind), at
            least; ``None`` where the latest live answer from another machine had no date,
            and while the clock may be right.
        requests: how many requests are left, from the latest answer that has such a figure.
        lacks_usage: whether the latest reply was streamed by a service without token counts.
    """

    credits: Credits | None = None
    received_at: datetime | None = None
    clock_off: timedelta | None = None
    requests: RequestLimit | None = None
    lacks_usage: bool = False


def came_at(exchange: Exchange) -> datetime:
    """Return the time here or, for a replayed answer, its own date.

    Args:
        exchange: the answer, whose headers have just come.
    """
    here = datetime.now(UTC)
    return (crediting.date(exchange.headers) or here) if exchange.origin == "replay" else here


class CreditTracker:
    """The credit state of one client, replaced as a whole: a reader never sees half of it."""

    def __init__(self) -> None:
        """Start without any figures."""
        self.state = CreditState()

    def note_credits(self, seen: Credits | None) -> None:
        """Note an answer's credits.

        Args:
            seen: its figures; ``None``, where it told none, changes nothing.
        """
        if seen is not None:
            self.state = replace(self.state, credits=seen, received_at=datetime.now(UTC))

    def note_headers(self, exchange: Exchange, endpoint: Endpoint, asked: datetime) -> datetime:
        """Note the requests left and the date in an answer's headers; return when they came.

        Args:
            exchange: the answer.
            endpoint: where it was asked; the clock of another machine alone may be compared.
            asked: the time here when the request was sent, aware.
        """
        headers, now = exchange.headers, came_at(exchange)
        requests = crediting.request_limit(headers, now) or self.state.requests
        self.state = replace(self.state, requests=requests)
        written = crediting.date(headers)
        if written and exchange.origin == "live" and not is_loopback(endpoint.base_url):
            off = crediting.clock_off(written, asked, now)
            self.state = replace(self.state, clock_off=off)
        return now

    def note_usage(self, *, lacks_usage: bool) -> None:
        """Note whether a service's stream came without token counts.

        Args:
            lacks_usage: whether a stream that was asked for them ended without any.
        """
        self.state = replace(self.state, lacks_usage=lacks_usage)
