"""A turn on a connection that is kept: what a short question costs, plain and by TLS."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

import framing_server
import readers
import trustme
from readers import Read
from rows import Row, by_turns, cpu, middle, missing

TURNS: Final = 30
ASK: Final = "chunked 5 0"
PEERS: Final = {"httpx-sse": readers.httpx_sse_client, "openai": readers.openai_client}


def rows() -> Iterator[Row]:
    """Take the figures of short turns, each of five fragments, one after the other."""
    absent = missing(name for peer in PEERS for name in readers.PEERS[peer])
    peers = {n: make for n, make in PEERS.items() if not absent & set(readers.PEERS[n])}
    base = "httpx-sse" if "httpx-sse" in peers else "read1"
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        authority = trustme.CA()
        trusted, certificate = (str(Path(folder) / name) for name in ("ca.pem", "server.pem"))
        authority.cert_pem.write_to_path(trusted)
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
        stack.enter_context(
            patch.dict(os.environ, REQUESTS_CA_BUNDLE=trusted, SSL_CERT_FILE=trusted)
        )
        for words, held in (("plain", ""), ("TLS", certificate)):
            with framing_server.running(held) as port:
                url = f"http{'s' if held else ''}://127.0.0.1:{port}"
                reading: dict[str, Read] = {
                    "chatmagic": readers.chatmagic_client(url),
                    "read1": readers.requests_read1(url),
                    **{name: make(url) for name, make in peers.items()},
                }
                for what, unit in (("time", _seconds), ("CPU", _cpu_seconds)):
                    runs: dict[str, Callable[[], float]]
                    runs = {name: partial(unit, read) for name, read in reading.items()}
                    figures = {n: 1e3 * f for n, f in by_turns(runs, 9).items()}
                    yield Row(f"{what} of a kept turn, {words}", figures, "ms", base, "≤ 1.00")


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
