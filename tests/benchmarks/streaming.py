"""How a long reply streams through a real kernel: run by hand, prints figures.

``python tests/benchmarks/streaming.py`` asks a loopback server, which sends prose in
fragments at a steady pace, from a kernel as JupyterLab would, and counts what reaches the
page; then the same with four times the fragments, and once as a machine. The named peer is
the least that any streaming display can do: one update for each fragment.
"""

from __future__ import annotations

import itertools
import json
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from kernels import Kernel, kernel

PROSE = (
    "The sample mean is a point estimate and its standard error says how far it would move "
    "if the study were done again with **other** people drawn from the same population. "
)
WORDS = PROSE.split()
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    b"X-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 90\r\n\r\n"
)


class Paced:
    """A server that sends so many fragments over so many seconds, and notes the first one."""

    def __init__(self, fragments: int, seconds: float) -> None:
        """Start to listen."""
        words = itertools.cycle(WORDS)
        self.fragments = [
            next(words) + ("\n\n" if number % 60 == 59 else " ") for number in range(fragments)
        ]
        self.seconds = seconds
        self.first = 0.0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while b'"stream"' not in connection.recv(65_536):
                    pass
                connection.sendall(HEAD)
                time.sleep(0.3)
                self.first = start = time.monotonic()
                for number, fragment in enumerate(self.fragments):
                    due = start + self.seconds * number / len(self.fragments)
                    if (ahead := due - time.monotonic()) > 0:
                        time.sleep(ahead)
                    chunk = {"choices": [{"delta": {"content": fragment}}]}
                    connection.sendall(f"data: {json.dumps(chunk)}\n\n".encode())
                connection.sendall(b"data: [DONE]\n\n")


def measure(running: Kernel, fragments: int, seconds: float, *, person: bool) -> dict[str, Any]:
    """Ask once and count the messages that carry a display."""
    server = Paced(fragments, seconds)
    running.run(f"%chat_connect {server.url}", cell="connect")
    cell = "ask" if person else None
    ran = running.run(
        "%%chat --no-history\nGo on.", cell=cell, person=person, wait=3 * seconds + 20
    )
    seen = [
        (when, message)
        for when, message in ran.messages
        if message["msg_type"] in {"display_data", "update_display_data"}
    ]
    size = sum(len(json.dumps(m["content"], ensure_ascii=False).encode()) for _, m in seen)
    text = sum(len(fragment.encode()) for fragment in server.fragments)
    word = WORDS[0]
    first = next(when for when, m in seen if word in m["content"]["data"]["text/html"])
    return {
        "fragments": fragments,
        "text bytes": text,
        "messages": len(seen),
        "messages a second": round(len(seen) / seconds, 1),
        "bytes": size,
        "times the text": round(size / text, 1),
        "first shown after ms": round(1000 * (first - server.first), 1),
        "status": ran.status,
    }


def main() -> None:
    """Print the figures."""
    with kernel({"CHATMAGIC_AUTH": "none"}) as running:
        running.run("%load_ext chatmagic", cell="load")
        short = measure(running, 3_000, 5.0, person=True)
        long = measure(running, 12_000, 20.0, person=True)
        same_time = measure(running, 12_000, 5.0, person=True)
        machine = measure(running, 3_000, 5.0, person=False)
    for figures in (short, long, same_time, machine):
        print(figures)  # noqa: T201 - figures are what this is for
    print(f"bytes for four times the fragments: {long['bytes'] / short['bytes']:.2f} times")  # noqa: T201
    peer = sum(range(1, 3_001)) * short["text bytes"] // 3_000
    print(f"an update for each fragment: 3,000 messages, {peer:,} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
