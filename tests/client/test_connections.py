"""The clock of an exchange, and the key on the wire: over real sockets."""

from __future__ import annotations

import contextlib
import itertools
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus

import pytest
from exchanges import ANSWERS, FRAMES, KEY, SHORT, rest, send
from loopback import DONE, PATIENCE, Peer, Server, answer, event, head, playing, stream, wait_for
from served import held_by
from urllib3.util.wait import wait_for_read, wait_for_write

from chatmagic.client import connections
from chatmagic.client.endpoint import Endpoint, ServiceSetup, Timeout
from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import ChatError, ChatInterrupted, RequestTimeoutError, ServiceError
from chatmagic.protocol.api_key import Auth, Secret
from chatmagic.safe_text import without_memory_addresses


def drip(begun: bytes, drop: bytes = b"x") -> Callable[[Peer], None]:
    """Make the script that begins an answer and then sends one byte after the other."""

    def script(peer: Peer) -> None:
        peer.piece()
        peer.send(begun)
        peer.repeat(drop, every=0.01)

    return script


@pytest.mark.parametrize(
    "interim",
    [
        ["103 Early Hints"],
        ["100 Continue", "103 Early Hints"],
        ["103 Early Hints", "100 Continue", "102 Processing", "199 Any"],
    ],
)
def test_interim_answers_are_skipped(
    connect: Callable[..., HttpTransport], interim: list[str]
) -> None:
    """The answer behind them is the answer, and its connection is used again."""
    lines = [f"HTTP/1.1 {status}\r\nLink: </style.css>\r\n\r\n".encode() for status in interim]
    whole = b"".join([*lines, answer(b"the answer", headers={"X-Own": "1"})])
    with Server(playing(whole, whole)) as server:
        transport = connect(server.url)
        for _ in range(2):
            exchange = send(transport)
            assert exchange.status == HTTPStatus.OK
            names = {name.lower() for name, _ in exchange.headers}
            assert "x-own" in names
            assert "link" not in names
            assert rest(exchange) == b"the answer"
            exchange.close(ended=True)
        assert server.accepted == 1


TLS_RECORD_BEGUN = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"


