"""What crosses the wire, and when: over real sockets, against a server that plays a script."""

from __future__ import annotations

import gzip
import queue
import signal
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
import requests
import trustme
from exchanges import ANSWERS, BEGUN, FRAMES, KEY, SHORT, chain, rest, send
from loopback import (
    CHUNKS_END,
    DONE,
    PATIENCE,
    Peer,
    Server,
    answer,
    chunked,
    event,
    head,
    leaving,
    once,
    playing,
    serving,
    wait_for,
)
from socks_proxy import SocksProxy, pass_on

from chatmagic.client.connections import PIECE_BYTES
from chatmagic.client.endpoint import Endpoint, ServiceSetup, Timeout
from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import (
    ChatInterrupted,
    ConnectError,
    NotUnderstoodError,
    RequestTimeoutError,
)
from chatmagic.protocol.api_key import Secret

# --- Reading ------------------------------------------------------------------------------


def plainly(piece: bytes) -> bytes:
    """Send a piece as it is."""
    return piece


def gzipping() -> Callable[[bytes], bytes]:
    """Compress pieces into one body, each so that it can be read at once."""
    press = zlib.compressobj(wbits=31)
    return lambda piece: press.compress(piece) + press.flush(zlib.Z_SYNC_FLUSH)


CUTS = {
    "LF": [event("one"), event("two"), DONE],
    "one LF": [event("one", "\n"), event("two", "\n"), b"data: [DONE]\n"],
    "CRLF": [event("one", "\r\n\r\n"), event("two", "\r\n"), b"data: [DONE]\r\n"],
    "CR": [event("one", "\r"), event("two", "\r\r"), b"data: [DONE]"],
    "inside a character": ["data: é".encode()[:-1], "é".encode()[1:], b"\n", b"\n"],
    "byte by byte": [bytes([byte]) for byte in event("x")],
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("frame", FRAMES)
def test_each_piece_is_handed_on_before_the_next_is_sent(
    connect: Callable[..., HttpTransport], frame: str, cut: str
) -> None:
    """The server sends a piece only after the one before has arrived: nothing is held back."""
    pieces = CUTS[cut]
    arrived = threading.Semaphore(0)
    fields = FRAMES[frame]
    length = sum(map(len, pieces))
    press = gzipping() if "gzip" in frame else plainly

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={k: v.format(length=length) for k, v in fields.items()}))
        for piece in pieces:
            data = press(piece)
            peer.send(chunked(data) if "chunked" in frame else data)
            assert arrived.acquire(timeout=PATIENCE)
        peer.send(CHUNKS_END if "chunked" in frame else b"")

    with Server(script) as server:
        exchange = send(connect(server, first_byte=2, silence=2))
        for piece in pieces:
            assert exchange.read() == piece
            arrived.release()
        assert exchange.read() == b""
        exchange.close(ended=True)


def test_gzip_in_one_piece_is_read_whole(connect: Callable[..., HttpTransport]) -> None:
    """A compressed body with a length is unpacked, also where it grows beyond one piece."""
    text = b"chat " * 100_000
    fields = {"Content-Encoding": "gzip"}
    with Server(playing(answer(gzip.compress(text), headers=fields))) as server:
        transport = connect(server)
        assert rest(send(transport)) == text
        assert rest(send(transport)) == text
        assert server.accepted == 1


@pytest.mark.parametrize("pressed", ["zlib", "raw", "two members", "rubbish behind"])
def test_each_kind_of_compression_is_read(
    connect: Callable[..., HttpTransport], pressed: str
) -> None:
    """Also as some servers write them, and in pieces of bounded size."""
    text = b"chat " * 100_000
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    body, name = {
        "zlib": (zlib.compress(text), "deflate"),
        "raw": (raw.compress(text) + raw.flush(), "deflate"),
        "two members": (gzip.compress(text[:9]) + gzip.compress(text[9:]), "x-gzip"),
        "rubbish behind": (gzip.compress(text) + b"rubbish", "identity, GZIP"),
    }[pressed]
    with Server(playing(answer(body, headers={"Content-Encoding": name}))) as server:
        exchange = send(connect(server))
        pieces = list(iter(exchange.read, b""))
        assert b"".join(pieces) == text
        assert max(map(len, pieces)) <= PIECE_BYTES


