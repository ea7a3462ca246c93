"""Files of rows that several jobs share: each writes to one file, alone, and reads all others.

A mapper's folder has a file for each task. A map has its ``file=``, and where that one cannot be
locked, each map writes to a new file beside it. Other files may grow, or vanish, while they are
read.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Final

from chatmagic._files import set_time
from chatmagic._fork import Lock
from chatmagic._log import log_swallowed, swallowed
from chatmagic.errors import ChatError, InputError
from chatmagic.safe_text import counted
from chatmagic.session.map.claims import Claims
from chatmagic.session.map.job_file import Access, JobFile, NoLocksError
from chatmagic.session.map.row_file import YOUNG, RowFile
from chatmagic.session.map.row_index import RowIndex
from chatmagic.session.map.row_reply import RowReply, short_key

SUFFIX: Final = ".jsonl"
PAUSE: Final = ".pause"
"""Name of the file whose time is the end of a pause of all processes of a folder."""


class SharedFile(JobFile):
    """File of a job, with the answers of other files.

    Args:
        path: the file that is written, which may not exist yet.
        others: the other files, as they were read.
        claims: the claims on the rows of the folder; ``None`` where a job has its rows alone.
        replays: as for :class:`JobFile`.
        head: as for :class:`JobFile`.
        access: as for :class:`JobFile`.
    """

    def __init__(
        self,
        path: Path,
        others: Sequence[RowFile] = (),
        *,
        claims: Claims | None = None,
        replays: bool = False,
        head: str | None = None,
        access: Access = "refuses",
    ) -> None:
        """Open nothing yet."""
        super().__init__(path, replays=replays, head=head, access=access)
        self.others = others
        self.named = path
        """The file that the user named: where that one cannot be locked, this one is beside it."""
        self._claims = claims
        self._listed_at = 0

    def is_answered(self, key: bytes) -> bool:
        """Return whether a row has ended well, or is replayed.

        Args:
            key: the row's short key.
        """
        if self.index.is_answered(key):
            return True
        return any(other.index.is_answered(key) for other in self.others) if self.others else False

    def has_failed(self, key: bytes) -> bool:
        """Return whether a row has failed before.

        Args:
            key: the row's short key.
        """
        return any(file.index.has_failed(key) for file in (self, *self.others))

    @property
    def names(self) -> str:
        """The named file, and the number of files beside it that have answers, in words."""
        others = [other for other in self.others if other.path != self.named]
        answering = [other for other in others if other.index.keys]
        beside = f" and {counted(len(answering), 'file')} beside it" if answering else ""
        return self.named.name + beside

    @property
    def latest(self) -> datetime | None:
        """The time of the latest line that was read of all files; ``None`` if unknown."""
        times = (file.index.latest for file in (self, *self.others))
        return max(filter(None, times), default=None)

    def claim(self, key: str) -> bool:
        """Return whether a row may be asked now, as no other task asks it.

        Args:
            key: the row's key.
        """
        return self._claims is None or self._claims.take(key)

    def give_back(self, key: str) -> None:
        """End a claim.

        Args:
            key: the row's key.
        """
        if self._claims is not None:
            self._claims.give_back(key)

    def is_answered_meanwhile(self, key: str) -> bool:
        """Return whether another task has answered a row since this one began.

        Args:
            key: the row's key.
        """
        if self._claims is None:
            return False
        self._list_others()
        for other in self.others:
            other.refresh()
        short = short_key(key)
        return any(other.index.is_answered(short) for other in self.others)

    def _list_others(self) -> None:
        """Add the files of tasks that have begun meanwhile."""
        with self._lock, swallowed(OSError):
            changed_at = self.path.parent.stat().st_mtime_ns
            if changed_at != self._listed_at or time() - changed_at / 10**9 < YOUNG:
                known = {self.path, *(other.path for other in self.others)}
                new = set(self.path.parent.glob(f"*{SUFFIX}")) - known
                self.others = [*self.others, *read_all(sorted(new))]
                self._listed_at = changed_at

    def replies(self, keys: Iterable[bytes]) -> Iterator[RowReply | None]:
        """Return the replies to rows; ``None`` for a row without a line.

        Args:
            keys: the rows' short keys, in the wanted order.

        Raises:
            ChatError: another file was removed after it was read.
        """
        if not self.others:
            return super().replies(keys)
        return iter(replies_in([self, *self.others], list(keys)))


def replies_in(files: Sequence[RowFile], keys: Sequence[bytes]) -> list[RowReply | None]:
    """Return the replies to rows; ``None`` for a row without a line.

    An answer of any file counts before a failure, and a line of a file before one of the next.

    Args:
        files: the files.
        keys: the rows' short keys, in the wanted order.

    Raises:
        ChatError: a file was removed after it was read.
    """
    found: dict[bytes, RowReply] = {}
    for holds in (RowIndex.is_answered, RowIndex.has_failed):
        for file in files:
            here = [key for key in keys if key not in found and holds(file.index, key)]
            if here:
                found.update(_replies_of(file, here))
    return [found.get(key) for key in keys]


def latest_reply(files: Iterable[RowFile]) -> RowReply | None:
    """Return the reply that ended last; ``None`` for none, or if its file has vanished.

    Args:
        files: the files.
    """
    file = max(files, key=lambda other: str(other.index.latest), default=None)
    if file is None or file.index.newest is None:
        return None
    with swallowed(ChatError):
        return dict(_replies_of(file, [file.index.newest])).get(file.index.newest)
    return None


def _replies_of(file: RowFile, keys: Sequence[bytes]) -> Iterator[tuple[bytes, RowReply]]:
    """Yield the replies that a file has to rows, with their keys.

    Raises:
        ChatError: the file was removed after it was read.
    """
    try:
        for key, reply in zip(keys, RowFile.replies(file, keys), strict=True):
            if reply is not None:
                yield key, reply
    except OSError as error:
        log_swallowed(error)
        raise ChatError(
            f"{file.path.name} was removed, and its answers with it. Nothing was sent for them.",
            hint="The same call asks its rows again.",
        ) from None


def opened(
    path: Path,
    others: Sequence[RowFile],
    *,
    head: str | None,
    access: Access,
    claims: Claims | None = None,
    while_waiting: Callable[[], object] = bool,
) -> SharedFile:
    """Return a file that this job alone writes to, with the answers of others.

    It is the named file, or where that one cannot be locked, a new one beside it.

    Args:
        path: the file.
        others: the other files, as they were read.
        head: as for :class:`JobFile`.
        access: what is done if another job has the file.
        claims: as for :class:`SharedFile`.
        while_waiting: called again and again while another job has the file.

    Raises:
        InputError: it cannot be written, another job has it, or it is another file.
    """
    file = SharedFile(path, others, claims=claims, head=head, access=access)
    try:
        file.open(while_waiting)
    except NoLocksError:
        new = path.with_name(f"{path.stem}.{secrets.token_hex(8)}{path.suffix}")
        named = RowFile(path).read()
        file = SharedFile(new, [named, *others], claims=claims, head=head, access="alone")
        file.named = path
        file.open()
    except BaseException:
        file.close()
        raise
    return file


def beside(path: Path, *, replays: bool = False) -> list[RowFile]:
    """Return the files that maps without locks have written beside a named one.

    Args:
        path: the named file.
        replays: as for :class:`RowFile`.
    """
    pattern = f"{_literal(path.stem)}.????????????????{_literal(path.suffix)}"
    return read_all(sorted(path.parent.glob(pattern)), replays=replays)


def _literal(name: str) -> str:
    """Return a name as a pattern that it alone fits."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


