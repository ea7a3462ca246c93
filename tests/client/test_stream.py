"""One ask as a stream: what it hands on, and how it ends, whatever ends it."""

from __future__ import annotations

import contextlib
import json
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, ClassVar

import pytest
from loopback import (
    DONE,
    EVENTS,
    PATIENCE,
    Peer,
    chunked,
    document,
    event,
    head,
    stream,
    wait_for,
)

from chatmagic.client import config, response
from chatmagic.client import stream as stream_module
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.client.timeouts import Timeout
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    InputError,
    RequestTimeoutError,
)
from chatmagic.models import Message
from chatmagic.protocol.response_errors import BODY_BYTES
from chatmagic.protocol.wire import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.models import Origin

from served import ASK, HELLO, KEY, WHOLE, Played, ask, served


def test_fragments_are_handed_on_one_by_one() -> None:
    """The next fragment is sent only after the one before has been handed on."""
    arrived = threading.Semaphore(0)
    words = [f"word {n}, " for n in range(5)]

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Connection": "close"}))
        for word in words:
            peer.send(event(word, "\n"))
            assert arrived.acquire(timeout=PATIENCE)
        peer.send(DONE)

    with served(script) as (client, _), client.stream(ASK) as replying:
        for word, fragment in zip(words, replying, strict=False):
            assert fragment == word
            assert replying.reply.state == "interrupted"
            arrived.release()
        assert list(replying) == []
        assert replying.reply.text == "".join(words)
        assert replying.reply.state == "complete"


def test_a_loop_that_was_left_can_go_on() -> None:
    """A second loop over the same stream goes on where the first one stopped."""
    with served(stream(*HELLO)) as (client, _), client.stream(ASK) as replying:
        assert next(iter(replying)) == "Hel"
        assert list(replying) == ["lo"]
        assert list(replying) == []
    assert replying.reply.state == "complete"


def test_a_stream_that_was_not_entered_says_so() -> None:
    """Iterating sends nothing by itself."""
    with served(stream(*HELLO)) as (client, server):
        with pytest.raises(InputError, match="Enter the stream first"):
            list(client.stream(ASK))
        assert server.accepted == 0


