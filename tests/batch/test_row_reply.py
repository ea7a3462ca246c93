"""A row's line in a job's file: flat, whole, and read as it was written."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from chatmagic.batch.row_reply import BEGINNING, RowReply, replay_key
from chatmagic.models import Usage

KEY = "ab" * 32
REQUEST = "cd" * 32
WHOLE = RowReply(
    row=3,
    key=KEY,
    request=REQUEST,
    occurrence=1,
    text="héllo\n\u2028",
    ended_at=datetime(2026, 1, 2, tzinfo=UTC),
    model="m",
    finish_reason="stop",
    usage=Usage(1, 2, 3),
)


@pytest.mark.parametrize(
    "reply",
    [
        WHOLE,
        RowReply(row=0, key=KEY, request=REQUEST, occurrence=1, error="No."),
        RowReply(row=0, key=KEY, request=REQUEST, occurrence=1, error="No.", text="half"),
        RowReply(row=0, key=KEY, request=REQUEST, occurrence=1, text=""),
    ],
)
def test_a_line_is_read_as_it_was_written(reply: RowReply) -> None:
    """What is absent stays absent."""
    line = reply.to_line()
    assert line.startswith(BEGINNING)
    assert line.count(b"\n") == 1
    assert RowReply.from_line(line) == reply


def test_each_line_has_all_names() -> None:
    """A table that is read of some lines has the same columns as one of others."""
    lines = [WHOLE, RowReply(row=0, key=KEY, request=REQUEST, occurrence=1, error="No.")]
    values = [json.loads(reply.to_line()) for reply in lines]
    assert [*values[0]] == [*values[1]]
    assert {"key", "request", "row", "text", "error", "model", "prompt_tokens", "total_tokens"} <= {
        *values[0]
    }
    assert not any(isinstance(item, dict | list) for item in values[0].values())
    assert values[1]["text"] == values[1]["model"] == ""
    assert values[1]["total_tokens"] is None


def test_half_a_surrogate_pair_is_marked() -> None:
    """It is no text of UTF-8."""
    line = RowReply(row=0, key=KEY, request=REQUEST, occurrence=1, text="a\ud800").to_line()
    assert RowReply.from_line(line).text == "a\ufffd"


@pytest.mark.parametrize("line", [b"[]\n", b"{}\n", b'{"key": "ab", "row": 0}\n', b'{"key": "a'])
def test_anything_else_is_refused(line: bytes) -> None:
    """By a ValueError, which the file turns into a message."""
    with pytest.raises(ValueError, match=r"."):
        RowReply.from_line(line)


def test_a_list_of_many_can_be_read() -> None:
    """The repr shows the row, the text and the error."""
    assert repr(RowReply(row=0, key=KEY, text="a")) == "RowReply(row=0, text='a', error=None)"
    assert "value=[1]" in repr(RowReply(row=0, key=KEY, text="[1]", value=[1]))


def test_a_reply_is_found_by_its_request() -> None:
    """In a replay neither service nor model count; of equal requests each has its own."""
    assert WHOLE.replay_key == replay_key(REQUEST, 1)
    assert replay_key(REQUEST, 1) != replay_key(REQUEST, 2) != replay_key(KEY, 2)
