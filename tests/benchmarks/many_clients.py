"""Sixteen clients at once in one process: the fragments that all of them read in a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Final

import framing_server
import readers
from readers import Read
from rows import Row, by_turns, missing

CLIENTS: Final = 16
FRAGMENTS: Final = 1_500


def rows() -> Iterator[Row]:
    """Take the figures: seconds for all that all of them read, a thread each."""
    with framing_server.running() as port:
        url = f"http://127.0.0.1:{port}"
        each = range(CLIENTS)
        reading = {
            "raw socket": [readers.raw_socket(port) for _ in each],
            "chatmagic": [readers.chatmagic_client(url) for _ in each],
            "read1": [readers.requests_read1(url) for _ in each],
            "iter_lines": [readers.requests_lines(url) for _ in each],
        }
        if not missing(readers.PEERS["httpx-sse"]):
            reading["httpx-sse"] = [readers.httpx_sse_client(url) for _ in each]
        seconds = by_turns({name: partial(_seconds, all_) for name, all_ in reading.items()}, 3)
    figures = {name: 1e6 * taken / CLIENTS / FRAGMENTS for name, taken in seconds.items()}
    yield Row(f"time a fragment, {CLIENTS} clients at once", figures, "µs", "raw socket", "≤ 3")


def _seconds(reading: list[Read]) -> float:
    counts: list[int] = []

    def read(one: Read) -> None:
        fragments: list[str] = []
        one(f"chunked {FRAGMENTS} 0", fragments.append)
        counts.append(len(fragments))

    threads = [threading.Thread(target=read, args=[one]) for one in reading]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = time.perf_counter() - start
    assert counts == [FRAGMENTS] * len(reading)
    return taken
