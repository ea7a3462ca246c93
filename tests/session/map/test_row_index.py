"""Index of a file of rows: the last line of each row, whichever way it was written."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from cases import each_case

from chatmagic.session.map.job_head import head_name
from chatmagic.session.map.row_index import RowIndex
from chatmagic.session.map.row_lines import Line
from chatmagic.session.map.row_reply import RowReply, replay_key, short_key

KEYS = [f"{number:02x}" * 32 for number in range(4)]
SHORT = [short_key(key) for key in KEYS]
ENDED = datetime(2026, 1, 2, tzinfo=UTC)


def line(number: int, place: int, error: str | None = None, head: str | None = None) -> Line:
    """Give the line of a row at a place."""
    content = RowReply(
        row=number, key=KEYS[number], request=KEYS[number], occurrence=1, text="yes",
        error=error, head=head, ended_at=ENDED,
    ).to_line()  # fmt: skip
    return Line(place, content, len(content), True)


def test_the_last_line_of_a_row_counts() -> None:
    """An answer after a failure, and a failure after an answer."""
    index = RowIndex()
    assert (index.newest, index.latest, index.place(SHORT[1])) == (None, None, None)
    for read in (line(1, 0), line(2, 10, "No."), line(2, 20), line(1, 30, "No."), line(3, 25)):
        assert index.add(read)
    assert [index.place(key) for key in SHORT] == [None, 30, 20, 25]
    assert [index.is_answered(key) for key in SHORT] == [False, False, True, True]
    assert [index.has_failed(key) for key in SHORT] == [False, True, False, False]
    assert {*index.keys} == {*SHORT[1:]}
    assert (index.newest, index.latest) == (SHORT[1], ENDED)
    index.note(SHORT[1], 40, has_failed=False)
    assert index.is_answered(SHORT[1])
    # An editor may have left an empty line.
    assert index.add(Line(40, b"\n", 1, True))
    assert (index.unread, index.edited) == (0, 0)


def test_in_a_replay_a_failed_row_is_answered() -> None:
    """Its key is without the address."""
    index = RowIndex(replays=True)
    index.add(line(1, 0, "No."))
    key = short_key(replay_key(KEYS[1], 1))
    assert index.is_answered(key)
    assert not index.has_failed(key)
    assert not index.is_answered(SHORT[1])


def test_lines_that_a_tool_wrote_are_known() -> None:
    """With the same fields; the first line of a call has its description."""
    head = '{"version":1}'
    index = RowIndex()
    index.add(line(1, 0, head=head))
    assert index.heads == {head_name(head)}
    value = json.loads(line(2, 0).content)
    spaced = json.dumps(value, separators=(" , ", " : ")).encode()
    index.add(Line(50, spaced, len(spaced), True))
    assert index.place(SHORT[2]) == 50
    assert index.edited == 0


@each_case(
    ("content", "has_end", "goes_on", "counts"),
    [
        (b"", False, False, (0, 0)),
        (b"   ", False, False, (0, 0)),
        (line(1, 0).content[:80], False, False, (0, 0)),
        (line(1, 0).content[:80], True, True, (1, 0)),
        (b"[1]\n", True, True, (1, 0)),
        (line(1, 0).content.replace(b"yes", b"no"), True, True, (0, 1)),
        (line(1, 0).content.replace(b'"row": 1', b'"row": 2'), True, True, (0, 1)),
        (line(1, 0).content.replace(b'"error": ""', b'"error": "No."'), True, True, (0, 1)),
    ],
)
def test_a_line_that_is_no_row(
    content: bytes, has_end: bool, goes_on: bool, counts: tuple[int, int]
) -> None:
    """It is counted, unless it is what a killed process left at the end."""
    index = RowIndex()
    assert index.add(Line(0, content, len(content), has_end)) is goes_on
    assert (index.unread, index.edited) == counts
    assert not index.keys


def test_a_line_behind_a_torn_one_is_found() -> None:
    """It costs only the row of the torn one."""
    index = RowIndex()
    content = line(1, 0).content[:80] + line(2, 0).content
    index.add(Line(100, content, len(content), True))
    assert index.place(SHORT[2]) == 180
    assert [*index.keys] == [SHORT[2]]
    assert index.unread == 1
