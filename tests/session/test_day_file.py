"""The file of what a user's kernels used in a day."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chatmagic.errors import ChatError, InputError
from chatmagic.session.budget import Tally
from chatmagic.session.day_file import DayFile

if TYPE_CHECKING:
    from pathlib import Path

A = "https://a.example"
DAY = "2026-11-22"


def test_it_is_kept_by_service_and_day(tmp_path: Path) -> None:
    """Another kernel reads it; what is not there is 0."""
    file = DayFile(tmp_path / "state")
    assert file.read(A, DAY) == Tally()
    file.change(A, DAY, lambda tally: tally.plus(3, 1))
    file.change(A, DAY, lambda tally: tally.plus(2, 1))
    file.change(A, "2026-11-23", lambda tally: tally.plus(7, 1))
    assert DayFile(tmp_path / "state").read(A, DAY) == Tally(5, 2)
    assert file.read("https://b.example", DAY) == Tally()


def test_the_next_day_goes_by_the_estimate_of_the_last(tmp_path: Path) -> None:
    """Of the same service; what was used begins at 0."""
    file = DayFile(tmp_path)
    file.change(A, DAY, lambda tally: replace(tally.plus(3, 1), dearest=3))
    assert file.read(A, DAY) == Tally(3, 1, 3)
    assert file.read(A, "2026-11-25") == Tally(0, 0, 3)
    assert file.read(A, "2026-11-21") == file.read("https://b.example", DAY) == Tally()


def test_one_kernel_at_a_time_changes_it(tmp_path: Path) -> None:
    """Nothing is lost where several count at once."""

    def count() -> None:
        for _ in range(10):
            DayFile(tmp_path).change(A, DAY, lambda tally: tally.plus(1, 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert DayFile(tmp_path).read(A, DAY) == Tally(40, 40)


@pytest.mark.parametrize("content", ["{", "[]", '{"https://a.example": 3}'])
def test_another_file_in_its_place_sends_nothing(tmp_path: Path, content: str) -> None:
    """What was used is not known then."""
    file = DayFile(tmp_path)
    file.path.write_text(content)
    with pytest.raises(InputError, match=r"no file of a daily budget\. Nothing was sent\."):
        file.change(A, DAY, lambda tally: tally)
    assert file.path.read_text() == content


def test_a_file_that_cannot_be_written_sends_nothing(tmp_path: Path) -> None:
    """It says why."""
    (tmp_path / "state").write_text("a file where the folder should be")
    with pytest.raises(ChatError, match=r"could not be written: .*Nothing was sent\."):
        DayFile(tmp_path / "state").change(A, DAY, lambda tally: tally)
