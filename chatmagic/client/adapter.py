"""Adapter of ``requests``, and the pools of connections that it keeps."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from typing import Any, Final, cast

import urllib3
from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ProxySchemeUnknown

from chatmagic._fork import belongs_to_process
from chatmagic.client.connections import (
    Connection,
    PlainConnection,
    SocksPlainConnection,
    SocksTlsConnection,
    TlsConnection,
)
from chatmagic.client.current_exchange import CURRENT
from chatmagic.client.endpoint import Timeout
from chatmagic.client.kept_exchange import PlainAnswer, request_head
from chatmagic.client.socks_sockets import SOCKS_SCHEMES
from chatmagic.client.work_lock import waiting


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
    ConnectionCls: type[Connection] = PlainConnection
    QueueCls = _KeptConnections

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            conn.rest()
        super()._put_conn(conn)

    def connection(self, seconds: float | None) -> Connection | None:
        """Return a connection for a request, kept or new; ``None`` if urllib3 makes the request.

        A proxy may want a request of another form, and a key in the address has no cached head.

        Args:
            seconds: time limit for a new connection; ``None`` is unlimited.
        """
        has_other_form = self.proxy is not None or CURRENT.shared.auth == "query"
        if has_other_form or CURRENT.only_connects or self.pool is None:
            return None
        return _usable(self.pool) or self._new_connection(seconds)

    def _new_connection(self, seconds: float | None) -> Connection:
        """Return a connection that is made now."""
        made: Any = self._new_conn()
        made.timeout = seconds
        try:
            made.connect()
        except BaseException:
            made.close()
            raise
        return cast("Connection", made)


def _usable(waiting: queue.LifoQueue[Any]) -> Connection | None:
    """Return a kept connection that can be used at once; ``None`` if one must be made."""
    try:
        kept: Connection | None = waiting.get(block=False)
    except queue.Empty:
        return None
    if kept is None or kept.is_connected:
        return kept
    kept.close()
    return None


class _TlsPool(_PlainPool, HTTPSConnectionPool):
    ConnectionCls = TlsConnection


class _SocksPlainPool(_PlainPool):
    ConnectionCls = SocksPlainConnection


class _SocksTlsPool(_PlainPool, HTTPSConnectionPool):
    ConnectionCls = SocksTlsConnection


MOST_KEPT: Final = 256
"""Largest number of connections that are kept for an address."""


class KeyedAdapter(HTTPAdapter):
    """Adapter of ``requests`` whose pools make connections with the key."""

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
        timeout: Timeout,
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
        connection = None if body is None else pool.connection(timeout.connect)
        if body is not None and connection is not None:
            head = self._head(connection, method, target, headers)
            return connection.ask(method, head, body, pool._put_conn)  # type: ignore[no-any-return] # noqa: SLF001 - of this module
        with waiting():
            response: urllib3.BaseHTTPResponse = pool.urlopen(
                method,
                target,
                body,
                headers,
                retries=self.max_retries,
                redirect=False,
                assert_same_host=False,
                # From there on the exchange's clock keeps the time limits.
                timeout=urllib3.Timeout(connect=timeout.connect, read=timeout.first_byte),
                preload_content=False,
                decode_content=False,
            )
        return response

    def _head(
        self, connection: Connection, method: str, target: str, headers: Mapping[str, str]
    ) -> bytes:
        """Return the head of a request, which is made once."""
        name = (connection.host, connection.port, method, target, *headers.items())
        if name not in self._heads:
            place = (connection.host, connection.port, connection.default_port)
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
