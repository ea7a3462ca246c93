"""The bar of a map: its words, its view in a terminal, and how often it is drawn."""

from __future__ import annotations

import io

import pytest

from chatmagic.session.map.progress import Bar, PrintedBar, Progress


class Seen:
    """View that keeps what it shows."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self.bars: list[Bar] = []
        self.removed = 0

    def show(self, bar: Bar) -> None:
        """Keep a bar."""
        self.bars.append(bar)

    def remove(self) -> None:
        """Count a removal."""
        self.removed += 1


def test_a_line_has_a_bar_where_there_is_room() -> None:
    """Otherwise the words alone, which are cut last; none of no rows divides by them."""
    bar = Bar(1, 4, "9 credits left, waiting")
    line = "[#####...............] 1/4 rows, 9 credits left, waiting"
    assert bar.line(len(line)) == line
    assert bar.line(len(line) - 1) == "1/4 rows, 9 credits left, waiting"
    assert bar.line(9) == "1/4 rows,"
    assert bar.line(-1) == ""
    assert Bar(0, 0).line(80) == f"[{'#' * 20}] 0/0 rows"
    assert Bar(1_234, None, "waiting").line(80) == "1,234 rows, waiting"


def test_a_line_is_printed_over_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins at the start of the line, and leaves nothing of a longer one."""
    monkeypatch.setenv("COLUMNS", "21")
    stream = io.StringIO()
    view = PrintedBar(stream)
    view.show(Bar(1, 4, "9 credits left"))
    view.show(Bar(2, 4))
    view.remove()
    first, last = "1/4 rows, 9 credits ", "2/4 rows"
    blank = " " * len(last)
    assert stream.getvalue() == f"\r{first}\r{last.ljust(len(first))}\r{blank}\r"
    PrintedBar(None).show(Bar(1, 2))


def test_it_is_drawn_from_time_to_time() -> None:
    """A moment later nothing is drawn, but for the last row; nothing is drawn twice."""
    view = Seen()
    with Progress.shown(4, view) as progress:
        progress.show(1, "waiting")
        progress.show(2, "")
        progress.show(4, "")
        progress.show(4, "")
        assert progress.is_shown
    assert view.bars == [Bar(1, 4, "waiting"), Bar(4, 4)]
    # A thread that nobody waits for draws nothing behind the end.
    progress.show(4, "late")
    progress.remove()
    assert (len(view.bars), view.removed) == (2, 1)


def test_a_bar_that_is_removed_while_it_is_drawn_is_removed_again() -> None:
    """Nobody waits any more for the thread that draws it, and no lock makes it wait for another."""

    class Removing(Seen):
        """View that is removed meanwhile."""

        def show(self, bar: Bar) -> None:
            """Remove it, and keep the bar."""
            progress.remove()
            super().show(bar)

    view = Removing()
    progress = Progress(view, 4)
    progress.show(1, "")
    assert (view.bars, view.removed) == ([Bar(1, 4)], 2)


def test_nothing_is_drawn_where_nothing_is_to_be_done() -> None:
    """So a map whose rows are all answered leaves no trace; a program sees nothing at all."""
    view = Seen()
    with Progress.shown(4, view) as progress:
        progress.show(4, "")
    assert (view.bars, view.removed) == ([], 0)
    with Progress.shown(4, None) as progress:
        progress.show(1, "")
        assert not progress.is_shown
