"""A client, the server that it asks, and some answers."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import pytest
from loopback import DONE, PATIENCE, Peer, Server, event, playing

from chatmagic.client.client import Client
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatError
from chatmagic.models import Message, Origin, Reply
from chatmagic.protocol.api_key import Secret

KEY = "key-7d1f-throw-away"
ASK = [Message("user", "Hello?")]
HELLO = [event("Hel"), event("lo", finish_reason="stop"), DONE]
WHOLE = {
    "model": "m-1",
    "choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
LIMIT = {
    "error": "rate limit exceeded",
    "message": "daily credit limit reached",
    "limit": 100,
    "used": 100,
    "resetAt": "2026-03-02T00:00:00Z",
}


@contextlib.contextmanager
def served(
    script: bytes | Callable[[Peer], object], **options: Any
) -> Iterator[tuple[Client, Server]]:
    """Give a client and the server it asks."""
    play = playing(script) if isinstance(script, bytes) else script
    options.setdefault("timeout", Timeout(PATIENCE, PATIENCE, PATIENCE))
    with Server(play) as server, Client(server.origin, KEY, **options) as client:
        yield client, server


def ask(client: Client, *, streaming: bool) -> Reply:
    """Ask in one of the two ways."""
    if not streaming:
        return client.complete(ASK)
    with client.stream(ASK) as replying:
        pieces = list(replying)
    assert "".join(pieces) == replying.reply.text
    return replying.reply


def failure(script: bytes | Callable[[Peer], object], *, streaming: bool = True) -> ChatError:
    """Give the error that an answer makes."""
    with served(script) as (client, server):
        with pytest.raises(ChatError) as caught:
            ask(client, streaming=streaming)
        assert len(server.asked) == 1
    assert "\n" not in str(caught.value)
    return caught.value


class Played:
    """An exchange without a wire, which takes note of how it ended."""

    def __init__(self, status: int, *pieces: bytes | BaseException) -> None:
        """Have an answer ready; an error breaks it off."""
        self.status = status
        self.headers: list[tuple[str, str]] = []
        self.origin: Origin = "live"
        self.ends: list[str] = []
        self.sent = 0
        self._pieces = [*pieces, b""]

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Played:
        """Be the transport too."""
        assert json.loads(body).get("stream", False) is stream
        assert halt.reason is None
        self.sent += 1
        return self

    def read(self) -> bytes:
        """Give the next piece; the last one is empty, and comes again."""
        piece = self._pieces.pop(0) if len(self._pieces) > 1 else self._pieces[0]
        if isinstance(piece, BaseException):
            raise piece
        return piece

    def close(self, *, ended: bool | None = None) -> None:
        """Take note of an end as an exchange; as a transport, have nothing open."""
        if ended is not None:
            self.ends.append("ended" if ended else "cut off")


def ask_played(exchange: Played) -> Reply:
    """Give the reply that an exchange makes."""
    with Client(transport=exchange) as client:
        return ask(client, streaming=True)


def left(remaining: int) -> dict[str, str]:
    """Give the headers of the credits (fact 10)."""
    return {
        "X-RateLimit-Limit": "100",
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": "2026-03-02T00:00:00Z",
        "Date": "Sun, 01 Mar 2026 12:00:00 GMT",
    }


def in_ipython(error: BaseException) -> list[str]:
    """Give the lines that IPython shows for an error of ours."""
    lines: list[str] = error._render_traceback_()  # type: ignore[attr-defined]
    return lines


def held_by(*roots: object) -> list[str]:
    """Give the representation of everything that can be reached by attributes and items."""
    found: dict[int, object] = {}
    left = list(roots)
    while left:
        thing = left.pop()
        if id(thing) in found or isinstance(thing, (ModuleType, Secret, os._Environ)):
            continue
        found[id(thing)] = thing
        if isinstance(thing, dict):
            left += [*thing.keys(), *thing.values()]
        elif isinstance(thing, (list, tuple, set, frozenset)):
            left += thing
        elif is_dataclass(thing):
            left += [getattr(thing, field.name) for field in fields(thing)]
        elif hasattr(thing, "__dict__"):
            left += vars(thing).values()
        left += getattr(getattr(thing, "pool", None), "queue", ())
    assert len(found) > 50
    return [repr(thing) for thing in found.values()]


def closed() -> str:
    """Return an address on this machine at which nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}"
