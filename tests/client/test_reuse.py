"""When a kept connection is used again: never one that is going, and looking sends nothing."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest
from loopback import (
    DONE,
    EVENTS,
    PATIENCE,
    Peer,
    Server,
    answer,
    event,
    leaving,
    playing,
    stream,
    wait_for,
)
from urllib3.util.wait import wait_for_read

from chatmagic.client import reuse
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.client.timeouts import Timeout
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import ChatError, ChatInterrupted, ServiceError
from chatmagic.protocol.auth import Secret

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable, Iterator


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
    monkeypatch.setattr("chatmagic.client.reuse.monotonic", lambda: made.now)
    monkeypatch.setattr("chatmagic.client.reuse.wait_for_read", made.wait)
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
    assert time.waits == [pytest.approx(reuse.WATCH - 0.02)]


def test_who_thinks_for_a_second_waits_for_nothing(time: Time) -> None:
    """The watch counts from the end of the reply."""
    with Server(playing(REPLY)) as server:
        with asking(server) as ask:
            ask()
            time.now += 1
            ask()
        assert server.accepted == 1
    assert time.waits == []


@BOTH
def test_an_end_in_the_watch_ends_all_reuse(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, time: Time, *, safe: bool
) -> None:
    """Nothing is lost, and nothing is watched any more: each ask has a connection of its own."""
    watched = threading.Event()
    waits: list[float] = []

    def script(peer: Peer) -> None:
        if peer.request():
            peer.send(REPLY)
            if len(server.asked) == 1:
                wait_for(watched)
            else:
                assert peer.gone()

    def wait(sock: socket.socket, seconds: float) -> bool:
        waits.append(seconds)
        watched.set()
        return wait_for_read(sock, PATIENCE)

    monkeypatch.setattr("chatmagic.client.reuse.wait_for_read", wait)
    with Server(script, tls if safe else None) as server:
        with asking(server) as ask:
            assert lost(ask, 5) == 0
            time.now += 1
            assert lost(ask, 5) == 0
        assert server.accepted == len(server.asked) == 10
    assert waits == [pytest.approx(reuse.WATCH)]


def garbling(peer: Peer) -> None:
    """Break TLS off within it."""
    peer.garble()


def babbling(peer: Peer) -> None:
    """Say what is no answer."""
    peer.send(b"\r\n0\r\n\r\n")


def giving_up(peer: Peer) -> None:
    """Say that no request came in time."""
    peer.send(answer(b"", "408 Request Timeout", {"Connection": "close"}))


@pytest.mark.parametrize(
    ("end", "safe"),
    [
        (Peer.close, False),
        (Peer.close, True),
        (Peer.reset, False),
        (Peer.reset, True),
        (garbling, True),
        (babbling, False),
        (giving_up, False),
    ],
)
@pytest.mark.usefixtures("time")
def test_a_request_lost_on_a_connection_used_again_ends_all_reuse(
    tls: ssl.SSLContext, end: Callable[[Peer], None], *, safe: bool
) -> None:
    """The server goes with the third request of each connection; only the first is lost."""

    def script(peer: Peer) -> None:
        for _ in range(2):
            if not peer.request():
                return
            peer.send(REPLY)
        if peer.request():
            end(peer)

    with Server(script, tls if safe else None) as server:
        with asking(server) as ask:
            assert lost(ask, 12) == 1
        assert len(server.asked) == 12
        assert server.accepted == 1 + 9


@pytest.mark.usefixtures("time")
def test_a_first_request_that_gets_no_answer_says_nothing_of_reuse() -> None:
    """A server that fails now and then keeps its connections otherwise."""
    failing = [True]

    def script(peer: Peer) -> None:
        while peer.request() and not failing.pop():
            failing.append(False)
            peer.send(REPLY)
        failing.append(False)

    with Server(script) as server, asking(server) as ask:
        assert lost(ask, 1) == 1
        assert lost(ask, 3) == 0
        assert server.accepted == 2


@pytest.mark.parametrize(
    ("told", "idle", "connections"),
    [
        (None, 3.9, 1),
        (None, 4.1, 2),
        ("timeout=5, max=100", 3.9, 1),
        ("timeout=5, max=100", 4.1, 2),
        ("max=100, Timeout = 60", 58.9, 1),
        ("timeout=60", 59.1, 2),
        ("timeout=2", 0.9, 1),
        ("timeout=1", 0, 2),
        ("timeout=0", 0, 2),
        ("timeout=soon", 3.9, 1),
        ("timeout=soon", 4.1, 2),
    ],
)
def test_a_connection_that_rested_for_long_is_not_used_again(
    time: Time, told: str | None, idle: float, connections: int
) -> None:
    """Up to a second before the server's own limit, or 4 s."""
    headers = {**EVENTS, **({"Keep-Alive": told} if told else {})}
    with Server(playing(answer(event("hi") + DONE, headers=headers))) as server:
        with asking(server) as ask:
            ask()
            time.now += idle
            ask()
        assert server.accepted == connections


def test_an_end_found_after_a_rest_halves_the_rest(time: Time) -> None:
    """And costs no request: the connection is made anew, and kept for shorter."""
    closing = [True]

    def script(peer: Peer) -> None:
        while peer.request():
            peer.send(REPLY)
            if closing:
                return

    with Server(script) as server:
        with asking(server) as ask:
            ask()
            server.wait_closed()
            closing.clear()
            time.now += 3
            ask()
            assert server.accepted == 2
            time.now += 1.4
            ask()
            assert server.accepted == 2
            time.now += 1.6
            ask()
            assert server.accepted == 3
        assert len(server.asked) == 4
    assert time.waits == []


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
    """The request is not sent, and connections are used again as before."""
    halt = Halt()

    def wait(sock: socket.socket, _: float) -> bool:
        halt.stop()
        return wait_for_read(sock, 0)

    with Server(playing(REPLY), tls if safe else None, handshakes_fail=None) as server:
        with asking(server) as ask:
            ask()
            with monkeypatch.context() as patched:
                patched.setattr("chatmagic.client.reuse.wait_for_read", wait)
                with pytest.raises(ChatInterrupted):
                    ask(halt)
            accepted = server.accepted
            for _ in range(3):
                ask()
            assert server.accepted == accepted + 1
        assert len(server.asked) == 4


@pytest.mark.usefixtures("time")
def test_an_interrupt_in_the_watch_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes through as it is; the next ask has a connection of its own."""
    gone = queue.Queue[bool]()
    watched: list[socket.socket] = []

    def interrupted(sock: socket.socket, _: float) -> None:
        watched.append(sock)
        raise KeyboardInterrupt

    monkeypatch.setattr("chatmagic.client.reuse.wait_for_read", interrupted)
    with Server(leaving(gone, REPLY)) as server, asking(server) as ask:
        ask()
        with pytest.raises(KeyboardInterrupt):
            ask()
        assert watched[0].fileno() == -1
        assert gone.get(timeout=PATIENCE)
        ask()
        assert len(server.asked) == 2
