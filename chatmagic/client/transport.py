"""HTTP alone: a request is sent, its answer is read, and both are finished or aborted.

The only module that sends, with ``urllib3`` and the adapter of ``requests``. This module, and
:mod:`chatmagic.client.connections` below it, add four things:

- The connection adds the key, below everything that logs, redirects or reports, so no URL, header
  or exception of these libraries ever holds it.
- The body is read with ``read1``, which delivers every fragment as it arrives.
- Another thread can stop a waiting reader at any point, even before the connection
  (:class:`~chatmagic.client.halt.Halt`).
- A reply that has ended is drained for a moment, so that its connection can be used again.

Nothing is ever sent twice: no retry, no redirect.
"""

from __future__ import annotations

import http.client
import zlib
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final, Protocol

import urllib3

from chatmagic import _started_emulators
from chatmagic._fork import belongs_to_process
from chatmagic._log import log_swallowed, swallowed
from chatmagic._version import __version__
from chatmagic.client import network_errors
from chatmagic.client.adapter import KeyedAdapter
from chatmagic.client.clock import ExchangeClock
from chatmagic.client.current_exchange import CURRENT, ConnectionMade, SharedState
from chatmagic.client.endpoint import ServiceSetup, Timeout
from chatmagic.client.halt import Halt
from chatmagic.client.kept_exchange import PlainAnswer
from chatmagic.client.proxies import proxies_for
from chatmagic.client.sockets import PIECE_BYTES
from chatmagic.client.timed_response import Response
from chatmagic.errors import COST_UNKNOWN, NotUnderstoodError
from chatmagic.models import Origin
from chatmagic.protocol.answer_text import header
from chatmagic.protocol.request import EMULATOR_SERVER
from chatmagic.protocol.url import models_url, origin, request_url
from chatmagic.safe_text import one_line

DRAIN_BYTES = 4_096
DRAIN_SECONDS = 0.05


class Exchange(Protocol):
    """A request that was sent, and its answer, as a transport returns them."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """The answer's headers in order, as sent."""

    @property
    def origin(self) -> Origin:
        """Source of the answer: the service, its emulator, or a recording."""

    def read(self) -> bytes:
        """Return the next piece of the body as soon as there is one; empty at the end."""

    def close(self, *, ended: bool) -> None:
        """Close the connection; harmless when repeated.

        Args:
            ended: whether the answer was read to its end, so that the connection may be kept.
        """


class Transport(Protocol):
    """Carrier of requests to the service and of their answers; :class:`Client` takes one."""

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Send a request; return its answer as soon as the status and headers are there.

        Args:
            body: the request's JSON, as bytes.
            stream: whether a stream is asked for.
            halt: stops the exchange from another thread; its ``reason`` is set then.

        Raises:
            ChatError: nothing was sent, or no answer arrived.
            ChatInterrupted: ``halt`` was stopped by a person.
        """

    def close(self) -> None:
        """Close all connections; another request may open them again."""


class HttpTransport:
    """Transport that sends to one address by HTTP, with one key.

    Args:
        setup: the endpoint and its settings; another setup of the same endpoint may replace it.
    """

    def __init__(self, setup: ServiceSetup) -> None:
        """Open nothing yet."""
        self.setup = setup
        endpoint = setup.endpoint
        self._url = request_url(endpoint.base_url)
        self._shared = SharedState(endpoint.auth, endpoint.key)
        # A session would also follow redirects, keep cookies and read a .netrc.
        self._adapter = KeyedAdapter()
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Have no connection, in a forked child."""
        self._adapter = KeyedAdapter()

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> HttpExchange:
        """Send a request; return its answer (see :class:`Transport`).

        Args:
            body: the request's body, as JSON.
            stream: whether the answer is read as a stream.
            halt: stops the exchange from another thread.
        """
        return self._exchange("POST", self._url, body, _headers(stream=stream), halt)

    def get_models(self, halt: Halt) -> HttpExchange:
        """Ask for the list of models, which the interface does not have, at the same origin.

        Args:
            halt: stops this exchange.

        Raises:
            ChatError: as :meth:`send`.
            ChatInterrupted: as :meth:`send`.
        """
        headers = _headers(stream=False)
        del headers["Content-Type"]
        return self._exchange("GET", models_url(self.setup.endpoint.base_url), None, headers, halt)

    def connect(self, halt: Halt) -> None:
        """Make the connection that a request would have, and close it; no request is sent.

        A proxy is asked for a tunnel if a request to the service would need one.

        Args:
            halt: stops it from another thread.

        Raises:
            ChatError: as :meth:`send`.
            ChatInterrupted: as :meth:`send`.
        """
        CURRENT.only_connects = True
        try:
            self._exchange("POST", self._url, b"", _headers(stream=True), halt)
        except ConnectionMade:
            return
        finally:
            CURRENT.only_connects = False

    def _exchange(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str], halt: Halt
    ) -> HttpExchange:
        timeout = Timeout.from_value(self.setup.timeout)
        clock = CURRENT.clock = ExchangeClock(timeout, halt)
        CURRENT.shared = self._shared
        bundle = network_errors.certificate_bundle()
        try:
            clock.start()
            response = self._adapter.open(
                method,
                url,
                body,
                _joined(headers, self.setup.extra_headers),
                timeout=timeout,
                proxies=proxies_for(self._url),
                verify=True if bundle is None else bundle[1],
            )
            return HttpExchange(response, clock, self._url)
        except BaseException as error:  # noqa: BLE001 - an interrupt closes the connection too
            clock.stop()
            halt.cut()
            if not isinstance(error, ConnectionMade):
                log_swallowed(error)
            name = getattr(self.setup.endpoint.server, "name", "")
            problem = network_errors.reported(error, clock, self._url, name)
            if problem is error:
                # It may have come while a lock of urllib3 was held: the next ask has other pools.
                self.close()
        raise problem

    def close(self) -> None:
        """Close the connections that wait for their next use."""
        self._adapter.close()
        self._adapter = KeyedAdapter()


