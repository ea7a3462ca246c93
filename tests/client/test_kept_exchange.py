"""Tests of an exchange on a kept connection: the head of a request, and that of an answer."""

from __future__ import annotations

import http.client
import io

import pytest
from cases import each_case

from chatmagic.client.kept_exchange import PlainAnswer, plain_head, request_head


def head(*lines: str) -> bytes:
    """Return the head of an answer with status 200."""
    return "\r\n".join(["HTTP/1.1 200 OK", *lines]).encode("latin-1")


def test_the_head_of_an_answer_of_known_length_is_read() -> None:
    """The status, the headers without spaces around them, and the length."""
    read = plain_head(head("Server: a b ", "X-Two:\t2", "Content-Length: 12", "X-Umlaut: \xe4"))
    assert read is not None
    assert (read.status, read.length) == (200, 12)
    assert read.headers["Server"] == "a b"
    assert (read.headers["X-Two"], read.headers["X-Umlaut"]) == ("2", "\xe4")


@each_case(
    "odd",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 1",
        b"HTTP/1.1 100 Continue\r\nContent-Length: 1",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 1",
        b"ICY 200 OK\r\nContent-Length: 1",
        head(),
        head("Transfer-Encoding: chunked"),
        head("Content-Length: 1", "Transfer-Encoding: chunked"),
        head("Content-Length: 1", "Connection: close"),
        head("Content-Length: 1", "content-length: 1"),
        head("Content-Length: 1", "Content-Length: 1"),
        head("Content-Length: +1"),
        head("Content-Length: 1, 1"),
        head("Content-Length: \u00b2"),
        head("Content-Length : 1"),
        head("X: a", " folded", "Content-Length: 1"),
        head("no field", "Content-Length: 1"),
        head("X: a\nContent-Length: 1"),
        head("X: a\rb", "Content-Length: 1"),
        head("X: \0", "Content-Length: 1"),
        head("Content-Length: 1", *(f"X-{number}: a" for number in range(100))),
    ],
)
def test_any_other_head_is_left_to_the_standard_library(odd: bytes) -> None:
    """An odd head has one reader, whatever connection it comes on."""
    assert plain_head(odd) is None


@pytest.mark.parametrize(
    ("place", "host"),
    [
        (("example.org", 443, 443), b"example.org"),
        (("example.org", 8443, 443), b"example.org:8443"),
        (("::1", 8080, 80), b"[::1]:8080"),
    ],
)
def test_a_head_has_the_host_as_the_standard_library_writes_it(
    place: tuple[str, int, int], host: bytes
) -> None:
    """The port stands there only if it is not the scheme's own."""
    lines = request_head("POST", "/v1/chat?a=b", {"X-Team": "a"}, place)
    expected = b"POST /v1/chat?a=b HTTP/1.1\r\nHost: %b\r\nX-Team: a\r\n" % host
    assert lines == expected


class _Kept:
    """Connection with the rest of a body, that notes its end."""

    is_closed = False

    def __init__(self, rest: bytes) -> None:
        self.rest = io.BytesIO(rest)

    def receive(self, most: int) -> bytes:
        return self.rest.read(most)

    def close(self) -> None:
        self.is_closed = True


def answer(body: bytes, rest: bytes, length: int) -> tuple[PlainAnswer, _Kept, list[object]]:
    """Return an answer, its connection, and the list to which the connection is returned."""
    read = plain_head(head(f"Content-Length: {length}"))
    assert read is not None
    kept = _Kept(rest)
    returned: list[object] = []
    return PlainAnswer(read, body, kept, returned.append), kept, returned


@pytest.mark.parametrize(("body", "rest"), [(b"abcde", b""), (b"", b"abcde"), (b"ab", b"cde")])
def test_a_connection_is_returned_when_it_has_no_more_of_the_body(body: bytes, rest: bytes) -> None:
    """It is free for another request at once if the whole body came with the head."""
    made, kept, returned = answer(body, rest, 5)
    assert returned == ([kept] if body == b"abcde" else [])
    pieces = iter(lambda: made.read1(3), b"")
    assert b"".join(pieces) == b"abcde"
    made.close()
    assert returned == [kept]
    assert not kept.is_closed


def test_a_connection_with_more_than_the_body_is_closed() -> None:
    """What nobody asked for would be taken for the next answer."""
    made, kept, returned = answer(b"abcdef", b"", 5)
    assert (made.read1(9), made.read1(9)) == (b"abcde", b"")
    assert (kept.is_closed, returned) == (True, [])


def test_a_connection_is_closed_when_the_body_was_not_read() -> None:
    """The rest of the body would be taken for the next answer."""
    made, kept, returned = answer(b"a", b"bc", 3)
    assert (made.read1(2), made.read1(1)) == (b"a", b"b")
    made.close()
    made.close()
    assert (kept.is_closed, returned) == (True, [])


def test_a_body_that_ends_early_is_cut_off() -> None:
    """An end before the length is an error, and no end."""
    made, _, returned = answer(b"a", b"b", 3)
    assert (made.read1(9), made.read1(9)) == (b"a", b"b")
    for _ in range(2):
        with pytest.raises(http.client.IncompleteRead):
            made.read1(9)
        made.close()
    assert returned == []
