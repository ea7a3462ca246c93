"""HTTP, and nothing but HTTP: send one request, read its answer, finish or abort it.

The only module that sends with ``requests`` and ``urllib3``. Four things are done here that
neither does by itself:

- The key is put on in the connection (:class:`_Connection`), below everything that logs,
  redirects or reports, so no URL, header or exception of theirs ever holds it.
- The body is read with ``read1``, which hands every fragment on as it comes.
- A reader that waits can be stopped from another thread, headers or not (:class:`Halt`).
- A reply that has ended is drained for a moment, so that its connection serves again.

Nothing is ever sent twice: no retry, no redirect.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import threading
import time
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol
from urllib.parse import quote

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

import chatmagic
from chatmagic import address, breakage
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    InputError,
    RequestTimeoutError,
)
from chatmagic.wire import EMULATOR_SERVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.errors import Which
    from chatmagic.wire import Auth, Origin, Secret

PIECE_BYTES = 65_536
DRAIN_BYTES = 4_096
DRAIN_SECONDS = 0.05
MOST_SECONDS = 100_000_000
"""Three years; sockets and timers take no more than some hundred."""


@dataclass(frozen=True, slots=True)
class Timeout:
    """How long to wait, in seconds; ``None`` waits for ever.

    Args:
        connect: for the connection.
        first_byte: for the first byte of the answer's body.
        silence: between two pieces of the answer; any byte counts as life.
        total: for the whole answer.

    Raises:
        InputError: a time is not a number above 0.
    """

    connect: float | None = 10.0
    first_byte: float | None = 60.0
    silence: float | None = 60.0
    total: float | None = None

    def __post_init__(self) -> None:
        """Check the times."""
        for name in self.__slots__:
            seconds = getattr(self, name)
            if seconds is not None and (
                isinstance(seconds, bool)
                or not isinstance(seconds, int | float)
                or not 0 < seconds <= MOST_SECONDS
            ):
                raise InputError(
                    f"The time-out {name} is a number of seconds above 0, {MOST_SECONDS:,} at "
                    "most; None waits for ever."
                )

    @classmethod
    def of(cls, value: Timeout | float | None) -> Timeout:
        """Give the time-outs that ``value`` stands for; a number is ``first_byte`` and ``silence``.

        Raises:
            InputError: it is neither a number above 0 nor a :class:`Timeout`.
        """
        if isinstance(value, Timeout):
            return value
        return cls() if value is None else cls(first_byte=value, silence=value)


class Halt:
    """Stops one exchange from any thread; an end that comes after it is never a clean end."""

    def __init__(self) -> None:
        """Start with nothing to stop."""
        self.reason: Literal["stop", "total"] | None = None
        self._sock: socket.socket | None = None
        self._lock = threading.Lock()

    def stop(self, reason: Literal["stop", "total"] = "stop") -> None:
        """Wake the reader, whatever it waits for on its socket; the first reason counts."""
        with self._lock:
            self.reason = self.reason or reason
            _shut_down(self._sock)

    def cut(self) -> None:
        """Shut the socket down, without a reason to report."""
        with self._lock:
            _shut_down(self._sock)

    def watch(self, sock: socket.socket | None) -> None:
        """Take note of the socket that a stop has to shut down."""
        with self._lock:
            self._sock = sock
            if self.reason is not None:
                _shut_down(sock)

    def settimeout(self, seconds: float | None) -> None:
        """Set how long the next read may wait."""
        with self._lock, contextlib.suppress(OSError):
            if self._sock is not None:
                self._sock.settimeout(seconds)


class Exchange(Protocol):
    """One request on its way and its answer, as a transport gives it."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """The answer's headers in order, as sent."""

    @property
    def origin(self) -> Origin:
        """Who answered: the service, its emulator, or a recording."""

    def read(self) -> bytes:
        """Give the next piece of the body as soon as there is one; empty at the end."""

    def finish(self) -> None:
        """Be done with an answer that was read to its end; the connection may serve again."""

    def abort(self) -> None:
        """Be done at once: close the connection. Harmless after an end."""


class Transport(Protocol):
    """What carries a request to the service and its answer back."""

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Exchange:
        """Send a request and give its answer as soon as the status and headers are there."""

    def close(self) -> None:
        """Close what is open."""


