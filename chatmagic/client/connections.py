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
import io
import math
import os
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

import urllib3
from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    ConnectTimeoutError,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    ProxySchemeUnknown,
)
from urllib3.util.wait import wait_for_read, wait_for_write

from chatmagic._fork import belongs_to_process, close_in_child
from chatmagic.client.alarms import ALARMS, Alarm
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt
from chatmagic.client.kept_exchange import END, PlainAnswer, plain_head, request_head
from chatmagic.errors import Which
from chatmagic.protocol.api_key import Auth, Secret

NAP: Final = 0.05
"""Seconds between two looks at the halt while a socket connects."""


def open_socket(
    host: str,
    port: int,
    seconds: float | None,
    halt: Halt,
    options: Sequence[tuple[int, int, int | bytes]] | None = None,
) -> socket.socket:
    """Return a connected TCP socket, unless the halt stops it first.

    Several addresses of a host are tried in turn. Each except the last has its share of the time.

    Args:
        host: name or address.
        port: its port.
        seconds: total time limit, which the halt's clock keeps; ``None`` is unlimited.
        halt: stops it; it is checked every :data:`NAP` seconds.
        options: socket options, as ``setsockopt`` takes them.

    Raises:
        socket.gaierror: no host has this name.
        OSError: the connection was refused, impossible, too slow, or stopped.
    """
    addresses = socket.getaddrinfo(host.strip("[]"), port, 0, socket.SOCK_STREAM)
    share = math.inf if seconds is None else seconds / len(addresses)
    for number, (family, kind, protocol, _, address) in enumerate(addresses, 1):
        # The last address has all the time that is left, until the clock stops the halt.
        until = math.inf if number == len(addresses) else monotonic() + share
        sock = socket.socket(family, kind, protocol)
        try:
            # From here on, a stop of the exchange shuts this socket down.
            halt.watch(sock)
            for option in options or ():
                sock.setsockopt(*option)
            _connect(sock, address, until, halt)
            sock.settimeout(seconds)
            return sock  # noqa: TRY300 - the next address is for a failure
        except OSError:
            sock.close()
            if halt.reason is not None or number == len(addresses):
                raise
    raise OSError("the name has no address")


def _connect(sock: socket.socket, address: Any, until: float, halt: Halt) -> None:
    """Connect one socket, and check the halt meanwhile."""
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError, InterruptedError):
        sock.connect(address)
    while not wait_for_write(sock, max(0.0, min(NAP, until - monotonic()))):
        if halt.reason is not None:
            raise ConnectionAbortedError
        if monotonic() >= until:
            raise TimeoutError
    if code := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(code, os.strerror(code))
    if halt.reason is not None:
        raise ConnectionAbortedError


SOCKS_SCHEMES: Final = ("socks4", "socks4a", "socks5", "socks5h")
"""Schemes of SOCKS proxies; with the last letter the proxy resolves the names of hosts."""
_SOCKS_PORT: Final = 1080


def open_socks_socket(
    host: str, port: int, seconds: float | None, halt: Halt, proxy: Mapping[str, Any]
) -> socket.socket:
    """Return a TCP socket that a SOCKS proxy has connected, unless the halt stops it first.

    Args:
        host: name or address of the service.
        port: its port.
        seconds: time limit of each step, beside the halt's clock; ``None`` is unlimited.
        halt: stops it.
        proxy: the proxy, as urllib3's manager describes it.

    Raises:
        socket.gaierror: no host has this name, which is resolved here.
        ProxyError: the proxy was not reached or did not connect, or this was stopped.
    """
    import socks  # noqa: PLC0415 - an optional package

    try:
        return _open_socks_socket(host.strip("[]"), port, seconds, halt, proxy)
    except socks.ProxyError as error:
        inner: OSError | None = error.socket_err
        cause = error if inner is None else inner
        if isinstance(cause, socket.gaierror):
            raise cause from None
        if isinstance(cause, socks.ProxyError):
            # PySocks' words for the proxy's answer: 0x05: Connection refused.
            cause = OSError(None, cause.msg.rpartition(": ")[2])
        raise ProxyError("SOCKS", cause) from None
    except OSError as error:
        raise ProxyError("SOCKS", error) from None


