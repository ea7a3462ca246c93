"""The faults that the emulator makes on demand, for tests: what is done instead of the response.

Each is a way in which a service, or a proxy before it, was seen to fail. They are off
unless :class:`~chatmagic.emulator.service.Settings` ask for one, and meet only accepted requests.
"""

from __future__ import annotations

from enum import Enum
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from chatmagic.emulator.service import failure_event

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from chatmagic.emulator.service import HttpResponse, Settings

_SLICE: Final = 16
"""Bytes of a JSON reply that count as one fragment."""


class Action(Enum):
    """Action of the server at a place where it sends nothing."""

    WAIT = "let the pause pass"
    CUT = "close the connection"
    HOLD = "send no more, and keep the connection"


Step: TypeAlias = bytes | Action


def steps(response: HttpResponse, settings: Settings) -> Generator[Step, None, None]:
    """Return what the server does for a response, with the fault that the settings ask for.

    An empty piece sends the headers alone. Only an accepted request meets a fault.

    Args:
        response: what a service without a fault sends.
        settings: with the fault, and the pauses.
    """
    fault = settings.fault if response.status == HTTPStatus.OK else None
    if fault is None:
        yield from response.pieces
    elif fault == "buffer":
        held = []
        for piece in response.pieces:
            held.append(piece)
            yield Action.WAIT
        yield b"".join(held)
    else:
        is_stream = "Content-Length" not in response.headers
        pieces = iter(response.pieces) if is_stream else _slices(b"".join(response.pieces))
        if settings.fault_after >= 0:
            yield b""
        yield from islice(pieces, max(0, settings.fault_after))
        if fault == "garbage":
            yield _garbage(settings) if is_stream else b"\xff" * len(next(pieces, b""))
            yield from pieces
        else:
            ends: dict[str, Step] = {
                "cut": Action.CUT,
                "hold": Action.HOLD,
                "error": failure_event(settings),
            }
            yield ends[fault]


def _slices(body: bytes) -> Iterator[bytes]:
    return (body[start : start + _SLICE] for start in range(0, len(body), _SLICE))


def _garbage(settings: Settings) -> bytes:
    """Return an event of a stream that is neither UTF-8 nor JSON."""
    return b'data: {"choices": \xff' + b"\n" * (1 + settings.blank_lines)
