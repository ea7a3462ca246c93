"""File of a review, to which lines are only added."""

from __future__ import annotations

from pathlib import Path

import pytest
from reviews import review

from chatmagic.study.review_file import ReviewFile


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_damaged_line_costs_only_itself() -> None:
    """A line that a killed process left unfinished is not joined to the next one; each counts."""
    found = review()
    found.give(found.sample[0], "good")
    with found.file.open("ab") as file:
        file.write(b'{"key": 5}\n[1]\n{"review": 1, "seed": "x"}\n{"key": "ab')
    again = review()
    assert ReviewFile.of(again.file).unread == 4
    again.give(again.sample[1], "bad")
    assert review().reviewed == 2
    assert ReviewFile.of(again.file).unread == 4