class HttpTransport:
    """Sends to one address, with one key.

    Args:
        url: the whole address of the endpoint.
        auth: in which of the interface's ways the key is given (interface §5).
        key: the key; ``None`` with ``auth="none"``.
        timeout: how long to wait for what.
        direct: never go through a proxy (for loopback).
    """

    def __init__(
        self, url: str, *, auth: Auth, key: Secret | None, timeout: Timeout, direct: bool
    ) -> None:
        """Open nothing yet."""
        self._url = url
        self.timeout = timeout
        self._direct = direct
        self._current = threading.local()
        self._session = requests.Session()
        # No .netrc, no environment: what they may say is asked for by name, below.
        self._session.trust_env = False
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        adapter = _Adapter(_keyed_pools(auth, key, self._current))
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> HttpExchange:
        """Send a request and give its answer as soon as the status and headers are there.

        Args:
            body: the JSON bytes.
            stream: whether a stream is asked for.
            halt: stops this exchange.

        Raises:
            ChatError: what went wrong, as the tree in :mod:`chatmagic.errors` has it.
            ChatInterrupted: ``halt`` was stopped by a person.
        """
        timeout = self.timeout
        timer = _timer(timeout.total, halt)
        self._current.halt = halt
        self._current.which = "connect"
        try:
            response = self._session.post(
                self._url,
                data=body,
                headers=_headers(stream=stream),
                stream=True,
                timeout=(timeout.connect, timeout.first_byte),
                allow_redirects=False,
                proxies={} if self._direct else get_environ_proxies(self._url),
                verify=_authorities(),
            )
        except BaseException as error:  # noqa: BLE001 - an interrupt closes the connection too
            timer.cancel()
            halt.cut()
            problem = _reported(error, halt, timeout, self._current.which, self._url)
        else:
            return HttpExchange(response, halt, timer, timeout)
        finally:
            self._current.halt = None
        raise problem

    def close(self) -> None:
        """Close the connections that wait for their next use."""
        self._session.close()


class HttpExchange:
    """An answer whose status and headers are there (see :class:`Exchange`)."""

    def __init__(
        self, response: requests.Response, halt: Halt, timer: threading.Timer, timeout: Timeout
    ) -> None:
        """Take over a response whose body has not been read."""
        self.status = response.status_code
        raw: urllib3.HTTPResponse = response.raw
        self.headers = tuple(raw.headers.items())
        server = raw.headers.get("server", "")
        self.origin: Origin = "emulator" if server.startswith(EMULATOR_SERVER) else "live"
        self._raw = raw
        self._halt = halt
        self._timer = timer
        self._timeout = timeout
        self._decode = "content-encoding" in raw.headers
        self._which: Which = "first_byte"

    def read(self) -> bytes:
        """Give the next piece of the body as soon as there is one; empty at the end.

        Raises:
            ChatError: the connection broke, fell silent, or did not speak HTTP.
            ChatInterrupted: it was stopped by a person.
        """
        try:
            piece = self._raw.read1(PIECE_BYTES, decode_content=self._decode)
        except BaseException as error:  # noqa: BLE001 - an interrupt closes the connection too
            self.abort()
            problem = _reported(error, self._halt, self._timeout, self._which)
        else:
            return self._taken(piece)
        raise problem

    def _taken(self, piece: bytes) -> bytes:
        """Take note of what a piece that came tells."""
        if self._halt.reason is not None:
            self.abort()
            raise _halted(self._halt, self._timeout)
        if self._raw.connection is None:
            # The end was read with the piece: the connection may be another's by now.
            self._halt.watch(None)
        if piece and self._which == "first_byte":
            self._which = "silence"
            self._halt.settimeout(self._timeout.silence)
        return piece

    def finish(self) -> None:
        """Drain what little is left and give the connection back, or close it."""
        self._timer.cancel()
        until = time.monotonic() + DRAIN_SECONDS
        left = DRAIN_BYTES
        try:
            while self._raw.connection and left > 0 and (wait := until - time.monotonic()) > 0:
                self._halt.settimeout(wait)
                left -= len(self._raw.read1(left, decode_content=self._decode))
        except (urllib3.exceptions.HTTPError, OSError):
            pass
        finally:
            # An answer that was read to its end has given its connection back by itself.
            self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self._timer.cancel()
        self._halt.watch(None)
        self._raw.close()


class _Adapter(HTTPAdapter):
    """requests' own adapter, whose pools make connections of ours."""

    def __init__(self, pools: dict[str, type[HTTPConnectionPool]]) -> None:
        self._pools = pools
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = self._pools
        return manager


