"""Emulator: an HTTP server on loopback with the interface of the service.

Its ``Server`` header, its model name and its replies say that it is an emulator.
:mod:`chatmagic.emulator.service` has the rules of its answers, :mod:`chatmagic.emulator.replies`
the replies. The server has a thread for each connection.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Final, Self
from urllib.parse import urlsplit

from chatmagic import _started_emulators
from chatmagic._fork import Lock, belongs_to_process, close_in_child
from chatmagic._json import whole_number
from chatmagic.emulator.service import FRESH, HttpRequest, HttpResponse, Settings, Used, respond
from chatmagic.errors import InputError

__all__ = ["FRESH", "HOST", "Emulator", "Settings", "serve"]

HOST: Final = "127.0.0.1"
_SECONDS_TO_NOTICE: Final = 0.05
"""Longest time, in seconds, until the server notices that it is to stop."""
_NAP: Final = 1.0  # seconds; on Windows Ctrl-C does not wake a thread that waits forever


class Emulator:
    """A server on loopback, in daemon threads.

    ``settings`` may be replaced at any time; the next request is answered by the new ones.

    Args:
        settings: its behaviour; ``None`` is the default.
        port: the port to listen on; 0 lets the system choose.
    """

    def __init__(self, settings: Settings | None = None, port: int = 0) -> None:
        """Prepare; nothing listens before :meth:`start`."""
        self.settings = settings or Settings()
        self.url = ""
        self.used: Used = {}
        self._port = port
        self._lock = Lock()
        self._running: tuple[_Server, threading.Thread] | None = None

    def start(self) -> str:
        """Start to listen unless it does already, and return the base URL.

        Raises:
            InputError: the port cannot be listened on.
        """
        if self._running is not None:
            return self.url
        try:
            server = _Server(self, self._port)
        except OSError as error:
            raise InputError(
                f"The emulator cannot listen on port {self._port} ({error}).",
                hint="Choose another port, or 0 for any that is free.",
            ) from None
        self.url = f"http://{HOST}:{server.server_address[1]}"
        thread = threading.Thread(
            target=server.serve_forever,
            args=(_SECONDS_TO_NOTICE,),
            name="chatmagic-emulator",
            daemon=True,
        )
        self._running = server, thread
        thread.start()
        _started_emulators.note(self.url)
        return self.url

    def stop(self) -> None:
        """Close every connection and end the thread; do nothing if the emulator does not run."""
        running = self._running
        self._running = None
        # In a forked child the thread does not exist, and the connections are the parent's.
        if running is not None and running[1].is_alive():
            _started_emulators.forget(self.url)
            running[0].end()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Return the response to one request, which may cost credits.

        Args:
            request: the request as it arrived.
        """
        with self._lock:
            now = self.settings.now or datetime.now(UTC)
            response, self.used = respond(request, self.used, self.settings, now)
        return response


class _Server(ThreadingTCPServer):
    """Server with a set of its open connections; none of them delays the end of the process."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, emulator: Emulator, port: int) -> None:
        self.emulator = emulator
        self._connections: set[socket.socket] = set()
        super().__init__((HOST, port), _Handler)
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Listen and serve no more, in a forked child: the parent does."""
        for open_socket in (self.socket, *self._connections):
            close_in_child(open_socket)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, *_: object) -> None:
        """Ignore that a client is gone: a notebook would show the message."""

    def end(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in [*self._connections]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """Handler of one connection: it sends the responses of :meth:`Emulator.respond`."""

    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    error_content_type = "application/json"
    error_message_format = '{"error": "bad_request", "message": "This is no request."}'

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Return the handler of a request, for any method."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        """Log nothing: a notebook would show the message."""

    def _answer(self) -> None:
        """Read the request, and send its response."""
        url = urlsplit(self.path)
        request = HttpRequest(
            method=self.command,
            path=url.path,
            query=url.query,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(whole_number(self.headers.get("Content-Length")) or 0),
            port=self.client_address[1],
        )
        self.close_connection = True  # unless all of it is sent
        with contextlib.suppress(ConnectionError):
            self._send(self.server.emulator.respond(request))

    def _send(self, response: HttpResponse) -> None:
        """Send the response piece by piece, as long as the client is connected."""
        is_stream = "Content-Length" not in response.headers
        has_headers = False
        pause = 0.0
        for piece in response.pieces:
            # Wait for the pause, or until the client goes; ``None`` waits only for that.
            if self._is_gone(None if piece is None else pause) or piece is None:
                return
            if not has_headers:
                has_headers = True
                self._send_headers(response, is_stream=is_stream)
            if piece:
                pause = response.pause
                if self.command != "HEAD":
                    framed = b"%x\r\n%b\r\n" % (len(piece), piece)
                    self.wfile.write(framed if is_stream else piece)
        if is_stream:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = self.headers.get("Connection", "").lower() == "close"

    def _send_headers(self, response: HttpResponse, *, is_stream: bool) -> None:
        """Send the status and the headers; a stream comes in chunks of HTTP."""
        self.send_response_only(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if is_stream:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _is_gone(self, seconds: float | None) -> bool:
        """Wait for a time or for the end of the client, and return whether the client is gone.

        Args:
            seconds: the time; ``None`` waits for the client alone.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection, selectors.EVENT_READ)
            return bool(selector.select(seconds))


def serve(settings: Settings, port: int = 0) -> None:
    """Run an emulator until Ctrl-C, for the command line.

    Args:
        settings: its behaviour.
        port: the port to listen on; 0 lets the system choose.

    Raises:
        InputError: the port cannot be listened on.
    """
    setting = "set" if os.name == "nt" else "export"
    with contextlib.suppress(KeyboardInterrupt), Emulator(settings, port) as emulator:
        print(
            f"chatmagic emulator (not a real service) at {emulator.url}\n"
            "Connect to it with these two lines, in the shell that starts the notebook:\n"
            f"  {setting} CHATMAGIC_BASE_URL={emulator.url}\n"
            f"  {setting} CHATMAGIC_API_KEY=emulator-key\n"
            "Ctrl-C ends it.",
            flush=True,
        )
        while True:
            time.sleep(_NAP)