class HttpExchange:
    """An answer whose status and headers are there (see :class:`Exchange`)."""

    def __init__(
        self, raw: urllib3.BaseHTTPResponse | PlainAnswer, clock: ExchangeClock, url: str
    ) -> None:
        """Take over a response whose body has not been read.

        Args:
            raw: the response.
            clock: its time limits.
            url: the address of the request.
        """
        self.status = raw.status
        self.headers = tuple(raw.headers.items())
        is_named = header(self.headers, "server").startswith(EMULATOR_SERVER)
        # Any server can send the header: it counts at an address where no other can listen.
        is_emulator = is_named and _started_emulators.is_one(origin(url))
        self.origin: Origin = "emulator" if is_emulator else "live"
        self._raw = raw
        self._is_here = False
        """Whether the connection has no more of the answer."""
        self._clock = clock
        self._halt = clock.halt
        self._inflater = inflater(header(self.headers, "content-encoding"))
        # urllib3's work for each piece costs more than reading it, so plain bodies bypass urllib3.
        # Not those of known length, whose bytes it counts.
        is_plain = raw.length_remaining is None
        below: Response | None = getattr(raw, "_original_response", None)
        self._below = below if is_plain else None
        if raw.connection is None:
            self._leave_connection()

    def read(self) -> bytes:
        """Return the next piece of the body as soon as there is one; empty at the end.

        Raises:
            ChatError: the connection broke, fell silent, or did not speak HTTP.
            ChatInterrupted: it was stopped by a person.
        """
        try:
            if not self._is_here:
                self._clock.renew()
            piece = self._read() if self._inflater is None else self._inflater.read(self._read)
        except BaseException as error:  # noqa: BLE001 - an interrupt closes the connection too
            self.close(ended=False)
            log_swallowed(error)
            problem = network_errors.reported(error, self._clock)
        else:
            if self._halt.reason is None:
                if self._is_here:
                    return piece
                if self._raw.connection is None:
                    self._leave_connection()
                elif piece and self._clock.which == "first_byte":
                    self._clock.enter("silence")
                return piece
            self.close(ended=False)
            problem = network_errors.halted(self._clock, self._halt.reason)
        raise problem

    def _leave_connection(self) -> None:
        """Note that the rest of the body is here: the connection may serve another exchange now."""
        self._is_here = True
        self._halt.watch(None)

    def _read(self) -> bytes:
        """Return the next piece of the body as it was sent."""
        if self._below is None or not (piece := self._below.read1(PIECE_BYTES)):
            return self._raw.read1(PIECE_BYTES, decode_content=False)
        return piece

    def close(self, *, ended: bool) -> None:
        """Close the connection; see :class:`Exchange`.

        Args:
            ended: whether the answer was read to its end, so that the connection can be kept.
        """
        self._clock.stop()
        try:
            if ended:
                self._drain()
        finally:
            # An answer that was read to its end has given its connection back by itself.
            self._raw.close()
            # Last, so that after an interrupt before this the connection can still be cut off.
            if not self._is_here:
                self._leave_connection()

    def _drain(self) -> None:
        """Read the small rest, which returns the connection to the pool.

        What is here already is read however late it is: a busy machine may pause this thread.
        """
        if self._raw.connection is None:
            return
        until = monotonic() + DRAIN_SECONDS
        left = DRAIN_BYTES
        self._halt.settimeout(DRAIN_SECONDS)
        with swallowed(urllib3.exceptions.HTTPError, http.client.HTTPException, OSError):
            while self._raw.connection is not None and left > 0:
                left -= len(self._raw.read1(left, decode_content=False))
                if monotonic() >= until:
                    break


