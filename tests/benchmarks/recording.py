"""What recording costs a streamed reply: run by hand, prints figures.

``python tests/benchmarks/recording.py`` asks a loopback server for a long reply, sent in
small fragments as fast as they are read, without a cassette and with one, in turns. It
prints the time a fragment takes on average (the median over the rounds), and how long the
end of a reply takes with so many exchanges in the file.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from chatmagic import Session

FRAGMENTS = 5_000
ROUNDS = 25
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


def once(session: Session, number: int) -> tuple[float, float]:
    """Ask; give the seconds from the first fragment to the last, and from there to the end."""
    times: list[float] = []
    session.ask(
        f"Go on, {number}.",
        history=False,
        on_fragment=lambda _: times.append(time.perf_counter()),
    )
    return times[-1] - times[0], time.perf_counter() - times[-1]


def main() -> None:
    """Measure, and print."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=[listener], daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    os.environ.update(CHATMAGIC_BASE_URL=url, CHATMAGIC_AUTH="none", CHATMAGIC_MODE="record")
    with tempfile.TemporaryDirectory() as folder:
        sessions = {"without a cassette": Session(), "recording": Session()}
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in sessions}
        for number in range(ROUNDS):
            for name, session in sessions.items():
                os.environ.pop("CHATMAGIC_CASSETTE", None)
                os.environ["CHATMAGIC_MODE"] = "live"
                if name == "recording":
                    os.environ["CHATMAGIC_CASSETTE"] = str(Path(folder) / "talk.jsonl")
                    os.environ["CHATMAGIC_MODE"] = "record"
                found[name].append(once(session, number))
    for name, rounds in found.items():
        fragment = statistics.median(seconds for seconds, _ in rounds) / FRAGMENTS
        end = statistics.median(seconds for _, seconds in rounds)
        line = f"{name:>18}: {fragment * 1e6:6.1f} µs a fragment, {end * 1e3:6.1f} ms at the end"
        print(line)  # noqa: T201 - figures are what this is for


if __name__ == "__main__":
    main()
