"""The lock of threads that work by turns, which none holds while it waits for the network."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest
from exchanges import rest, send
from loopback import CHUNKS_END, DONE, EVENTS, PATIENCE, Peer, Server, answer, chunked, event, head
from urllib3.util.wait import wait_for_read

from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.client.work_lock import waiting, working
from chatmagic.protocol.api_key import Auth


def test_one_thread_at_a_time_works() -> None:
    """Another one does as soon as it waits."""
    lock = Lock()
    came = threading.Event()

    def come() -> None:
        with working(lock):
            came.set()

    with ThreadPoolExecutor() as pool, working(lock):
        pool.submit(come)
        assert lock.locked()
        assert not came.is_set()
        with waiting():
            assert came.wait(PATIENCE)
        assert lock.locked()


def test_the_lock_is_left_once() -> None:
    """A wait within a wait changes nothing."""
    lock = Lock()
    with working(lock):
        with waiting():
            with waiting():
                assert not lock.locked()
            assert not lock.locked()
        assert lock.locked()


def test_an_error_ends_work_and_a_wait() -> None:
    """As their end does; afterwards there is nothing to leave."""
    lock = Lock()
    with contextlib.suppress(ZeroDivisionError), working(lock):
        with contextlib.suppress(KeyError), waiting():
            raise KeyError
        assert lock.locked()
        raise ZeroDivisionError
    assert not lock.locked()
    with lock, waiting():
        assert lock.locked()


BODY = event("hi") + DONE
CHUNKED = {**EVENTS, "Transfer-Encoding": "chunked"}
PIECES = {
    "of known length": (answer(BODY), b""),
    "whose body comes later": (head(headers={"Content-Length": str(len(BODY))}), BODY),
    "in chunks": (head(headers=CHUNKED), chunked(BODY[:9], BODY[9:]) + CHUNKS_END),
}


@pytest.mark.parametrize("auth", ["bearer", "query"])
@pytest.mark.parametrize(("begin", "later"), PIECES.values(), ids=PIECES)
def test_an_exchange_leaves_the_lock_while_it_waits_for_the_server(
    connect: Callable[..., HttpTransport], auth: Auth, begin: bytes, later: bytes
) -> None:
    """For the head and the body of an answer, on a connection that is new, and on one kept."""
    lock = Lock()
    has_begun = threading.Semaphore(0)

    def script(peer: Peer) -> None:
        while peer.request():
            take(lock)
            peer.send(begin)
            assert has_begun.acquire(timeout=PATIENCE)
            if later:
                take(lock)
                peer.send(later)

    with Server(script) as server, working(lock):
        transport = connect(server, auth)
        for _ in range(2):
            exchange = send(transport)
            has_begun.release()
            assert rest(exchange) == BODY
            assert lock.locked()
        assert server.accepted == 1


@pytest.mark.parametrize("auth", ["bearer", "query"])
def test_a_long_request_leaves_the_lock(connect: Callable[..., HttpTransport], auth: Auth) -> None:
    """A server that reads slowly holds up its own request alone."""
    lock = Lock()

    def script(peer: Peer) -> None:
        peer.piece(1)
        take(lock)
        while not peer.piece().endswith(b"!"):
            pass
        peer.send(answer(BODY))

    with Server(script) as server, working(lock):
        exchange = connect(server, auth).send(b" " * 20_000_000 + b"!", stream=True, halt=Halt())
        assert rest(exchange) == BODY


def test_a_handshake_leaves_the_lock(
    connect: Callable[..., HttpTransport], tls: ssl.SSLContext
) -> None:
    """The server takes it before its side of it."""
    lock = Lock()

    class Context:
        def wrap_socket(self, sock: socket.socket, *, server_side: bool) -> ssl.SSLSocket:
            take(lock)
            return tls.wrap_socket(sock, server_side=server_side)

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(answer(BODY))

    server_side: ssl.SSLContext = Context()  # type: ignore[assignment] # as far as it is used
    with Server(script, server_side) as server, working(lock):
        assert rest(send(connect(server))) == BODY


def test_the_watch_of_a_connection_leaves_the_lock(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a look that waits for nothing."""
    lock = Lock()
    waits: list[tuple[bool, bool]] = []

    def wait(sock: socket.socket, seconds: float) -> bool:
        waits.append((seconds > 0, lock.locked()))
        return wait_for_read(sock, 0)

    def script(peer: Peer) -> None:
        while peer.request():
            peer.send(answer(BODY))

    monkeypatch.setattr("chatmagic.client.connections.wait_for_read", wait)
    with Server(script) as server, working(lock):
        transport = connect(server)
        for _ in range(3):
            rest(send(transport))
    assert waits == [(True, False), (False, True)]


def take(lock: Lock) -> None:
    """Take the lock for a moment, or fail."""
    assert lock.acquire(timeout=PATIENCE), "the lock was not left"
    lock.release()
