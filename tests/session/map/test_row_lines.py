"""Lines of a file of rows: each with its place."""

from __future__ import annotations

import io

import pytest

from chatmagic.session.map import row_lines
from chatmagic.session.map.row_lines import is_torn, lines_at, lines_of
from chatmagic.session.map.row_reply import BEGINNING


def test_lines_have_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large one is cut, and counts with all its bytes; the last one may lack its end."""
    monkeypatch.setattr(row_lines, "LARGEST", 4)
    lines = [*lines_of(io.BytesIO(b"abcdefg\n12\n3"))]
    assert [(line.at, line.content, line.size, line.has_end) for line in lines] == [
        (0, b"abcd", 8, True),
        (8, b"12\n", 3, True),
        (11, b"3", 1, False),
    ]


def test_lines_are_read_at_their_places() -> None:
    """In any order; nothing is read for a row without a line."""
    lines = [*lines_at(io.BytesIO(b"1\n22\n333\n"), [5, None, 0, 2])]
    assert lines == [b"333\n", b"", b"1\n", b"22\n"]


@pytest.mark.parametrize("end", [b"", b"  ", b"\0\0", BEGINNING[:4], BEGINNING + b"ab", b"{ "])
def test_an_unfinished_line_is_told_from_another_one(end: bytes) -> None:
    """It is reserved space, zeros of a power cut, or the beginning of a line."""
    assert is_torn(end)
    assert not is_torn(b"no line")