@pytest.mark.parametrize(
    ("begun", "scheme", "which"),
    [
        (TLS_RECORD_BEGUN, "https", "connect"),
        (TLS_RECORD_BEGUN, "https", "total"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", "http", "total"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", "http", "first_byte"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 1", "http", "first_byte"),
        (head(headers=FRAMES["chunked"]) + b"1;", "http", "first_byte"),
        (head(headers=FRAMES["chunked"]) + b"1\r\nx\r\n0\r\nX: ", "http", "silence"),
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
        with pytest.raises(
            RequestTimeoutError, match=r"(within|timeout of|came for) 0\.15 s"
        ) as caught:
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
            RequestTimeoutError, match=r"No answer within 0\.15 s: the model may still be loaded\."
        ):
            transport.send(b"x" * 40_000_000, stream=True, halt=Halt())
        over.set()


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
) -> None:
    """On the wire once, as configured; in no log and no representation."""
    caplog.set_level(logging.DEBUG)
    with Server(playing(ANSWERS["length"])) as server:
        transport = connect(server, auth)
        exchange = send(transport)
        seen = [*map(without_memory_addresses, held_by(transport, exchange))]
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


REPLY = stream(event("hi"), DONE)
BOTH = pytest.mark.parametrize("safe", [False, True], ids=["plain", "TLS"])


class Time:
    """A clock that stands still; what is waited for is gone at once.

    Args:
        meanwhile: is called in each wait.
    """

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Begin at some time."""
        self.now = 1_000.0
        self.waits: list[float] = []
        self.meanwhile = meanwhile

    def wait(self, sock: socket.socket, seconds: float) -> bool:
        """Wait for something to read."""
        if seconds:
            self.waits.append(seconds)
            self.now += seconds
            self.meanwhile()
        return wait_for_read(sock, 0)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Give the clock by which connections rest and are watched."""
    made = Time()
    monkeypatch.setattr("chatmagic.client.connections.monotonic", lambda: made.now)
    monkeypatch.setattr("chatmagic.client.connections.wait_for_read", made.wait)
    return made


@contextlib.contextmanager
def asking(server: Server) -> Iterator[Callable[..., None]]:
    """Give a way to ask a server through one transport."""
    waits = Timeout(PATIENCE, PATIENCE, PATIENCE)
    endpoint = Endpoint(server.url, "bearer", Secret("key-1"), "test")
    transport = HttpTransport(ServiceSetup(endpoint, waits))
    numbers = itertools.count()

    def ask(halt: Halt | None = None) -> None:
        exchange = transport.send(b"%d" % next(numbers), stream=True, halt=halt or Halt())
        while exchange.read():
            pass
        exchange.close(ended=True)
        if exchange.status != HTTPStatus.OK:
            raise ServiceError("refused")

    yield ask
    transport.close()


def lost(ask: Callable[[], None], asks: int) -> int:
    """Ask in a loop; count what was lost."""
    count = 0
    for _ in range(asks):
        try:
            ask()
        except ChatError:
            count += 1
    return count


def closing_after(seconds: float) -> Callable[[Peer], None]:
    """Make the script that answers one request, and closes after so many seconds."""

    def script(peer: Peer) -> None:
        if peer.request():
            peer.send(REPLY)
            threading.Event().wait(seconds)

    return script


@BOTH
@pytest.mark.parametrize("seconds", [0, 0.008, 0.03])
def test_a_server_that_closes_after_each_reply_loses_one_ask_at_most(
    tls: ssl.SSLContext, seconds: float, *, safe: bool
) -> None:
    """In a loop, whenever the close comes, and no request is served twice."""
    with Server(closing_after(seconds), tls if safe else None) as server:
        with asking(server) as ask:
            assert lost(ask, 30) <= 1
        bodies = [asked.body for asked in server.asked]
        assert len(set(bodies)) == len(bodies) >= 29


@BOTH
def test_a_server_that_keeps_has_one_connection(
    tls: ssl.SSLContext, time: Time, *, safe: bool
) -> None:
    """It is watched once, until 50 ms after its first reply; later nothing is waited for."""
    with Server(playing(REPLY), tls if safe else None) as server:
        with asking(server) as ask:
            ask()
            time.now += 0.02
            assert lost(ask, 199) == 0
        assert server.accepted == 1
        assert len(server.asked) == 200
    assert time.waits == [pytest.approx(connections.WATCH - 0.02)]


@pytest.mark.parametrize("end", [Peer.close, Peer.reset])
@pytest.mark.usefixtures("time")
def test_a_request_lost_on_a_connection_used_again_ends_all_reuse(
    end: Callable[[Peer], None],
) -> None:
    """The server goes with the third request of each connection; only the first is lost."""

    def script(peer: Peer) -> None:
        for _ in range(2):
            if not peer.request():
                return
            peer.send(REPLY)
        if peer.request():
            end(peer)

    with Server(script) as server:
        with asking(server) as ask:
            assert lost(ask, 12) == 1
        assert (len(server.asked), server.accepted) == (12, 1 + 9)


@pytest.mark.parametrize(("idle", "connections"), [(3.9, 1), (4.1, 2)])
def test_a_connection_that_rested_for_long_is_not_used_again(
    time: Time, idle: float, connections: int
) -> None:
    """For more than 4 s."""
    with Server(playing(REPLY)) as server:
        with asking(server) as ask:
            ask()
            time.now += idle
            ask()
        assert server.accepted == connections


def test_what_nobody_asked_for_is_an_end(time: Time) -> None:
    """A server may say good-bye before it closes; that is no answer to the next request."""
    resting, said = threading.Event(), threading.Event()

    def script(peer: Peer) -> None:
        if peer.request():
            peer.send(REPLY)
            wait_for(resting)
            peer.send(answer(b"", "408 Request Timeout"))
            said.set()
            assert peer.gone()

    def say() -> None:
        resting.set()
        wait_for(said)

    time.meanwhile = say
    with Server(script) as server, asking(server) as ask:
        ask()
        ask()
        assert len(server.asked) == 2


@BOTH
@pytest.mark.usefixtures("time")
def test_a_stop_in_the_watch_is_no_end_by_the_server(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, *, safe: bool
) -> None:
    """The request is not sent, and the next one has a connection of its own."""
    halt = Halt()

    def wait(sock: socket.socket, _: float) -> bool:
        halt.stop()
        return wait_for_read(sock, 0)

    with Server(playing(REPLY), tls if safe else None, handshakes_fail=None) as server:
        with asking(server) as ask:
            ask()
            with monkeypatch.context() as patched:
                patched.setattr("chatmagic.client.connections.wait_for_read", wait)
                with pytest.raises(ChatInterrupted):
                    ask(halt)
            accepted = server.accepted
            for _ in range(3):
                ask()
            assert server.accepted == accepted + 1
        assert len(server.asked) == 4


def test_a_connection_that_is_not_taken_is_the_connect_time_out(
    connect: Callable[..., HttpTransport], silent: str
) -> None:
    """A host that does not answer at all is told from one that refuses."""
    with pytest.raises(RequestTimeoutError, match=r"No connection .* within 0\.15 s: ") as caught:
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

    monkeypatch.setattr("chatmagic.client.connections.wait_for_write", waiting)
    # Not every system wakes who waits for a connection when its socket is shut down.
    monkeypatch.setattr("chatmagic.client.halt.shut_down", lambda _: None)
    with pytest.raises(ChatInterrupted):
        send(connect(silent), halt)


def test_several_addresses_share_the_connect_time_out(
    connect: Callable[..., HttpTransport], silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose first address is silent is reached by its second, within the time."""
    now, waiting = [0.0], list[socket.socket]()

    def silent_at_first(sock: socket.socket, seconds: float) -> bool:
        waiting.append(sock)
        if sock is not waiting[0]:
            return wait_for_write(sock, PATIENCE)
        now[0] += seconds
        return False

    monkeypatch.setattr("chatmagic.client.connections.monotonic", lambda: now[0])
    monkeypatch.setattr("chatmagic.client.connections.wait_for_write", silent_at_first)
    with Server(playing(ANSWERS["length"])) as server:
        port = int(silent.rpartition(":")[2].removesuffix("/v1"))
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", each))
            for each in (port, server.port)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
        assert rest(send(connect("http://two.test/v1", connect=2 * PATIENCE)))
    assert now[0] == pytest.approx(PATIENCE)
