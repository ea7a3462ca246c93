"""Writer of answers: an answer is on the disk before it counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatmagic.errors import ChatError
from chatmagic.session.map.answer_writer import AnswerWriter
from chatmagic.session.map.job_file import JobFile
from chatmagic.session.map.row_reply import RowReply

KEY = "ab" * 32


def line(number: int, error: str | None = None) -> RowReply:
    """Give the line of a row."""
    text = "yes" if error is None else None
    return RowReply(row=number, key=KEY, request=KEY, occurrence=1, text=text, error=error)


def test_rows_count_when_they_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that were written meanwhile are flushed together."""
    file = JobFile(tmp_path / "rows.jsonl").open()
    steps: list[object] = []
    monkeypatch.setattr("os.fsync", lambda _: steps.append("flush"))
    writer = AnswerWriter(file, steps.append, steps.append)
    writer.add(line(0))
    writer.add(line(1, "No."))
    assert (writer.answered, writer.failed, steps) == (0, 0, [])
    writer.start()
    writer.close()
    assert (writer.answered, writer.failed, writer.lost) == (1, 1, 0)
    assert steps == ["flush", 2]
    assert file.path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("method", ["append", "flush"])
def test_a_disk_that_takes_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """No row counts; a reply that cannot be written is lost, and an error has no reply to lose."""
    file = JobFile(tmp_path / "rows.jsonl").open()

    def fail(*_: object) -> None:
        raise ChatError("The disk is full.")

    monkeypatch.setattr(file, method, fail)
    stored: list[int] = []
    ended: list[BaseException] = []
    writer = AnswerWriter(file, stored.append, ended.append)
    writer.start()
    if method == "append":
        for item in (line(0), line(1, "No.")):
            with pytest.raises(ChatError):
                writer.add(item)
    else:
        writer.add(line(0))
    writer.close()
    assert (writer.answered, writer.failed, stored) == (0, 0, [])
    assert (writer.lost, len(ended)) == ((1, 0) if method == "append" else (0, 1))
