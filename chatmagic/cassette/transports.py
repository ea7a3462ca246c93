"""A cassette's two transports: one replays an interaction, one records another transport's answer.

Both hand on each fragment at once: the first has no transport behind it and sends nothing, the
second adds nothing to the time that a fragment takes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final

from chatmagic._json import shared
from chatmagic._log import log_swallowed
from chatmagic.cassette.interaction import KEPT_HEADERS, Interaction
from chatmagic.errors import ChatInterrupted
from chatmagic.models import BodyFacts
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import sse
from chatmagic.protocol.wire import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmagic.cassette.cassette import Cassette, Lookup
    from chatmagic.client.halt import Halt
    from chatmagic.client.transport import Exchange, Transport
    from chatmagic.models import Origin, Reply
    from chatmagic.protocol.auth import Secret

LONGEST_ERROR: Final = 65_536
"""How many bytes of an error's body are recorded at most."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result that a client made of an answer which was read to its end.

    Args:
        reply: the reply, which is not complete where the answer was an error.
        key: the key that was sent.
    """

    reply: Reply
    key: Secret | None


def through(
    lookup: Lookup, cassette: Cassette, outcome: Callable[[], Outcome]
) -> Callable[[Transport], Transport]:
    """Return a function that puts a replaying or recording transport before a client's own.

    Args:
        lookup: what answers.
        cassette: the active cassette.
        outcome: called at the end of an answer; returns what the client made of it.
    """
    if (interaction := lookup.interaction) is not None:
        return lambda _: ReplayTransport(interaction)
    if lookup.source == "emulator":
        return lambda transport: transport

    def record(response: Response) -> None:
        end = outcome()
        new = recorded(lookup.query.asked, response, end.reply, key=end.key)
        if new is not None:
            cassette.record(new, lookup.query)

    return lambda transport: RecordingTransport(transport, record)


class ReplayTransport:
    """A transport that answers from one recorded interaction, and sends nothing."""

    def __init__(self, interaction: Interaction) -> None:
        """Send nothing."""
        self._interaction = interaction

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Return the recorded answer, whatever the body."""
        del body
        return _ReplayExchange(self._interaction, stream=stream, halt=halt)

    def close(self) -> None:
        """Do nothing, as no connection is open."""


class _ReplayExchange:
    """A recorded answer (see :class:`chatmagic.client.transport.Exchange`)."""

    origin: Origin = "replay"

    def __init__(self, interaction: Interaction, *, stream: bool, halt: Halt) -> None:
        self.status = interaction.status
        self.headers = interaction.headers
        self._halt = halt
        is_stream = stream and interaction.is_reply
        self._pieces = _stream(interaction) if is_stream else _document(interaction)

    def read(self) -> bytes:
        """Return the next line of the reply; empty at the end.

        Raises:
            ChatInterrupted: the ask was stopped.
        """
        if self._halt.reason is not None:
            raise ChatInterrupted("Interrupted.")
        return next(self._pieces, b"")

    def close(self, *, ended: bool) -> None:
        """Do nothing, as no connection is open."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer that was read to its end.

    Args:
        status: the HTTP status.
        headers: those of :data:`chatmagic.cassette.interaction.KEPT_HEADERS`.
        origin: what answered.
        body: the first :data:`LONGEST_ERROR` bytes of the body, or some more.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    origin: Origin
    body: bytes


class RecordingTransport:
    """A transport that sends by another one and reports each whole answer.

    Args:
        inner: the other transport.
        record: called with each answer that was read to its end.
    """

    def __init__(self, inner: Transport, record: Callable[[Response], object]) -> None:
        """Report every answer from now on."""
        self._inner = inner
        self._record = record

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Send by the other transport."""
        return _RecordingExchange(self._inner.send(body, stream=stream, halt=halt), self._record)

    def close(self) -> None:
        """Close the other transport."""
        self._inner.close()


class _RecordingExchange:
    """Another transport's answer, the beginning of whose body is kept."""

    def __init__(self, inner: Exchange, record: Callable[[Response], object]) -> None:
        self.status = inner.status
        self.headers = inner.headers
        self.origin: Origin = inner.origin
        self._came_at = datetime.now(UTC)
        self._inner = inner
        self._record = record
        self._body = bytearray()

    def read(self) -> bytes:
        piece = self._inner.read()
        if len(self._body) < LONGEST_ERROR:
            self._body += piece
        return piece

    def close(self, *, ended: bool) -> None:
        """Give the connection back, and record then: a slow disk must not hold it."""
        self._inner.close(ended=ended)
        if ended:
            headers = _kept(self.headers, self._came_at)
            self._record(Response(self.status, headers, self.origin, bytes(self._body)))


def recorded(
    asked: Interaction, response: Response, reply: Reply, *, key: Secret | None
) -> Interaction | None:
    """Return the interaction of a request and its answer.

    Args:
        asked: the request.
        response: the answer.
        reply: what the client made of it.
        key: the key that was sent, which is in nothing that is recorded.

    Returns:
        ``None`` where nothing is to be recorded: a reply that is not whole or holds the key, or
        an error that is no JSON object.
    """
    error = None if reply.state == "complete" else _error(response.body, key)
    if reply.state != "complete" and error is None:
        return None
    facts: dict[str, Any] = {"error": error}
    if error is None:
        facts = {"text": reply.text, **shared(reply, BodyFacts)}
    interaction = replace(
        asked,
        status=response.status,
        headers=response.headers,
        took=reply.took,
        origin="emulator" if response.origin == "emulator" else "live",
        **facts,
    )
    return None if key is not None and key.is_in(repr(interaction)) else interaction


def _kept(headers: Any, came_at: datetime) -> tuple[tuple[str, str], ...]:
    """Return the headers that are recorded; a missing ``Date`` is the time the answer came."""
    kept: dict[str, str] = {}
    for name, value in headers:
        if name.lower() in KEPT_HEADERS:
            kept[name] = f"{kept[name]}, {value}" if name in kept else value
    if crediting.date(headers) is None:
        kept = {name: value for name, value in kept.items() if name.lower() != "date"}
        kept["Date"] = format_datetime(came_at, usegmt=True)
    return tuple(kept.items())


def _error(body: bytes, key: Secret | None) -> dict[str, Any] | None:
    """Return an error's body; ``None`` for any other body."""
    try:
        text = body.decode("utf-8-sig", "replace")
        value = json.loads(text if key is None else key.redact(text))
    except (ValueError, RecursionError) as error:
        log_swallowed(error)
        return None
    return value if isinstance(value, dict) and "choices" not in value else None


def _stream(interaction: Interaction) -> Iterator[bytes]:
    """Return a reply as a stream, an event for each of its lines (facts 6, 7)."""
    for line in (interaction.text or "").splitlines(keepends=True):
        yield sse.encode(Chunk(line).to_json())
    yield sse.encode(Chunk(**shared(interaction, BodyFacts)).to_json())
    yield sse.encode_done()


def _document(interaction: Interaction) -> Iterator[bytes]:
    """Return a reply, or an error, in one piece (facts 4, 8)."""
    text = interaction.text
    reply = Chunk(text or "", whole=True, **shared(interaction, BodyFacts)).to_json()
    yield json.dumps(interaction.error if text is None else reply).encode()
