"""A reply to a row, and its line: what is read is what was written, and nothing that was edited."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chatmagic.models import Usage
from chatmagic.session.map.row_reply import BEGINNING, EditedError, RowReply

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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"stop"', b'"halt"'),
        (b'"row": 3', b'"row": 4'),
        (b'"row": 3', b'"row": "3"'),
        (b"{", b'{"x": 1, '),
    ],
)
def test_an_edited_line_is_none(old: bytes, new: bytes) -> None:
    """Whichever field; one of an earlier release has no digest, and is read."""
    line = WHOLE.to_line()
    with pytest.raises(EditedError):
        RowReply.from_line(line.replace(old, new, 1))
    value = json.loads(line)
    value.pop("digest")
    assert RowReply.from_line(json.dumps(value).encode()) == WHOLE
    for name in ("head", "prompt_digest"):
        with pytest.raises(EditedError, match="has lost its digest"):
            RowReply.from_line(json.dumps({**value, name: KEY}).encode())


@pytest.mark.parametrize("name", ["key", "request", "text", "row", "ended_at"])
def test_a_digest_does_not_make_a_line(name: str) -> None:
    """A field that is missing or of another type is refused in any case."""
    value = json.loads(WHOLE.to_line())
    del value["digest"]
    for wrong in ({k: v for k, v in value.items() if k != name}, {**value, name: [1]}):
        body = json.dumps(wrong, ensure_ascii=False)[:-1].encode()
        line = body + b', "digest": "%b"}\n' % hashlib.sha256(body).hexdigest().encode()
        if name in wrong or name in {"key", "request", "row"}:
            with pytest.raises(ValueError):  # noqa: PT011 - a line of another kind, whatever is wrong
                RowReply.from_line(line)


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


def test_a_list_of_many_can_be_read() -> None:
    """The repr shows the row, the text and the error."""
    assert repr(RowReply(row=0, key=KEY, text="a")) == "RowReply(row=0, text='a', error=None)"
    assert "value=[1]" in repr(RowReply(row=0, key=KEY, text="[1]", value=[1]))


@pytest.mark.parametrize(
    "read",
    [
        lambda reply: reply.text,
        lambda reply: reply.usage,
        repr,
        copy.copy,
        lambda reply: pickle.loads(pickle.dumps(reply)),  # noqa: S301 - its own
    ],
)
def test_an_unread_line_is_read_when_a_field_is_looked_at(read: Callable[[RowReply], Any]) -> None:
    """It is like a reply that was read at once, in whichever way it is looked at first."""
    unread = RowReply.unread(WHOLE.to_line())
    assert read(unread) == read(WHOLE)
    placed = RowReply.unread(WHOLE.to_line()).of_row(7)
    assert read(placed) == read(replace(WHOLE, row=7))
    assert placed.row == 7
    assert unread == WHOLE
    assert RowReply.unread(WHOLE.to_line()) == WHOLE


@pytest.mark.parametrize("reply", [WHOLE, RowReply.unread(WHOLE.to_line())])
def test_a_reply_has_no_other_fields(reply: RowReply) -> None:
    """A wrong name is an error, whether the line was read or not."""
    with pytest.raises(AttributeError):
        reply.digest  # type: ignore[attr-defined]  # noqa: B018 - it raises
