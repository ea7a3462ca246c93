"""The way to an address: each step that fails is named, and no request is sent."""

from __future__ import annotations

import socket
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Server, playing, serving, unanswering

from chatmagic.doctor import probe as module
from chatmagic.doctor.probe import probe

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    import trustme

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no proxy and no authority of this machine count."""
    for name in (*PROXIES, *map(str.upper, PROXIES)):
        monkeypatch.delenv(name, raising=False)
    for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


def closed() -> int:
    """Return a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let one name be this machine, and no other be known."""
    real = socket.getaddrinfo

    def use(known: str) -> None:
        def look(host: str, *rest: Any) -> Any:
            if host == known:
                return real("127.0.0.1", *rest)
            if host[0].isdigit():
                return real(host, *rest)
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", look)

    return use


def test_a_way_that_is_open() -> None:
    """It is connected to, and nothing is said."""
    with Server(playing(b"")) as server:
        seen = probe(f"{server.origin}/v1")
        assert (seen.failed, seen.is_connected, seen.addresses) == (None, True, ("127.0.0.1",))
        assert server.asked == []


def test_tls_that_is_trusted(tls: ssl.SSLContext) -> None:
    """Its version, its end, and whose authority it is."""
    with Server(playing(b""), tls, handshakes_fail=None) as server:  # it closes without a word
        seen = probe(server.origin)
    assert seen.failed is None
    assert seen.tls.startswith("TLSv1.")
    assert "valid until " in seen.tls
    assert "authorities of REQUESTS_CA_BUNDLE" in seen.tls


def test_tls_that_is_not_trusted(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is named, with what to do about an authority."""
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    with Server(
        playing(b""), serving(authority.issue_cert("127.0.0.1")), handshakes_fail=True
    ) as server:
        seen = probe(server.origin)
    assert seen.failed == "TLS"
    assert seen.trouble is not None
    assert "REQUESTS_CA_BUNDLE" in seen.trouble.todo
    assert "sent" not in seen.trouble.what


def test_a_port_that_is_closed() -> None:
    """It refuses."""
    seen = probe(f"http://127.0.0.1:{closed()}")
    assert (seen.failed, seen.is_connected) == ("connection", False)
    assert seen.trouble is not None
    assert seen.trouble.what.endswith("refused the connection")


def test_a_name_that_is_not_known(names: Callable[[str], None]) -> None:
    """It is named."""
    names("")
    seen = probe("https://chat.example.org/v1")
    assert seen.failed == "name"
    assert seen.trouble is not None
    assert "chat.example.org was not found" in seen.trouble.what


def test_one_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not waited for long."""
    monkeypatch.setattr(module, "SECONDS", 0.05)
    with unanswering() as origin:
        seen = probe(origin)
    assert seen.failed == "connection"
    assert seen.trouble is not None
    assert "took longer than 0.05 s" in seen.trouble.what


@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        (
            "http://ada:secret-word@127.0.0.1:{}",
            "the proxy http://127.0.0.1:{} refused the connection",
        ),
        ("127.0.0.1:{}", "127.0.0.1:{} refused the connection"),
        ("gopher://127.0.0.1:{}", "the proxy that the environment names cannot be used"),
        ("http://proxy.example.org:{}", "proxy.example.org was not found"),
    ],
)
def test_a_proxy_that_is_set_wrongly(
    names: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, proxy: str, words: str
) -> None:
    """It is named without its password; an address on this machine needs none."""
    names("")
    port = closed()
    monkeypatch.setenv("HTTPS_PROXY", proxy.format(port))
    seen = probe("https://chat.example.org/v1")
    assert seen.failed == "proxy"
    assert seen.trouble is not None
    assert words.format(port) in seen.trouble.what
    assert "HTTPS_PROXY" in seen.trouble.todo
    assert "secret-word" not in repr(seen)
    assert probe(f"https://127.0.0.1:{closed()}").failed == "connection"


def test_a_proxy_that_answers(
    names: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is connected to; what is behind it takes a request to know."""
    names("proxy.example.org")
    with Server(playing(b"")) as server:
        monkeypatch.setenv("HTTPS_PROXY", f"http://proxy.example.org:{server.port}")
        seen = probe("https://chat.example.org/v1")
    assert seen.failed is None
    assert seen.proxy == f"http://proxy.example.org:{server.port}"
    assert (seen.is_connected, seen.tls, server.asked) == (True, "", [])


def test_a_proxy_that_is_asked_by_tls(
    tls: ssl.SSLContext, names: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few proxies speak it: what its address says is tried."""
    names("")
    with Server(playing(b""), tls, handshakes_fail=None) as server:  # it closes without a word
        monkeypatch.setenv("HTTPS_PROXY", server.origin)
        seen = probe("https://chat.example.org")
    assert seen.tls.startswith("to the proxy: TLSv1.")
    with Server(lambda peer: peer.garble()) as server:
        monkeypatch.setenv("HTTPS_PROXY", f"https://127.0.0.1:{server.port}")
        seen = probe("https://chat.example.org")
    assert seen.failed == "proxy"
    assert seen.trouble is not None
    at = f"https://127.0.0.1:{server.port}"
    assert f"the proxy {at}: No secure connection to {at}: " in seen.trouble.what


def test_a_name_that_nobody_answers_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the network is down a look-up takes no more than its time."""
    answered = Event()
    monkeypatch.setattr(module, "SECONDS", 0.05)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: answered.wait(60) and [])
    seen = probe("https://chat.example.org")
    answered.set()
    assert (seen.failed, seen.addresses) == ("name", ())
    assert seen.trouble is not None
    assert seen.trouble.what == "looking up the host name chat.example.org took longer than 0.05 s"