def _open_socks_socket(
    host: str, port: int, seconds: float | None, halt: Halt, proxy: Mapping[str, Any]
) -> socket.socket:
    """Return the socket; the arguments are those of :func:`open_socks_socket`."""
    import socks  # noqa: PLC0415 - an optional package

    name = str(proxy["proxy_host"]).strip("[]")
    places = socket.getaddrinfo(name, proxy["proxy_port"] or _SOCKS_PORT, 0, socket.SOCK_STREAM)
    place: Any
    for number, (family, kind, protocol, _, place) in enumerate(places, 1):
        sock = socks.socksocket(family, kind, protocol)
        try:
            halt.watch(sock)
            sock.settimeout(seconds)
            user = proxy["username"]
            password = proxy["password"]
            version = proxy["socks_version"]
            resolves_names = proxy["rdns"]
            sock.set_proxy(version, place[0], place[1], resolves_names, user, password)
            sock.connect((host, port))
            # From here on it is a socket like any other.
            plain = socket.socket(family, kind, protocol, fileno=sock.detach())
            plain.settimeout(seconds)
            return plain  # noqa: TRY300 - the next address is for a failure
        except socks.ProxyConnectionError:
            if halt.reason is not None or number == len(places):
                raise
        finally:
            sock.close()
    raise OSError(None, "its name has no address")


WATCH: Final = 0.05
"""Seconds after its first reply for which a connection is watched before it is used again."""

IDLE: Final = 4.0
"""Seconds of rest after which a connection is not used again: many servers close after 5."""


PIECE_BYTES: Final = 65_536
"""Largest number of bytes that are read at once."""
HEAD_BYTES: Final = 2**20
"""Largest number of bytes of a head, with all interim answers in front of it."""


class _TimedReader(io.RawIOBase):
    """Raw stream of a socket that ends at the halt's deadline, however bytes trickle in.

    Args:
        raw: the socket's own stream.
        sock: the socket.
        halt: the halt of the exchange.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, halt: Halt) -> None:
        """Read nothing yet."""
        super().__init__()
        self._raw = raw
        self._sock = sock
        self._halt = halt
        self.most: float = HEAD_BYTES
        """Number of bytes that may still be read; unlimited after the head."""
        self.received = b""
        """The first bytes, which were received before."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count: int | None = min(len(self.received), len(buffer))
        if count:
            buffer[:count] = self.received[:count]
            self.received = self.received[count:]
        else:
            _set_timeout(self._sock, self._halt)
            count = self._raw.readinto(buffer)
        self.most -= count or 0
        if self.most < 0:
            raise http.client.HTTPException
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def _set_timeout(sock: socket.socket, halt: Halt) -> None:
    """Let the next read of a socket end at the halt's deadline.

    A socket's own timeout starts again with each byte.

    Raises:
        TimeoutError: the time is up.
    """
    left = halt.left
    if left <= 0:
        raise TimeoutError
    if left < math.inf and (sock.gettimeout() or math.inf) - left > NAP:
        sock.settimeout(left)


class Response(http.client.HTTPResponse):
    """An answer that is read until a deadline, without its unreadable headers.

    urllib3 would log those, and a server may repeat the key in them.
    """

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        """Read nothing yet."""
        super().__init__(sock, *args, **kwargs)
        self._timed = _TimedReader(self.fp.detach(), sock, CURRENT.clock.halt)
        self.fp = io.BufferedReader(self._timed)

    def begin(self) -> None:
        """Read the head; interim answers before it are skipped (RFC 9110, 15.2)."""
        super().begin()
        # http.client skips 100 by itself. Behind 101 there is no HTTP any more.
        while HTTPStatus.SWITCHING_PROTOCOLS < self.status < HTTPStatus.OK:
            self.headers = None  # type: ignore[assignment] # as before the first head
            super().begin()
        self._timed.most = math.inf
        self.msg.defects.clear()
        self.msg.set_payload("")

    def begin_with(self, received: bytes) -> None:
        """Read the head, whose first bytes were received before.

        Args:
            received: these bytes.
        """
        self._timed.received = received
        self.begin()


class Clock:
    """Clock of one exchange, which stops it when the time of its present phase is up.

    Each read ends at the phase's deadline. Connecting, which has many steps, and the whole exchange
    have an alarm each.

    Args:
        timeout: the timeout of each phase.
        halt: the halt that stops the exchange.
    """

    def __init__(self, timeout: Timeout, halt: Halt) -> None:
        """Start nothing yet."""
        self.timeout = timeout
        self.halt = halt
        self.which: Which = "connect"
        self._alarms: dict[str, Alarm] = {}

    def start(self) -> None:
        """Start the total timeout."""
        self._count("total")

    def enter(self, which: Which) -> None:
        """Begin a phase, whose timeout replaces the previous phase's.

        Args:
            which: the phase, by its name in :class:`Timeout`.
        """
        if (before := self._alarms.pop("connect", None)) is not None:
            ALARMS.cancel(before)
        self.which = which
        self.halt.settimeout(getattr(self.timeout, which))
        if which == "connect":
            self._count(which)

    def renew(self) -> None:
        """Give the next piece of the answer the whole time of the phase."""
        self.halt.allow(getattr(self.timeout, self.which))

    def stop(self) -> None:
        """Stop all timeouts."""
        for alarm in self._alarms.values():
            ALARMS.cancel(alarm)
        self._alarms.clear()

    def _count(self, which: Which) -> None:
        seconds = getattr(self.timeout, which)
        if seconds is not None:
            self._alarms[which] = ALARMS.set(seconds, partial(self.halt.stop, which))


