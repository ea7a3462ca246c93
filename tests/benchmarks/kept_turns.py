"""A turn on a connection that is kept: what a short question costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import framing_server
import readers
from readers import Read
from rows import Row, by_turns, cpu, middle, missing

TURNS: Final = 30
ASK: Final = "chunked 5"
PEERS: Final = {"httpx-sse": readers.httpx_sse_client, "openai": readers.openai_client}


def rows() -> Iterator[Row]:
    """Take the figures of short turns, each of five fragments, one after the other."""
    absent = missing(name for peer in PEERS for name in readers.PEERS[peer])
    peers = {n: make for n, make in PEERS.items() if not absent & set(readers.PEERS[n])}
    base = "httpx-sse" if "httpx-sse" in peers else "read1"
    with framing_server.running() as port:
        makers = {"chatmagic": readers.chatmagic_client, "read1": readers.requests_read1, **peers}
        reading = {name: make(f"http://127.0.0.1:{port}") for name, make in makers.items()}
        units: dict[str, Callable[[Read], float]] = {"time": _seconds, "CPU": _cpu_seconds}
        for what, unit in units.items():
            runs = {name: partial(unit, read) for name, read in reading.items()}
            figures = {n: 1e3 * f for n, f in by_turns(runs, 9).items()}
            yield Row(f"{what} of a kept turn", figures, "ms", base, "≤ 1.00")


def _seconds(read: Read) -> float:
    """Return the median of a few turns on the clock."""
    taken = []
    for _ in range(TURNS):
        start = time.perf_counter()
        _turn(read)
        taken.append(time.perf_counter() - start)
    return middle(taken)


def _cpu_seconds(read: Read) -> float:
    return cpu(lambda: list(map(_turn, [read] * TURNS))) / TURNS


def _turn(read: Read) -> None:
    fragments: list[str] = []
    read(ASK, fragments.append)
    assert len(fragments) == 5
