"""Emulator that keeps a log of the requests it got, and of how each ended."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from chatmagic.emulator import server
from chatmagic.emulator.service import HttpRequest, HttpResponse, Settings, keys_given
from chatmagic.protocol.auth import Auth


@dataclass(slots=True)
class LoggedRequest:
    """Log entry of a request: what came and what was sent; the key itself is not kept.

    Args:
        method: the HTTP method.
        path: the path, without the query.
        ways: the ways in which a key was given.
        headers: the other headers, their names in lower case.
        body: the body's JSON; ``None`` where it is not JSON.
        port: the client's port, by which a connection is known again.
        status: the status of the response.
        sent: how many pieces of the response's body were sent.
        outcome: ``open`` while the response is sent; then ``complete``, ``hung up`` (by
            the client) or ``cut`` (by the fault of that name).
    """

    method: str
    path: str
    ways: tuple[Auth, ...]
    headers: Mapping[str, str]
    body: Any
    port: int
    status: int
    sent: int = 0
    outcome: Literal["open", "complete", "hung up", "cut"] = "open"


class Emulator(server.Emulator):
    """Emulator with a log.

    Attributes:
        requests: the requests it got, oldest first.
        at_once: set, what is left of each stream comes in one piece.
    """

    def __init__(self, settings: Settings | None = None, port: int = 0) -> None:
        """Prepare; nothing listens before :meth:`start`."""
        super().__init__(settings, port)
        self.requests: list[LoggedRequest] = []
        self.at_once = threading.Event()

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Return the response to one request, and log both."""
        response = super().respond(request)
        own = {"authorization", "x-api-key"}
        logged = LoggedRequest(
            method=request.method,
            path=request.path,
            ways=tuple(keys_given(request)),
            headers={name: value for name, value in request.headers.items() if name not in own},
            body=_parsed(request.body),
            port=request.port,
            status=response.status,
        )
        self.requests.append(logged)
        pieces = self._watched(logged, iter(response.pieces))
        next(pieces)
        return replace(response, pieces=pieces)

    def _watched(
        self, logged: LoggedRequest, pieces: Iterator[bytes | None]
    ) -> Iterator[bytes | None]:
        """Give the pieces of a body, and log how many were sent; the first one is for no one."""
        try:
            yield b""
            for piece in pieces:
                yield piece
                logged.sent += 1
                if self.at_once.is_set():
                    yield b"".join(filter(None, pieces))
            logged.outcome = "complete"
        except ConnectionAbortedError:
            logged.outcome = "cut"
            raise
        except GeneratorExit:
            logged.outcome = "hung up"
            raise


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
