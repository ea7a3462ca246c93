"""Connections through a SOCKS proxy, over real sockets."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Literal
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
import requests
import trustme
from exchanges import ANSWERS, KEY, SHORT, chain, rest, send
from loopback import (
    DONE,
    PATIENCE,
    Peer,
    Server,
    event,
    playing,
    serving,
)
from socks_proxy import SocksProxy

from chatmagic.client.endpoint import Endpoint, ServiceSetup, Timeout
from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import (
    ChatInterrupted,
    ConnectError,
    RequestTimeoutError,
)
from chatmagic.protocol.api_key import Secret

ADDRESS = bytes([192, 0, 2, 1])
"""An address that is nobody's (RFC 5737)."""


@pytest.mark.parametrize(
    ("proxy", "host", "asked"),
    [
        ("socks4", "192.0.2.1", (4, ADDRESS, 80)),
        ("socks4a", "chat.invalid", (4, b"chat.invalid", 80)),
        ("socks5", "192.0.2.1", (5, ADDRESS, 80)),
        ("socks5h", "chat.invalid", (5, b"chat.invalid", 80)),
        ("SOCKS5H", "[2001:db8::1]:81", (5, socket.inet_pton(socket.AF_INET6, "2001:db8::1"), 81)),
    ],
)
@pytest.mark.parametrize("variable", ["all_proxy", "HTTP_PROXY"])
def test_a_socks_proxy_is_used(
    no_proxy: pytest.MonkeyPatch, proxy: str, host: str, asked: object, variable: str
) -> None:
    """One connection for two requests, which carry the key as without a proxy."""
    pytest.importorskip("socks")
    with Server(playing(ANSWERS["chunked"], ANSWERS["length"])) as server:
        script = SocksProxy(server.port)
        with Server(script) as between:
            no_proxy.setenv(variable, f"{proxy}://127.0.0.1:{between.port}")
            endpoint = Endpoint(f"http://{host}", "bearer", Secret("key-plain"), "test")
            transport = HttpTransport(ServiceSetup(endpoint))
            bodies = {rest(send(transport)) for _ in range(2)}
            transport.close()
            between.wait_closed()
    assert bodies == {event("hi") + DONE}
    assert script.asked == [asked]
    assert [each.headers["authorization"] for each in server.asked] == ["Bearer key-plain"] * 2


def test_tls_goes_through_a_socks_proxy(
    no_proxy: pytest.MonkeyPatch, authority: trustme.CA, tmp_path: Path
) -> None:
    """With its name and password, and the proxy sees no key; to connect sends no request."""
    pytest.importorskip("socks")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    no_proxy.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
    tls = serving(authority.issue_cert("chat.invalid"))
    with Server(playing(ANSWERS["chunked"]), tls, handshakes_fail=None) as server:
        script = SocksProxy(server.port, (b"ada", b"of/ada"))
        with Server(script) as between:
            no_proxy.setenv("ALL_PROXY", f"socks5h://ada:of%2Fada@127.0.0.1:{between.port}")
            endpoint = Endpoint("https://chat.invalid", "query", Secret(KEY), "test")
            transport = HttpTransport(ServiceSetup(endpoint))
            transport.connect(Halt())
            assert server.asked == []
            assert rest(send(transport)) == event("hi") + DONE
            transport.close()
    assert set(script.users) == {(b"ada", b"of/ada")}
    assert script.asked == [(5, b"chat.invalid", 443)] * 2
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("proxy", "status", "why"),
    [
        ("socks5h://ada:wrong@", 0, "SOCKS5 authentication failed"),
        ("socks5h://ada:of-ada@", 5, "Connection refused"),
        ("socks5h://ada:of-ada@", 99, "Unknown error"),
        ("socks4a://ada@", 1, "Request rejected or failed"),
        ("socks5h://", 0, "All offered SOCKS5 authentication methods were rejected"),
    ],
)
def test_a_socks_proxy_that_refuses_is_told(
    no_proxy: pytest.MonkeyPatch, proxy: str, status: int, why: str
) -> None:
    """In words that name it and its variable, and never its password."""
    pytest.importorskip("socks")
    script = SocksProxy(9, (b"ada", b"of-ada"), status)
    with Server(script, handshakes_fail=None) as between:
        no_proxy.setenv("All_Proxy", f"{proxy}127.0.0.1:{between.port}")
        endpoint = Endpoint("https://chat.invalid", "none", None, "test")
        with pytest.raises(ConnectError) as caught:
            send(HttpTransport(ServiceSetup(endpoint)))
    text = str(caught.value)
    assert f"The proxy did not connect to https://chat.invalid:443: {why}" in text
    assert f"{proxy.partition(':')[0]}://127.0.0.1:{between.port}, by All_Proxy." in text
    assert all("of-ada" not in repr(error) for error in chain(caught.value))


