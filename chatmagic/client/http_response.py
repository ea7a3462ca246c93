"""HTTP answer as it is read from its connection: all that has come, and no interim answers."""

from __future__ import annotations

import http.client
import io
from http import HTTPStatus


class Response(http.client.HTTPResponse):
    """An answer without what could not be read of its headers, nor interim ones before it.

    urllib3 would log the former, and in it a server may say the key back. The latter (RFC
    9110, 15.2) may come before any answer.
    """

    def begin(self) -> None:
        """Read the head."""
        super().begin()
        self.msg.defects.clear()
        self.msg.set_payload("")

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            line: tuple[str, int, str] = super()._read_status()  # type: ignore[misc] # not typed
            if not HTTPStatus.SWITCHING_PROTOCOLS < line[1] < HTTPStatus.OK:
                return line
            http.client.parse_headers(self.fp)

    def read1(self, n: int = -1) -> bytes:
        """Return what :meth:`buffered` gives; or else what ``http.client`` reads."""
        return self.buffered(n) or super().read1(n)

    def buffered(self, n: int) -> bytes:
        """Return the body's bytes that lie in the buffer; an empty one is filled once before.

        All chunks that lie there come at once, of which ``http.client`` gives one at a time.
        Where anything else is next, or ``http.client`` is not as it was, nothing is returned,
        and its own ``read1`` goes on from there.

        Args:
            n: the most bytes that are taken; negative for all.
        """
        fp, left = self.fp, getattr(self, "chunk_left", -1)
        if not isinstance(fp, io.BufferedReader) or left == -1:
            return b""
        if not self.chunked:
            return fp.read1(n) if self.length is None else b""
        if (left or 0) < 0:
            return b""  # A size below zero, which http.client took from the body.
        held = fp.peek(1)
        if 0 <= n < len(held):
            return b""
        pieces, used, left = _chunks(held, left)
        fp.read(used)
        self.chunk_left = left
        return b"".join(pieces)


def _chunks(held: bytes, left: int | None) -> tuple[list[bytes], int, int | None]:
    """Return what chunks hold, how many bytes are theirs, and what is left of the last one.

    Args:
        held: part of a body in chunks.
        left: how much of a chunk is to come first; 0 if its line end is, ``None`` if the size
            of another one is.
    """
    pieces: list[bytes] = []
    at = 0
    while at < len(held):
        if left == 0:
            if at + 2 > len(held):
                break
            at, left = at + 2, None
        elif left is None:
            end = held.find(b"\n", at)
            try:
                size = int(held[at:end], 16) if end > 0 else 0
            except ValueError:
                size = 0
            if size <= 0:
                break
            at, left = end + 1, size
        else:
            piece = held[at : at + left]
            pieces.append(piece)
            at, left = at + len(piece), left - len(piece)
    return pieces, at, left
