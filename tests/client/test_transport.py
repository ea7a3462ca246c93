"""What crosses the wire, and when: over real sockets, against a server that plays a script."""

from __future__ import annotations

import contextlib
import gzip
import logging
import queue
import signal
import socket
import threading
import time
import zlib
from typing import TYPE_CHECKING, Any

import pytest
import requests
from loopback import (
    CHUNKS_END,
    DONE,
    EVENTS,
    PATIENCE,
    Peer,
    Server,
    answer,
    chunked,
    event,
    head,
    once,
    playing,
    stream,
    unanswering,
    wait_for,
)
from urllib3.util.ssltransport import SSLTransport
from urllib3.util.wait import wait_for_write

from chatmagic.client import network_errors
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.client.timeouts import Timeout
from chatmagic.client.transport import HttpExchange, HttpTransport
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    InputError,
    NotUnderstoodError,
    RequestTimeoutError,
    ServiceError,
)
from chatmagic.protocol.auth import Auth, Secret

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chatmagic.errors import Which

KEY = "key-7d1f~/+&=%throw-away"
SHORT = 0.15
"""A time-out that is meant to run out, in seconds."""


@pytest.fixture
def connect() -> Iterator[Callable[..., HttpTransport]]:
    """Give a maker of transports, which are closed after the test."""
    made: list[HttpTransport] = []

    def make(server: Server | str, auth: Auth = "bearer", **times: float | None) -> HttpTransport:
        waits = {"connect": PATIENCE, "first_byte": PATIENCE, "silence": PATIENCE, **times}
        base_url = server if isinstance(server, str) else server.url
        key = None if auth == "none" else Secret(KEY)
        endpoint = Endpoint(base_url, auth, key, "test")
        transport = HttpTransport(ServiceSetup(endpoint, Timeout(**waits)))
        made.append(transport)
        return transport

    yield make
    for transport in made:
        transport.close()


def send(transport: HttpTransport, halt: Halt | None = None) -> HttpExchange:
    """Send a small request."""
    return transport.send(b"{}", stream=True, halt=halt or Halt())


def rest(exchange: HttpExchange) -> bytes:
    """Read to the end and be done."""
    body = b""
    while piece := exchange.read():
        body += piece
    exchange.close(ended=True)
    return body


def chain(error: BaseException | None) -> list[BaseException]:
    """Give an error and all that hang on to it."""
    found: list[BaseException] = []
    queue: list[BaseException | None] = [error]
    while queue:
        item = queue.pop()
        if item is not None and item not in found:
            found.append(item)
            queue += [item.__cause__, item.__context__]
    return found


# --- Reading ------------------------------------------------------------------------------


def plainly(piece: bytes) -> bytes:
    """Send a piece as it is."""
    return piece


def gzipping() -> Callable[[bytes], bytes]:
    """Compress pieces into one body, each so that it can be read at once."""
    press = zlib.compressobj(wbits=31)
    return lambda piece: press.compress(piece) + press.flush(zlib.Z_SYNC_FLUSH)


FRAMES = {
    "chunked": {"Transfer-Encoding": "chunked"},
    "until close": {"Connection": "close"},
    "length": {"Content-Length": "{length}"},
    "chunked gzip": {"Transfer-Encoding": "chunked", "Content-Encoding": "gzip"},
    "gzip until close": {"Connection": "close", "Content-Encoding": "gzip"},
}
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


def test_a_chunk_is_not_waited_for_to_its_end(connect: Callable[..., HttpTransport]) -> None:
    """What has come of a chunk is handed on although the chunk goes on."""
    arrived = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]), b"a\r\nfirst")
        wait_for(arrived)
        peer.send(b"-half\r\n", CHUNKS_END)

    with Server(script) as server:
        exchange = send(connect(server))
        assert exchange.read() == b"first"
        arrived.set()
        assert rest(exchange) == b"-half"


def test_gzip_in_one_piece_is_read_whole(connect: Callable[..., HttpTransport]) -> None:
    """A compressed body with a length is unpacked, also where it grows beyond one piece."""
    text = b"chat " * 100_000
    fields = {"Content-Encoding": "gzip"}
    with Server(playing(answer(gzip.compress(text), headers=fields))) as server:
        transport = connect(server)
        assert rest(send(transport)) == text
        assert rest(send(transport)) == text
        assert server.accepted == 1


