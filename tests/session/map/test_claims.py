"""Claims on rows: one task at a time has a row, in this process or in another one."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from chatmagic.session.map.claims import Claims, claims_of

KEY = "ab" * 32
OTHER = "cd" * 32

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="has other locks")


def test_one_task_at_a_time_has_a_row(tmp_path: Path) -> None:
    """Until it gives the row back; another row is free."""
    claims = claims_of(tmp_path)
    assert claims is claims_of(tmp_path)
    assert claims.take(KEY)
    assert not claims.take(KEY)
    assert claims.take(OTHER)
    claims.give_back(KEY)
    assert claims.take(KEY)


@needs_locks
def test_another_process_has_no_row_that_is_claimed_here(tmp_path: Path) -> None:
    """And what a process has claimed that is killed is free."""
    claims = Claims(tmp_path / ".claims")
    assert claims.take(KEY)
    child = os.fork()
    if not child:
        os._exit(int(claims.take(KEY)) + 2 * int(claims.take(OTHER)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert claims.take(OTHER)


@needs_locks
def test_without_locks_each_claim_is_granted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim saves credits; nothing is lost without it."""
    monkeypatch.setattr("fcntl.lockf", Mock(side_effect=OSError(errno.ENOLCK, "No locks")))
    claims = Claims(tmp_path / ".claims")
    assert claims.take(KEY)
    claims.give_back(KEY)
    assert Claims(tmp_path / "no folder" / ".claims").take(KEY)