# --- Reading the others -------------------------------------------------------------------------

_read: dict[tuple[Path, bool], tuple[tuple[int, int, int], RowFile]] = {}
"""The files that this process has read, with their state then: a task has many others."""
_lock = Lock()


def read_all(paths: Iterable[Path], *, replays: bool = False) -> list[RowFile]:
    """Return files as they are now; one that has vanished, or is no file of rows, is left out.

    A file that this process has read before is read again only if it has changed.

    Args:
        paths: the files.
        replays: as for :class:`RowFile`.
    """
    files = (_file_now(path, replays=replays) for path in paths)
    return [file for file in files if file is not None]


def files_in(folder: Path, *, replays: bool = False) -> list[RowFile]:
    """Return the files of rows in a folder, as they are now.

    Args:
        folder: the folder.
        replays: as for :class:`RowFile`.
    """
    return read_all(sorted(folder.glob(f"*{SUFFIX}")), replays=replays)


def _file_now(path: Path, *, replays: bool) -> RowFile | None:
    try:
        found = path.stat()
    except OSError as error:
        log_swallowed(error)
        return None
    state = found.st_ino, found.st_size, found.st_mtime_ns
    with _lock:
        known = _read.get((path, replays))
    if known is not None and known[0] == state:
        return known[1]
    try:
        file = RowFile(path, replays=replays).read()
    except InputError as error:
        log_swallowed(error)
        return None
    with _lock:
        _read[path, replays] = state, file
    return file


# --- Pauses -------------------------------------------------------------------------------------


class FolderPause:
    """Pause of all processes of a folder, until the time of a file.

    Args:
        folder: the folder.
        longest: the longest pause in seconds. After it one request finds out whether a limit
            still holds, so that no process waits for hours for what another one was told.
    """

    def __init__(self, folder: Path, longest: float) -> None:
        """Read nothing yet."""
        self._path = folder / PAUSE
        self._longest = longest

    def left(self) -> float:
        """Return the seconds until requests may begin."""
        try:
            until = self._path.stat().st_mtime
        except OSError:
            return 0.0
        left = until - datetime.now(UTC).timestamp()
        return left if 0 < left <= self._longest else 0.0

    def extend(self, until: datetime | None) -> None:
        """Let no process begin a request until a time; a longer pause stays.

        Args:
            until: the time; ``None``, as of a refusal that names none, changes nothing.
        """
        if until is None:
            return
        now = datetime.now(UTC).timestamp()
        seconds = min(until.timestamp() - now, self._longest)
        if seconds <= self.left():
            return
        with swallowed(OSError):  # a pause is a courtesy, and its file may be another user's
            set_time(self._path, now + seconds)
