"""Replies of a service that stand in two notebooks, or twice in one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from audits import FIGURES, NOT_KEPT, Ran, page
from pages import save


def test_a_pair_is_named_at_both_files_and_in_the_summary(tmp_path: Path, ran: Ran) -> None:
    """The same request, reply and date, of a service; a replay and the emulator repeat them."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    first = page("p", date=noon, parameters=NOT_KEPT)
    own = page("own", date=noon, parameters=NOT_KEPT)
    other = page("other", date=noon, parameters={"history": False})
    a, b, c = (tmp_path / f"{name}.ipynb" for name in "abc")
    code, told = ran(save(a, [first, own]), save(b, [other, first]), save(c, [other]))
    words = "has the same replies of a service, of the same requests and dates."
    assert code == 1
    assert [line for line in told.splitlines() if line.startswith("!")] == [
        f"! cell 1: {b} {words}",
        f"! cell 2: {a} {words}",
        f"! cell 1: {c} {words}",
        f"! cell 1: {b} {words}",
    ]
    code, told = ran("--summary", a, b, c)
    assert (code, told.splitlines()[3:]) == (
        1,
        [
            "3 files, 3 of them with problems.",
            f"{a} and {b} have the same reply of a service.",
            f"{b} and {c} have the same reply of a service.",
        ],
    )
    save(b, [first, own])
    told = ran("--summary", a, b)[1]
    assert told.endswith(f"{a} and {b} have the same 2 replies of a service.\n")
    # Two answers in one second differ in their credits.
    two = [
        page("p", date=noon, credits=replace(FIGURES, remaining=left), parameters=NOT_KEPT)
        for left in (98, 99)
    ]
    assert ran(save(c, two))[0] == 0
    # A file that is given twice is no pair.
    code, told = ran(a, a, tmp_path / "." / "a.ipynb")
    assert (code, "the same" in told) == (0, False)
    code, told = ran(save(a, [first, first]))
    assert (code, "! cell 2: its reply is that of cell 1." in told) == (1, True)
    replayed = page("p", date=noon, origin="replay", parameters={"history": False})
    code, told = ran(*[save(path, [replayed]) for path in (a, b)])
    assert (code, "the same" in told) == (0, False)