def _keyed_pools(
    auth: Auth, key: Secret | None, current: threading.local
) -> dict[str, type[HTTPConnectionPool]]:
    """Make the pools whose connections put ``key`` on each request, and nowhere else."""

    class Plain(_Connection, HTTPConnection):
        pass

    class Tls(_Connection, HTTPSConnection):
        pass

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class TlsPool(HTTPSConnectionPool):
        ConnectionCls = Tls

    for kind in (Plain, Tls):
        kind.auth, kind.key, kind.current = auth, key, current
    return {"http": PlainPool, "https": TlsPool}


class _Answer(http.client.HTTPResponse):
    """An answer without what could not be read of its headers.

    urllib3 would log that, and in it a server may say the key back.
    """

    def begin(self) -> None:
        super().begin()
        self.msg.defects.clear()
        self.msg.set_payload("")


class _Connection(HTTPConnection):
    """A connection that puts the key on, and shows its socket to the exchange's halt."""

    auth: ClassVar[Auth]
    key: ClassVar[Secret | None]
    current: ClassVar[threading.local]
    response_class = _Answer
    debuglevel = 0
    """Else ``http.client``, told to debug, prints each request with its key."""

    def connect(self) -> None:
        with contextlib.ExitStack() as twins:
            self._twins = twins
            super().connect()
            self._watch()

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        # TLS takes this socket's descriptor over; its twin can be shut down all the same.
        self.current.halt.watch(self._twins.enter_context(sock.dup()))
        return sock

    def putrequest(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        if self.sock is not None:
            self._watch()
        if self.key is None:
            super().putrequest(method, url, *args, **kwargs)
        elif self.auth == "query":
            mark = "&" if "?" in url else "?"
            super().putrequest(
                method,
                f"{url}{mark}api_key={quote(self.key.reveal(), safe='')}",
                *args,
                **kwargs,
            )
        else:
            super().putrequest(method, url, *args, **kwargs)
            if self.auth == "bearer":
                self.putheader("Authorization", f"Bearer {self.key.reveal()}")
            elif self.auth == "x-api-key":
                self.putheader("X-API-Key", self.key.reveal())

    def _watch(self) -> None:
        self.current.halt.watch(self.sock)
        self.current.which = "first_byte"


def _headers(*, stream: bool) -> dict[str, str | None]:
    return {
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json" if stream else "application/json",
        # A compressed stream would be held back by whoever compresses it.
        "Accept-Encoding": "identity" if stream else "gzip",
        "User-Agent": f"chatmagic/{chatmagic.__version__}",
    }


def _authorities() -> str | bool:
    """Give the CA bundle that the environment names, as requests itself would look it up."""
    names = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    return next((path for name in names if (path := os.environ.get(name))), True)


def _timer(seconds: float | None, halt: Halt) -> threading.Timer:
    timer = threading.Timer(seconds or 0.0, halt.stop, ["total"])
    timer.daemon = True
    if seconds is not None:
        timer.start()
    return timer


def _shut_down(sock: socket.socket | None) -> None:
    if sock is not None:
        with contextlib.suppress(OSError):
            # Under TLS too the plain shutdown wakes the reader; unwrapping would wait.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _halted(halt: Halt, timeout: Timeout) -> BaseException:
    if halt.reason == "stop":
        return ChatInterrupted("Interrupted.")
    return RequestTimeoutError(
        f"The reply took longer than the total time-out of {timeout.total:g} s.", which="total"
    )


_WAITED = {
    "connect": "No connection to {1} within the connect time-out of {0:g} s.",
    "first_byte": "No answer within the first-byte time-out of {0:g} s.",
    "silence": "The reply fell silent for longer than the silence time-out of {0:g} s.",
}


def _late(which: Which, timeout: Timeout, at: str) -> RequestTimeoutError:
    seconds = getattr(timeout, which) or 0.0
    fee = " Nothing was sent." if which == "connect" else ""
    return RequestTimeoutError(_WAITED[which].format(seconds, at) + fee, which=which)


def _reported(
    error: BaseException, halt: Halt, timeout: Timeout, which: Which, url: str = ""
) -> BaseException:
    """Give the error of ours for one of theirs; anything else is given back as it is.

    Either way without the frames it came through, in which http.client holds the request's
    bytes: it is raised outside of any handler, so that nothing hangs on to it.
    """
    known = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError)
    if halt.reason is not None and isinstance(error, known):
        return _halted(halt, timeout)
    if not isinstance(error, known) or isinstance(error, ChatError):
        error.__cause__ = error.__context__ = None
        return error.with_traceback(None)
    at = address.origin(url) if which == "connect" else ""
    if breakage.is_late(error):
        return _late(which, timeout, at)
    return breakage.unconnected(error, at) if which == "connect" else breakage.broken(error, which)