@pytest.mark.parametrize("encodings", ["gzip, gzip", "br", "zstd", "gzip,deflate,gzip"])
def test_no_other_encoding_is_read(connect: Callable[..., HttpTransport], encodings: str) -> None:
    """Nobody asked for it, and 500 bytes in five layers of gzip stand for 600 MB."""
    raw = answer(gzip.compress(gzip.compress(b"x")), headers={"Content-Encoding": encodings})
    with (
        Server(playing(raw)) as server,
        pytest.raises(NotUnderstoodError, match=f'encoded as "{encodings}", and one layer'),
    ):
        rest(send(connect(server)))


@pytest.mark.parametrize(
    "raw",
    [
        b"\x15" * 70_000,
        head(headers={"X-A": "a" * 70_000}),
        head(headers={f"X-{n}": "a" for n in range(101)}),
        head("100 Continue") * 60_000,
    ],
    ids=["a long line", "a long header", "many headers", "many interim answers"],
)
def test_an_answer_beyond_bounds_is_told(connect: Callable[..., HttpTransport], raw: bytes) -> None:
    """It is an error in plain words."""
    words = "not HTTP, or cannot be read"
    with Server(once(raw)) as server, pytest.raises(NotUnderstoodError, match=words):
        rest(send(connect(server)))
    assert len(server.asked) == 1


# --- One connection -----------------------------------------------------------------------


@pytest.mark.parametrize("safe", [False, True], ids=["plain", "TLS"])
def test_many_turns_use_one_connection(
    connect: Callable[..., HttpTransport], tls: ssl.SSLContext, *, safe: bool
) -> None:
    """Turns of every kind, errors among them, share one connection."""
    with Server(playing(*ANSWERS.values()), tls if safe else None) as server:
        transport = connect(server)
        for _ in range(2 * len(ANSWERS)):
            rest(send(transport))
        assert server.accepted == 1
        assert len(server.asked) == 2 * len(ANSWERS)


def test_each_request_has_its_own_body_and_headers(connect: Callable[..., HttpTransport]) -> None:
    """The body has its length; the headers are those that are set when it is sent."""
    bodies = [b"{}", b'{"a": 1}', b'{"a": "another"}', b"{}"]
    teams = [None, {"X-Team": "a"}, {"X-Team": "b"}, None]
    with Server(playing(*[ANSWERS["length"]] * 5)) as server:
        transport = connect(server)
        for body, extra in zip(bodies, teams, strict=True):
            transport.setup = replace(transport.setup, extra_headers=extra)
            rest(transport.send(body, stream=True, halt=Halt()))
        rest(transport.get_models(Halt()))
        assert server.accepted == 1
    *posts, models = server.asked
    assert [asked.raw.partition(b"\r\n\r\n")[2] for asked in posts] == bodies
    assert [int(asked.headers["content-length"]) for asked in posts] == [*map(len, bodies)]
    assert [asked.headers.get("x-team") for asked in posts] == [None, "a", "b", None]
    assert models.raw.startswith(b"GET ")
    assert "content-length" not in models.headers


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_reply_left_at_its_end_mark_keeps_the_connection(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch, *, packed: bool
) -> None:
    """What stands after the end mark is drained, so that the connection serves again."""
    monkeypatch.setattr("chatmagic.client.transport.DRAIN_SECONDS", PATIENCE)
    press = gzipping() if packed else plainly
    fields = FRAMES["chunked gzip" if packed else "chunked"]
    body = chunked(press(event("hi") + DONE)), chunked(press(b": bye\n")) + CHUNKS_END
    arrived = threading.Semaphore(0)

    def script(peer: Peer) -> None:
        while peer.request():
            peer.send(head(headers=fields), body[0])
            assert arrived.acquire(timeout=PATIENCE)
            peer.send(body[1])

    with Server(script) as server:
        transport = connect(server)
        exchange = send(transport)
        assert exchange.read().endswith(DONE)
        arrived.release()
        exchange.close(ended=True)
        exchange = send(transport)
        assert exchange.read().endswith(DONE) or packed
        arrived.release()
        exchange.close(ended=True)
        assert server.accepted == 1