def test_status_and_headers_are_given_as_sent(connect: Callable[..., HttpTransport]) -> None:
    """Repeated headers stay apart and in order."""
    raw = b"HTTP/1.1 418 Teapot\r\nX-A: 1\r\nX-B: 2\r\nX-A: 3\r\nContent-Length: 0\r\n\r\n"
    with Server(playing(raw)) as server:
        exchange = send(connect(server))
        assert exchange.status == 418
        assert [pair for pair in exchange.headers if pair[0] in ("X-A", "X-B")] in (
            [("X-A", "1"), ("X-A", "3"), ("X-B", "2")],
            [("X-A", "1"), ("X-B", "2"), ("X-A", "3")],
        )
        assert rest(exchange) == b""


@pytest.mark.parametrize(
    ("raw", "kind", "words"),
    [
        (head(headers={"Content-Length": "9"}) + b"half", CutOffError, "broke"),
        (head(headers=FRAMES["chunked"]) + b"5\r\nhalf", CutOffError, "broke"),
        (head(headers=FRAMES["chunked"]) + b"zz\r\nhalf\r\n", CutOffError, "broke"),
        (answer(b"no gzip", headers={"Content-Encoding": "gzip"}), NotUnderstoodError, "compress"),
        (b"\x15\x03\x03\x00\x02\x02\x46", NotUnderstoodError, "not HTTP"),
        (b"\x15" * 70_000, NotUnderstoodError, "not HTTP"),
        (head(headers={"X-A": "a" * 70_000}), NotUnderstoodError, "not HTTP, or cannot be read"),
        (
            head(headers={f"X-{n}": "a" for n in range(101)}),
            NotUnderstoodError,
            "not HTTP, or cannot be read",
        ),
        (b"", ServiceError, "without an answer"),
    ],
    ids=[
        "length",
        "chunk",
        "chunk size",
        "gzip",
        "no HTTP",
        "a long line",
        "a long header",
        "many headers",
        "nothing",
    ],
)
def test_a_broken_answer_is_told(
    connect: Callable[..., HttpTransport], raw: bytes, kind: type[ChatError], words: str
) -> None:
    """An answer that breaks off, or is none, is an error in plain words."""
    with Server(once(raw)) as server, pytest.raises(kind, match=words):
        rest(send(connect(server)))
    assert len(server.asked) == 1


@pytest.mark.parametrize("begun", [b"", head(headers=FRAMES["chunked"]) + chunked(b"some")])
def test_a_reset_is_told(connect: Callable[..., HttpTransport], begun: bytes) -> None:
    """A connection that is reset is an error of the service, or a reply that is cut off."""
    arrived = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(begun)
        if begun:
            wait_for(arrived)
        peer.reset()

    def ask() -> None:
        exchange = send(connect(server))
        assert exchange.read() == b"some"
        arrived.set()
        exchange.read()

    kind = CutOffError if begun else ServiceError
    with Server(script) as server, pytest.raises(kind) as caught:
        ask()
    assert "Errno" not in str(caught.value)
    assert len(server.asked) == 1


# --- One connection -----------------------------------------------------------------------

ANSWERS = {
    "chunked": stream(event("hi"), DONE),
    "length": answer(event("hi") + DONE, headers=EVENTS),
    "gzip": answer(gzip.compress(event("hi") + DONE), headers={"Content-Encoding": "gzip"}),
    "error": answer(b"{}", "500 Oops"),
    "long error": answer(b"x" * 100_000, "429 Slow down"),
    "chunked error": head("503 Busy", {"Transfer-Encoding": "chunked"})
    + chunked(b"{", b"}")
    + CHUNKS_END,
}


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


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_reply_left_at_its_end_mark_keeps_the_connection(
    connect: Callable[..., HttpTransport], *, packed: bool
) -> None:
    """What stands after the end mark is drained, so that the connection serves again."""
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


