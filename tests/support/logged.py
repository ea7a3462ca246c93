"""Emulator with faults on demand, which keeps a log of its requests and of how each ended."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from chatmagic.emulator import server, service
from chatmagic.emulator.service import HttpRequest, HttpResponse, keys_given
from chatmagic.protocol.api_key import Auth

Fault = Literal["cut", "hold", "garbage", "error"]

ERROR = json.dumps(
    {"error": "internal_error", "message": "The emulator was told to fail."}
).encode()


@dataclass(frozen=True, slots=True)
class Settings(service.Settings):
    """Behaviour of the emulator, with a failure that was seen in a service or a proxy before it.

    Args:
        fault: the fault of accepted requests; ``None`` for none. ``cut`` closes the connection,
            ``hold`` sends no more and keeps it open, ``garbage`` sends bytes that are not JSON,
            ``error`` is a server failure (status 500, or an error object inside a stream).
        fault_after: the number of fragments sent before the fault; 0 is after the headers, -1
            before them. A fragment of a JSON reply is 16 bytes.
    """

    fault: Fault | None = None
    fault_after: int = 0


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
    """Emulator with faults on demand and a log.

    Attributes:
        requests: the requests it got, oldest first.
        at_once: set, what is left of each stream comes in one piece.
    """

    def __init__(self, settings: service.Settings | None = None, port: int = 0) -> None:
        """Prepare; nothing listens before :meth:`start`."""
        super().__init__(settings or Settings(), port)
        self.requests: list[LoggedRequest] = []
        self.at_once = threading.Event()

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Return the response to one request, and log both."""
        before = self.used
        response = super().respond(request)
        settings = self.settings
        if isinstance(settings, Settings) and settings.fault and response.status == 200:
            response = _with_fault(response, settings)
            self.used = before if response.status == 500 else self.used
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


def _with_fault(response: HttpResponse, settings: Settings) -> HttpResponse:
    """Return an accepted response with its fault."""
    if "Content-Length" not in response.headers:
        pieces = iter(response.pieces)
    else:
        body = b"".join(filter(None, response.pieces))
        pieces = (body[start : start + 16] for start in range(0, len(body), 16))
    if settings.fault == "error" and (
        settings.fault_after < 0 or "Content-Length" in response.headers
    ):
        own = {"Content-Type": "application/json", "Content-Length": str(len(ERROR))}
        return HttpResponse(500, {**response.headers, **own}, (ERROR,))
    return replace(response, pieces=_faulty(pieces, settings))


def _faulty(pieces: Iterator[bytes | None], settings: Settings) -> Iterator[bytes | None]:
    """Yield the pieces of a response up to its fault, and what comes then."""
    if settings.fault_after >= 0:
        yield b""
    yield from islice(pieces, max(0, settings.fault_after))
    match settings.fault:
        case "garbage":
            yield b'data: {"choices": \xff\n\n'
            yield from pieces
        case "error":
            yield b"data: %b\n\n" % ERROR
        case "hold":
            yield None
        case _:
            raise ConnectionAbortedError


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