_KEY_HEADERS: Final[Mapping[Auth, str]] = {
    "bearer": "Authorization: Bearer {}",
    "x-api-key": "X-API-Key: {}",
}


class ConnectionMade(Exception):  # noqa: N818 - nothing is wrong
    """End of an exchange that was to connect only; no byte of a request was written."""


@dataclass
class SharedState:
    """The state that the connections of one transport share.

    Args:
        auth: the way to send the key (fact 12).
        key: the key, which is added to each request; ``None`` for no key.
        loses: whether a request was lost on a kept connection.
    """

    auth: Auth
    key: Secret | None
    loses: bool = False


class Current(threading.local):
    """The exchange for which this thread makes or uses a connection."""

    shared: SharedState
    clock: Clock
    only_connects = False
    """Whether :class:`ConnectionMade` is raised in place of a request."""


CURRENT: Final = Current()


class _Connection(HTTPConnection):
    """A connection that adds the key to requests, and passes its socket to the exchange's halt."""

    response_class = Response
    debuglevel = 0
    """Otherwise ``http.client`` in its debug mode would print each request with its key."""
    _halt: Halt | None = None
    _answers = 0
    rested_since = 0.0

    @property
    def is_connected(self) -> bool:
        # urllib3 calls this for a kept connection before it uses it again.
        if self.sock is None:
            return False
        rest = monotonic() - self.rested_since
        watch = max(0.0, WATCH - rest) if self._answers == 1 else 0.0
        # Any data to read is an end, because nothing was requested.
        is_young = not CURRENT.shared.loses and rest + watch <= IDLE
        is_usable = is_young and not wait_for_read(self.sock, watch)
        # Only now: a stop shuts the socket down, which would look like an end by the server.
        self._claim()
        return is_usable

    def connect(self) -> None:
        self._answers = 0
        belongs_to_process(self)
        CURRENT.clock.enter("connect")
        with contextlib.ExitStack() as duplicates:
            self._duplicates = duplicates
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
        """Send a request on this connection, which is connected; return its answer.

        Args:
            method: the HTTP method.
            head: the request's head, by :func:`request_head`.
            body: its body.
            release: takes the connection when the answer was read to its end.
        """
        CURRENT.clock.enter("first_byte")
        try:
            # A server may close the connection after an answer that can be read all the same.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                lines = b"%bContent-Length: %d\r\n%b\r\n" % (head, len(body), self._key_line())
                self.sock.sendall(lines + body)
            return self._plain_answer(method, release)
        except BaseException as error:
            self._note_loss(error)
            self.close()
            raise

    def _plain_answer(
        self, method: str, release: Callable[[object], object]
    ) -> PlainAnswer | urllib3.HTTPResponse:
        """Return the answer to a request that was sent."""
        received = self.receive(PIECE_BYTES)
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
        _set_timeout(self.sock, CURRENT.clock.halt)
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


class _Plain(_Connection, HTTPConnection):
    pass


class _Tls(_Connection, HTTPSConnection):
    pass


class _SocksConnection(_Connection):
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


class _SocksPlain(_SocksConnection, HTTPConnection):
    pass


class _SocksTls(_SocksConnection, HTTPSConnection):
    pass