def test_a_connection_closed_under_the_request_is_not_tried_again(
    connect: Callable[..., HttpTransport],
) -> None:
    """A request that was written is never sent twice, whatever became of it."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(ANSWERS["length"])
        peer.request()

    with Server(script) as server:
        transport = connect(server)
        assert rest(send(transport))
        with pytest.raises(ServiceError, match="Nothing was sent again"):
            send(transport)
        assert len(server.asked) == 2
        assert server.accepted == 1


def test_a_server_that_keeps_the_stream_open_does_not_hold_the_caller(
    connect: Callable[..., HttpTransport],
) -> None:
    """After the end mark the caller waits a moment at most; then the connection is closed."""
    gone = queue.Queue[bool]()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]), chunked(DONE))
        gone.put(peer.gone())

    with Server(script) as server:
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


def test_a_server_that_drips_after_the_end_is_drained_of_little(
    connect: Callable[..., HttpTransport],
) -> None:
    """However little comes at a time, for however long, the reply's end is not held up."""
    gone = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]), chunked(DONE), b"0\r\n")
        pause = threading.Event()
        with contextlib.suppress(ConnectionError):
            for _ in range(500):
                peer.send(b"X: y\r\n")
                pause.wait(0.005)
            pytest.fail("all of it was taken")
        gone.set()

    with Server(script) as server:
        exchange = send(connect(server))
        assert exchange.read() == DONE
        exchange.close(ended=True)
        wait_for(gone)


def test_to_close_a_transport_closes_what_it_keeps(connect: Callable[..., HttpTransport]) -> None:
    """At once, while everything of it is still held; and it can be used again."""
    gone = queue.Queue[bool]()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(ANSWERS["length"])
        gone.put(peer.gone())

    with Server(script) as server:
        transport = connect(server)
        for _ in range(2):
            exchange = send(transport)
            assert rest(exchange)
            pools = list(transport._opened)
            transport.close()
            assert gone.get(timeout=PATIENCE)
            assert len(pools) == 1


def test_a_stop_of_an_ask_that_is_over_leaves_the_next_one_alone(
    connect: Callable[..., HttpTransport],
) -> None:
    """A connection belongs to the halt of the exchange that uses it now, and to no other."""
    old = Halt()
    stopped = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(ANSWERS["length"])
        peer.request()
        peer.send(head(headers={"Content-Length": "1"}))
        wait_for(stopped)
        peer.send(b"x")

    with Server(script) as server:
        transport = connect(server)
        # Read to its end, and neither finished nor aborted: another may have the connection.
        over = send(transport, old)
        over._halt = Halt()
        while over.read():
            pass
        exchange = send(transport)
        old.stop()
        stopped.set()
        assert rest(exchange) == b"x"
        assert server.accepted == 1


def test_abort_closes_at_once_and_is_harmless_after_the_end(
    connect: Callable[..., HttpTransport],
) -> None:
    """The server sees the close while the client still holds everything."""
    gone = queue.Queue[bool]()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]), chunked(b"some"))
        gone.put(peer.gone())

    with Server(script) as server:
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


# --- Stopping and time-outs ---------------------------------------------------------------

BEGUN = head(headers=FRAMES["chunked"]) + chunked(b"some")


