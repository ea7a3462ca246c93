"""List of a server's models, by the path that compatible servers have for it.

The interface has no such path (fact 1), so nothing of the answer is assumed but the names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Final

from chatmagic.client import advice, config, network_errors
from chatmagic.client.halt import Halt
from chatmagic.client.response import ResponseReader, time_of
from chatmagic.client.timeouts import Timeout
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import AuthenticationError, InputError, NotRecordedError, NotUnderstoodError
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import url
from chatmagic.protocol.response_errors import decoded
from chatmagic.protocol.wire import ReplyBuilder

if TYPE_CHECKING:
    from chatmagic.client.credit_tracker import CreditTracker
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.client.transport import Exchange, Transport
    from chatmagic.errors import ChatError
    from chatmagic.models import Credits, Origin

LARGEST: Final = 8 * 2**20
"""How many bytes of an answer are read."""
_NONE: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
_NAME_IT: Final = "Its documentation names them; %chat_connect URL --model NAME sets one."


@dataclass(frozen=True, slots=True)
class ModelList:
    """Models that a server lists.

    Args:
        names: their names, in the server's order.
        credits: what the answer's headers told of the credits; ``None`` where nothing.
        took: about how many credits it took; ``None`` is unknown.
        origin: what answered.
    """

    names: tuple[str, ...]
    credits: Credits | None = None
    took: int | None = None
    origin: Origin = "live"


def ask(transport: Transport, endpoint: Endpoint, tracker: CreditTracker) -> ModelList:
    """Ask a server for its models; one request, which is a GET with the key.

    Args:
        transport: what sends it.
        endpoint: where it goes, and with which key.
        tracker: takes what the answer tells of the credits.

    Raises:
        ChatError: there is no list; what the answer told of the credits is in the tracker.
    """
    if (why := config.replaying()) is not None:
        raise NotRecordedError(f"{why}, and no cassette holds a list of models. Nothing was sent.")
    if not isinstance(transport, HttpTransport):
        raise InputError("The transport of this client sends questions alone. Nothing was sent.")
    if endpoint.key is None and endpoint.auth != "none":
        what, hint = endpoint.no_key_message()
        raise AuthenticationError(what, hint=hint)
    halt, sent, asked, before = Halt(), monotonic(), datetime.now(UTC), tracker.state
    tracker.enter(None, before)  # without an answer, what the next one took is not known
    exchange = transport.get_models(halt)
    ended = False
    try:
        now = time_of(exchange)
        is_live = exchange.origin == "live" and not url.is_loopback(endpoint.base_url)
        tracker.note_headers(exchange.headers, asked=asked, now=now, is_live=is_live)
        if not HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES:
            error = _refused(exchange, halt, endpoint, sent)
            tracker.enter(error.credits, before)
            raise error
        seen = crediting.from_headers(exchange.headers, now)
        tracker.enter(seen, before)
        limits = Timeout.of(transport.setup.timeout)
        names = _names(_body(exchange, sent, limits.total or limits.first_byte))
        ended = True
        return ModelList(names, seen, tracker.state.took, exchange.origin)
    finally:
        exchange.close(ended=ended)
        halt.cut()


def _refused(exchange: Exchange, halt: Halt, endpoint: Endpoint, sent: float) -> ChatError:
    """Return the error of an answer that is no list."""
    error = ResponseReader(exchange, ReplyBuilder(), halt, endpoint, sent).error()
    if exchange.status not in _NONE:
        return advice.advised(error, endpoint, "")
    return NotUnderstoodError(
        f"{endpoint.origin} lists no models (HTTP {exchange.status}).",
        hint=_NAME_IT,
        status=exchange.status,
        credits=error.credits,
    )


def _body(exchange: Exchange, sent: float, seconds: float | None) -> str:
    """Return the body, of which all has to come within so many seconds."""
    pieces, size = [], 0
    while size <= LARGEST and (piece := exchange.read()):
        if seconds is not None and monotonic() - sent > seconds:
            raise network_errors.late("total", seconds, "")
        pieces.append(piece)
        size += len(piece)
    return decoded(b"".join(pieces), exchange.headers) if size <= LARGEST else ""


def _names(text: str) -> tuple[str, ...]:
    """Return the names in a list of models."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    listed = value.get("data") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise NotUnderstoodError("What was answered is no list of models.", hint=_NAME_IT)
    names = (item.get("id") for item in listed if isinstance(item, dict))
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))
