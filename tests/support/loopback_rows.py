"""A server on loopback that answers the rows of a map, and counts, for several processes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Refusal = tuple[int, dict[str, str], Any]


class _Quiet(ThreadingHTTPServer):
    """A server whose clients may be killed."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Print nothing."""


class RowServer:
    """A server that answers each prompt with itself, in capitals.

    Args:
        refuses: returns the status, headers and body of a refusal; ``None`` for a reply.
        before: called with each prompt before it is answered.
    """

    def __init__(
        self,
        refuses: Callable[[str], Refusal | None] = lambda _: None,
        before: Callable[[str], object] = str,
    ) -> None:
        """Listen to nobody yet."""
        self.refuses, self.before = refuses, before
        self.prompts: list[str] = []
        self.keys: set[str | None] = set()
        self.answers: Callable[[str], str] = str.upper
        self.headers: Callable[[], dict[str, str]] = dict
        self._server = _Quiet(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        """Start to listen."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Print nothing."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["messages"][-1]["content"]
                server.prompts.append(prompt)
                server.keys.add(self.headers.get("Authorization"))
                server.before(prompt)
                refusal = server.refuses(prompt)
                message = {"role": "assistant", "content": server.answers(prompt)}
                reply = {"choices": [{"message": message, "finish_reason": "stop"}]}
                status, headers, answer = refusal or (200, server.headers(), reply)
                content = json.dumps(answer).encode()
                self.send_response(status)
                length = {"Content-Length": str(len(content))}
                for name, value in {
                    "Content-Type": "application/json",
                    **length,
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

        return Handler
