"""Files of several jobs: each is written by one job alone, and read by the others."""

from __future__ import annotations

import errno
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from row_service import RowService

import chatmagic
from chatmagic.errors import ChatError, InputError
from chatmagic.session.environment import Environment
from chatmagic.session.map.claims import Claims
from chatmagic.session.map.job_file import JobFile
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.shared_files import FolderPause, SharedFile, beside, opened, read_all
from chatmagic.session.session import Session

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="has other locks")


def reply(number: int, error: str | None = None) -> RowReply:
    """Give a row's reply, or its error."""
    key = f"{number:02x}" * 32
    text = None if error else str(number)
    return RowReply(row=number, key=key, request=key, occurrence=1, text=text, error=error)


def short(number: int) -> bytes:
    """Give a row's short key."""
    return bytes([number] * 16)


def written(path: Path, *replies: RowReply) -> Path:
    """Write a file of replies."""
    path.write_bytes(b"".join(each.to_line() for each in replies))
    return path


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a file system without locks."""
    without = OSError(errno.ENOLCK, "No locks available")
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=without))


def test_answers_of_other_files_count(tmp_path: Path) -> None:
    """Before a failure in any file; a line of one's own counts before another's."""
    others = read_all(
        [
            written(tmp_path / "a.jsonl", reply(1), reply(2, "No.")),
            written(tmp_path / "b.jsonl", reply(2), reply(3, "No.")),
        ]
    )
    file = opened(tmp_path / "own.jsonl", others, head=None, access="refuses")
    file.append(reply(4))
    assert [file.is_answered(short(n)) for n in (1, 2, 3, 4, 5)] == [
        True,
        True,
        False,
        True,
        False,
    ]
    assert [file.has_failed(short(n)) for n in (1, 3, 5)] == [False, True, False]
    found = list(file.replies([short(n) for n in (4, 2, 5, 3, 1)]))
    assert [None if each is None else (each.text, each.error) for each in found] == [
        ("4", None),
        ("2", None),
        None,
        (None, "No."),
        ("1", None),
    ]
    file.close()


def test_files_that_vanish_and_files_of_others(tmp_path: Path) -> None:
    """Between listing and reading; what is no file of rows is left out."""
    (tmp_path / "x.jsonl").write_bytes(b"other\n")
    torn = reply(1).to_line() + reply(2).to_line()[:90]
    (tmp_path / "t.jsonl").write_bytes(torn)
    (tmp_path / "e.jsonl").write_bytes(b"")
    paths = [tmp_path / name for name in ("none.jsonl", "x.jsonl", "t.jsonl", "e.jsonl")]
    torn_file, empty = read_all(paths)
    assert torn_file.index.is_answered(short(1))
    assert short(2) not in torn_file.index.keys
    assert (tmp_path / "t.jsonl").read_bytes() == torn
    assert list(empty.index.keys) == []
    (tmp_path / "t.jsonl").unlink()
    shared = SharedFile(tmp_path / "own.jsonl", [torn_file])
    with pytest.raises(ChatError, match=r"t\.jsonl was removed, and its answers with it"):
        list(shared.replies([short(1)]))


def test_a_file_is_read_again_only_if_it_has_changed(tmp_path: Path) -> None:
    """A task has many others."""
    path = written(tmp_path / "a.jsonl", reply(1))
    (first,) = read_all([path])
    assert read_all([path]) == [first]
    path.write_bytes(path.read_bytes() + reply(2).to_line())
    (second,) = read_all([path])
    assert second.index.is_answered(short(2))


@needs_locks
def test_an_empty_file_is_removed_while_another_job_waits(tmp_path: Path) -> None:
    """The one that waits writes to the file of that name, not to the one that is gone."""
    path = tmp_path / "job.jsonl"
    first = JobFile(path).open()
    got: list[SharedFile] = []
    waiting = threading.Thread(
        target=lambda: got.append(opened(path, [], head=None, access="waits"))
    )
    waiting.start()
    first.close()  # removes it, as it is empty
    waiting.join()
    got[0].append(reply(1))
    got[0].close()
    assert path.read_bytes() == reply(1).to_line()


@needs_locks
def test_a_name_of_a_file_that_is_gone_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it vanishes between opening and locking."""
    path = tmp_path / "job.jsonl"
    real = __import__("fcntl").flock
    removed: list[int] = []

    def removing(descriptor: int, how: int) -> None:
        real(descriptor, how)
        if not removed:
            removed.append(descriptor)
            path.unlink()

    monkeypatch.setattr("fcntl.flock", removing)
    file = JobFile(path).open()
    file.append(reply(1))
    file.close()
    assert removed
    assert path.read_bytes() == reply(1).to_line()


