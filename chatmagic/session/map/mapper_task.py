"""Task of a mapper: the rows of one call, which has a file of its own in the folder."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from chatmagic._json import digest
from chatmagic.errors import ChatInterrupted, InputError
from chatmagic.session.map.claims import claims_of
from chatmagic.session.map.job import Job, notify
from chatmagic.session.map.long_wait import LongWait
from chatmagic.session.map.map import MapOptions, close_unless_running
from chatmagic.session.map.row_pool import SAME_ROWS
from chatmagic.session.map.row_reply import short_key
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import RowTemplate
from chatmagic.session.map.rows import Rows
from chatmagic.session.map.shared_files import SUFFIX, SharedFile, files_in, opened

_DIGITS: Final = 32
"""Number of characters of a file's name."""


@dataclass(frozen=True, slots=True)
class MapperTask:
    """Rows of one call of a mapper, and their file in its folder.

    Args:
        rows: the rows without repetitions.
        places: for each row of the table its place among them.
        keys: the keys of their requests, sorted.
        template: makes the requests.
        sender: sends them.
        folder: the folder of the answers.
        options: the options of a call.
    """

    rows: list[dict[str, Any]]
    places: list[int]
    keys: list[str]
    template: RowTemplate
    sender: RowSender
    folder: Path
    options: MapOptions

    @classmethod
    def of(
        cls,
        rows: list[dict[str, Any]],
        template: RowTemplate,
        sender: RowSender,
        folder: Path,
        options: MapOptions,
    ) -> MapperTask:
        """Return the task of a table's rows.

        Args:
            rows: the rows.
            template: makes the requests.
            sender: sends them.
            folder: the folder of the answers.
            options: the options of a call.

        Raises:
            InputError: the template does not fit a row.
        """
        known: dict[str, int] = {}
        places: list[int] = []
        for made in template.rows(rows, sender.address):
            if made.number == len(places):
                places.append(known.setdefault(made.request, len(known)))
        first = dict(zip(reversed(places), reversed(rows), strict=True))
        unique = [first[place] for place in range(len(known))]
        keys = sorted(made.key for made in template.rows(unique, sender.address))
        return cls(unique, places, keys, template, sender, folder, options)

    def replies(self) -> Any:
        """Return the replies to the rows; ask for those that are missing."""
        is_watched = (
            self.sender.place == "notebook"
            and threading.current_thread() is threading.main_thread()
            and self.sender.environment.is_watched()
        )
        file: SharedFile | None = None
        job: Job | None = None
        try:
            file = self._file()
            job = Job(self.template, self.sender, Rows(self.rows), file, self.options)
            return job.run(is_watched=is_watched)
        finally:
            close_unless_running(file, job)
            self.sender.ledger.tell()

    def job_to_quote(self) -> Job:
        """Return a job that is not started."""
        return Job(self.template, self.sender, Rows(self.rows), self._read_only(), self.options)

    @property
    def _path(self) -> Path:
        """The file of these rows, in whichever order they stand."""
        return self.folder / f"{digest(self.keys)[:_DIGITS]}{SUFFIX}"

    def _read_only(self) -> SharedFile:
        """Return the answers that are in the folder."""
        is_replay = self.sender.replayed is not None
        files = files_in(self.folder, replays=is_replay)
        path = self.folder if is_replay else self._path
        return SharedFile(path, files, replays=is_replay)

    def _file(self) -> SharedFile:
        """Return the file for the answers of these rows, with those of the other files.

        Raises:
            InputError: it cannot be written.
            ChatInterrupted: a person stopped the wait for another task.
        """
        known = self._read_only()
        keys = map(short_key, self.keys)
        if self.sender.replayed is not None or all(map(known.is_answered, keys)):
            return known
        _make_folder(self.folder)
        others = [file for file in known.others if file.path != self._path]
        claims = claims_of(self.folder)
        wait = LongWait(partial(notify, self.sender.environment))
        try:
            return opened(
                self._path,
                others,
                head=self.template.head.text,
                access="waits",
                claims=claims,
                while_waiting=partial(wait.look, SAME_ROWS),
            )
        except KeyboardInterrupt:
            raise ChatInterrupted(
                "Interrupted while another task has these rows. Nothing was sent."
            ) from None


def _make_folder(folder: Path) -> None:
    """Make the folder of the answers.

    Raises:
        InputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {folder.name} cannot be made: {error.strerror}. Nothing was sent."
        ) from None