_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32


class Inflater:
    """Incremental decoder of one layer of gzip or deflate, in pieces of bounded size.

    A few bytes may stand for thousands of times as many, so no piece is decoded as a whole.
    """

    def __init__(self) -> None:
        """Start before the first piece; its first bytes tell gzip from zlib."""
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._is_new = True
        self._is_full = False
        self._left = b""

    def read(self, more: Callable[[], bytes]) -> bytes:
        """Return the next decoded bytes, at most :data:`PIECE_BYTES`; empty at the end.

        Args:
            more: returns the next bytes to decode; empty at the end.

        Raises:
            urllib3.exceptions.DecodeError: they are damaged.
        """
        while True:
            if not self._left and not self._is_full:
                self._left = more()
                if not self._left:
                    return b""
            if piece := self._decode():
                return piece

    def _decode(self) -> bytes:
        """Return the next bytes that the present ones stand for; empty if more are needed."""
        # A gzip file may have several members.
        goes_on = not self._stream.eof
        stream = self._stream if goes_on else zlib.decompressobj(_GZIP_OR_ZLIB)
        try:
            piece = stream.decompress(self._left, PIECE_BYTES)
        except zlib.error as error:
            if not goes_on:  # no member, but bytes that mean nothing
                self._left = b""
                return b""
            if not self._is_new:
                raise urllib3.exceptions.DecodeError(str(error)) from None
            # Some servers send deflate without the frame that the standard wants.
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
            self._is_new = False
            return self._decode()
        self._stream = stream
        self._is_new = False
        self._is_full = len(piece) == PIECE_BYTES
        self._left = stream.unconsumed_tail or stream.unused_data
        return piece


class Unreadable(Inflater):
    """Decoder of an encoding that was not asked for: it refuses to read."""

    def __init__(self, encodings: str) -> None:
        """Keep the words of the answer."""
        super().__init__()
        self._encodings = encodings

    def read(self, more: Callable[[], bytes]) -> bytes:
        """Read nothing.

        Args:
            more: not called.

        Raises:
            NotUnderstoodError: always.
        """
        del more
        raise NotUnderstoodError(
            f'The answer is encoded as "{one_line(self._encodings)}", and one layer of gzip or '
            "deflate is read at most.",
            hint=COST_UNKNOWN,
        )


def inflater(encodings: str) -> Inflater | None:
    """Return the decoder of a body; ``None`` for a plain one.

    Only gzip is asked for, and for streams nothing. A proxy may compress all the same, so one layer
    is read wherever it comes from. No honest answer has two.

    Args:
        encodings: the header ``Content-Encoding``; empty without one.
    """
    layers = [word.strip().lower() for word in encodings.split(",")]
    layers = [layer for layer in layers if layer not in ("", "identity")]
    if not layers:
        return None
    is_known = len(layers) == 1 and layers[0] in ("gzip", "x-gzip", "deflate")
    return Inflater() if is_known else Unreadable(encodings)


def _joined(headers: dict[str, str], more: Mapping[str, str] | None) -> dict[str, str]:
    """Return headers with others, which replace those of the same name in any case."""
    if not more:
        return headers
    names = {name.lower() for name in more}
    kept = {name: value for name, value in headers.items() if name.lower() not in names}
    return {**kept, **more}


def _headers(*, stream: bool) -> dict[str, str]:
    return {
        "Connection": "keep-alive",
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json" if stream else "application/json",
        # A compressor on the way would hold a stream back.
        "Accept-Encoding": "identity" if stream else "gzip",
        "User-Agent": f"chatmagic/{__version__}",
    }
