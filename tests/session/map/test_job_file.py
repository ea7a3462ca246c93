"""A job's file: what is in it stays, and what a kill left behind is repaired with care."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from jobs import full_disk

from chatmagic.errors import ChatError, InputError
from chatmagic.session.map.job_file import JobFile, NoLocksError
from chatmagic.session.map.row_reply import BEGINNING, RowReply, replay_key, short_key

KEYS = [f"{number:02x}" * 32 for number in range(9)]


def reply(number: int, text: str = "yes", error: str | None = None) -> RowReply:
    """Give what came of a row."""
    key = KEYS[number]
    return RowReply(row=number, key=key, request=key, occurrence=1, text=text, error=error)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the file of a job with two rows, the second of which failed."""
    made = tmp_path / "job.jsonl"
    file = JobFile(made).open()
    file.append(reply(0))
    file.append(reply(1, "", "No."))
    file.close()
    return made


@pytest.fixture
def file(path: Path) -> Iterator[JobFile]:
    """Give it opened again."""
    opened = JobFile(path).open()
    yield opened
    opened.close()


def test_it_goes_on(path: Path, file: JobFile) -> None:
    """The last line of a row counts, and all lines stay."""
    before = path.read_bytes()
    assert file.index.is_answered(short_key(KEYS[0]))
    assert not file.index.is_answered(short_key(KEYS[1]))
    file.append(reply(1))
    assert file.index.is_answered(short_key(KEYS[1]))
    texts = [
        each and each.text for each in file.replies(map(short_key, [KEYS[1], KEYS[5], KEYS[0]]))
    ]
    assert texts == ["yes", None, "yes"]
    assert path.read_bytes().startswith(before)


def test_a_torn_last_line_is_dropped(path: Path) -> None:
    """At any byte: the row is asked again, and the rows before it stay."""
    before, line = path.read_bytes(), reply(2).to_line()
    for cut in range(1, len(line) - 1, 9):
        path.write_bytes(before + line[:cut])
        file = JobFile(path).open()
        assert not file.index.is_answered(short_key(KEYS[2]))
        file.close()
        assert path.read_bytes() == before


@pytest.mark.parametrize("torn", [b"\0" * 99, reply(2).to_line()[:40] + b"\0" * 99])
def test_a_power_cut_may_leave_zeros(path: Path, torn: bytes) -> None:
    """They are dropped as a torn line is."""
    before = path.read_bytes()
    path.write_bytes(before + torn)
    JobFile(path).open().close()
    assert path.read_bytes() == before


def test_a_whole_last_line_without_its_end_is_kept(path: Path) -> None:
    """Its reply was paid for."""
    path.write_bytes(path.read_bytes() + reply(2).to_line().rstrip())
    file = JobFile(path).open()
    file.append(reply(3))
    file.close()
    again = JobFile(path).open()
    assert again.index.is_answered(short_key(KEYS[2]))
    assert again.index.is_answered(short_key(KEYS[3]))
    again.close()


def test_a_replay_only_reads(path: Path) -> None:
    """Each row is as it was, also one that failed; a torn line stays, and a lost file is none."""
    path.write_bytes(before := path.read_bytes() + reply(2).to_line()[:40])
    with path.open("rb") as beside:
        file = JobFile(path, replays=True).open()
        keys = [replay_key(KEYS[number], 1) for number in range(3)]
        assert [file.index.is_answered(short_key(key)) for key in keys] == [True, True, False]
        kept = [each and (each.text, each.error) for each in file.replies(map(short_key, keys))]
        assert kept == [("yes", None), (None, "No."), None]
        file.close()
        assert beside.read() == path.read_bytes() == before
    path.unlink()
    lost = JobFile(path, replays=True).open()
    assert not lost.index.is_answered(short_key(keys[0]))
    lost.close()
    assert not path.exists()
    path.mkdir()
    with pytest.raises(InputError, match=r"job\.jsonl cannot be read: it is not a file"):
        lost.open()


@pytest.mark.parametrize("content", [b"notes", b"notes\n", b'{"a": 1}\n', b'{"key": "x"}\n'])
def test_another_file_is_refused_and_stays(tmp_path: Path, content: bytes) -> None:
    """The message names the line."""
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    file = JobFile(path)
    with pytest.raises(InputError, match=r"notes\.txt is no file of a map\. Nothing was sent"):
        file.open()
    file.close()
    assert path.read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="has no such lock")
def test_one_job_at_a_time_has_it(tmp_path: Path) -> None:
    """Two would pay for the same rows; the one that is refused leaves the file, empty or not."""
    path = tmp_path / "job.jsonl"
    first, other = JobFile(path).open(), JobFile(path)
    with pytest.raises(InputError, match=r"job\.jsonl is in use by another map"):
        other.open()
    other.close()
    first.append(reply(0))
    first.close()
    assert path.read_bytes() == reply(0).to_line()
    JobFile(path).open().close()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such lock")
def test_the_wait_for_another_job_is_seen(tmp_path: Path) -> None:
    """So that it can be told; then the file is one's own."""
    first = JobFile(tmp_path / "job.jsonl").open()
    first.append(reply(0))
    looks: list[None] = []

    def look() -> None:
        looks.append(None)
        first.close()

    second = JobFile(tmp_path / "job.jsonl", access="waits").open(look)
    assert len(looks) == 1
    assert second.index.is_answered(short_key(KEYS[0]))
    second.close()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such lock")
