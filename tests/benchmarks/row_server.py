"""A server in a process of its own, which answers each request after the same time.

It is one thread with one event loop, so it takes little of the CPU beside the clients.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

REPLY: Final = {
    "model": "some-model",
    "choices": [{"message": {"role": "assistant", "content": "positive"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 30, "completion_tokens": 1, "total_tokens": 31},
}


def answer() -> bytes:
    """Return an answer of the service."""
    body = json.dumps(REPLY).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\nX-RateLimit-Remaining: 99999\r\n\r\n".encode() + body


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection; the path begins with the milliseconds."""
    sent = answer()
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            await asyncio.sleep(int(head.split(b"/")[1]) / 1000)
            writer.write(sent)
            await writer.drain()


async def main() -> None:
    """Serve on a port that is printed."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - read by who started it
    await server.serve_forever()


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
    asyncio.run(main())
