"""CPU that a fragment costs from socket to caller, in each framing.

Measured beside a raw socket with the least parser: what it reads is the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import framing_server
import readers
from readers import Read
from rows import Row, by_turns, cpu, missing

RAW: Final = "raw socket"
FRAGMENTS: Final = 4_000
ROUNDS: Final = 5
FRAMINGS: Final = {
    "chunked": "one event a chunk",
    "changing": "one event a chunk, each with another time",
    "many": f"{framing_server.TOGETHER} events a chunk",
    "close": "until close",
    "length": "Content-Length",
    "gzip": "gzip, one event a chunk",
}


def rows() -> Iterator[Row]:
    """Take the figures of each framing at full speed."""
    with framing_server.running() as port:
        reading = _readers(port)
        for framing, words in FRAMINGS.items():
            taking = {n: r for n, r in reading.items() if framing != "gzip" or n != RAW}
            ask = f"{framing} {FRAGMENTS}"
            costs = by_turns({n: partial(_cost, r, ask) for n, r in taking.items()}, ROUNDS)
            base = RAW if RAW in taking else "read1"
            target = "below httpx-sse, openai, aiohttp; ≤ 3"
            what = f"CPU a fragment, {words}"
            yield Row(what, {n: 1e6 * c for n, c in costs.items()}, "µs", base, target)


def _readers(port: int) -> dict[str, Read]:
    url = f"http://127.0.0.1:{port}"
    absent = missing(name for names in readers.PEERS.values() for name in names)
    peers: dict[str, Callable[[str], Read]] = {
        "httpx-sse": readers.httpx_sse_client,
        "openai": readers.openai_client,
        "aiohttp": readers.aiohttp_client,
    }
    return {
        RAW: readers.raw_socket(port),
        "chatmagic": readers.chatmagic_client(url),
        "read1": readers.requests_read1(url),
        **{n: peer(url) for n, peer in peers.items() if not absent & set(readers.PEERS[n])},
    }


def _cost(read: Read, ask: str) -> float:
    """Return the CPU seconds of one fragment."""
    fragments: list[str] = []
    spent = cpu(lambda: read(ask, fragments.append))
    assert len(fragments) == FRAGMENTS
    return spent / FRAGMENTS
