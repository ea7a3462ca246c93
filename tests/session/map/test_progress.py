"""The bar of a map, as text that draws over itself."""

from __future__ import annotations

import io

import pytest

from chatmagic.session.map.progress import Progress


def test_it_shows_rows_and_state_and_is_removed() -> None:
    """Each drawing begins at the start of the line, and covers the one before."""
    stream = io.StringIO()
    progress = Progress(stream, 4)
    progress.show(1, "9 credits left, waiting")
    first = "[#####...............] 1/4 rows, 9 credits left, waiting"
    assert stream.getvalue() == f"\r{first}"
    # A moment later nothing is drawn, but for the last row.
    progress.show(2, "9 credits left")
    assert stream.getvalue() == f"\r{first}"
    progress.show(4, "")
    last = f"[{'#' * 20}] 4/4 rows"
    assert stream.getvalue() == f"\r{first}\r{last.ljust(len(first))}"
    progress.remove()
    assert stream.getvalue().endswith(f"\r{' ' * len(last)}\r")


def test_an_unknown_number_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no line is longer than the terminal; none of no rows divides by them."""
    monkeypatch.setenv("COLUMNS", "21")
    stream = io.StringIO()
    Progress(stream).show(1_234, "12 credits left, waiting")
    assert stream.getvalue() == "\r1,234 rows, 12 credi"
    Progress(stream, 0).show(0, "")


def test_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is drawn; for a person it is standard error."""
    with Progress.shown(3, is_watched=False) as progress:
        progress.show(3, "")
    assert capsys.readouterr() == ("", "")
    with Progress.shown(3, is_watched=True) as progress:
        progress.show(3, "")
    assert "3/3 rows" in capsys.readouterr().err
