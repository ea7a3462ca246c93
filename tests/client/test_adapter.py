"""The connections that an adapter keeps, over real sockets."""

from __future__ import annotations

import queue
import ssl
from collections.abc import Callable
from dataclasses import replace

import pytest
from exchanges import ANSWERS, rest, send
from loopback import (
    PATIENCE,
    Server,
    leaving,
    playing,
)

from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport


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
