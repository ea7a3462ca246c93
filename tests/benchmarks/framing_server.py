"""A server in a process of its own, which streams a long reply in the framing that is asked for.

The request's last message says how: ``FRAMING FRAGMENTS``. The chunks are as OpenAI's servers
send them.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

WORDS: Final = ("The", "sample", "mean", "is", "a", "point", "estimate", "and", "its", "error")
TOGETHER: Final = 50
"""Events in one chunk, where a chunk has many."""


def event(content: str, number: int = 0) -> bytes:
    """Return an event with a fragment of the reply, and a number in another field."""
    choice = {"index": 0, "delta": {"content": content}, "logprobs": None, "finish_reason": None}
    value = {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion.chunk",
        "created": 1741569952 + number,
        "model": "some-model-2026-01-01",
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": [choice],
    }
    return f"data: {json.dumps(value, separators=(',', ':'))}\n\n".encode()


def chunk(piece: bytes) -> bytes:
    """Return a piece as HTTP's chunked coding writes it."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


@lru_cache
def pieces(framing: str, fragments: int) -> tuple[str, list[bytes]]:
    """Return a body's headers, and the body in the pieces that are written one by one."""
    words = itertools.islice(itertools.cycle(WORDS), fragments)
    events = [event(f" {word}", at * (framing == "changing")) for at, word in enumerate(words)]
    events.append(b"data: [DONE]\n\n")
    if framing in ("chunked", "changing"):
        return "Transfer-Encoding: chunked", [*map(chunk, events), b"0\r\n\r\n"]
    if framing == "many":
        groups = (events[at : at + TOGETHER] for at in range(0, len(events), TOGETHER))
        return "Transfer-Encoding: chunked", [*(chunk(b"".join(g)) for g in groups), b"0\r\n\r\n"]
    if framing == "length":
        return f"Content-Length: {sum(map(len, events))}", events
    if framing == "gzip":
        packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
        packed = [packer.compress(e) + packer.flush(zlib.Z_SYNC_FLUSH) for e in events]
        last = [chunk(packer.flush()), b"0\r\n\r\n"]
        return "Transfer-Encoding: chunked\r\nContent-Encoding: gzip", [*map(chunk, packed), *last]
    return "Connection: close", events


class Connection:
    """One connection: answers the requests that come on it."""

    def __init__(self, sock: socket.socket) -> None:
        """Take over a connection that was accepted."""
        self._sock = sock
        self._came = b""

    def serve(self) -> None:
        """Answer until the client has closed."""
        while ask := self._ask():
            framing, fragments = ask
            headers, body = pieces(framing, fragments)
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{headers}\r\n\r\n"
            self._sock.sendall(head.encode())
            for piece in body:
                self._sock.sendall(piece)
            if framing == "close":
                return

    def _ask(self) -> tuple[str, int] | None:
        """Read a request; ``None`` when there is no other."""
        while (end := self._came.find(b"\r\n\r\n")) < 0:
            if not (piece := self._sock.recv(65_536)):
                return None
            self._came += piece
        head, self._came = self._came[:end].lower(), self._came[end + 4 :]
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(self._came) < length:
            self._came += self._sock.recv(65_536)
        body, self._came = self._came[:length], self._came[length:]
        framing, fragments = json.loads(body)["messages"][-1]["content"].split()
        return framing, int(fragments)


def main() -> None:
    """Serve on a port that is printed."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - read by the process that started it
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_serve, args=[sock], daemon=True).start()


def _serve(sock: socket.socket) -> None:
    with contextlib.suppress(OSError), sock:
        Connection(sock).serve()


@contextlib.contextmanager
def running() -> Iterator[int]:
    """Give the port of such a server, which runs as long as the block."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


if __name__ == "__main__":
    main()