@pytest.mark.parametrize("safe", [False, True], ids=["plain", "TLS"])
def test_an_idle_connection_that_was_closed_is_made_again(
    connect: Callable[..., HttpTransport], tls: ssl.SSLContext, *, safe: bool
) -> None:
    """When the server has closed the kept connection, the next turn opens one, sending once."""
    with Server(once(ANSWERS["length"]), tls if safe else None) as server:
        transport = connect(server)
        for _ in range(3):
            assert rest(send(transport))
            server.wait_closed()
        assert server.accepted == 3
        assert len(server.asked) == 3


def test_a_server_that_keeps_the_stream_open_does_not_hold_the_caller(
    connect: Callable[..., HttpTransport],
) -> None:
    """After the end mark the caller waits a moment at most; then the connection is closed."""
    gone = queue.Queue[bool]()

    with Server(leaving(gone, head(headers=FRAMES["chunked"]), chunked(DONE))) as server:
        transport = connect(server)
        for _ in range(2):
            exchange = send(transport)
            assert exchange.read() == DONE
            began = time.monotonic()
            exchange.close(ended=True)
            assert time.monotonic() - began < PATIENCE
            assert gone.get(timeout=PATIENCE)
        assert server.accepted == 2


def test_a_server_that_goes_on_and_on_is_drained_of_little(
    connect: Callable[..., HttpTransport],
) -> None:
    """At most 4 kB are read after the end mark."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]), chunked(DONE))
        wait_for(arrived)
        peer.send(chunked(b":" * 4_097), CHUNKS_END)
        assert peer.gone()

    arrived = threading.Event()
    with Server(script) as server:
        exchange = send(connect(server))
        assert exchange.read() == DONE
        arrived.set()
        exchange.close(ended=True)
    assert server.accepted == 1


def test_to_close_a_transport_closes_what_it_keeps(connect: Callable[..., HttpTransport]) -> None:
    """At once, while everything of it is still held; and it can be used again."""
    gone = queue.Queue[bool]()

    with Server(leaving(gone, ANSWERS["length"])) as server:
        transport = connect(server)
        for _ in range(2):
            exchange = send(transport)
            assert rest(exchange)
            kept = transport._adapter
            transport.close()
            assert gone.get(timeout=PATIENCE)
            assert kept is not transport._adapter


def test_abort_closes_at_once_and_is_harmless_after_the_end(
    connect: Callable[..., HttpTransport],
) -> None:
    """The server sees the close while the client still holds everything."""
    gone = queue.Queue[bool]()

    with Server(leaving(gone, head(headers=FRAMES["chunked"]), chunked(b"some"))) as server:
        exchange = send(connect(server))
        assert exchange.read() == b"some"
        exchange.close(ended=False)
        assert gone.get(timeout=PATIENCE)
        exchange.close(ended=False)
        exchange.close(ended=True)
    with Server(playing(ANSWERS["chunked"])) as server:
        transport = connect(server)
        for _ in range(2):
            exchange = send(transport)
            rest(exchange)
            exchange.close(ended=False)
        assert server.accepted == 1


# --- Redirects, cookies, proxies, certificates --------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(connect: Callable[..., HttpTransport], status: int) -> None:
    """Another origin never sees a request, let alone a key."""
    with Server(playing(ANSWERS["length"])) as other:
        moved = answer(b"", f"{status} Moved", {"Location": f"{other.url}?a=b"})
        with Server(playing(moved)) as server:
            for auth in ("bearer", "x-api-key", "query"):
                transport = connect(server, auth)
                exchange = send(transport)
                assert exchange.status == status
                rest(exchange)
        assert other.accepted == 0


def test_cookies_are_not_sent_back(connect: Callable[..., HttpTransport]) -> None:
    """Nothing is remembered of an answer that could go out with the next request."""
    fields = {"Set-Cookie": "track=me; Path=/"}
    with Server(playing(answer(b"", headers=fields))) as server:
        transport = connect(server)
        rest(send(transport))
        rest(send(transport))
    assert "cookie" not in server.asked[1].headers


def test_loopback_goes_past_a_proxy(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With http_proxy set, a direct transport goes to the server itself."""
    with Server(playing(ANSWERS["length"])) as proxy, Server(playing(ANSWERS["error"])) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.origin)
        transport = connect(server)
        exchange = send(transport)
        assert exchange.status == 500
        rest(exchange)
        assert proxy.accepted == 0


