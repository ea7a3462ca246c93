"""A cassette's two transports: one answers from a recording, one listens while another answers.

Both hand each fragment on as it is there: the first has no transport behind it and sends
nothing, the second adds nothing to what a fragment takes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final

from chatmagic._json import shared
from chatmagic.cassette.interaction import KEPT_HEADERS, Interaction
from chatmagic.errors import ChatInterrupted
from chatmagic.models import BodyFacts
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import sse
from chatmagic.protocol.wire import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmagic.cassette.cassette import Cassette, Lookup
    from chatmagic.client.sockets import Halt
    from chatmagic.client.transport import Exchange, Transport
    from chatmagic.models import Origin, Reply
    from chatmagic.protocol.auth import Secret

LONGEST_ERROR: Final = 65_536
"""How many bytes of an error's body are kept at most."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client made of an answer that came to its end.

    Args:
        reply: the reply, which is not complete where the answer was an error.
        key: the key that was sent along.
    """

    reply: Reply
    key: Secret | None


def through(
    play: Lookup | None, cassette: Cassette | None, came: Callable[[], Outcome]
) -> Callable[[Transport], Transport] | None:
    """Give what stands between a client and its transport for one ask.

    Args:
        play: who answers; ``None`` where no cassette is in.
        cassette: the one that is in.
        came: asked at the end of an answer what the client made of it.
    """
    if play is None or cassette is None:
        return None
    if play.interaction is not None:
        one = play.interaction
        return lambda _: ReplayTransport(one)
    if play.source == "emulator":
        return lambda transport: transport

    def keep(heard: Captured) -> None:
        end = came()
        kept = recorded(play.query.asked, heard, end.reply, key=end.key)
        if kept is not None:
            cassette.record(kept, play.query)

    return lambda transport: RecordingTransport(transport, keep)


class ReplayTransport:
    """A transport that answers from one recorded exchange, and sends nothing.

    Args:
        recorded: what answers.
    """

    def __init__(self, recorded: Interaction) -> None:
        """Have it at hand."""
        self._recorded = recorded

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Send nothing, and give what was recorded."""
        del body
        return _ReplayExchange(self._recorded, stream=stream, halt=halt)

    def close(self) -> None:
        """Have nothing open."""


class _ReplayExchange:
    """What was recorded, as an answer (see :class:`chatmagic.client.transport.Exchange`)."""

    origin: Origin = "replay"

    def __init__(self, recorded: Interaction, *, stream: bool, halt: Halt) -> None:
        self.status = recorded.status
        self.headers = recorded.headers
        self._halt = halt
        self._pieces = _stream(recorded) if stream and recorded.is_reply else _document(recorded)

    def read(self) -> bytes:
        """Give the next line of the reply; empty at the end.

        Raises:
            ChatInterrupted: it was stopped by a person.
        """
        if self._halt.reason is not None:
            raise ChatInterrupted("Interrupted.")
        return next(self._pieces, b"")

    def finish(self) -> None:
        """Have nothing to give back."""

    def abort(self) -> None:
        """Have nothing to close."""


@dataclass(frozen=True, slots=True)
class Captured:
    """An answer that came to its end.

    Args:
        status: the HTTP status.
        headers: those that a cassette keeps.
        origin: who answered.
        body: the beginning of the body.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    origin: Origin
    body: bytes


class RecordingTransport:
    """A transport that lets another one answer, and tells of the answer when it has ended.

    Args:
        inner: who answers.
        keep: told of each answer that came to its end, and of no other.
    """

    def __init__(self, inner: Transport, keep: Callable[[Captured], object]) -> None:
        """Listen from the first request on."""
        self._inner = inner
        self._keep = keep

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Let the other one send."""
        return _RecordingExchange(self._inner.send(body, stream=stream, halt=halt), self._keep)

    def close(self) -> None:
        """Let the other one close."""
        self._inner.close()


class _RecordingExchange:
    """Another's answer, of which the beginning is kept."""

    def __init__(self, inner: Exchange, keep: Callable[[Captured], object]) -> None:
        self.status = inner.status
        self.headers = inner.headers
        self.origin: Origin = inner.origin
        self._came = datetime.now(UTC)
        self._inner = inner
        self._keep = keep
        self._pieces: list[bytes] = []
        self._room = LONGEST_ERROR

    def read(self) -> bytes:
        piece = self._inner.read()
        if self._room > 0:
            self._pieces.append(piece)
            self._room -= len(piece)
        return piece

    def finish(self) -> None:
        """Give the connection back first: what is kept must not hold it up."""
        self._inner.finish()
        headers = _kept(self.headers, self._came)
        self._keep(Captured(self.status, headers, self.origin, b"".join(self._pieces)))

    def abort(self) -> None:
        self._inner.abort()


def recorded(
    asked: Interaction, heard: Captured, reply: Reply, *, key: Secret | None
) -> Interaction | None:
    """Give what is kept of an exchange; ``None`` where that is nothing.

    Args:
        asked: the request.
        heard: the answer.
        reply: what the client made of it.
        key: the key that was sent along, which is in nothing that is kept.
    """
    origin: Origin = "emulator" if heard.origin == "emulator" else "live"
    one = replace(asked, status=heard.status, headers=heard.headers, took=reply.took, origin=origin)
    if reply.state == "complete":
        one = replace(
            one,
            text=reply.text,
            **shared(reply, BodyFacts),
        )
    else:
        error = _object(heard.body, key)
        if error is None:
            return None
        one = replace(one, error=error)
    return None if key is not None and key.is_in(repr(one)) else one


def _kept(headers: Any, came: datetime) -> tuple[tuple[str, str], ...]:
    """Give the headers that are kept; one that tells no time of its own gets the time it came."""
    found: dict[str, str] = {}
    for name, value in headers:
        if name.lower() in KEPT_HEADERS:
            found[name] = f"{found[name]}, {value}" if name in found else value
    if crediting.date(headers) is None:
        found = {name: value for name, value in found.items() if name.lower() != "date"}
        found["Date"] = format_datetime(came, usegmt=True)
    return tuple(found.items())


def _object(body: bytes, key: Secret | None) -> dict[str, Any] | None:
    """Read an error's body; one that is no JSON object is nobody's answer to keep."""
    try:
        text = body.decode("utf-8-sig", "replace")
        value = json.loads(text if key is None else key.redact(text))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "choices" not in value else None


def _stream(one: Interaction) -> Iterator[bytes]:
    """Return a reply as a stream, an event for each of its lines (facts 6, 7)."""
    for line in (one.text or "").splitlines(keepends=True):
        yield sse.encode(Chunk(line).to_json())
    yield sse.encode(Chunk(**shared(one, BodyFacts)).to_json())
    yield sse.encode_done()


def _document(one: Interaction) -> Iterator[bytes]:
    """Return a reply, or an error, in one piece (facts 4, 8)."""
    reply = Chunk(one.text or "", whole=True, **shared(one, BodyFacts)).to_json()
    yield json.dumps(reply if one.is_reply else one.error).encode()