class _KeptConnections(queue.LifoQueue[Any]):
    """The connections that wait for their next use; a forked child has none."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        # A thread of the parent may have held its lock, and urllib3 empties it at the end.
        super().__init__(self.maxsize)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Keep a connection, without the locks of a queue on which threads wait.

        Raises:
            queue.Full: enough are kept.
        """
        del block, timeout
        if len(self.queue) >= self.maxsize:
            raise queue.Full
        self.queue.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Return the connection that was kept last.

        Raises:
            queue.Empty: none is kept.
        """
        del block, timeout
        try:
            return self.queue.pop()
        except IndexError:
            raise queue.Empty from None


class _PlainPool(HTTPConnectionPool):
    ConnectionCls: type[_Connection] = _Plain
    QueueCls = _KeptConnections

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            conn.rested_since = monotonic()
        super()._put_conn(conn)

    def kept_connection(self) -> _Connection | None:
        """Return a connection that can be used at once; ``None`` if one must be made.

        A proxy may want a request of another form, and a key in the address has no cached head.
        """
        if self.proxy is not None or CURRENT.shared.auth == "query" or self.pool is None:
            return None
        try:
            kept: _Connection | None = self.pool.get(block=False)
        except queue.Empty:
            return None
        if kept is None or kept.is_connected:
            return kept
        kept.close()
        return None


class _TlsPool(_PlainPool, HTTPSConnectionPool):
    ConnectionCls = _Tls


class _SocksPlainPool(_PlainPool):
    ConnectionCls = _SocksPlain


class _SocksTlsPool(_PlainPool, HTTPSConnectionPool):
    ConnectionCls = _SocksTls


MOST_KEPT: Final = 256
"""Largest number of connections that are kept for an address."""


class KeyedAdapter(HTTPAdapter):
    """Adapter of ``requests`` whose pools make the connections of this module."""

    def __init__(self) -> None:
        """Open nothing yet."""
        super().__init__(max_retries=0, pool_maxsize=MOST_KEPT)
        self._places: dict[tuple[object, ...], tuple[Any, str]] = {}
        """The pool and the target of each address, with the current proxies and certificates."""
        self._heads: dict[tuple[object, ...], bytes] = {}
        """The heads of requests, without the key."""

    def open(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        timeout: urllib3.Timeout,
        proxies: Mapping[str, str],
        verify: bool | str,
    ) -> urllib3.BaseHTTPResponse | PlainAnswer:
        """Send a request; return its answer, whose body is not read.

        Args:
            method: the HTTP method.
            url: the address.
            body: the body; ``None`` for none.
            headers: the headers.
            timeout: the time limits.
            proxies: the proxies, by scheme.
            verify: the file of certificate authorities; ``True`` is the usual one.
        """
        place = (url, verify, *proxies.items())
        if place not in self._places:
            self._places[place] = self._place(url, {**proxies}, verify)
        pool, target = self._places[place]
        if body is not None and (kept := pool.kept_connection()) is not None:
            head = self._head(kept, method, target, headers)
            return kept.ask(method, head, body, pool._put_conn)  # type: ignore[no-any-return] # noqa: SLF001 - of this module
        response: urllib3.BaseHTTPResponse = pool.urlopen(
            method,
            target,
            body,
            headers,
            retries=self.max_retries,
            redirect=False,
            assert_same_host=False,
            timeout=timeout,
            preload_content=False,
            decode_content=False,
        )
        return response

    def _head(
        self, kept: _Connection, method: str, target: str, headers: Mapping[str, str]
    ) -> bytes:
        """Return the head of a request, which is made once."""
        name = (kept.host, kept.port, method, target, *headers.items())
        if name not in self._heads:
            place = (kept.host, kept.port, kept.default_port)
            self._heads[name] = request_head(method, target, headers, place)
        return self._heads[name]

    def _place(self, url: str, proxies: dict[str, str], verify: bool | str) -> tuple[Any, str]:
        """Return the pool that leads to an address, and the target of a request there."""
        request = PreparedRequest()
        request.prepare_url(url, None)
        pool: Any = self.get_connection_with_tls_context(request, verify, proxies=proxies)
        check: Any = self.cert_verify
        check(pool, request.url, verify, None)
        return pool, self.request_url(request, proxies)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Use the pools of this module for direct connections.

        Args:
            *args: as in the base class.
            **kwargs: as in the base class.
        """
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        """Use the pools of this module for connections through a proxy, too.

        Args:
            proxy: URL of the proxy.
            **kwargs: as in the base class.

        Raises:
            ProxySchemeUnknown: the proxy speaks no known SOCKS.
            requests.exceptions.InvalidSchema: it speaks SOCKS, and PySocks is not installed.
        """
        scheme = proxy.partition("://")[0].lower()
        is_socks = scheme.startswith("socks")
        if is_socks and scheme not in SOCKS_SCHEMES:
            raise ProxySchemeUnknown(scheme)
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = _SOCKS_POOLS if is_socks else _POOLS
        return manager

    def close(self) -> None:
        """Close the connections that are kept: urllib3 leaves that to the garbage collector."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in manager.pools.keys():  # noqa: SIM118 - no mapping of the usual kind
                manager.pools[key].close()
        super().close()


_POOLS: Final = {"http": _PlainPool, "https": _TlsPool}
_SOCKS_POOLS: Final = {"http": _SocksPlainPool, "https": _SocksTlsPool}
