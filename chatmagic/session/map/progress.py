"""Bar of a map, as text that a terminal and a notebook's page draw over itself."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

BAR: Final = 20
"""Number of characters of the bar."""
INTERVAL: Final = 0.1
"""Seconds between two drawings."""


class Progress:
    """Bar of a map.

    Args:
        stream: the stream on which it is drawn; ``None`` draws nothing.
        total: number of rows; ``None`` if unknown.
    """

    def __init__(self, stream: TextIO | None, total: int | None = None) -> None:
        """Draw nothing yet."""
        self._stream = stream
        self._total = total
        self._drawn_at = 0.0
        self._width = 0
        self._line = ""

    @property
    def is_shown(self) -> bool:
        """Whether a person sees the bar."""
        return self._stream is not None

    @classmethod
    @contextmanager
    def shown(cls, total: int | None, *, is_watched: bool) -> Iterator[Progress]:
        """Return a context with a bar, which is removed at its end.

        Args:
            total: number of rows; ``None`` if unknown.
            is_watched: whether a person sees printed text.
        """
        progress = cls(sys.stderr if is_watched else None, total)
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
        if self._stream is None:
            return
        is_last = done == self._total
        if time.monotonic() - self._drawn_at >= INTERVAL or is_last:
            self._drawn_at = time.monotonic()
            self._draw(", ".join(filter(None, [self._rows(done), state])))

    def _rows(self, done: int) -> str:
        if self._total is None:
            return f"{done:,} rows"
        full = BAR * done // self._total if self._total else BAR
        return f"[{'#' * full}{'.' * (BAR - full)}] {done:,}/{self._total:,} rows"

    def remove(self) -> None:
        """Remove the bar."""
        if self._stream is not None and self._width:
            self._draw("")

    def _draw(self, line: str) -> None:
        """Draw a line over the line before it."""
        columns = shutil.get_terminal_size().columns
        line = line[: max(columns - 1, 0)]
        if self._stream is not None and line != self._line:
            self._stream.write(f"\r{line.ljust(self._width)}")
            if not line:
                self._stream.write("\r")
            self._stream.flush()
            self._width = len(line)
            self._line = line