@pytest.mark.parametrize("answered", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\5"])
def test_what_is_no_socks_proxy_is_told(no_proxy: pytest.MonkeyPatch, answered: bytes) -> None:
    """It closes, speaks HTTP, or says half of it."""
    pytest.importorskip("socks")

    def script(peer: Peer) -> None:
        peer.piece()
        peer.send(answered)

    with Server(script, handshakes_fail=None) as between:
        no_proxy.setenv("all_proxy", f"socks5h://127.0.0.1:{between.port}")
        endpoint = Endpoint("https://chat.invalid", "none", None, "test")
        with pytest.raises(ConnectError, match="The proxy did not connect to"):
            send(HttpTransport(ServiceSetup(endpoint)))


@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        ("socks5h://{dead}", r"^The proxy did not connect to .*: Connection refused\. Nothing"),
        ("socks5h://no.invalid:1", r"^The proxy did not connect to .*\. Nothing.* socks5h://no\."),
        ("socks5://{port}", r"^The host name of https://chat\.invalid:443 was not found\. Nothing"),
        ("socks4://{port}", r"^The host name of https://chat\.invalid:443 was not found\. Nothing"),
        ("socks://{port}", r"^The base address, or the proxy that the environment names, cannot"),
        (
            "socks6://{port}",
            r"cannot be used\. Nothing .* is socks6://127.0.0.1:\d+, by all",
        ),
    ],
)
def test_where_a_socks_proxy_fails_is_told(
    no_proxy: pytest.MonkeyPatch, proxy: str, words: str
) -> None:
    """It is not there, has no address, cannot be asked for that name, or is of another kind."""
    pytest.importorskip("socks")
    with socket.socket() as dead, Server(SocksProxy(9), handshakes_fail=None) as between:
        dead.bind(("127.0.0.1", 0))
        ports = {"dead": dead.getsockname()[1], "port": between.port}
        places = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        no_proxy.setenv("all_proxy", proxy.format(**places))
        endpoint = Endpoint("https://chat.invalid", "none", None, "test")
        with pytest.raises(ConnectError, match=words):
            send(HttpTransport(ServiceSetup(endpoint)))


@pytest.mark.parametrize("phase", ["connecting", "asking"])
@pytest.mark.parametrize("reason", ["stop", "connect"])
def test_a_stop_reaches_a_socks_proxy(
    no_proxy: pytest.MonkeyPatch, silent: str, phase: str, reason: Literal["stop", "connect"]
) -> None:
    """Of a person or of a time-out: while it connects, and while it is asked."""
    pytest.importorskip("socks")
    halt = Halt()

    def script(peer: Peer) -> None:
        peer.piece()
        halt.stop(reason)
        assert peer.gone()

    with Server(script) as between:
        at = silent if phase == "connecting" else between.origin
        no_proxy.setenv("all_proxy", f"socks5h://{urlsplit(at).netloc}")
        endpoint = Endpoint("https://chat.invalid", "none", None, "test")
        waits = Timeout(connect=PATIENCE)
        if phase == "connecting":
            threading.Timer(SHORT, halt.stop, [reason]).start()
        kind = ChatInterrupted if reason == "stop" else RequestTimeoutError
        with pytest.raises(kind):
            send(HttpTransport(ServiceSetup(endpoint, waits)), halt)


@pytest.mark.parametrize("variable", ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"])
def test_without_pysocks_the_variable_and_the_extra_are_named(
    no_proxy: pytest.MonkeyPatch, variable: str
) -> None:
    """In one line, without the password."""
    missing = requests.exceptions.InvalidSchema("Missing dependencies for SOCKS support.")
    no_proxy.setattr("requests.adapters.SOCKSProxyManager", Mock(side_effect=missing))
    no_proxy.setenv(variable, "socks5h://ada:of-ada@127.0.0.1:9")
    endpoint = Endpoint("https://chat.invalid", "none", None, "test")
    with pytest.raises(ConnectError) as caught:
        send(HttpTransport(ServiceSetup(endpoint)))
    assert str(caught.value) == (
        "The proxy speaks SOCKS, which needs PySocks, and that is not installed. Nothing was sent. "
        "Install it: pip install 'requests[socks]'. The proxy on the way is "
        f"socks5h://127.0.0.1:9, by {variable}."
    )