def test_elsewhere_the_environments_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain address goes through the proxy; to a TLS one the proxy sees no key at all."""
    refused = answer(b"", "403 Forbidden")
    with Server(playing(refused)) as proxy:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.origin)
        monkeypatch.setenv("no_proxy", "")
        for scheme in ("http", "https"):
            endpoint = Endpoint(f"{scheme}://chat.invalid", "query", Secret(KEY), "test")
            transport = HttpTransport(ServiceSetup(endpoint))
            if scheme == "http":
                assert rest(send(transport)) == b""
            else:
                with pytest.raises(
                    ConnectError, match=r"not connect to \S+: it answered 403"
                ) as caught:
                    send(transport)
                assert all("7d1f" not in repr(error) for error in chain(caught.value))
            transport.close()
    through, tunnel = proxy.asked
    assert through.target.startswith("http://chat.invalid/v1/chat/completions?api_key=key-7d1f")
    assert tunnel.raw.startswith(b"CONNECT chat.invalid:443 ")
    assert b"7d1f" not in tunnel.raw


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


# --- Interrupts ---------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to a thread")
@pytest.mark.parametrize("begun", [b"", BEGUN], ids=["before headers", "in the body"])
def test_an_interrupt_closes_the_connection(
    connect: Callable[..., HttpTransport], begun: bytes
) -> None:
    """Ctrl-C in the middle of a wait comes through as it is, and the server sees the close."""
    here = threading.get_ident()
    gone = queue.Queue[bool]()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(begun)
        waiting.wait(0.05)
        signal.pthread_kill(here, signal.SIGINT)
        gone.put(peer.gone())

    waiting = threading.Event()
    with Server(script) as server:
        transport = connect(server)
        with pytest.raises(KeyboardInterrupt) as caught:
            rest(send(transport))
        assert not isinstance(caught.value, ChatInterrupted)
        assert gone.get(timeout=PATIENCE)


def test_an_interrupt_in_the_drain_closes_the_connection(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even the last moment of a reply can be interrupted, and leaves nothing open."""
    gone = queue.Queue[bool]()

    with Server(leaving(gone, head(headers=FRAMES["chunked"]), chunked(DONE))) as server:
        exchange = send(connect(server))
        assert exchange.read() == DONE
        monkeypatch.setattr(socket.SocketIO, "readinto", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            exchange.close(ended=True)
        monkeypatch.undo()
        assert gone.get(timeout=PATIENCE)


@pytest.mark.parametrize("is_plain", [True, False])
def test_to_connect_writes_no_byte(
    connect: Callable[..., HttpTransport], tls: ssl.SSLContext, *, is_plain: bool
) -> None:
    """A request afterwards has a connection of its own."""
    context = None if is_plain else tls
    with Server(playing(ANSWERS["length"]), context, handshakes_fail=None) as server:
        transport = connect(server)
        transport.connect(Halt())
        server.wait_closed()
        assert server.asked == []
        rest(send(transport))
        assert len(server.asked) == 1


def test_to_connect_through_a_proxy_asks_for_a_tunnel_alone(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS with the service is made in the tunnel."""

    def tunnel(peer: Peer) -> None:
        peer.request()
        peer.send(head("200 Connected"))
        pass_on(peer, server.port)

    with Server(playing(b""), tls, handshakes_fail=None) as server, Server(tunnel) as proxy:
        monkeypatch.setenv("https_proxy", proxy.origin)
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setattr("chatmagic.client.proxies.is_loopback", lambda _: False)
        endpoint = Endpoint(server.origin, "query", Secret(KEY), "test")
        HttpTransport(ServiceSetup(endpoint)).connect(Halt())
        server.wait_closed()
        assert server.accepted == 1
    assert [asked.raw.split()[0] for asked in proxy.asked] == [b"CONNECT"]
    assert server.asked == []
