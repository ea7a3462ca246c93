"""Small requests over a real socket, what they are answered with, and what errors hang on to."""

from __future__ import annotations

import gzip

from loopback import CHUNKS_END, DONE, EVENTS, answer, chunked, event, head, stream

from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpExchange, HttpTransport

KEY = "key-7d1f~/+&=%throw-away"


SHORT = 0.15
"""A time-out that is meant to run out, in seconds."""


def send(transport: HttpTransport, halt: Halt | None = None) -> HttpExchange:
    """Send a small request."""
    return transport.send(b"{}", stream=True, halt=halt or Halt())


def rest(exchange: HttpExchange) -> bytes:
    """Read to the end and be done."""
    body = b""
    while piece := exchange.read():
        body += piece
    exchange.close(ended=True)
    return body


def chain(error: BaseException | None) -> list[BaseException]:
    """Give an error and all that hang on to it."""
    found: list[BaseException] = []
    queue: list[BaseException | None] = [error]
    while queue:
        item = queue.pop()
        if item is not None and item not in found:
            found.append(item)
            queue += [item.__cause__, item.__context__]
    return found


FRAMES = {
    "chunked": {"Transfer-Encoding": "chunked"},
    "until close": {"Connection": "close"},
    "length": {"Content-Length": "{length}"},
    "chunked gzip": {"Transfer-Encoding": "chunked", "Content-Encoding": "gzip"},
    "gzip until close": {"Connection": "close", "Content-Encoding": "gzip"},
}


ANSWERS = {
    "chunked": stream(event("hi"), DONE),
    "length": answer(event("hi") + DONE, headers=EVENTS),
    "gzip": answer(gzip.compress(event("hi") + DONE), headers={"Content-Encoding": "gzip"}),
    "error": answer(b"{}", "500 Oops"),
    "long error": answer(b"x" * 100_000, "429 Slow down"),
    "chunked error": head("503 Busy", {"Transfer-Encoding": "chunked"})
    + chunked(b"{", b"}")
    + CHUNKS_END,
}


BEGUN = head(headers=FRAMES["chunked"]) + chunked(b"some")
