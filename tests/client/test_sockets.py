"""Sockets while they connect."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest
from exchanges import ANSWERS, SHORT, rest, send
from loopback import PATIENCE, Server, playing
from urllib3.util.wait import wait_for_write

from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import ChatInterrupted, RequestTimeoutError


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

    monkeypatch.setattr("chatmagic.client.sockets.wait_for_write", waiting)
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

    monkeypatch.setattr("chatmagic.client.sockets.monotonic", lambda: now[0])
    monkeypatch.setattr("chatmagic.client.sockets.wait_for_write", silent_at_first)
    with Server(playing(ANSWERS["length"])) as server:
        port = int(silent.rpartition(":")[2].removesuffix("/v1"))
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", each))
            for each in (port, server.port)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
        assert rest(send(connect("http://two.test/v1", connect=2 * PATIENCE)))
    assert now[0] == pytest.approx(PATIENCE)
