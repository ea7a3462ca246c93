"""What crosses the wire, and when: over real sockets, against a server that plays a script."""

from __future__ import annotations

import gzip
import itertools
import queue
import signal
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from exchanges import ANSWERS, BEGUN, FRAMES, KEY, chain, rest, send
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
    wait_for,
)
from socks_proxy import pass_on

from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.client.sockets import PIECE_BYTES
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import (
    ChatInterrupted,
    ConnectError,
    NotUnderstoodError,
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


def test_what_is_here_is_drained_however_late(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that is busy for longer than the moment costs no connection."""
    monkeypatch.setattr("chatmagic.client.transport.monotonic", itertools.count().__next__)

    def script(peer: Peer) -> None:
        while peer.request():
            peer.send(head(headers=FRAMES["chunked"]) + chunked(DONE) + CHUNKS_END)

    with Server(script) as server:
        transport = connect(server)
        for _ in range(2):
            exchange = send(transport)
            assert exchange.read() == DONE
            exchange.close(ended=True)
        assert server.accepted == 1


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
