"""The way to an address, tried step by step: proxy, name, connection, TLS; no request is sent."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies, select_proxy

from chatmagic.client import network_errors
from chatmagic.client.connections import open_socket
from chatmagic.client.halt import Halt
from chatmagic.doctor.observations import Network, Trouble
from chatmagic.errors import PROXY_NAMED
from chatmagic.protocol.url import is_loopback, origin, origin_or_none

if TYPE_CHECKING:
    from chatmagic.doctor.observations import Step

SECONDS: Final = 5.0
"""How long a look-up of a name, or a connection, may take."""
_UNSENT: Final = " Nothing was sent."
_SPELLED: Final = "Is it spelled right, and is there a network?"


def probe(url: str) -> Network:
    """Try the way to an address."""
    at = origin(url)
    named = None if is_loopback(url) else select_proxy(at, get_environ_proxies(at))
    proxy = None
    if named is not None:
        proxy = origin_or_none(named if "://" in named else f"http://{named}")
        if proxy is None:
            what = "the proxy that the environment names cannot be used"
            return Network(failed="proxy", trouble=Trouble(what, PROXY_NAMED))
    target = urlsplit(proxy or at)
    host, port = target.hostname or "", target.port or 0
    addresses, what = _looked_up(host, port)
    if not addresses:
        return _failed("name", Trouble(what, _SPELLED), Network(proxy))
    seen = Network(proxy, addresses)
    try:
        sock = open_socket(host, port, SECONDS, Halt())
    except OSError as error:
        return _failed("connection", _trouble(error, proxy or at), seen)
    seen = replace(seen, is_connected=True)
    with sock:
        if target.scheme != "https":
            return seen
        try:
            tls = _handshake(sock, host)
        except (OSError, ValueError) as error:
            return _failed("TLS", _trouble(error, proxy or at), seen)
    return replace(seen, tls=tls if proxy is None else f"to the proxy: {tls}")


def _looked_up(host: str, port: int) -> tuple[tuple[str, ...], str]:
    """Return the addresses that a name stands for, or else why there are none."""
    found: list[str] = []

    def look() -> None:
        with contextlib.suppress(OSError, UnicodeError):
            resolved = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
            found.extend(dict.fromkeys(str(each[4][0]) for each in resolved))

    # It takes no time-out, and a minute without an answer where the network is down.
    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(SECONDS)
    if looking.is_alive():
        return (), f"looking up the host name {host} took longer than {SECONDS:g} s"
    return tuple(found), f"the host name {host} was not found"


def _failed(step: Step, trouble: Trouble, seen: Network) -> Network:
    """Return what was seen up to a step that failed, which is the proxy's where there is one."""
    if seen.proxy is None:
        return replace(seen, failed=step, trouble=trouble)
    what = trouble.what
    what = what if what.startswith(seen.proxy) else f"{seen.proxy}: {what}"
    return replace(seen, failed="proxy", trouble=Trouble(f"the proxy {what}", PROXY_NAMED))


def _handshake(sock: socket.socket, host: str) -> str:
    """Return the version of TLS, and until when the certificate is valid."""
    bundle = network_errors.certificate_bundle(os.environ)
    path = Path(DEFAULT_CA_BUNDLE_PATH if bundle is None else bundle[1])
    context = ssl.create_default_context(
        cafile=None if path.is_dir() else path, capath=path if path.is_dir() else None
    )
    with context.wrap_socket(sock, server_hostname=host) as wrapped:
        until = (wrapped.getpeercert() or {}).get("notAfter", "an unknown time")
        by = "" if bundle is None else f", authorities of {bundle[0]}"
        return f"{wrapped.version()}, certificate valid until {until}{by}"


def _trouble(error: Exception, at: str) -> Trouble:
    if isinstance(error, TimeoutError):
        return Trouble(f"{at} took longer than {SECONDS:g} s to connect", "Is there a firewall?")
    problem = network_errors.connect_error(error, at)
    return Trouble(problem.message.removesuffix(_UNSENT).rstrip("."), problem.hint or "")
