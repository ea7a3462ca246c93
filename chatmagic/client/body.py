"""The body of an answer, read in pieces within limits of size and time."""

from __future__ import annotations

import math
from time import monotonic
from typing import Final

from chatmagic._log import swallowed
from chatmagic.client import network_errors
from chatmagic.client.halt import Halt
from chatmagic.client.reply_errors import ReplyErrors
from chatmagic.client.transport import Exchange
from chatmagic.errors import ChatError, CutOffError, RequestTimeoutError
from chatmagic.protocol.answer_text import BODY_BYTES

BODY_SECONDS: Final = 5.0
"""Time limit for an error's body, in seconds: the status, which counts, is known already."""

LEAST_PIECE: Final = 32
"""Bytes that a piece of a body counts as, at least: it has its work, however small it is."""


def read_until(exchange: Exchange, halt: Halt, until: float) -> bytes:
    """Return the next piece of a body; empty at its end, or at a time.

    Args:
        exchange: the answer.
        halt: limits the read.
        until: the time, by ``time.monotonic``.
    """
    if until <= monotonic():
        return b""
    halt.until = until
    try:
        return exchange.read()
    except RequestTimeoutError as error:
        if error.which != "silence":
            raise
        return b""


def beginning(exchange: Exchange, halt: Halt, head: bytes = b"") -> tuple[bytes, bool]:
    """Return the body of an error up to the bounds, and whether that is all.

    Args:
        exchange: the answer.
        halt: limits each read.
        head: what was read of it already.
    """
    body = bytearray(head)
    until = monotonic() + BODY_SECONDS
    with swallowed(ChatError):  # the status is known, and tells more than the end of the body
        while len(body) < BODY_BYTES:
            if not (piece := read_until(exchange, halt, until)):
                return bytes(body), monotonic() < until
            body += piece
    return bytes(body[:BODY_BYTES]), False


class ReplyBody:
    """The body of a reply, in pieces. It may be neither too large nor silent for too long.

    Args:
        exchange: the answer, which is also an attribute.
        halt: limits each read.
        errors: make the error for a body that is too large.
        most: the largest number of bytes.
        silence: time limit, in seconds, between two new parts of the reply; ``None`` waits forever.
    """

    def __init__(
        self, exchange: Exchange, halt: Halt, errors: ReplyErrors, most: int, silence: float | None
    ) -> None:
        """Read nothing yet."""
        self.exchange = exchange
        self._halt = halt
        self._errors = errors
        self._most = most
        self._size = 0
        self._silence = silence
        self._silent_at = math.inf

    def read(self, *, is_idle: bool = False) -> bytes:
        """Return the next piece of the body; empty at its end.

        Args:
            is_idle: whether the piece before brought nothing new of the reply, as a comment or
                a blank: it ends no silence.

        Raises:
            CutOffError: the body is larger than the limit.
            RequestTimeoutError: nothing new of the reply came for too long.
        """
        if self._size > self._most:
            raise self._errors.too_large("body")
        # The first byte has a time of its own.
        if self._silence is not None and self._size:
            if not is_idle or self._silent_at == math.inf:
                self._silent_at = monotonic() + self._silence
            elif monotonic() >= self._silent_at:
                raise network_errors.timed_out("silence", self._silence)
        self._halt.until = self._silent_at
        piece = self.exchange.read()
        self._size += max(len(piece), LEAST_PIECE)
        return piece

    def read_until(self, until: float) -> bytes:
        """Return the next piece of the body; empty at its end, or at a time.

        Args:
            until: the time, by ``time.monotonic``.
        """
        return read_until(self.exchange, self._halt, until)

    def beginning(self, head: bytes) -> bytes:
        """Return the beginning of a body that is no reply, within bounds of size and time.

        Args:
            head: what was read of it already.
        """
        return beginning(self.exchange, self._halt, head)[0]

    def whole(self, head: bytes, most: int) -> tuple[bytes, ChatError | None]:
        """Return the body, and the error that ended it early.

        A body that is too large is returned as far as it was read.

        Args:
            head: what was read of it already.
            most: the number of bytes beyond which no more is read.
        """
        body = bytearray(head)
        broken: ChatError | None = None
        is_idle = False
        try:
            while len(body) <= most and (piece := self.read(is_idle=is_idle)):
                is_idle = piece.isspace()
                body += piece
        except (CutOffError, RequestTimeoutError) as error:
            broken = error
        return bytes(body), broken
