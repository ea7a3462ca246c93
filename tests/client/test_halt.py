"""The stop of an exchange from another thread, whatever it waits for, over real sockets."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable

import pytest
from exchanges import ANSWERS, BEGUN, FRAMES, rest, send
from loopback import PATIENCE, Peer, Server, head, playing, wait_for
from urllib3.util.ssltransport import SSLTransport

from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import ChatInterrupted


def test_the_first_reason_counts() -> None:
    """A socket that is watched after a stop is shut down too; to cut it off gives no reason."""
    here, there = socket.socketpair()
    with here, there:
        harmless = Halt()
        harmless.cut()
        assert harmless.reason is None
        halt = Halt()
        halt.stop("silence")
        halt.stop()
        assert halt.reason == "silence"
        halt.watch(here)
        there.settimeout(PATIENCE)
        assert there.recv(1) == b""


class Unaware(Halt):
    """A halt that has not heard yet that its exchange is over."""

    hears = False

    def watch(self, sock: socket.socket | None) -> None:
        """Keep the socket for a while."""
        if sock is not None or self.hears:
            super().watch(sock)


def test_a_stop_of_an_ask_that_is_over_leaves_the_next_one_alone(
    connect: Callable[..., HttpTransport],
) -> None:
    """A connection belongs to the halt of the exchange that uses it now, and to no other."""
    old = Unaware()
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
        while over.read():
            pass
        old.hears = True
        exchange = send(transport)
        old.stop()
        stopped.set()
        assert rest(exchange) == b"x"
        assert server.accepted == 1


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
