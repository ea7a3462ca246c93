"""Writer of a map's answers: each is in the file at once, and on the disk before it counts."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from chatmagic._fork import Lock
from chatmagic.errors import ChatError
from chatmagic.session.map.job_file import JobFile
from chatmagic.session.map.row_reply import RowReply

GATHER: Final = 0.01
"""Seconds for which lines are gathered, to bring them to the disk together."""


class AnswerWriter:
    """Writer of the answers of a run, with a thread that brings them to the disk together.

    Args:
        file: the map's file.
        count_stored: called with a number of rows whose lines are on the disk now.
        end: called with the error of a disk that does not take them.
    """

    def __init__(
        self,
        file: JobFile,
        count_stored: Callable[[int], object],
        end: Callable[[BaseException], object],
    ) -> None:
        """Write nothing yet."""
        self.answered = 0
        """Number of rows that this run has answered."""
        self.failed = 0
        """Number of rows that failed in this run."""
        self.lost = 0
        """Number of replies of this run that could not be stored."""
        self._lock = Lock()
        """Guards the number of lost replies, as several threads add lines."""
        self._file = file
        self._count_stored = count_stored
        self._end = end
        self._written = queue.SimpleQueue[RowReply | None]()
        self._thread = threading.Thread(target=self._store, name="chatmagic-map-disk")

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add(self, line: RowReply) -> None:
        """Write the line of a row that has ended.

        Args:
            line: its reply, or its error.

        Raises:
            ChatError: it cannot be written.
        """
        try:
            self._file.append(line)
        except ChatError:
            if line.text is not None:
                with self._lock:
                    self.lost += 1
            raise
        self._written.put(line)

    def close(self) -> None:
        """Wait until all lines are on the disk, and close the file."""
        self._written.put(None)
        self._thread.join()
        self._file.close()

    def _store(self) -> None:
        """Flush the lines that were written meanwhile, together, and count their rows."""
        is_over = False
        while not is_over:
            taken = [self._written.get()]
            if taken[0] is not None:
                time.sleep(GATHER)
            while not self._written.empty():
                taken.append(self._written.get())
            is_over = None in taken
            if lines := [line for line in taken if line is not None]:
                self._flush(lines)

    def _flush(self, lines: Sequence[RowReply]) -> None:
        """Flush lines to the disk, and count their rows."""
        try:
            self._file.flush()
        except ChatError as error:
            self._end(error)
            return
        failed = sum(line.error is not None for line in lines)
        self.failed += failed
        self.answered += len(lines) - failed
        self._count_stored(len(lines))
