"""Request and answer on a connection: one write, and for most answers one read.

``urllib3`` describes and keeps the connections. Its request and its response take three times the
CPU of the exchange itself, which counts in a map of many rows. So the head of a request is made
once, and the answer that most services send is read here: one of known length, whose head is a few
plain lines. Any other answer is left to ``http.client``.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol

_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEAD: Final = re.compile(
    rf"HTTP/1\.1 ([2-9][0-9][0-9])(?: [^\r\n\0]*)?((?:\r\n{_NAME}:[^\r\n\0]*)*)"
)
"""Head without a folded or an odd line."""
_FIELD: Final = re.compile(rf"\r\n({_NAME}):[ \t]*([^\r\n]*)")
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
_MOST_FIELDS: Final = 100
"""Largest number of header fields, as of ``http.client``."""
_WITHOUT_BODY: Final = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
END: Final = b"\r\n\r\n"
"""End of a head."""


class _HeadRecorder(http.client.HTTPConnection):
    """Connection that keeps the head of a request, and sends nothing."""

    def __init__(self, host: str, port: int, default_port: int) -> None:
        super().__init__(host, port)
        self.default_port = default_port
        self.head = b""

    def send(self, data: object) -> None:
        self.head += bytes(data)  # type: ignore[call-overload] # http.client sends bytes


def request_head(
    method: str, target: str, headers: Mapping[str, str], place: tuple[str, int, int]
) -> bytes:
    """Return the lines of a request's head, without its length, its key and its blank line.

    Args:
        method: the HTTP method.
        target: the path, with its query.
        headers: the headers.
        place: the host, its port, and the port that the scheme has by default.
    """
    recorder = _HeadRecorder(*place)
    recorder.putrequest(method, target, skip_accept_encoding=True)
    for name, value in headers.items():
        recorder.putheader(name, value)
    recorder.endheaders()
    return recorder.head.removesuffix(b"\r\n")


class PlainHead(NamedTuple):
    """Head of an answer of known length.

    Args:
        status: the HTTP status.
        headers: the headers, no name of which stands there twice.
        length: number of bytes of the body.
    """

    status: int
    headers: dict[str, str]
    length: int


def plain_head(head: bytes) -> PlainHead | None:
    """Return the head of an answer of known length; ``None`` for any other or an odd one.

    Args:
        head: the bytes before the blank line.
    """
    whole = _HEAD.fullmatch(head.decode("latin-1"))
    if whole is None:
        return None
    status = int(whole[1])
    fields = _FIELD.findall(whole[2])
    headers = {name: value.rstrip(" \t") for name, value in fields}
    values = {name.lower(): value for name, value in headers.items()}
    length = _LENGTH.fullmatch(values.get("content-length", ""))
    if (
        length is None
        or len(values) < len(fields)
        or len(fields) > _MOST_FIELDS
        or status in _WITHOUT_BODY
        or "transfer-encoding" in values
        or values.get("connection", "keep-alive").lower() != "keep-alive"
    ):
        return None
    return PlainHead(status, headers, int(length[0]))


class BodyConnection(Protocol):
    """Connection, as far as the body of an answer is read from it."""

    def receive(self, most: int) -> bytes:
        """Return the next bytes as soon as there are some; empty at the end.

        Args:
            most: largest number of bytes.
        """

    def close(self) -> None:
        """Close it."""


class PlainAnswer:
    """Answer of known length, as far as an exchange reads urllib3's responses.

    Args:
        head: its head.
        body: the beginning of its body, which came with the head.
        connection: its connection, which is closed if the body is not read to its end.
        release: called with the connection when it has no more of the body.
    """

    def __init__(
        self,
        head: PlainHead,
        body: bytes,
        connection: BodyConnection,
        release: Callable[[object], object],
    ) -> None:
        """Release the connection if the whole body came with the head."""
        self.status = head.status
        self.headers = head.headers
        self.length_remaining = head.length
        """Number of bytes of the body that were not read."""
        self.connection: BodyConnection | None = connection
        """The connection; ``None`` when it has no more of the body, or is closed."""
        self._body = body
        self._release = release
        if len(body) > head.length:
            # What nobody asked for would be taken for the next answer.
            self._body = body[: head.length]
            self.close()
        elif len(body) == head.length:
            self._end()

    def read1(self, most: int, *, decode_content: bool = False) -> bytes:
        """Return the next piece of the body as it was sent; empty at its end.

        Args:
            most: largest number of bytes.
            decode_content: always false, as of urllib3's response.

        Raises:
            http.client.IncompleteRead: the connection was closed before the end.
        """
        del decode_content
        piece = self._body[:most]
        self._body = self._body[most:]
        left = self.length_remaining
        if not piece and left:
            if self.connection is not None:
                piece = self.connection.receive(min(most, left))
            if not piece:
                raise http.client.IncompleteRead(b"", left)
        self.length_remaining -= len(piece)
        if not self.length_remaining:
            self._end()
        return piece

    def _end(self) -> None:
        """Release the connection, which has no more of the body."""
        if self.connection is not None:
            self._release(self.connection)
            self.connection = None

    def close(self) -> None:
        """Close the connection, unless it has no more of the body; may be repeated."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
