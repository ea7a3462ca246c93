"""The key on the wire, and connections that are used again: over real sockets."""

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
from exchanges import ANSWERS, KEY, rest, send
from loopback import DONE, PATIENCE, Peer, Server, answer, event, playing, stream, wait_for
from served import held_by
from urllib3.util.wait import wait_for_read

from chatmagic.client import connections
from chatmagic.client.endpoint import Endpoint, ServiceSetup, Timeout
from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import ChatError, ChatInterrupted, ServiceError
from chatmagic.protocol.api_key import Auth, Secret
from chatmagic.safe_text import without_memory_addresses

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
