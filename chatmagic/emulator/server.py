"""Emulator: an HTTP server on loopback that speaks the whole interface.

Its ``Server`` header, its model name and its replies say that it is an emulator.
:mod:`chatmagic.emulator.service` has the rules of its answers and its faults on demand,
:mod:`chatmagic.emulator.replies` the replies. This module has only the server, in a thread with an
event loop of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import socket
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self, cast

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler

from chatmagic.emulator.service import (
    FRESH,
    Account,
    Action,
    HttpRequest,
    HttpResponse,
    Settings,
    common_headers,
    respond,
    response_steps,
)
from chatmagic.errors import InputError
from chatmagic.protocol.wire import ErrorBody

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tornado.http1connection import HTTP1Connection

    from chatmagic.emulator.service import ResponseStep
    from chatmagic.protocol.auth import Secret

__all__ = ["FRESH", "HOST", "Emulator", "Settings", "serve"]

HOST: Final = "127.0.0.1"
_SECONDS_TO_STOP: Final = 5.0
# On Windows Ctrl-C does not wake a waiting thread, so the thread wakes once a second there.
_NAP: Final = 1.0 if os.name == "nt" else None


class Emulator:
    """A server on loopback, in a daemon thread with an event loop of its own.

    It does not touch the loop of the thread that starts it, so it can run in a kernel. ``settings``
    may be replaced at any time; the next request is answered by the new ones.

    Args:
        settings: its behaviour; ``None`` is the default.
        port: the port to listen on; 0 lets the system choose.
    """

    def __init__(self, settings: Settings | None = None, port: int = 0) -> None:
        """Prepare; nothing listens before :meth:`start`."""
        self.settings = settings or Settings()
        self.url = ""
        self.accounts: Mapping[Secret, Account] = {}
        self._port = port
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def start(self) -> str:
        """Start to listen, and return the base URL; a running emulator only returns it.

        Raises:
            InputError: the port cannot be listened on.
        """
        if self._thread is not None:
            return self.url
        try:
            listener = socket.create_server((HOST, self._port))
        except OSError as error:
            raise InputError(
                f"The emulator cannot listen on port {self._port} ({error}).",
                hint="Choose another port, or 0 for any that is free.",
            ) from None
        listener.setblocking(False)
        self.url = f"http://{HOST}:{listener.getsockname()[1]}"
        self._stopping = asyncio.Event()
        listening = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(listener, listening), name="chatmagic-emulator", daemon=True
        )
        self._thread.start()
        listening.wait()
        atexit.register(self.stop)
        return self.url

    def stop(self) -> None:
        """Close every connection and end the thread; do nothing if it does not run."""
        thread, self._thread = self._thread, None
        atexit.unregister(self.stop)
        # In a forked child the thread does not exist, and the loop is the parent's.
        if thread is None or self._loop is None or not thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        thread.join(_SECONDS_TO_STOP)

    def wait(self) -> None:
        """Block until the emulator is stopped, by another thread or by Ctrl-C."""
        thread = self._thread
        while thread is not None and thread.is_alive():
            thread.join(_NAP)

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def now(self) -> datetime:
        """Return the emulator's time."""
        return self.settings.now or datetime.now(UTC)

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Return the response to one request, which may cost credits.

        Args:
            request: the request as it came.
        """
        response, self.accounts = respond(request, self.accounts, self.settings, self.now())
        return response

    def _run(self, listener: socket.socket, listening: threading.Event) -> None:
        # Tornado needs a selector loop, which is the default everywhere but on Windows.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._serve(listener, listening))

    async def _serve(self, listener: socket.socket, listening: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        # Tornado's access log would be shown in a notebook.
        application = Application([(r".*", _Handler)], emulator=self, log_function=lambda _: None)
        server = HTTPServer(application)
        server.add_socket(listener)
        listening.set()
        await self._stopping.wait()
        server.stop()
        await server.close_all_connections()


class _Handler(RequestHandler):
    """Handler of one request: it sends the response of :meth:`Emulator.respond`."""

    def initialize(self) -> None:
        self._emulator: Emulator = self.settings["emulator"]
        self._gone = asyncio.Event()

    def set_default_headers(self) -> None:
        self._put(common_headers(self.settings["emulator"].now()))

    async def prepare(self) -> None:
        connection = cast("HTTP1Connection", self.request.connection)
        request = HttpRequest(
            method=self.request.method or "",
            path=self.request.path,
            query=self.request.query,
            headers={name.lower(): value for name, value in self.request.headers.items()},
            body=self.request.body,
            port=connection.context.address[1],  # type: ignore[attr-defined]
        )
        settings = self._emulator.settings
        response = self._emulator.respond(request)
        self.set_status(response.status)
        self._put(response.headers)
        connection.stream.set_nodelay(True)
        with (
            contextlib.suppress(StreamClosedError),
            contextlib.closing(response_steps(response, settings)) as steps,
        ):
            await self._send(steps, response.pause)
        self.finish()

    async def _send(self, steps: Iterator[ResponseStep], pause: float) -> None:
        """Send the response piece by piece, as long as the client is connected."""
        has_sent = False
        for step in steps:
            if has_sent or step is Action.WAIT:
                await self._rest(pause)
            if step is Action.HOLD:
                await self._gone.wait()
            if step is Action.CUT:
                cast("HTTP1Connection", self.request.connection).stream.close()
            if self._gone.is_set():
                return
            if isinstance(step, bytes):
                self.write(step)
                await self.flush()
                has_sent = has_sent or step != b""

    async def _rest(self, seconds: float) -> None:
        """Wait until a time has passed or the client is gone; with 0 s only yield to others."""
        if not seconds:
            await asyncio.sleep(0)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._gone.wait()

    def on_connection_close(self) -> None:
        self._gone.set()

    def write_error(self, status_code: int, **_: object) -> None:
        """Send an error body for a request that did not reach :meth:`prepare`."""
        self.set_header("Content-Type", "application/json")
        name = self._reason.lower().replace(" ", "_")
        body = ErrorBody(name, f"The request ended with status {status_code}.")
        self.finish(json.dumps(body.to_json()))

    def _put(self, headers: Mapping[str, str]) -> None:
        for name, value in headers.items():
            self.set_header(name, value)


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
        emulator.wait()
