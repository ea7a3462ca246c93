"""Events of a stream: what is new of a reply, and what is not."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from loopback import (
    DONE,
    event,
)
from served import Played, ask_played

from chatmagic.client import body as body_module
from chatmagic.client import reply_reader
from chatmagic.errors import (
    RequestTimeoutError,
)


class Slow(Played):
    """An exchange in which each piece takes a second of a clock of its own."""

    now = 0.0

    def read(self) -> bytes:
        """Give the next piece, a second later."""
        self.now += 1.0
        return super().read()


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Slow]:
    """Give a maker of slow exchanges, whose clock is the stream's."""

    def make(*pieces: bytes) -> Slow:
        made = Slow(200, *pieces)
        for module in (body_module, reply_reader):
            monkeypatch.setattr(module, "monotonic", lambda: made.now)
        return made

    return make


def chunk(**choice: object) -> bytes:
    """Return an event with one choice."""
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


NOTHING_NEW = {
    "an empty object": b"data: {}\n\n",
    "null": b"data: null\n\n",
    "no choice": b'data: {"choices": []}\n\n',
    "an empty delta": chunk(delta={}),
    "an empty text": chunk(delta={"content": ""}),
    "a role": chunk(delta={"role": "assistant", "content": None}),
    "another choice": chunk(index=1, delta={"content": "no"}),
    "the whole reply": chunk(message={"content": "Hel"}),
    "an unknown text again": chunk(delta={"signature": "abc"}),
    "a model": b'data: {"model": "m", "choices": []}\n\n',
    "a number": b"data: 5\n\n",
    "a ping": b'event: ping\ndata: {"type": "ping"}\n\n',
    "no JSON": b"event: ping\ndata: ping\n\n",
    "a part of an event": b"data: {",
    "a byte of text": b"x",
    "a comment": b": c\n",
}


@pytest.mark.parametrize("kind", NOTHING_NEW)
def test_what_brings_nothing_new_ends_no_silence(slowly: Callable[..., Slow], kind: str) -> None:
    """However often it comes: after a minute the text so far is kept, marked."""
    exchange = slowly(event("Hel"), *[NOTHING_NEW[kind]] * 200, event("lo"), DONE)
    with pytest.raises(RequestTimeoutError, match="stopped: nothing of it came for 60") as end:
        ask_played(exchange)
    assert end.value.reply is not None
    assert end.value.reply.text == "Hel"
    assert end.value.reply.state == "cut off"
    assert 60 <= exchange.now <= 64


@pytest.mark.parametrize("reasons", ["ab", "aa"])
def test_facts_that_change_end_no_silence(slowly: Callable[..., Slow], reasons: str) -> None:
    """The first token counts and the first reason are new, and no other."""
    for field in ("usage", "finish_reason"):
        pieces = []
        for number in range(200):
            usage = {"prompt_tokens": 1, "completion_tokens": number, "total_tokens": number}
            facts = {"usage": usage, "finish_reason": reasons[number % 2]}
            pieces.append(chunk(delta={}, **{field: facts[field]}))
        exchange = slowly(event("Hel"), *pieces)
        if field == "usage":
            with pytest.raises(RequestTimeoutError, match="The reply stopped"):
                ask_played(exchange)
            assert exchange.now < 65
        else:
            assert ask_played(exchange).text == "Hel"  # a finish reason may be the end
            assert exchange.now < 6


@pytest.mark.parametrize(
    "piece",
    [
        lambda _: event("x"),
        lambda _: chunk(delta={"reasoning": "x"}),
        lambda _: chunk(delta={"refusal": "x"}),
        lambda number: chunk(delta={"thinking": f"{number}"}),
        lambda number: b"data: {}\n\n" if number % 50 else event("x"),
        lambda number: b": c\n\n" if number % 50 else chunk(delta={"reasoning": "x"}),
    ],
    ids=["text", "thoughts", "refusal", "unknown thoughts", "text at times", "thoughts at times"],
)
def test_a_slow_reply_is_whole(slowly: Callable[..., Slow], piece: Callable[[int], bytes]) -> None:
    """Whatever comes of it, and in a field that is not known, too."""
    exchange = slowly(*map(piece, range(200)), event("end"), DONE)
    assert ask_played(exchange).text.endswith("end")
    assert exchange.now > 200


def test_a_large_event_may_come_slowly(slowly: Callable[..., Slow]) -> None:
    """In pieces that are large enough; a comment as large is none."""
    text = b"x" * 3_000
    begin, end = event("").split(b'""')
    assert len(ask_played(slowly(begin + b'"', *[text] * 200, b'"' + end, DONE)).text) == 600_000
    with pytest.raises(RequestTimeoutError, match="The reply stopped"):
        ask_played(slowly(event("Hel"), b": c", *[text] * 200, b"\n", DONE))
