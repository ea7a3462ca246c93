"""Bar of a map while it runs, and its view in a terminal; a page has a view of its own."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol, TextIO

BAR: Final = 20
"""Number of characters of the bar."""
INTERVAL: Final = 0.1
"""Seconds between two drawings."""


@dataclass(frozen=True, slots=True)
class Bar:
    """State of a map, as a bar shows it.

    Args:
        done: number of rows that are done.
        total: number of rows; ``None`` if unknown.
        state: what else is to be shown.
    """

    done: int
    total: int | None
    state: str = ""

    @property
    def words(self) -> str:
        """The rows and the state in words."""
        of_total = "" if self.total is None else f"/{self.total:,}"
        rows = f"{self.done:,}{of_total} rows"
        return f"{rows}, {self.state}" if self.state else rows

    @property
    def share(self) -> float | None:
        """Share of the rows that are done; ``None`` if unknown."""
        if self.total is None:
            return None
        return self.done / self.total if self.total else 1.0

    def line(self, columns: int) -> str:
        """Return the bar as a line of text; where there is no room for all, only the words.

        Args:
            columns: largest number of characters.
        """
        words = self.words
        if self.share is not None:
            full = int(BAR * self.share)
            line = f"[{'#' * full}{'.' * (BAR - full)}] {words}"
            if len(line) <= columns:
                return line
        return words[: max(columns, 0)]


class BarView(Protocol):
    """Place where a person sees a bar."""

    def show(self, bar: Bar) -> None:
        """Show a bar in place of the one before."""

    def remove(self) -> None:
        """Remove the bar."""


class PrintedBar:
    """View of a bar as a line that is printed over itself.

    Args:
        stream: the stream on which it is printed; ``None`` prints nothing.
    """

    def __init__(self, stream: TextIO | None) -> None:
        """Print nothing yet."""
        self._stream = stream
        self._width = 0

    def show(self, bar: Bar) -> None:
        """Print a bar over the one before.

        Args:
            bar: the bar.
        """
        line = bar.line(shutil.get_terminal_size().columns - 1)
        self._print(f"\r{line.ljust(self._width)}")
        self._width = len(line)

    def remove(self) -> None:
        """Print blanks over the bar."""
        self._print(f"\r{' ' * self._width}\r")
        self._width = 0

    def _print(self, text: str) -> None:
        """Print a text at once."""
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()


class Progress:
    """Progress of a map, drawn from time to time, from any thread.

    Args:
        view: the place of the bar; ``None`` draws nothing.
        total: number of rows; ``None`` if unknown.
    """

    def __init__(self, view: BarView | None, total: int | None = None) -> None:
        """Draw nothing yet."""
        self._view = view
        self._total = total
        self._drawn: Bar | None = None
        self._drawn_at = 0.0

    @property
    def is_shown(self) -> bool:
        """Whether a person sees the bar."""
        return self._view is not None

    @classmethod
    @contextmanager
    def shown(cls, total: int | None, view: BarView | None) -> Iterator[Progress]:
        """Return a context with a bar, which is removed at its end.

        Args:
            total: number of rows; ``None`` if unknown.
            view: the place of the bar; ``None`` if nobody sees it.
        """
        progress = cls(view, total)
        try:
            yield progress
        finally:
            progress.remove()

    def show(self, done: int, state: str) -> None:
        """Draw the bar, unless it was drawn a moment ago.

        Args:
            done: number of rows that are done.
            state: what else is to be shown.
        """
        bar = Bar(done, self._total, state)
        is_last = done == self._total
        if is_last and self._drawn is None:
            return  # There was nothing to do.
        is_due = is_last or time.monotonic() - self._drawn_at >= INTERVAL
        view = self._view
        if view is not None and is_due and bar != self._drawn:
            self._drawn_at = time.monotonic()
            self._drawn = bar
            view.show(bar)
            if self._view is None:
                view.remove()  # The thread that waited for this one has given up meanwhile.

    def remove(self) -> None:
        """Remove the bar for good."""
        view = self._view
        self._view = None
        if view is not None and self._drawn is not None:
            view.remove()
