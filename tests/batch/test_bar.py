"""The bar of a job: for a person alone, where tqdm is installed."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from libraries import library

from chatmagic.batch.bar import Bar
from chatmagic.batch.progress import Progress

if TYPE_CHECKING:
    import pytest

    from chatmagic.batch.job import Job

JOB = cast(
    "Job",
    SimpleNamespace(
        progress=Progress(answered=2, failed=1, waiting="waiting until noon"),
        pace=SimpleNamespace(credits_left=7),
    ),
)


def test_a_person_sees_rows_and_credits(capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing of it once it is closed."""
    library("tqdm")
    bar = Bar(9, is_watched=True)
    bar.show(JOB)
    shown = capsys.readouterr().err
    assert "3/9" in shown
    assert "7 credits left, waiting until noon" in shown
    bar.close()


def test_nobody_sees_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headless, and where tqdm is not installed."""
    for is_watched in (False, True):
        bar = Bar(9, is_watched=is_watched)
        bar.show(JOB)
        bar.close()
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert capsys.readouterr() == ("", "")
