"""One request and its answer: sent once, and its connection kept only after its end."""

from __future__ import annotations

import contextlib
import json

import pytest
from cases import each_case
from loopback import (
    document,
)
from served import HELLO, WHOLE, Played, ask, served

from chatmagic.client.client import Client
from chatmagic.errors import (
    ChatError,
    CutOffError,
    InputError,
)
from chatmagic.models import Message
from chatmagic.protocol.answer_text import BODY_BYTES


@each_case(
    ("exchange", "end"),
    [
        (Played(200, *HELLO), "ended"),
        (Played(200, json.dumps(WHOLE).encode()), "ended"),
        (Played(200, b'{"error": "whole"}'), "ended"),
        (Played(500, b'{"error": "whole"}'), "ended"),
        (Played(500, b"x" * BODY_BYTES, b"x"), "cut off"),
        (Played(500, b'{"error": "whole"}', CutOffError("It broke.")), "cut off"),
        (Played(200, *HELLO[:1]), "cut off"),
        (Played(200, *HELLO[:1], b'data: {"error": "broken"}\n'), "cut off"),
        (Played(200), "cut off"),
    ],
)
def test_only_an_answer_read_to_its_end_is_finished(exchange: Played, end: str) -> None:
    """What any transport is told first: a recording one keeps what was finished alone."""
    with Client(transport=exchange) as client, contextlib.suppress(ChatError):
        ask(client, streaming=True)
    assert exchange.ends[0] == end


def test_a_stream_is_sent_once() -> None:
    """Entering it again would be paid for again, so it is refused."""
    with served(document({"choices": [{"message": {"content": "hi"}}]})) as (client, server):
        stream = client.stream([Message("user", "hello")])
        with stream:
            assert list(stream) == ["hi"]
        with pytest.raises(InputError, match="used already"), stream:
            pass
        assert len(server.asked) == 1
