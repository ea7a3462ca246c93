"""How a long reply streams through a real kernel, to a page without our script and to a console.

A loopback server sends prose in fragments at a steady pace to a kernel that is asked as a front
end would ask, and what reaches the front end is counted. The peer is the least that any streaming
display can do: an update, or a write, for each fragment. What a page with our script gets is in
``page.py``, as only a page can say that it paints.
"""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Final

from kernels import Kernel, kernel
from rows import OURS, Row

SECONDS: Final = 6.0
EACH: Final = "an update for each fragment"
LIMIT: Final = "the limit"
SHOWN: Final = frozenset(["display_data", "update_display_data", "stream"])
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


def measure(running: Kernel, fragments: int, *, page: bool) -> tuple[dict[str, float], float]:
    """Ask once; return the messages a second and the bytes times the text's, and the first's ms."""
    server = Paced(fragments, SECONDS)
    running.run(f"%chat_connect {server.url}", cell="connect")
    cell = "ask" if page else None
    ran = running.run("%%chat --no-history\nGo on.", cell=cell, wait=3 * SECONDS + 20)
    seen = [(when, message) for when, message in ran.messages if message["msg_type"] in SHOWN]
    size = sum(len(json.dumps(message["content"]).encode()) for _, message in seen)
    text = sum(len(fragment.encode()) for fragment in server.fragments)
    first = next(when for when, message in seen if WORDS[0] in json.dumps(message["content"]))
    return {"messages": len(seen) / SECONDS, "bytes": size / text}, 1000 * (first - server.first)


def rows() -> Iterator[Row]:
    """Ask in one kernel, and return what its front ends are sent."""
    with kernel({"CHATMAGIC_AUTH": "none"}) as running:
        running.run("%load_ext chatmagic", cell="load")
        for fragments in (3_000, 30_000):
            for page, name in ((True, "a page without our script"), (False, "a console")):
                figures, first = measure(running, fragments, page=page)
                case = f"{name}, {fragments:,} fragments in {SECONDS:.0f} s"
                messages = {OURS: figures["messages"], LIMIT: 15.0}
                yield Row(f"messages: {case}", messages, "a second", LIMIT, "≤ 1")
                if page:
                    # Each update of the least display holds all that came before it.
                    sent = {OURS: figures["bytes"], EACH: (fragments + 1) / 2}
                    yield Row(f"bytes: {case}", sent, "those of the text", EACH)
                waited = {OURS: first, LIMIT: 100.0}
                yield Row(f"first word: {case}", waited, "ms", LIMIT, "≤ 1")
