"""Rows of a map that are to be asked: those without an answer in its file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from chatmagic.errors import NotRecordedError
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import Row, RowTemplate
from chatmagic.session.map.rows import Rows
from chatmagic.session.map.shared_files import SharedFile

READ_AHEAD: Final = 1_000
"""Number of rows to ask that are read before the first is sent, so that a mistake costs nothing."""


class RowsToAsk:
    """Rows to ask, which are read as they are needed; in all numbers a repeat counts as a row.

    Args:
        template: makes the rows' requests.
        sender: sends them; its address is a part of each row's key.
        rows: all rows.
        file: the answers so far.

    Raises:
        InputError: the template does not fit one of the first rows.
        NotRecordedError: a cassette is replayed, and the file has no answer to one of them.
    """

    def __init__(
        self, template: RowTemplate, sender: RowSender, rows: Rows, file: SharedFile
    ) -> None:
        """Read the first rows, if they are in memory."""
        self._template = template
        self._sender = sender
        self._rows = rows
        self._file = file
        self._is_begun = False
        self.read = 0
        """Number of rows that were read."""
        self.from_file = 0
        """Number of rows that the file had answered before."""
        self.keys: list[bytes] = []
        """The short keys of the rows that were read, in their order."""
        self.first: list[Row] = []
        """The first rows to ask; all of them if :attr:`knows_all`."""
        self.knows_all = False
        """Whether all rows were read."""
        unanswered = self._unanswered()
        if rows.count is not None:
            self.first = list(islice(unanswered, READ_AHEAD))
            self.knows_all = self.read == self.total
        self._is_begun = True
        self._all = chain(self.first, unanswered)

    @property
    def total(self) -> int | None:
        """Number of replies that are wanted: one for each row and repeat; ``None`` if unknown."""
        count = self._rows.count
        return None if count is None else count * self._template.repeats

    def __iter__(self) -> Iterator[Row]:
        """Return the rows to ask, each once; those that failed before come last."""
        return self._all

    def _unanswered(self) -> Iterator[Row]:
        """Yield the rows without an answer in the file."""
        failed: list[Row] = []
        # Behind the first rows, requests may have been sent: a misfit is a row's own failure.
        rows = self._template.rows(
            self._rows, self._sender.address, keeps_misfits=lambda: self._is_begun
        )
        for row in rows:
            self.read += 1
            key = row.short_key
            self.keys.append(key)
            if self._file.is_answered(key):
                self.from_file += 1
            elif self._sender.replayed is not None:
                raise NotRecordedError(
                    f"{self._sender.replayed.name} is replayed here, and row {row.number:,} has no "
                    f"answer in {self._file.path.name}. Nothing was sent.",
                    hint="A cassette holds no rows of a map; the map's own file does.",
                )
            elif self._file.has_failed(key):
                failed.append(row)
            else:
                yield row
        yield from failed
