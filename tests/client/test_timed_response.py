"""The head of an answer, and what comes before it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import pytest
from exchanges import rest, send
from loopback import Server, answer, playing

from chatmagic.client.transport import HttpTransport


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
