"""File of rows that is read: the replies in it, also those that another task adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatmagic.errors import InputError
from chatmagic.session.map.row_file import RowFile
from chatmagic.session.map.row_reply import EditedError, RowReply, short_key


def reply(number: int) -> RowReply:
    """Give the reply to a row."""
    key = f"{number:02x}" * 32
    return RowReply(row=number, key=key, request=key, occurrence=1, text=str(number))


def short(number: int) -> bytes:
    """Give the short key of a row."""
    return short_key(reply(number).key)


def test_replies_come_in_the_wanted_order(tmp_path: Path) -> None:
    """A row may be wanted twice, and one without a line has none; the file stays as it is."""
    path = tmp_path / "rows.jsonl"
    content = reply(1).to_line() + reply(2).to_line() + reply(3).to_line()[:50]
    path.write_bytes(content)
    file = RowFile(path).read()
    wanted = [short(number) for number in (2, 3, 1, 2)]
    assert list(file.replies(wanted)) == [reply(2), None, reply(1), reply(2)]
    assert path.read_bytes() == content


def test_a_line_that_was_edited_after_it_was_read_is_none(tmp_path: Path) -> None:
    """A text that the model did not write is not taken for the model's, at any time."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(reply(1).to_line())
    file = RowFile(path).read()
    path.write_bytes(reply(1).to_line().replace(b'"text": "1"', b'"text": "9"'))
    (read,) = file.replies([short(1)])
    assert read is not None
    with pytest.raises(EditedError):
        read.text  # noqa: B018 - it raises


def test_lines_that_another_task_adds_are_read(tmp_path: Path) -> None:
    """Those behind the ones that were read, once they are whole."""
    path = tmp_path / "rows.jsonl"
    file = RowFile(path).read()
    file.refresh()
    assert not file.index.keys
    path.write_bytes(reply(1).to_line() + reply(2).to_line()[:50])
    file.refresh()
    assert [*file.index.keys] == [short(1)]
    path.write_bytes(reply(1).to_line() + reply(2).to_line())
    file.refresh()
    assert [*file.index.keys] == [short(1), short(2)]


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """One that is not there is empty."""
    assert not RowFile(tmp_path / "none.jsonl").read().index.keys
    assert list(RowFile(tmp_path / "none.jsonl").replies([short(1)])) == [None]
    with pytest.raises(InputError, match=r"cannot be read: it is not a file\. Nothing was sent\."):
        RowFile(tmp_path).read()
    with pytest.raises(InputError, match="cannot be read: this is not the name of a file"):
        RowFile(tmp_path / "a\0b").read()
