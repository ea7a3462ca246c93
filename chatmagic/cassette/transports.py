"""A cassette's two transports: one replays an interaction, one records another's answer.

The replaying transport sends nothing. The recording transport passes each fragment on at once, and
records when the answer has ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Final

from chatmagic._json import with_shared_fields
from chatmagic._log import log_swallowed
from chatmagic.archive.interaction import KEPT_HEADERS, Interaction
from chatmagic.cassette.lookup import Lookup
from chatmagic.client.halt import Halt
from chatmagic.client.transport import Exchange, Transport
from chatmagic.errors import ChatInterrupted
from chatmagic.models import BodyFacts, Origin, Reply
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import sse
from chatmagic.protocol.api_key import Secret, redacted
from chatmagic.protocol.chunk import Chunk

LONGEST_ERROR: Final = 65_536
"""Largest number of bytes of an error's body that are recorded."""


def through(
    lookup: Lookup, record: Callable[[RecordingTransport], object]
) -> Callable[[Transport], Transport]:
    """Return a function that puts a replaying or recording transport before a client's own.

    Args:
        lookup: the source of the answer.
        record: called with each answer of the service that was read to its end.
    """
    if (interaction := lookup.interaction) is not None:
        return lambda _: ReplayTransport(interaction)
    if lookup.source == "emulator":
        return lambda transport: transport
    return lambda transport: RecordingTransport(transport, record)


class ReplayTransport:
    """A transport, and its only exchange, that answers from an interaction and sends nothing.

    Args:
        interaction: the recorded answer.
    """

    origin: Origin = "replay"

    def __init__(self, interaction: Interaction) -> None:
        """Start before the answer."""
        self.status = interaction.status
        self.headers = interaction.headers
        self._interaction = interaction

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Return the recorded answer, for any body.

        Args:
            body: the request's body, which is not sent.
            stream: whether the answer is a stream of events, or one JSON document.
            halt: stops the reading.
        """
        del body
        is_stream = stream and self._interaction.is_reply
        if is_stream:
            self._pieces = _stream(self._interaction)
        else:
            self._pieces = _document(self._interaction)
        self._halt = halt
        return self

    def read(self) -> bytes:
        """Return the next piece of the body; empty at the end.

        Raises:
            ChatInterrupted: the ask was stopped.
        """
        if self._halt.reason is not None:
            raise ChatInterrupted("Interrupted.")
        return next(self._pieces, b"")

    def close(self, *, ended: bool = True) -> None:
        """Do nothing: no connection is open.

        Args:
            ended: not used.
        """


class RecordingTransport:
    """A transport, and its only exchange, that sends by another one and reports the answer.

    Args:
        inner: the other transport.
        record: called with this transport when the answer was read to its end.
    """

    def __init__(self, inner: Transport, record: Callable[[RecordingTransport], object]) -> None:
        """Send nothing yet."""
        self.body = bytearray()
        """The first :data:`LONGEST_ERROR` bytes of the body, and at most one piece more."""
        self._inner = inner
        self._record = record

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Send by the other transport, and return the answer, which is recorded when it ends.

        Args:
            body: the request's body.
            stream: whether a stream of events is expected.
            halt: stops the request.
        """
        self._exchange = answer = self._inner.send(body, stream=stream, halt=halt)
        self.status = answer.status
        self.headers = answer.headers
        self.origin: Origin = answer.origin
        self.came_at = datetime.now(UTC)
        return self

    def read(self) -> bytes:
        """Return the next piece of the body; empty at the end."""
        piece = self._exchange.read()
        if len(self.body) < LONGEST_ERROR:
            self.body += piece
        return piece

    def close(self, *, ended: bool = False) -> None:
        """Release the connection, then record: a slow disk must not hold the connection.

        Args:
            ended: whether the answer was read to its end.
        """
        self._exchange.close(ended=ended)
        if ended:
            self._record(self)


def recorded(
    asked: Interaction, exchange: RecordingTransport, reply: Reply, keys: Sequence[Secret]
) -> Interaction | None:
    """Return the interaction of a request and its answer.

    Args:
        asked: the request.
        exchange: the answer.
        reply: the reply that the client read from it.
        keys: the known keys; none of them is recorded.

    Returns:
        The interaction; ``None`` if the reply is not whole, or if the error is no JSON object.
    """
    interaction = replace(
        asked,
        status=exchange.status,
        headers=_kept(exchange.headers, exchange.came_at, keys),
        took=reply.took,
        seconds=reply.seconds,
        origin="emulator" if exchange.origin == "emulator" else "live",
    )
    if reply.state == "complete":
        interaction = replace(interaction, text=reply.text)
        interaction = with_shared_fields(interaction, reply, BodyFacts)
    elif (error := _error(bytes(exchange.body), keys)) is not None:
        interaction = replace(interaction, error=error)
    else:
        return None
    return interaction


def _kept(headers: Any, came_at: datetime, keys: Sequence[Secret]) -> tuple[tuple[str, str], ...]:
    """Return the recorded headers; a missing ``Date`` is the time of the answer's arrival."""
    kept = {name: redacted(value, keys) for name, value in headers if name.lower() in KEPT_HEADERS}
    if crediting.date(headers) is None:
        kept = {name: value for name, value in kept.items() if name.lower() != "date"}
        kept["Date"] = format_datetime(came_at, usegmt=True)
    return tuple(kept.items())


def _error(body: bytes, keys: Sequence[Secret]) -> dict[str, Any] | None:
    """Return an error's body; ``None`` for any other body."""
    try:
        text = body.decode("utf-8-sig", "replace")
        value = json.loads(redacted(text, keys))
    except (ValueError, RecursionError) as error:
        log_swallowed(error)
        return None
    return value if isinstance(value, dict) and "choices" not in value else None


def _stream(interaction: Interaction) -> Iterator[bytes]:
    """Return a reply as a stream, with an event for each of its lines (facts 6, 7)."""
    for line in (interaction.text or "").splitlines(keepends=True):
        yield sse.encode_event(Chunk(line).to_json())
    yield sse.encode_event(with_shared_fields(Chunk(), interaction, BodyFacts).to_json())
    yield sse.encode_done()


def _document(interaction: Interaction) -> Iterator[bytes]:
    """Return a reply, or an error, as one JSON document (facts 4, 8)."""
    text = interaction.text
    reply = with_shared_fields(Chunk(text or "", whole=True), interaction, BodyFacts)
    yield json.dumps(interaction.error if text is None else reply.to_json()).encode()
