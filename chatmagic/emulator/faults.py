"""The faults that the emulator makes on demand, for tests: what is done instead of the answer.

Each is a way in which a service, or a proxy before it, was seen to fail. They are off
unless :class:`~chatmagic.emulator.service.Settings` ask for one, and meet only accepted requests.
"""

from __future__ import annotations

from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from chatmagic.emulator.service import FAILURE, event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmagic.emulator.service import Answer, Settings

_SLICE: Final = 16


class Mark(Enum):
    """What the server does at a place where it sends nothing."""

    WAIT = "let the pause pass"
    CUT = "close the connection"
    HOLD = "send no more, and keep the connection"


Step: TypeAlias = bytes | Mark


def steps(given: Answer, settings: Settings) -> Iterator[Step]:
    """Give what the server does for an answer, with the fault that the settings ask for.

    An empty piece sends the headers alone. Only an accepted request meets a fault.
    """
    fault = settings.fault if given.status == 200 else None  # noqa: PLR2004 - OK
    if fault is None:
        yield from given.pieces
        return
    if fault == "buffer":
        held = []
        for piece in given.pieces:
            held.append(piece)
            yield Mark.WAIT
        yield b"".join(held)
        return
    pieces = _fragments(given)
    if settings.fault_after >= 0:
        yield b""
    yield from islice(pieces, max(0, settings.fault_after))
    yield from _fault(fault, pieces, settings, stream="Content-Length" not in given.headers)


def _fragments(given: Answer) -> Iterator[bytes]:
    """Cut the body of a JSON reply too, so that a fault can stand inside it."""
    if "Content-Length" not in given.headers:
        return iter(given.pieces)
    body = b"".join(given.pieces)
    return (body[start : start + _SLICE] for start in range(0, len(body), _SLICE))


def _fault(
    fault: str, pieces: Iterator[bytes], settings: Settings, *, stream: bool
) -> Iterator[Step]:
    if fault == "cut":
        yield Mark.CUT
    elif fault == "hold":
        yield Mark.HOLD
    elif fault == "error":
        yield event(FAILURE.to_json(), settings)
    else:
        # A JSON body keeps the length that its headers promise.
        broken = b'data: {"choices": \xff' if stream else b"\xff" * len(next(pieces, b""))
        end = settings.line_end.encode() * (1 + settings.blank_lines)
        yield broken + end if stream else broken
        yield from pieces
