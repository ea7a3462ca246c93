"""File of a job: a line of JSON for each row that has ended, only ever added to.

Before a row is sent, room is made for its line: blanks after the last line, which the new line
overwrites when the row has ended. So a full disk refuses a row before it is paid for, and a killed
process loses no row that has ended. Each line is written at once, so a killed process does not lose
it, and is flushed to the disk (``fsync``) together with others, so a power cut does not either.

A row that is asked again has another line; the last one counts. Each line has a digest of its other
fields, so a text that was edited is not taken for the model's. Only one job at a time has the file;
another one is refused, if the system has locks.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from io import FileIO
from pathlib import Path
from time import sleep, time
from typing import BinaryIO, Final, Literal, Self, cast

from chatmagic._files import NAP, is_file_of, lock_state, open_file, open_to_change
from chatmagic._fork import Lock, belongs_to_process
from chatmagic._json import (
    timestamp,
)
from chatmagic._log import swallowed
from chatmagic.errors import ChatError, InputError
from chatmagic.session.map.job_head import head_name
from chatmagic.session.map.row_lines import (
    Line,
    is_torn,
    lines_at,
    lines_of,
)
from chatmagic.session.map.row_reply import (
    BEGINNING,
    EditedError,
    LineFacts,
    RowReply,
    facts_as_written,
    fields_of,
    is_as_written,
    replay_key,
    short_key,
)

MOST_UNREAD: Final = 10_000
"""Number of lines without any row after which a file is no file of rows."""
ROOM: Final = 65_536
"""Bytes that are kept free for each row under way, or twice the longest line where that is more."""

YOUNG: Final = 2.0
"""Seconds after a change for which a file may change again without a new time."""

Access = Literal["refuses", "waits", "alone"]


class NoLocksError(Exception):
    """File that cannot be locked, as on some network drives."""


class JobFile:
    """File of one job, which alone has it while it is open.

    Args:
        path: the file, which may not exist yet.
        replays: whether the file is only read; then even a failed row counts as answered.
        head: description of the call, which the first row of its own gets; ``None`` for none.
        access: what is done if another job has the file: refuse it, or wait for the end of that
            job. A file that no other job can know, by its name, is had alone, without a lock.
    """

    def __init__(
        self,
        path: Path,
        *,
        replays: bool = False,
        head: str | None = None,
        access: Access = "refuses",
    ) -> None:
        """Open nothing yet."""
        self.path = path
        self.access = access
        self._head = head or ""
        self.head = head and head_name(head)
        """The name of the description of the call."""
        self._heads: set[str] = set()
        """The names of the descriptions in the file."""
        self._replays = replays
        self._file: FileIO | BinaryIO | None = None
        self._at: dict[bytes, int] = {}
        """Offset of the last line of each key; 16 bytes of a digest distinguish keys."""
        self._failed: set[bytes] = set()
        self._foreign: set[int] = set()
        """Offsets of lines that do not stand as they were written here."""
        self.unread = 0
        """Number of lines that were not read, such as a damaged one; their rows are asked again."""
        self.edited = 0
        """Number of lines that were edited; their rows are asked again."""
        self._latest = ""
        self._lock = Lock()
        """Guards the offsets, and writing."""
        self._end = 0
        self._room = 0
        self._longest = ROOM // 2 + 2 * len(self._head.encode("utf-8", "surrogatepass"))
        self._is_ours = False
        self._state = (0, 0, 0)
        """The state of a file that is only read here, when it was last read."""
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Close the file, in a forked child: the parent alone writes, and ends its lock."""
        if self._file is not None:
            self._file.close()

    def open(self) -> Self:
        """Open, lock and read the file; repair the last line that a killed process left.

        A replayed file is only read. The caller closes the file in any case.

        Raises:
            InputError: it cannot be opened, another job has it, or it is another file.
            NoLocksError: it cannot be locked, so that another job may write to it; nothing was
                changed.
        """
        if self._replays:
            return self.read()
        while not self._is_locked():
            sleep(NAP)
        self._read(cast("FileIO", self._file))
        self._is_ours = True
        return self

    def _is_locked(self) -> bool:
        """Open and lock the file, and return whether it is ours now.

        Raises:
            InputError: it cannot be opened, or another job has it, and is not waited for.
            NoLocksError: there are no locks here.
        """
        try:
            # Not the mode for appending, as a line overwrites its room.
            self._file = file = open_to_change(self.path)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "this is not the name of a file"
            raise InputError(
                f"{self.path.name} cannot be written: {why}. Nothing was sent."
            ) from None
        state = "ours" if self.access == "alone" else lock_state(file.fileno())
        if state == "none":
            file.close()
            raise NoLocksError(self.path.name)
        if state == "taken" and self.access == "refuses":
            raise InputError(
                f"{self.path.name} is in use by another map, here or in another kernel. Nothing "
                "was sent.",
                hint="Wait for it, stop it, or name another file=….",
            )
        if state == "ours" and is_file_of(self.path, file.fileno()):
            return True
        # Another job has it, or has removed it while it was opened here, as it was empty.
        file.close()
        return False

    def read(self) -> Self:
        """Read the file as it is now, without changing it; a file that is not there is empty.

        Raises:
            InputError: it cannot be read, or is another file.
        """
        try:
            with open_file(self.path) as file:
                self._read(file)
        except FileNotFoundError:
            return self
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "this is not the name of a file"
            raise InputError(f"{self.path.name} cannot be read: {why}. Nothing was sent.") from None
        return self

    def is_answered(self, key: str) -> bool:
        """Return whether a row has ended well, or is replayed.

        Args:
            key: the row's key.
        """
        return self.holds_answer(short_key(key))

    def has_failed(self, key: str) -> bool:
        """Return whether a row has failed before.

        Args:
            key: the row's key.
        """
        return short_key(key) in self._failed

    @property
    def keys(self) -> Collection[bytes]:
        """The short keys of all rows that have a line, here."""
        return self._at.keys()

    @property
    def newest(self) -> bytes | None:
        """The short key of the row whose line is the last one; ``None`` without lines."""
        return max(self._at, key=self._at.__getitem__, default=None)

    def holds_line(self, key: bytes) -> bool:
        """Return whether a row has a line, here.

        Args:
            key: the row's short key.
        """
        return key in self._at

    def holds_answer(self, key: bytes) -> bool:
        """Return whether a row has a line without a failure, here.

        Args:
            key: the row's short key.
        """
        return key in self._at and key not in self._failed

    def append(self, reply: RowReply) -> None:
        """Write a line for a row that has ended; a process that is killed then does not lose it.

        Args:
            reply: the row's reply, or its error.

        Raises:
            ChatError: the line cannot be written; the file is as before.
        """
        with self._lock:
            is_first = self.head is not None and reply.head == self.head not in self._heads
            line = (replace(reply, head=self._head) if is_first else reply).to_line()
            try:
                self._write(line)
            except OSError as error:
                with swallowed(OSError):
                    os.ftruncate(cast("FileIO", self._file).fileno(), self._end)
                    self._room = self._end
                raise self._not_written(error) from None
            self._note(short_key(reply.key), self._end)
            self._heads |= {reply.head} if is_first and reply.head else set()
            if reply.error is not None:
                self._failed.add(short_key(reply.key))
            self._end += len(line)
            self._longest = max(self._longest, len(line))

    def flush(self) -> None:
        """Bring all written lines to the disk, so that a power cut does not lose them.

        Raises:
            ChatError: the disk does not take them.
        """
        try:
            os.fsync(cast("FileIO", self._file).fileno())
        except OSError as error:
            raise self._not_written(error) from None

    def make_room(self, rows: int) -> None:
        """Make room for the lines of the rows under way, before one of them is sent.

        Args:
            rows: their number.

        Raises:
            ChatError: there is no room.
        """
        with self._lock:
            begin = max(self._room, self._end)
            needed = 2 * self._longest * rows
            if self._end + needed <= begin:
                return
            # A quarter more, so that not each row writes some; less if the disk is nearly full.
            for room in (self._end + needed * 5 // 4, self._end + needed):
                try:
                    self._write(b" " * (room - begin), begin)
                except OSError as error:
                    problem = error
                else:
                    self._room = room
                    return
            raise self._not_written(problem)

    def _write(self, content: bytes, at: int | None = None) -> None:
        file = cast("FileIO", self._file)
        at = self._end if at is None else at
        if hasattr(os, "pwrite"):
            written = os.pwrite(file.fileno(), content, at)
        else:
            file.seek(at)
            written = file.write(content)
        if written != len(content):
            raise OSError("the disk is full")

    def _not_written(self, error: OSError) -> ChatError:
        why = error.strerror or str(error)
        hint = "The rows before it are in the file."
        return ChatError(f"{self.path.name} cannot be written: {why}.", hint=hint)

    def replies(self, keys: Iterable[bytes]) -> Iterator[RowReply | None]:
        """Return the replies to rows; ``None`` for a row without a line.

        Args:
            keys: the rows' short keys, in the wanted order.
        """
        places = (self._at.get(key) for key in keys)
        if not self._at:
            yield from (None for _ in places)
            return
        with open_file(self.path) as file:
            for line in lines_at(file, places):
                yield self._known_reply(line)

    def _known_reply(self, line: Line) -> RowReply | None:
        """Return the reply of a line that was checked when it was read first, or written here.

        Args:
            line: the line; an empty one for a row without a line.
        """
        if not line.content:
            return None
        if line.at in self._foreign or not is_as_written(line.content):
            return RowReply.from_line(line.content)
        return RowReply.unread(line.content)

    def close(self) -> None:
        """Remove the room, and close the file; may be repeated.

        A file without any line is removed.
        """
        if self._file is not None and not self._file.closed:
            with swallowed(OSError):
                if self._is_ours:
                    os.ftruncate(self._file.fileno(), self._end)
                if self._is_ours and not self._end:
                    self.path.unlink()
            self._file.close()

    def _read(self, file: FileIO | BinaryIO) -> None:
        """Note the place of each row's last line; end or drop an unfinished last line.

        A line that a power cut has torn costs only its own row.

        Args:
            file: the file to repair, unless it is only read.
        """
        is_ended = self._read_on()
        if self.unread and not self._at:
            raise InputError(
                f"{self.path.name} is no file of a map. Nothing was sent or changed.",
                hint="Name another file=….",
            )
        if file.writable():
            os.ftruncate(file.fileno(), self._end)
            if not is_ended:
                self._write(b"\n")
                self._end += 1

    def _read_on(self) -> bool:
        """Note the places of the lines behind those that were read; return whether they end."""
        is_ended = True
        with open_file(self.path) as lines:
            for line in lines_of(lines, self._end):
                if not self._takes(line):
                    break
                self._end = line.at + line.size
                is_ended = line.has_end
                if self.unread == MOST_UNREAD and not self._at:
                    break
        return is_ended

    def refresh(self) -> None:
        """Read the lines that another task has added to a file that is only read here."""
        with swallowed(OSError), self._lock:
            found = self.path.stat()
            state = found.st_ino, found.st_size, found.st_mtime_ns
            # The time of a file is coarse: a young one may have changed since without a new time.
            if state != self._state or time() - found.st_mtime < YOUNG:
                self._read_on()
                self._state = state

    def claim(self, key: str) -> bool:
        """Return whether a row may be asked now, as no other task asks it; true without a folder.

        Args:
            key: the row's key.
        """
        del key
        return True

    def give_back(self, key: str) -> None:
        """End a claim.

        Args:
            key: the row's key.
        """

    def is_answered_meanwhile(self, key: str) -> bool:
        """Return whether another task has answered a row since this one began.

        Args:
            key: the row's key.
        """
        del key
        return False

    def _takes(self, line: Line) -> bool:
        """Note the place of a line, if it is one of a row; return whether reading goes on.

        It ends at an unfinished last line.

        Args:
            line: the line.
        """
        if (facts := facts_as_written(line.content)) is not None:
            self._note_facts(facts, line.at)
            return True
        # After a torn line the next one may follow without a line end.
        begin = max(line.content.rfind(BEGINNING), 0)
        try:
            self._note_line(line.content[begin:], line.at + begin)
            self.unread += begin > 0
        except EditedError:
            self.edited += 1
        except (ValueError, RecursionError):
            if not line.has_end and is_torn(line.content):
                return False
            self.unread += 1
        return True

    def _note_line(self, line: bytes, at: int) -> None:
        """Note the place of a line.

        Raises:
            ValueError: it is no line of a job's file, or was edited.
        """
        value, is_ours = fields_of(line)
        if not is_ours:
            self._foreign.add(at)
            RowReply.of_fields({**value}, is_ours=False)  # checks each field
        if str(head := value.get("head", "")).startswith("{"):
            self._heads.add(head_name(head))
        facts = LineFacts(
            short_key(value["key"]),
            value["request"],
            value["occurrence"],
            value.get("error", "") != "",
            value.get("ended_at") or "",
        )
        self._note_facts(facts, at)

    def _note_facts(self, facts: LineFacts, at: int) -> None:
        """Note the place of a line by its facts."""
        key = facts.key
        if self._replays:
            key = short_key(replay_key(facts.request, facts.occurrence))
        self._note(key, at)
        if facts.has_failed and not self._replays:
            self._failed.add(key)
        self._latest = max(self._latest, facts.ended_at)

    @property
    def latest(self) -> datetime | None:
        """The time of the latest line when the file was opened; ``None`` if unknown."""
        return timestamp(self._latest)

    def _note(self, key: bytes, at: int) -> None:
        """Note the place of a row's last line, as of one that was answered."""
        self._at[key] = at
        self._failed.discard(key)
