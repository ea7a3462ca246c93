"""What recording costs a streamed reply: each fragment of it, and its end.

A loopback server sends a long reply in small fragments as fast as they are read, to a session
without a cassette and to one that records.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

from rows import OURS, Row, by_turns, middle

from chatmagic import Session

FRAGMENTS: Final = 5_000
ROUNDS: Final = 9
BASE: Final = "without a cassette"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def serve(listener: socket.socket) -> None:
    """Send every client a long reply, a fragment at a time."""
    chunk = {"choices": [{"delta": {"content": "word "}}]}
    event = f"data: {json.dumps(chunk)}\n\n".encode()
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while b'"stream"' not in connection.recv(65_536):
                pass
            connection.sendall(HEAD)
            for _ in range(FRAGMENTS):
                connection.sendall(event)
            connection.sendall(b"data: [DONE]\n\n")


def rows() -> Iterator[Row]:
    """Take the figures: the time between fragments, and what follows on the last one."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=[listener], daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    ends: dict[str, list[float]] = {OURS: [], BASE: []}
    place = {"CHATMAGIC_BASE_URL": url, "CHATMAGIC_AUTH": "none"}
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, place):
        sessions = {OURS: Session(), BASE: Session()}

        def asked(name: str) -> float:
            os.environ.pop("CHATMAGIC_CASSETTE", None)
            os.environ["CHATMAGIC_MODE"] = "live"
            if name == OURS:
                os.environ["CHATMAGIC_CASSETTE"] = str(Path(folder) / "talk.jsonl")
                os.environ["CHATMAGIC_MODE"] = "record"
            times: list[float] = []
            sessions[name].ask(
                "Go on.", history=False, on_fragment=lambda _: times.append(time.perf_counter())
            )
            ends[name].append(1e3 * (time.perf_counter() - times[-1]))
            return 1e6 * (times[-1] - times[0]) / len(times)

        figures = by_turns({name: partial(asked, name) for name in sessions}, ROUNDS, middle)
    yield Row("time a fragment while it is recorded", figures, "µs", BASE)
    waited = {name: middle(all_[1:]) for name, all_ in ends.items()}
    yield Row("end of a recorded reply of 5,000 fragments", waited, "ms", BASE)