def test_a_file_system_without_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that others may write to is not changed; one that nobody else can know is."""
    without = OSError(errno.ENOLCK, "No locks available")
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=without))
    before = path.read_bytes()
    with pytest.raises(NoLocksError):
        JobFile(path).open()
    assert path.read_bytes() == before
    file = JobFile(path, access="alone").open()
    file.append(reply(0))
    file.close()
    assert path.read_bytes() == before + reply(0).to_line()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
@pytest.mark.parametrize("kind", ["link", "link to nothing", "hard link", "pipe", "folder"])
def test_what_is_no_file_of_its_own_is_refused(path: Path, tmp_path: Path, kind: str) -> None:
    """Nothing is written through it, no file is made by it, and nothing waits for it."""
    planted, before = tmp_path / "planted.jsonl", path.read_bytes()
    make: dict[str, Callable[[], object]] = {
        "link": lambda: planted.symlink_to(path),
        "link to nothing": lambda: planted.symlink_to(tmp_path / "none"),
        "hard link": lambda: planted.hardlink_to(path),
        "pipe": lambda: os.mkfifo(planted),
        "folder": planted.mkdir,
    }
    make[kind]()
    reason = r"it is a link|hard links|it is not a file|Is a directory"
    file = JobFile(planted)
    with pytest.raises(InputError, match=rf"cannot be written: .*({reason}).*Nothing was sent"):
        file.open()
    file.close()
    assert path.read_bytes() == before
    assert not (tmp_path / "none").exists()
    assert planted.lstat()
    if kind == "pipe":
        with pytest.raises(InputError, match="cannot be read: it is not a file"):
            JobFile(planted, replays=True).open()


def test_a_full_disk_leaves_whole_lines(path: Path, file: JobFile) -> None:
    """The line that did not go in whole is taken back."""
    before, words = path.read_bytes(), r"job\.jsonl cannot be written: the disk is full"
    with full_disk(len(before) + 20), pytest.raises(ChatError, match=words):
        file.append(reply(2))
    assert path.read_bytes() == before
    file.append(reply(2))
    assert [each and each.text for each in file.replies([short_key(KEYS[2])])] == ["yes"]


def test_lines_are_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Together; a disk that does not take them is an error."""
    file = JobFile(tmp_path / "job.jsonl").open()
    sync = Mock(side_effect=[None, OSError(errno.EIO, "Input/output error")])
    monkeypatch.setattr("os.fsync", sync)
    for number in range(3):
        file.append(reply(number))
    assert sync.call_count == 0
    file.flush()
    assert sync.call_count == 1
    with pytest.raises(ChatError, match=r"job\.jsonl cannot be written: Input/output error"):
        file.flush()
    file.close()


def sealed(body: bytes) -> bytes:
    """Return a line with its digest."""
    return body + b', "digest": "%b"}\n' % hashlib.sha256(body).hexdigest().encode()


@pytest.mark.parametrize(
    "bad",
    [
        b"1, 2\n",
        b'{"a": [1\n2]}, {"b": 1}\n',
        b"[" * 100_000 + b"\n",
        b'"\xff"\n',
        reply(2).to_line().replace(b"yes", b"no"),
        sealed(json.dumps({**json.loads(reply(2).to_line()), "key": "no key"})[:-1].encode()),
        sealed(reply(2).to_line()[:-3].replace(b'"row"', b'"raw"')),
        b" " * 600_000 + b"\n",
    ],
)
def test_a_bad_line_costs_no_other_line(path: Path, bad: bytes) -> None:
    """What one of them holds changes no other one. A line of spaces is none."""
    good = [reply(number, "two\u2028lines, [1] {") for number in (3, 4, 5)]
    lines = [line.to_line() for line in good]
    path.write_bytes(path.read_bytes() + lines[0] + bad + lines[1] + lines[2])
    file = JobFile(path).open()
    assert file.index.unread + file.index.edited in ({1, 2} if bad.strip() else {0})
    assert not file.index.is_answered(short_key(KEYS[2]))
    assert list(file.replies(map(short_key, [KEYS[4], KEYS[2], KEYS[3], KEYS[5]]))) == [
        good[1],
        None,
        good[0],
        good[2],
    ]
    file.close()


def test_a_line_that_is_too_large_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays in the file, and the lines behind it count; reserved space may be as large."""
    before = path.read_bytes()
    monkeypatch.setattr("chatmagic.session.map.row_lines.LARGEST", 4_096)
    behind = reply(7).to_line()
    whole = before + BEGINNING + b"x" * 9_000 + b"\n" + behind
    path.write_bytes(whole + b" " * 20_000)
    opened = JobFile(path).open()
    assert opened.index.unread == 1
    assert opened.index.is_answered(short_key(reply(7).key))
    opened.close()
    assert path.read_bytes() == whole


def test_a_large_line_that_a_power_cut_has_torn_is_dropped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a small one is."""
    before = path.read_bytes()
    monkeypatch.setattr("chatmagic.session.map.row_lines.LARGEST", 4_096)
    path.write_bytes(before + BEGINNING + b"x" * 9_000)
    JobFile(path).open().close()
    assert path.read_bytes() == before


def test_a_line_of_many_values_is_not_read(path: Path) -> None:
    """It would take much memory; its row is asked again."""
    path.write_bytes(path.read_bytes() + b'{"key": [' + b"1," * 1_000_000 + b"1]}\n")
    file = JobFile(path).open()
    assert file.index.unread == 1
    file.close()


def test_many_lines_of_no_row_are_another_file(path: Path) -> None:
    """It is not read to its end; after one row, everything is."""
    before = path.read_bytes()
    path.write_bytes(b"{}\n" * 20_000 + before)
    other = JobFile(path)
    with pytest.raises(InputError, match="is no file of a map"):
        other.open()
    other.close()
    path.write_bytes(before + b"{}\n" * 20_000)
    file = JobFile(path).open()
    assert file.index.unread == 20_000
    file.close()
