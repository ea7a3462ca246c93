"""The clock of an exchange, over real sockets."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from exchanges import FRAMES, SHORT, rest, send
from loopback import PATIENCE, Peer, Server, head

from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.errors import RequestTimeoutError


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
