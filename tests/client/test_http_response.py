"""An answer on its connection: what is one piece, and that nothing else differs."""

from __future__ import annotations

import http.client
import io
import itertools
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
from exchanges import FRAMES, send
from hypothesis import given
from hypothesis import strategies as st
from loopback import CHUNKS_END, Server, chunked, head, playing

from chatmagic.client import transport
from chatmagic.client.http_response import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.client.transport import HttpTransport


class _Wire:
    """Socket whose bytes lie ready in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the file that ``http.client`` reads."""
        assert mode == "rb"
        pieces = self._pieces

        class Raw(io.RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> int:
                piece = pieces.pop(0) if pieces else b""
                if rest := piece[len(buffer) :]:
                    pieces.insert(0, rest)
                buffer[: len(piece)] = piece[: len(buffer)]
                return len(piece) - len(rest)

        return io.BufferedReader(Raw())


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


_Kind = TypeVar("_Kind", bound=http.client.HTTPResponse)


def _begun(kind: type[_Kind], *pieces: bytes) -> _Kind:
    response = kind(_Wire(HEAD, *pieces))  # type: ignore[arg-type] # all that it asks of a socket
    response.begin()
    return response


def _all_of(kind: type[http.client.HTTPResponse], pieces: list[bytes], n: int) -> tuple[bytes, str]:
    """Read a body to its end, or to what breaks it."""
    response, body = _begun(kind, *pieces), b""
    try:
        while piece := response.read1(n):
            body += piece
    except http.client.HTTPException as error:
        return body, type(error).__name__
    return body, "closed" if response.isclosed() else "open"


@given(
    sizes=st.lists(st.binary(min_size=1, max_size=20) | st.just(b"x" * 300), max_size=5),
    end=st.sampled_from(
        [CHUNKS_END, b"0\r\nA: b\r\n\r\n", b"", b"zz\r\n", b"-1\r\n\r\n", b"5\r\nab"]
    ),
    extension=st.sampled_from([b"", b"", b" ", b";a=b"]),
    places=st.lists(st.integers(0, 400), max_size=4),
    n=st.sampled_from([-1, 7, 65_536]),
)
def test_chunks_are_read_as_http_client_reads_them(
    sizes: list[bytes], end: bytes, extension: bytes, places: list[int], n: int
) -> None:
    """Whatever comes, and in whatever pieces: the same bytes and the same end."""
    chunks = [b"%x%b\r\n%b\r\n" % (len(chunk), extension, chunk) for chunk in sizes]
    body = b"".join(chunks) + end
    cuts = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    pieces = [body[start:stop] for start, stop in itertools.pairwise(cuts)]
    assert _all_of(Response, pieces, n) == _all_of(http.client.HTTPResponse, pieces, n)


def test_a_size_below_zero_keeps_nothing_waiting() -> None:
    """``http.client`` takes it for one; what comes behind it ends as there."""
    pieces = [b"-5\r\nab", b"cdefgh\r\n", b"0\r\n\r\n"]
    assert _all_of(Response, pieces, 65_536) == _all_of(http.client.HTTPResponse, pieces, 65_536)


def test_all_chunks_that_have_come_are_one_piece() -> None:
    """So Python's own attributes are as they were; where one is not, its own ``read1`` reads."""
    response = _begun(Response, chunked(b"one ", b"two ", b"three")[:-4], b"ee\r\n" + CHUNKS_END)
    assert response.read1() == b"one two thr"
    assert response.read1() == b"ee"
    assert response.read1() == b""
    response = _begun(Response, chunked(b"one ", b"two "), CHUNKS_END)
    response.__dict__["left_of_chunk"] = response.__dict__.pop("chunk_left")
    assert response.buffered(-1) == b""
    response.chunk_left = None
    response.fp = cast("Any", io.BytesIO(chunked(b"one ", b"two ")))
    assert response.read1() == b"one "


@pytest.mark.parametrize("documented", [False, True])
def test_a_piece_is_all_that_has_come(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch, *, documented: bool
) -> None:
    """So urllib3's own attribute is as it was; where it is not, its ``read1`` reads."""
    if documented:
        monkeypatch.setattr(transport, "Response", dict)
    with Server(playing(head(headers=FRAMES["chunked"]) + chunked(b"one ", b"two"))) as server:
        exchange = send(connect(server))
        assert exchange.read() == (b"one two")
        exchange.close(ended=False)
