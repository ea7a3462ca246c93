"""TCP sockets that a SOCKS proxy has connected, which a person or a clock can stop."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, Final

from urllib3.exceptions import ProxyError

from chatmagic.client.halt import Halt

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