def endless(gone: threading.Event) -> Callable[[Peer], None]:
    """Make the script that begins a reply and waits until the client goes."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Transfer-Encoding": "chunked"}), chunked(event("Hel")))
        if peer.gone():
            gone.set()

    return script


@pytest.mark.parametrize("leave", [None, KeyboardInterrupt, RuntimeError])
def test_leaving_early_closes_the_connection(leave: type[BaseException] | None) -> None:
    """The server sees the close at once; what came is there, marked."""
    gone = threading.Event()
    with served(endless(gone)) as (client, _):
        replying = client.stream(ASK)
        try:
            with replying:
                for _ in replying:
                    if leave is not None:
                        raise leave
                    break
        except (KeyboardInterrupt, RuntimeError) as error:
            assert type(error) is leave  # noqa: PT017 - the same test without an exception
        wait_for(gone)
    assert (replying.reply.text, replying.reply.state) == ("Hel", "interrupted")


def test_a_stop_from_another_thread_is_an_interrupt_with_the_partial_reply() -> None:
    """A person who waits for the reply is told at once, with what came."""
    gone = threading.Event()
    halt = Halt()

    def ask(client: Client) -> None:
        with client.send(Request(tuple(ASK)), halt) as replying:
            for _ in replying:
                threading.Thread(target=halt.stop).start()

    with served(endless(gone)) as (client, _), pytest.raises(ChatInterrupted) as caught:
        ask(client)
    wait_for(gone)
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.state) == ("Hel", "interrupted")
    assert not isinstance(caught.value, Exception)


def test_silence_carries_the_partial_reply() -> None:
    """A time-out of ours names itself and brings what came."""
    gone = threading.Event()
    with served(endless(gone), timeout=Timeout(silence=0.1)) as (client, _):
        with pytest.raises(RequestTimeoutError, match="silence") as caught:
            ask(client, streaming=True)
        wait_for(gone)
    assert caught.value.which == "silence"
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.state) == ("Hel", "cut off")


@pytest.mark.parametrize(
    ("exchange", "end"),
    [
        (Played(200, *HELLO), "ended"),
        (Played(200, json.dumps(WHOLE).encode()), "ended"),
        (Played(200, b'{"error": "whole"}'), "ended"),
        (Played(500, b'{"error": "whole"}'), "ended"),
        (Played(500, b"x" * BODY_BYTES, b"x"), "cut off"),
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


@pytest.mark.parametrize(
    ("where", "origin", "hours"),
    [
        ("https://chat.example.org", "live", 2),
        ("http://127.0.0.1:9", "live", None),
        ("https://chat.example.org", "replay", None),
        ("https://chat.example.org", "emulator", None),
    ],
)
def test_a_clock_that_is_wrong_here_is_known(where: str, origin: Origin, hours: int | None) -> None:
    """A live answer from another machine tells it; loopback, replay and emulator do not."""
    exchange = Played(200, *HELLO)
    exchange.origin = origin
    written = datetime.now(UTC) - timedelta(hours=2, minutes=5)
    exchange.headers = [("Date", format_datetime(written, usegmt=True))]
    right = Played(200, *HELLO)
    right.headers = [("Date", format_datetime(datetime.now(UTC), usegmt=True))]

    class InTurn(Played):
        exchanges: ClassVar = [exchange, right]

        def send(self, body: bytes, *, stream: bool, halt: Halt) -> Played:
            del body, stream, halt
            return self.exchanges.pop(0)

    with Client(where, KEY, transport=InTurn(200)) as client:
        ask(client, streaming=True)
        off = client.credit_tracker.state.clock_off
        assert (off and off.seconds // 3600) == hours
        ask(client, streaming=True)
        assert client.credit_tracker.state.clock_off is None


def set_clock(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    """Let the time of what is waited for be the first of a list; nothing was warned of yet."""
    for module in (stream_module, response):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    config.warned.clear()


def held_back(
    now: list[float], *, wait: float, base: str = "http://127.0.0.1:9", shown_in: float = 0.0
) -> bool:
    """Ask where every event comes at once after a wait; tell whether the reply says so."""

    class Late(Played):
        def send(self, body: bytes, *, stream: bool, halt: Halt) -> Played:
            now[0] += wait
            return super().send(body, stream=stream, halt=halt)

    late = Late(200, *[event("word ") for _ in range(30)], DONE)
    with Client(base, KEY, transport=late) as client:
        with client.stream(ASK) as replying:
            for _ in replying:
                now[0] += shown_in
        return replying.reply.held_back


def test_a_reply_that_came_all_at_once_says_so_once_per_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who has been told of a proxy there is not told again, and an address that streams is not."""
    now = [0.0]
    set_clock(monkeypatch, now)
    assert not held_back(now, wait=1.0)
    assert held_back(now, wait=5.0)
    assert not held_back(now, wait=5.0)
    assert held_back(now, wait=5.0, base="http://127.0.0.1:10")
    # The first fragment of a kernel takes long to show; those behind it came with it.
    assert held_back(now, wait=5.0, base="http://127.0.0.1:11", shown_in=0.5)


@pytest.mark.parametrize(
    ("waited", "took", "events", "at_once"),
    [
        (10.0, 0.0, 21, True),
        (10.0, 0.1, 21, True),
        (10.0, 0.11, 21, False),
        (10.0, 0.0, 20, False),
        (2.01, 0.02, 500, True),
        (2.0, 0.0, 500, False),
        (5.0, 40.0, 500, False),
    ],
)
def test_what_comes_at_once_after_a_wait_was_held_back(
    waited: float,
    took: float,
    events: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    at_once: bool,
) -> None:
    """More than 20 events within 1 % of more than two seconds that were waited; no comments."""
    now = [0.0]
    set_clock(monkeypatch, now)
    waits = [waited / 2, waited / 2, took, 0.0]

    class Late(Played):
        def read(self) -> bytes:
            now[0] += waits.pop(0)
            return super().read()

    late = Late(200, b": on\n\n", event("word ") * (events - 1), event("last"), DONE)
    with Client("http://127.0.0.1:9", KEY, transport=late) as client:
        assert ask(client, streaming=True).held_back is at_once


def test_a_reply_that_came_bit_by_bit_was_held_back_by_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long its first word took."""
    now = [0.0]
    set_clock(monkeypatch, now)

    class Slow(Played):
        def read(self) -> bytes:
            now[0] += 1.0
            return super().read()

    with Client(
        "http://127.0.0.1:9", KEY, transport=Slow(200, *[event("word ") for _ in range(30)], DONE)
    ) as client:
        assert not ask(client, streaming=True).held_back