@pytest.mark.parametrize("safe", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize(
    "begun",
    [b"", BEGUN, head(headers=FRAMES["until close"]) + b"some"],
    ids=["before headers", "in the body", "in a body until close"],
)
def test_stop_wakes_the_reader(
    connect: Callable[..., HttpTransport], tls: ssl.SSLContext, begun: bytes, *, safe: bool
) -> None:
    """A stop from another thread ends the wait at once, headers or not; the server sees it."""
    halt = Halt()
    stopped = queue.Queue[float]()
    gone = queue.Queue[bool]()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(begun)
        waiting.wait(0.05)
        stopped.put(time.monotonic())
        halt.stop()
        gone.put(peer.gone())

    waiting = threading.Event()
    with Server(script, tls if safe else None) as server:
        transport = connect(server)
        with pytest.raises(ChatInterrupted):
            rest(send(transport, halt))
        assert time.monotonic() - stopped.get(timeout=PATIENCE) < PATIENCE
        assert gone.get(timeout=PATIENCE)


def test_stop_wakes_a_handshake(connect: Callable[..., HttpTransport]) -> None:
    """A server that accepts, and says nothing to TLS, does not hold who stops."""
    halt = Halt()

    def script(peer: Peer) -> None:
        hello = peer.piece()
        assert hello
        halt.stop()
        assert peer.gone()

    with Server(script) as server, pytest.raises(ChatInterrupted):
        # A wait that outlasts the server's patience, so that only the stop can end it in time.
        send(connect(server.url.replace("http:", "https:"), connect=4 * PATIENCE), halt)


def test_stop_before_sending_sends_nothing(connect: Callable[..., HttpTransport]) -> None:
    """Under a halt that was stopped before, no request reaches the server; new or kept."""
    with Server(playing(ANSWERS["length"])) as server:
        transport = connect(server)
        halt = Halt()
        halt.stop()
        with pytest.raises(ChatInterrupted):
            send(transport, halt)
        assert server.asked == []
        rest(send(transport))
        with pytest.raises(ChatInterrupted):
            send(transport, halt)
        assert len(server.asked) == 1


def test_stop_after_the_end_leaves_the_kept_connection_alone(
    connect: Callable[..., HttpTransport],
) -> None:
    """A stop that comes too late does not hit the next turn, which has the same socket."""
    with Server(playing(*ANSWERS.values())) as server:
        transport = connect(server)
        for _ in ANSWERS:
            halt = Halt()
            exchange = send(transport, halt)
            while exchange.read():
                pass
            halt.stop()
            exchange.close(ended=True)
        assert server.accepted == 1


def test_a_stop_reaches_tls_within_a_proxys_tls() -> None:
    """There urllib3 has something of its own in a socket's place, which holds the socket."""
    here, there = socket.socketpair()
    with here, there:
        within = SSLTransport.__new__(SSLTransport)
        within.socket = here
        halt = Halt()
        halt.watch(within)  # type: ignore[arg-type] # as urllib3 hands it on
        halt.stop()
        there.settimeout(PATIENCE)
        assert there.recv(1) == b""


def drip(begun: bytes, drop: bytes = b"x") -> Callable[[Peer], None]:
    """Make the script that begins an answer and then sends one byte after the other."""

    def script(peer: Peer) -> None:
        peer.piece()
        peer.send(begun)
        peer.repeat(drop, every=0.01)

    return script


TLS_RECORD_BEGUN = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"


@pytest.mark.parametrize(
    ("begun", "scheme", "which"),
    [
        (TLS_RECORD_BEGUN, "https", "connect"),
        (TLS_RECORD_BEGUN, "https", "total"),
        (b"HTTP/1.1 2", "http", "first_byte"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", "http", "first_byte"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", "http", "total"),
        (head(headers=FRAMES["chunked"]) + b"1;", "http", "first_byte"),
        (head(headers=FRAMES["until close"]), "http", "total"),
        (head("500 Oops", FRAMES["until close"]), "http", "total"),
    ],
)
def test_what_drips_for_ever_is_ended(
    connect: Callable[..., HttpTransport], begun: bytes, scheme: str, which: str
) -> None:
    """Each byte comes in time, and yet a time-out counts the whole wait, and says which."""
    with Server(drip(begun)) as server:
        transport = connect(f"{scheme}://127.0.0.1:{server.port}/", **{which: SHORT})
        with pytest.raises(RequestTimeoutError, match=r"time-out of 0\.15 s") as caught:
            rest(send(transport))
    assert caught.value.which == which


def test_a_request_that_is_not_taken_in_is_the_first_byte_time_out(
    connect: Callable[..., HttpTransport],
) -> None:
    """A server that takes a connection, and reads nothing, is not waited for for ever."""
    over = threading.Event()
    with Server(lambda _: over.wait(PATIENCE)) as server:
        transport = connect(server, first_byte=SHORT)
        with pytest.raises(
            RequestTimeoutError, match=r"first-byte time-out of 0\.15 s; a proxy on the way may"
        ):
            transport.send(b"x" * 40_000_000, stream=True, halt=Halt())
        over.set()


@pytest.mark.parametrize("which", ["connect", "first_byte", "silence", "total"])
def test_each_time_out_says_how_to_change_it(which: Which) -> None:
    """In a notebook and in Python, with a longer time that would be taken."""
    error = network_errors.late(which, 2.5, "http://here")
    assert error.which == which
    assert "2.5 s" in error.message
    assert error.hint is not None
    assert f'%config ChatMagics.timeout = {{"{which}": 5}}' in error.hint
    assert f"chatmagic.Timeout({which}=5)" in error.hint
    assert Timeout.of({which: 5}) == Timeout(**{which: 5.0})


def test_total_ends_a_reply_that_drips(connect: Callable[..., HttpTransport]) -> None:
    """The total time-out counts although every piece comes in time."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]))
        peer.repeat(chunked(b":\n"), every=0.01)

    with Server(script) as server:
        transport = connect(server, total=SHORT)
        with pytest.raises(RequestTimeoutError, match=r"total time-out of 0\.15 s") as caught:
            rest(send(transport))
    assert caught.value.which == "total"


@pytest.mark.parametrize(
    ("begun", "which"),
    [(b"", "first_byte"), (head(headers=FRAMES["chunked"]), "first_byte"), (BEGUN, "silence")],
    ids=["no headers", "no body", "in the body"],
)
def test_a_time_out_names_itself(
    connect: Callable[..., HttpTransport], begun: bytes, which: str
) -> None:
    """Which wait ran out stands in the message, and the connection is closed."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(begun)
        assert peer.gone()

    with Server(script) as server:
        times = {"first_byte": PATIENCE, "silence": PATIENCE, which: SHORT}
        with pytest.raises(RequestTimeoutError, match=which.replace("_", "-")) as caught:
            rest(send(connect(server, **times)))
        assert caught.value.which == which
        assert len(server.asked) == 1


def test_a_handshake_that_takes_too_long_is_the_connect_time_out(
    connect: Callable[..., HttpTransport],
) -> None:
    """TLS belongs to the connection: nothing was sent, and the message says so."""
    with Server(lambda peer: peer.gone()) as server:
        transport = connect(server.url.replace("http:", "https:"), connect=SHORT)
        with pytest.raises(RequestTimeoutError, match="Nothing was sent") as caught:
            send(transport)
    assert caught.value.which == "connect"


@pytest.fixture
def silent() -> Iterator[str]:
    """Give an address that neither takes a connection nor refuses it."""
    with unanswering() as origin:
        yield f"{origin}/v1"


def test_a_connection_that_is_not_taken_is_the_connect_time_out(
    connect: Callable[..., HttpTransport], silent: str
) -> None:
    """A host that does not answer at all is told from one that refuses."""
    with pytest.raises(RequestTimeoutError, match=r"connect time-out of 0\.15 s") as caught:
        send(connect(silent, connect=SHORT))
    assert caught.value.which == "connect"


def test_stop_wakes_who_waits_for_a_connection(
    connect: Callable[..., HttpTransport], silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop from another thread need not wait for the connect time-out."""
    halt = Halt()

    def waiting(sock: socket.socket, seconds: float) -> bool:
        halt.stop()
        return wait_for_write(sock, seconds)

    monkeypatch.setattr("chatmagic.client.sockets.wait_for_write", waiting)
    # Not every system wakes who waits for a connection when its socket is shut down.
    monkeypatch.setattr("chatmagic.client.halt.shut_down", lambda _: None)
    with pytest.raises(ChatInterrupted):
        send(connect(silent), halt)


def test_several_addresses_share_the_connect_time_out(
    connect: Callable[..., HttpTransport], silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose first address is silent is reached by its second, within the time."""
    with Server(playing(ANSWERS["length"])) as server:
        port = int(silent.rpartition(":")[2].removesuffix("/v1"))
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", each))
            for each in (port, server.port)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
        assert rest(send(connect("http://two.test/v1", connect=2 * SHORT)))


def test_no_clock_runs_on(connect: Callable[..., HttpTransport]) -> None:
    """The clock of the total time-out ends with the exchange, however that ended."""
    others = set(threading.enumerate())
    with Server(once(ANSWERS["length"])) as server:
        rest(send(connect(server, total=60)))
        send(connect(server, total=60)).close(ended=False)
    with Server(once(b"")) as server, pytest.raises(ServiceError):
        send(connect(server, total=60))
    with Server(once(head(headers={"Content-Length": "9"}))) as server, pytest.raises(CutOffError):
        rest(send(connect(server, total=60)))
    for thread in set(threading.enumerate()) - others:
        if isinstance(thread, threading.Timer):
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_any_byte_is_life(connect: Callable[..., HttpTransport]) -> None:
    """Comments keep a reply alive for longer than the silence time-out, which stays in force."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(BEGUN)
        for _ in range(9):
            pause.wait(0.05)
            peer.send(chunked(b": life\n"))
        peer.send(chunked(DONE), CHUNKS_END)

    pause = threading.Event()
    with Server(script) as server:
        assert rest(send(connect(server, silence=0.4))).endswith(DONE)


def test_a_kept_connection_has_its_time_outs_back(connect: Callable[..., HttpTransport]) -> None:
    """The short wait of the drain does not stay on the connection."""
    arrived = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]), chunked(DONE), CHUNKS_END)
        peer.request()
        arrived.wait(0.1)
        peer.send(ANSWERS["length"])

    with Server(script) as server:
        transport = connect(server)
        exchange = send(transport)
        assert exchange.read() == DONE
        exchange.close(ended=True)
        assert rest(send(transport))
        assert server.accepted == 1


@pytest.mark.parametrize("seconds", [0, -1, True, "5", float("nan"), float("inf"), 1e30])
def test_a_time_out_is_a_number_above_0(seconds: float) -> None:
    """Anything else is refused in one line."""
    with pytest.raises(InputError, match="time-out silence"):
        Timeout(silence=seconds)
    with pytest.raises(InputError, match="time-out"):
        Timeout.of(seconds)


def test_a_plain_number_is_the_wait_for_bytes() -> None:
    """A number stands for the first byte and for silence."""
    assert Timeout.of(3) == Timeout(first_byte=3, silence=3)
    assert Timeout.of(None) == Timeout(connect=10, first_byte=60, silence=60, total=None)
    assert Timeout.of(Timeout(total=1)) == Timeout(total=1)
    assert Timeout.of({"total": 1, "silence": None}) == Timeout(silence=None, total=1)
    with pytest.raises(InputError, match="no time-out 'reading'; there are connect, first_byte"):
        Timeout.of({"reading": 1})


# --- The key ------------------------------------------------------------------------------

WAYS: dict[Auth, bytes] = {
    "bearer": b"Authorization: Bearer " + KEY.encode(),
    "x-api-key": b"X-API-Key: " + KEY.encode(),
    "query": b"?api_key=key-7d1f~%2F%2B%26%3D%25throw-away HTTP/1.1",
}
MARKS = (b"authorization", b"x-api-key", b"api_key")


@pytest.mark.parametrize("auth", [*WAYS, "none"])
def test_the_key_stands_in_exactly_one_place(
    connect: Callable[..., HttpTransport],
    auth: Auth,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the wire once, as configured, whatever .netrc has; in no log and no representation."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login who password netrc-secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    caplog.set_level(logging.DEBUG)
    with Server(playing(ANSWERS["length"])) as server:
        transport = connect(server, auth)
        exchange = send(transport)
        seen = [repr(thing) for thing in reachable(transport, exchange)]
        rest(exchange)
        rest(send(transport))
    assert caplog.records
    logged = caplog.text + " ".join(repr(vars(record)) for record in caplog.records)
    for text in (logged, *seen):
        assert "7d1f" not in text
    for asked in server.asked:
        lower = asked.raw.lower()
        assert sum(lower.count(mark) for mark in MARKS) == (auth != "none")
        assert lower.count(b"7d1f") == (auth != "none")
        assert auth == "none" or WAYS[auth] in asked.raw
        assert b"netrc" not in lower
        assert b"basic" not in lower


def reachable(*roots: object) -> list[object]:
    """Give everything that can be reached from objects by their attributes and items."""
    found: dict[int, object] = {}
    left = list(roots)
    while left:
        thing = left.pop()
        if id(thing) in found or isinstance(thing, (type(threading), Secret)):
            continue
        found[id(thing)] = thing
        if isinstance(thing, dict):
            left += [*thing.keys(), *thing.values()]
        elif isinstance(thing, (list, tuple, set, frozenset)):
            left += thing
        elif hasattr(thing, "__dict__") and not callable(thing):
            left += vars(thing).values()
        left += getattr(getattr(thing, "pool", None), "queue", ())
    assert len(found) > 50
    return list(found.values())


@pytest.mark.parametrize("auth", WAYS)
def test_no_failure_tells_the_key(
    connect: Callable[..., HttpTransport], auth: Auth, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No exception of any failure, nor any that hangs on to it, has the key in its text."""
    look_up = socket.getaddrinfo

    def offline(host: str, *args: int) -> object:
        if host.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *args)

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    failing = {
        "refused": f"http://127.0.0.1:{port}/v1",
        "no name": "http://no-such-host.invalid/v1",
        "no URL": "http://[::1/v1",
        "no TLS": "https://127.0.0.1:{port}/v1",
        "no answer": "http://127.0.0.1:{port}/nothing",
        "no HTTP": "http://127.0.0.1:{port}/garbage",
        "half an answer": "http://127.0.0.1:{port}/half",
        "late": "http://127.0.0.1:{port}/late",
    }
    answers = {b"garbage": b"\0\0\0\0\r\n", b"half": head(headers={"Content-Length": "9"})}

    def script(peer: Peer) -> None:
        line = peer.piece().partition(b"\r\n")[0]
        peer.send(*(given for word, given in answers.items() if word in line))
        if b"late" in line:
            assert peer.gone()

    with Server(script) as server:
        for what, url in failing.items():
            base_url = url.replace("{port}", str(server.port))
            with pytest.raises(ChatError) as caught:
                rest(send(connect(base_url, auth, first_byte=SHORT)))
            for error in chain(caught.value):
                told = f"{error} {error!r} {error.args!r} {vars(error)!r}"
                assert "7d1f" not in told, what
            assert "\n" not in str(caught.value)
            assert " object at 0x" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(connect: Callable[..., HttpTransport], status: int) -> None:
    """Another origin never sees a request, let alone a key."""
    with Server(playing(ANSWERS["length"])) as other:
        moved = answer(b"", f"{status} Moved", {"Location": f"{other.url}?a=b"})
        with Server(playing(moved)) as server:
            for auth in WAYS:
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


def test_a_certificate_of_nobodys_is_refused(
    connect: Callable[..., HttpTransport], tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its authority a server gets nothing, and a missing file is named."""

    def script(peer: Peer) -> None:
        raise AssertionError(peer)

    refusing = Server(script, tls, handshakes_fail=True)
    with refusing as server:
        monkeypatch.delenv("REQUESTS_CA_BUNDLE")
        with pytest.raises(
            ConnectError, match=r"connection to \S+: unable to get.*REQUESTS_CA_BUNDLE"
        ):
            send(connect(server))
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", "no-such-file.pem")
        with pytest.raises(ConnectError, match=r"REQUESTS_CA_BUNDLE names no file"):
            send(connect(server))


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

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]), chunked(DONE))
        gone.put(peer.gone())

    def interrupted(*_: object, **__: object) -> bytes:
        raise KeyboardInterrupt

    with Server(script) as server:
        exchange = send(connect(server))
        assert exchange.read() == DONE
        monkeypatch.setattr(socket.SocketIO, "readinto", interrupted)
        with pytest.raises(KeyboardInterrupt):
            exchange.close(ended=True)
        monkeypatch.undo()
        assert gone.get(timeout=PATIENCE)


def test_an_interrupt_between_answer_and_exchange_closes_the_connection(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer has begun, and nobody holds it yet."""
    gone = queue.Queue[bool]()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(BEGUN)
        gone.put(peer.gone())

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(HttpExchange, "__init__", interrupted)
    held: list[requests.Response] = []
    build = requests.adapters.HTTPAdapter.build_response

    def holding(*given: Any) -> requests.Response:
        held.append(build(*given))
        return held[-1]

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "build_response", holding)
    with Server(script) as server:
        with pytest.raises(KeyboardInterrupt):
            send(connect(server))
        assert gone.get(timeout=PATIENCE)
    held.pop().close()
