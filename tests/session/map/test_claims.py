"""Claims on rows: one task at a time has a row, in this process or in another one."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from chatmagic.session.map import claims
from chatmagic.session.map.claims import Claims, claims_of

KEY = "ab" * 32
OTHER = "cd" * 32

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="has other locks")


def test_one_task_at_a_time_has_a_row(tmp_path: Path) -> None:
    """Until it gives the row back; another row is free."""
    of_folder = claims_of(tmp_path)
    assert of_folder is claims_of(tmp_path)
    assert of_folder.take(KEY)
    assert not of_folder.take(KEY)
    assert of_folder.take(OTHER)
    of_folder.give_back(KEY)
    assert of_folder.take(KEY)


def test_a_folder_has_its_claims_however_its_path_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The locks of a process do not hold its own threads back; its claims do."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers").mkdir()
    written = [Path("answers"), tmp_path / "answers", Path("answers/../answers")]
    assert len({claims_of(path) for path in written}) == 1


@needs_locks
def test_a_forked_child_waits_for_no_thread_of_its_parent() -> None:
    """Whatever that thread held, of the folders or of one folder's claims."""
    held = claims_of(Path("held"))
    is_held = threading.Event()
    is_over = threading.Event()

    def hold() -> None:
        with claims._lock, held._lock:
            is_held.set()
            is_over.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    assert is_held.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits
        claims_of(Path("held")).give_back(KEY)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    is_over.set()
    holder.join()
    assert status == 0


@needs_locks
def test_another_process_has_no_row_that_is_claimed_here(tmp_path: Path) -> None:
    """And what a process has claimed that is killed is free."""
    of_folder = Claims(tmp_path / ".claims")
    assert of_folder.take(KEY)
    child = os.fork()
    if not child:
        os._exit(int(of_folder.take(KEY)) + 2 * int(of_folder.take(OTHER)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert of_folder.take(OTHER)


@needs_locks
def test_a_row_that_a_killed_process_had_is_free(tmp_path: Path) -> None:
    """The system ends the locks of a process, whatever ends it."""
    ready, told = os.pipe()
    child = os.fork()
    if not child:
        held = Claims(tmp_path / ".claims")
        os.write(told, b"1" if held.take(KEY) else b"0")
        signal.pause()
        os._exit(1)
    of_folder = Claims(tmp_path / ".claims")
    assert os.read(ready, 1) == b"1"
    assert not of_folder.take(KEY)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert of_folder.take(KEY)
    os.close(ready)
    os.close(told)


@pytest.mark.parametrize(
    ("refusal", "is_granted"),
    [
        (BlockingIOError(errno.EAGAIN, "taken"), False),
        (PermissionError(errno.EACCES, "taken, as Windows says it"), False),
        (OSError(errno.ENOLCK, "no locks"), True),
        (OSError(errno.EINVAL, "no locks, as some network drives say it"), True),
        (OSError(errno.EOPNOTSUPP, "no locks"), True),
    ],
)
def test_a_lock_that_is_refused_is_taken_or_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: OSError, *, is_granted: bool
) -> None:
    """A row that another task has waits; where there are no locks, none waits."""
    monkeypatch.setattr(claims, "_lock_byte", Mock(side_effect=refusal))
    of_folder = Claims(tmp_path / ".claims")
    assert of_folder.take(KEY) == is_granted
    of_folder.give_back(KEY)
    monkeypatch.setattr(claims, "_lock_byte", Mock())
    assert of_folder.take(KEY)


@needs_locks
def test_without_locks_each_claim_is_granted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim saves credits; nothing is lost without it."""
    monkeypatch.setattr("fcntl.lockf", Mock(side_effect=OSError(errno.ENOLCK, "No locks")))
    of_folder = Claims(tmp_path / ".claims")
    assert of_folder.take(KEY)
    of_folder.give_back(KEY)
    assert Claims(tmp_path / "no folder" / ".claims").take(KEY)


def test_a_file_that_cannot_be_opened_claims_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another person made it in a shared folder: to wait for that would have no end."""
    refusal = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr("os.open", Mock(side_effect=refusal))
    of_folder = Claims(tmp_path / ".claims")
    assert of_folder.take(KEY)
    of_folder.give_back(KEY)