@needs_locks
@pytest.mark.usefixtures("no_locks")
def test_two_maps_of_one_file_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has its own beside it: both end well, and what both paid for is kept and read."""
    service = RowService()
    meet = threading.Barrier(2)
    service.before = lambda prompt: meet.wait(60) if prompt in "aA" else None
    service.answers = lambda prompt: prompt.upper() * 50
    rows = {"a": list("abcdefgh"), "A": list("ABCDEFGH")}
    path = tmp_path / "q.jsonl"
    results: dict[str, list[str | None]] = {}
    told: list[str] = []
    monkeypatch.setattr(Environment, "notify", lambda _, line: told.append(str(line)))
    with chatmagic.Client(transport=service) as client:

        def ask(name: str) -> None:
            replies = Session(client).map("{{ it }}", rows[name], yes=True, file=path, workers=2)
            results[name] = [each.text for each in replies]

        threads = [threading.Thread(target=ask, args=(name,)) for name in rows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {name: [row.upper() * 50 for row in rows[name]] for name in rows}
        assert len(told) == 2
        assert "no file locks here: answers go to q." in told[0]
        assert len(list(tmp_path.iterdir())) == 3
        told.clear()
        again = Session(client).map("{{ it }}", rows["a"], file=path, yes=True)
        assert told[1].startswith("8 of 8 answers from q.jsonl and 2 files beside it, of today; ")
        assert [each.text for each in again] == results["a"]
        # With locks again, all of it counts.
        monkeypatch.undo()
        again = Session(client).map("{{ it }}", rows["a"] + rows["A"], file=path)
    assert [each.text for each in again] == results["a"] + results["A"]
    assert len(service.bodies) == 16


def test_files_beside_a_name_with_brackets(tmp_path: Path) -> None:
    """They are a part of the name, not of a pattern."""
    written(tmp_path / "a[1].0123456789abcdef.jsonl", reply(1))
    written(tmp_path / "a1.0123456789abcdef.jsonl", reply(2))
    (file,) = beside(tmp_path / "a[1].jsonl")
    assert file.index.is_answered(short(1))


def test_a_file_that_cannot_be_written_leaves_nothing_open(tmp_path: Path) -> None:
    """It is said."""
    with pytest.raises(InputError, match="cannot be written"):
        opened(tmp_path / "none" / "q.jsonl", [], head=None, access="waits")


def test_a_pause_is_shared(tmp_path: Path) -> None:
    """By the time of a file; a shorter one, one without a time and a stale one change nothing."""
    here = FolderPause(tmp_path, 60)
    there = FolderPause(tmp_path, 60)
    assert here.left() == 0
    here.extend(None)
    assert list(tmp_path.iterdir()) == []
    now = datetime.now(UTC)
    here.extend(now + timedelta(seconds=30))
    assert 25 < there.left() <= 30
    there.extend(now + timedelta(seconds=5))
    assert there.left() > 25
    there.extend(now + timedelta(hours=5))
    assert 55 < here.left() <= 60
    here.extend(now - timedelta(seconds=5))
    assert 55 < here.left() <= 60


def test_a_pause_that_cannot_be_noted_is_none(tmp_path: Path) -> None:
    """It is a courtesy."""
    (tmp_path / ".pause").mkdir()
    pause = FolderPause(tmp_path, 60)
    pause.extend(datetime.now(UTC) + timedelta(seconds=30))
    assert pause.left() == 0


def test_what_other_tasks_answer_meanwhile_is_seen(tmp_path: Path) -> None:
    """In a file that was read before, and in one that is new; a failure is no answer."""
    first = written(tmp_path / "a.jsonl", reply(1))
    others = read_all([first])
    shared = SharedFile(tmp_path / "own.jsonl", others, claims=Claims(tmp_path / ".claims"))
    assert not shared.is_answered_meanwhile(reply(2).key)
    with first.open("ab") as file:
        file.write(reply(2).to_line() + reply(3, "No.").to_line())
    assert shared.is_answered_meanwhile(reply(2).key)
    alone = SharedFile(tmp_path / "own.jsonl", others)
    assert not alone.is_answered_meanwhile(reply(2).key)
    assert not shared.is_answered_meanwhile(reply(3).key)
    written(tmp_path / "b.jsonl", reply(4))
    assert shared.is_answered_meanwhile(reply(4).key)
    first.unlink()
    assert not shared.is_answered_meanwhile(reply(5).key)
