"""Nothing is sent twice: a seeded run of faulty asks against a server that counts."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import pytest
from asking import stop
from loopback import (
    CHUNKS_END,
    DONE,
    EVENTS,
    PATIENCE,
    Peer,
    Server,
    chunked,
    document,
    event,
    head,
    stream,
)

import chatmagic
from chatmagic.errors import ChatError, ChatInterrupted, ConnectError
from chatmagic.session.session import Session

SEED: Final = 4
LIMIT: Final = 10**6
KEY: Final = "sk-counted-9d2e"

CLOSING: Final = {"Connection": "close"}
STREAMED: Final = {**EVENTS, "Transfer-Encoding": "chunked"}


@dataclass
class Counting:
    """A service that takes a credit for each request, and fails as it is told.

    Args:
        fault: what it does with the next request.
        served: how many whole requests it has seen.
        told: the credits that its latest headers said were left.
    """

    fault: str = "none"
    served: int = 0
    told: int | None = None
    begun: int = 0
    open: set[Peer] = field(default_factory=set)
    news: threading.Condition = field(default_factory=threading.Condition)

    def __call__(self, peer: Peer) -> None:
        """Serve one connection."""
        with self.news:
            self.begun += 1
            self.open.add(peer)
        try:
            self._serve(peer)
        except OSError:
            # The client has gone, as some of the faults make it.
            pass
        finally:
            peer.close()
            with self.news:
                self.open.discard(peer)
                self.news.notify_all()

    def _serve(self, peer: Peer) -> None:
        if self.fault == "reset before reading":
            peer.reset()
            return
        while (asked := peer.request()) is not None:
            self.served += 1
            if not self._answer(peer, asked.body["messages"][-1]["content"]):
                return

    def _answer(self, peer: Peer, text: str) -> bool:
        """Do what the fault is; say whether the connection is kept."""
        fault = self.fault
        if fault in SILENT:
            SILENT[fault](peer)
            return False
        self.told = LIMIT - self.served
        figures = {
            "X-RateLimit-Limit": str(LIMIT),
            "X-RateLimit-Remaining": str(self.told),
            "X-RateLimit-Reset": "2030-01-01T00:00:00Z",
        }
        peer.send(*ANSWERS[fault](figures, text))
        if fault == "stall":
            # Nobody wakes it: it is silent for a moment, then gone.
            threading.Event().wait(0.002)
        return fault in KEEPING

    @property
    def keeps(self) -> bool:
        """Whether the connection of the latest request is kept."""
        return self.fault in KEEPING

    def idle(self) -> None:
        """Close the connections that wait for a request, and see them closed."""
        until = time.monotonic() + PATIENCE
        with self.news:
            while self.open:
                assert time.monotonic() < until, "a connection stays open"
                for peer in self.open:
                    # Only one that waits hears this; one that does not is on its way there.
                    peer.dismiss()
                self.news.wait(0.005)


def reset(peer: Peer) -> None:
    """Reset the connection."""
    peer.reset()


def leave(_: Peer) -> None:
    """Close the connection."""


def babble(peer: Peer) -> None:
    """Say what is not HTTP."""
    peer.send(b"\0\0\0garbage\r\n\r\n")


def half_a_head(peer: Peer) -> None:
    """Break off within the headers."""
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Ty")


SILENT: Final[dict[str, Callable[[Peer], None]]] = {
    "reset after reading": reset,
    "close after reading": leave,
    "no HTTP": babble,
    "half a head": half_a_head,
}


def said(text: str) -> bytes:
    """Give the reply to a prompt: its words back, then the end."""
    return event(f"re: {text}") + event("", finish_reason="stop") + DONE


def refused(status: str) -> Callable[[dict[str, str], str], tuple[bytes, ...]]:
    """Make the answer that is an error with this status."""
    return lambda figures, _: (document({"error": "e", "message": "m"}, status, figures),)


ANSWERS: Final[dict[str, Callable[[dict[str, str], str], tuple[bytes, ...]]]] = {
    "none": lambda figures, text: (stream(said(text), headers=figures),),
    "in pieces": lambda figures, text: (
        head(headers={**STREAMED, **figures}),
        *(chunked(bytes([byte])) for byte in said(text)),
        CHUNKS_END,
    ),
    "json": lambda figures, text: (
        document({"choices": [{"message": {"content": f"re: {text}"}}]}, headers=figures),
    ),
    "closing": lambda figures, text: (head(headers={**EVENTS, **CLOSING, **figures}), said(text)),
    "headers only": lambda figures, _: (head(headers={**STREAMED, **figures}),),
    "cut": lambda figures, text: (
        head(headers={**STREAMED, **figures}),
        chunked(event(f"re: {text}")) + b"40\r\ndata",
    ),
    "stall": lambda figures, text: (
        head(headers={**STREAMED, **figures}),
        chunked(event(f"re: {text}")),
    ),
    "garbage": lambda figures, _: (stream(b"data: {]\xff\n\n", headers=figures),),
    "nothing": lambda figures, _: (head("204 No Content", figures),),
    "500": refused("500 Oops"),
    "503": refused("503 Busy"),
    "429": refused("429 Slow down"),
    "401": refused("401 Who"),
    "307": lambda figures, _: (
        document({}, "307 Away", {**figures, "Location": "/v1/chat/completions?again"}),
    ),
    "308": lambda figures, _: (document({}, "308 Away", {**figures, "Location": "/"}),),
}
KEEPING: Final = {"none", "in pieces", "json", "garbage", "500", "503", "429", "401", "307", "308"}
WHOLE: Final = {"none", "in pieces", "json", "closing", "idle closed"}
PARTIAL: Final = {"cut", "stall"}
FAULTS: Final = sorted({*SILENT, *ANSWERS, "reset before reading", "idle closed", "refused"})


@pytest.mark.parametrize("asks", [150, pytest.param(1_000, marks=pytest.mark.release)])
def test_faulty_asks_send_a_request_each_at_most(asks: int) -> None:
    """One ask is one request or none, in any order of faults; turns and credits agree."""
    chance = random.Random(SEED)  # noqa: S311 - a seeded run
    service = Counting()
    with Server(service) as server, chatmagic.Client(server.origin, KEY) as client:
        session = Session(client)
        plan = [*FAULTS, *chance.choices(FAULTS, k=asks - len(FAULTS))]
        for number, fault in enumerate(plan):
            one_ask(service, session, fault, f"{number}", stopped=chance.random() < 0.1)
        assert service.told is not None
        assert len(plan) == asks
        assert {turn.state for turn in session.conversation} >= {"complete", "cut off"}


def one_ask(service: Counting, session: Session, fault: str, text: str, *, stopped: bool) -> None:
    """Ask once under a fault, and compare what the server counted with what is kept."""
    if fault in ("idle closed", "reset before reading", "refused") or not service.keeps:
        # What the server has closed is seen closed before it is used again.
        service.idle()
    service.fault = "none" if fault == "idle closed" else fault
    served, begun = service.served, service.begun
    before = session.conversation.turns
    reply = failure = None
    try:
        with nobody_listening() if fault == "refused" else contextlib.nullcontext():
            reply = session.ask(text, last=0, on_fragment=stop if stopped else None)
    except (ChatError, ChatInterrupted) as error:
        failure = error
    unsent = fault in ("reset before reading", "refused")
    assert service.served - served == (0 if unsent else 1), fault
    # A connection made is a connection begun; the server's thread may be a moment late.
    assert service.begun - begun <= 1, fault
    came = fault in PARTIAL or fault in WHOLE
    kept = session.conversation.turns[len(before) :]
    assert session.conversation.turns[: len(before)] == before
    assert len(kept) == came, fault
    if came:
        assert kept[0].prompt == text
        assert kept[0].reply.text == f"re: {text}"
    if fault in WHOLE and not stopped:
        assert reply is not None
        assert kept[0].reply == reply
        assert reply.state == "complete"
    elif came:
        assert failure is not None
        assert kept[0].reply == failure.reply
        # A reply may have ended before it is stopped.
        end = "complete" if fault in WHOLE else "cut off"
        assert kept[0].state in ({"interrupted", end} if stopped else {"cut off"})
    else:
        assert isinstance(failure, ChatError)
        assert isinstance(failure, ConnectError) or fault != "refused"
    left = session.credits.remaining if session.credits is not None else None
    assert left == service.told, fault


@contextlib.contextmanager
def nobody_listening() -> Iterator[None]:
    """Send who connects to a port that refuses."""
    with socket.socket() as bound, pytest.MonkeyPatch.context() as patched:
        bound.bind(("127.0.0.1", 0))
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", bound.getsockname())]
        patched.setattr(socket, "getaddrinfo", lambda *_: found)
        yield
