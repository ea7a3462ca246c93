"""Connections that add the key to a request, and that a person or a clock can stop.

``urllib3`` and ``requests`` never see, log or report the key: it is added below them, when the
request is written.

A server may close a kept connection at any time. A request on a connection that is closing is lost,
because nothing is sent twice. So a new connection is watched for a moment after its first reply,
and none is used after a long idle time. After a lost request no connection is used again. Watching
a connection costs no request.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

import urllib3
from urllib3 import HTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
)
from urllib3.util.wait import wait_for_read

from chatmagic._fork import belongs_to_process, close_in_child
from chatmagic.client.current_exchange import CURRENT, ConnectionMade
from chatmagic.client.halt import Halt
from chatmagic.client.kept_exchange import END, PlainAnswer, plain_head
from chatmagic.client.sockets import PIECE_BYTES, open_socket, set_timeout
from chatmagic.client.socks_sockets import open_socks_socket
from chatmagic.client.timed_response import Response
from chatmagic.client.work_lock import waiting
from chatmagic.protocol.api_key import Auth

WATCH: Final = 0.05
"""Seconds after its first reply for which a connection is watched before it is used again."""

IDLE: Final = 4.0
"""Seconds of rest after which a connection is not used again: many servers close after 5."""

_KEY_HEADERS: Final[Mapping[Auth, str]] = {
    "bearer": "Authorization: Bearer {}",
    "x-api-key": "X-API-Key: {}",
}


class Connection(HTTPConnection):
    """A connection that adds the key to requests, and passes its socket to the exchange's halt."""

    response_class = Response
    debuglevel = 0
    """Otherwise ``http.client`` in its debug mode would print each request with its key."""
    _halt: Halt | None = None
    _answers = 0
    _rested_since = 0.0

    @property
    def is_connected(self) -> bool:
        """Whether it can be used, which urllib3 asks of a kept connection before its next use."""
        if self.sock is None:
            return False
        rest = monotonic() - self._rested_since
        watch = max(0.0, WATCH - rest) if self._answers == 1 else 0.0
        # Any data to read is an end, because nothing was requested.
        is_young = not CURRENT.shared.loses and rest + watch <= IDLE
        with waiting() if watch else contextlib.nullcontext():
            is_usable = is_young and not wait_for_read(self.sock, watch)
        # Only now: a stop shuts the socket down, which would look like an end by the server.
        self._claim()
        return is_usable

    def rest(self) -> None:
        """Wait for the next use from now on."""
        self._rested_since = monotonic()

    def connect(self) -> None:
        """Connect, with TLS if its address has that, within the time for connecting."""
        self._answers = 0
        belongs_to_process(self)
        CURRENT.clock.enter("connect")
        with contextlib.ExitStack() as duplicates:
            self._duplicates = duplicates
            with waiting():
                super().connect()
        # If the server has reset the connection by then, ssl silently makes no handshake.
        if isinstance(self.sock, ssl.SSLSocket) and self.sock.version() is None:
            raise ConnectionResetError
        self._watch()

    def leave_to_parent(self) -> None:
        """Be closed, in a forked child."""
        close_in_child(self.sock)
        self.sock = None

    def _new_conn(self) -> socket.socket:
        halt = CURRENT.clock.halt
        try:
            sock = self._open_socket(halt)
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except UnicodeError:
            raise LocationParseError(self.host) from None
        except TimeoutError as error:
            raise ConnectTimeoutError(self, "Connecting took too long.") from error
        except OSError as error:
            raise NewConnectionError(self, f"Failed to connect: {error}") from error
        # TLS takes over this socket's descriptor, but its duplicate can still be shut down.
        halt.watch(self._duplicates.enter_context(sock.dup()))
        return sock

    def _open_socket(self, halt: Halt) -> socket.socket:
        return open_socket(self.host, self.port, self.timeout, halt, self.socket_options)

    def putrequest(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        """Begin a request, with the key; raise :class:`ConnectionMade` if it was only to connect.

        Args:
            method: the HTTP method.
            url: the target.
            *args: as in the base class.
            **kwargs: as in the base class.
        """
        if CURRENT.only_connects:
            if self.sock is None:  # without TLS, http.client connects only when it writes
                self.connect()
            raise ConnectionMade
        if self.sock is not None:
            self._watch()
        auth = CURRENT.shared.auth
        key = CURRENT.shared.key
        if key is not None and auth == "query":
            mark = "&" if "?" in url else "?"
            url = f"{url}{mark}api_key={quote(key.reveal(), safe='')}"
        super().putrequest(method, url, *args, **kwargs)
        if key is not None and auth in _KEY_HEADERS:
            self.putheader(*_KEY_HEADERS[auth].format(key.reveal()).split(": "))

    def getresponse(self) -> HTTPResponse:  # type: ignore[override] # as urllib3's own
        """Return the answer, whose body is not read."""
        try:
            response = super().getresponse()
        except BaseException as error:
            self._note_loss(error)
            raise
        self._answers += 1
        return response

    def _note_loss(self, error: BaseException) -> None:
        """Note a request that was lost on this kept connection, as far as an error tells."""
        is_lost = isinstance(error, ConnectionError | ssl.SSLError | http.client.HTTPException)
        if is_lost and self._answers and CURRENT.clock.halt.reason is None:
            CURRENT.shared.loses = True

    def ask(
        self, method: str, head: bytes, body: bytes, release: Callable[[object], object]
    ) -> PlainAnswer | urllib3.HTTPResponse:
        """Send a request on this connection, which is connected, and return its answer.

        Args:
            method: the HTTP method.
            head: the request's head, by :func:`request_head`.
            body: its body.
            release: takes the connection when the answer was read to its end.
        """
        CURRENT.clock.enter("first_byte")
        try:
            lines = b"%bContent-Length: %d\r\n%b\r\n" % (head, len(body), self._key_line())
            with waiting():
                # A server may close the connection after an answer that can be read all the same.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.sock.sendall(lines + body)
                received = self.receive(PIECE_BYTES)
            return self._plain_answer(method, received, release)
        except BaseException as error:
            self._note_loss(error)
            self.close()
            raise

    def _plain_answer(
        self, method: str, received: bytes, release: Callable[[object], object]
    ) -> PlainAnswer | urllib3.HTTPResponse:
        """Return an answer whose first bytes were received."""
        lines, end, body = received.partition(END)
        if end and (head := plain_head(lines)) is not None:
            self._answers += 1
            return PlainAnswer(head, body, self, release)
        response = Response(self.sock, method=method)
        response.begin_with(received)
        self._answers += 1
        if response.will_close:
            self.close()
        answer = urllib3.HTTPResponse(
            response,
            urllib3.HTTPHeaderDict(response.msg.items()),
            response.status,
            response.version,
            reason=response.reason,
            preload_content=False,
            decode_content=False,
            original_response=response,
            request_method=method,
        )
        answer._connection = self  # noqa: SLF001 - as urllib3's pool
        answer._pool = _Returned(release)  # type: ignore[assignment] # noqa: SLF001
        return answer

    def receive(self, most: int) -> bytes:
        """Return the next bytes as soon as there are some; empty at the end.

        Args:
            most: largest number of bytes.

        Raises:
            OSError: the connection broke, or its time is up.
        """
        set_timeout(self.sock, CURRENT.clock.halt)
        with waiting():
            return self.sock.recv(most)

    def _key_line(self) -> bytes:
        """Return the header with the key; empty without a key."""
        auth = CURRENT.shared.auth
        key = CURRENT.shared.key
        if key is None or auth not in _KEY_HEADERS:
            return b""
        return f"{_KEY_HEADERS[auth].format(key.reveal())}\r\n".encode("ascii")

    def _watch(self) -> None:
        """Have the exchange's halt stop this connection, and its clock wait for the answer."""
        self._claim()
        CURRENT.clock.enter("first_byte")

    def _claim(self) -> None:
        """Let only the halt of this exchange stop the connection from now on."""
        halt = CURRENT.clock.halt
        if self._halt is not None and self._halt is not halt:
            self._halt.watch(None)
        self._halt = halt
        halt.watch(self.sock)


class _Returned:
    """Pool of one connection, as far as a response of urllib3 gives its connection back.

    Args:
        release: takes the connection.
    """

    def __init__(self, release: Callable[[object], object]) -> None:
        self._put_conn = release


class PlainConnection(Connection, HTTPConnection):
    """Connection without TLS."""


class TlsConnection(Connection, HTTPSConnection):
    """Connection with TLS."""


class _SocksConnection(Connection):
    """A connection through a SOCKS proxy.

    Args:
        _socks_options: the proxy, as urllib3's manager describes it, under the name that it uses.
        *args: as in the base class.
        **kwargs: as in the base class.
    """

    def __init__(self, _socks_options: Mapping[str, Any], *args: Any, **kwargs: Any) -> None:
        """Connect nothing yet."""
        super().__init__(*args, **kwargs)
        self._proxy_options = _socks_options

    def _open_socket(self, halt: Halt) -> socket.socket:
        return open_socks_socket(self.host, self.port, self.timeout, halt, self._proxy_options)


class SocksPlainConnection(_SocksConnection, HTTPConnection):
    """Connection without TLS through a SOCKS proxy."""


class SocksTlsConnection(_SocksConnection, HTTPSConnection):
    """Connection with TLS through a SOCKS proxy."""
