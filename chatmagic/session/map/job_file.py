"""File of a job: a line of JSON for each row that has ended, only ever added to.

Before a row is sent, room is made for its line, which is written when the row has ended. So a full
disk refuses a row before it is paid for, and a killed process loses no row that has ended. Each
line is written at once, so a killed process does not lose it, and is flushed to the disk
(``fsync``) together with others, so a power cut does not either.

A row that is asked again has another line; the last one counts. Each line has a digest of its other
fields, so a text that was edited is not taken for the model's. Only one job at a time has the file;
another one is refused, if the system has locks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import FileIO
from pathlib import Path
from time import sleep
from typing import BinaryIO, Literal, Self, cast

from chatmagic._files import NAP, is_file_of, lock_state, open_to_change
from chatmagic._fork import belongs_to_process
from chatmagic._log import swallowed
from chatmagic.errors import ChatError, InputError
from chatmagic.session.map.job_head import head_name
from chatmagic.session.map.line_writer import LineWriter
from chatmagic.session.map.row_file import RowFile
from chatmagic.session.map.row_reply import RowReply, short_key

Access = Literal["refuses", "waits", "alone"]


class NoLocksError(Exception):
    """File that cannot be locked, as on some network drives."""


class JobFile(RowFile):
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
        super().__init__(path, replays=replays)
        self.access = access
        self._head = head or ""
        self.head = head and head_name(head)
        """The name of the description of the call."""
        self._replays = replays
        self._file: FileIO | BinaryIO | None = None
        self._writer: LineWriter | None = None
        belongs_to_process(self)

    def leave_to_parent(self) -> None:
        """Close the file, in a forked child: the parent alone writes, and ends its lock."""
        if self._file is not None:
            self._file.close()

    def open(self, while_waiting: Callable[[], object] = bool) -> Self:
        """Open, lock and read the file; repair the last line that a killed process left.

        A line that a power cut has torn costs only its own row. A replayed file is only read. The
        caller closes the file in any case.

        Args:
            while_waiting: called again and again while another job has the file.

        Raises:
            InputError: it cannot be opened, another job has it, or it is another file.
            NoLocksError: it cannot be locked, so that another job may write to it; nothing was
                changed.
        """
        if self._replays:
            return self.read()
        while not self._is_locked():
            while_waiting()
            sleep(NAP)
        is_ended = self._read_rows()
        head_size = len(self._head.encode("utf-8", "surrogatepass"))
        self._writer = LineWriter(cast("FileIO", self._file), self._end, 2 * head_size)
        if not is_ended:
            self._writer.append(b"\n")
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

    def append(self, reply: RowReply) -> None:
        """Write a line for a row that has ended; a process that is killed then does not lose it.

        Args:
            reply: the row's reply, or its error.

        Raises:
            ChatError: the line cannot be written; the file is as before.
        """
        # Made before the lock is taken, for which the other threads of a map wait.
        line = reply.to_line()
        with self._lock:
            heads = self.index.heads
            is_first = reply.head is not None and reply.head == self.head not in heads
            if is_first:
                line = replace(reply, head=self._head).to_line()
            try:
                place = cast("LineWriter", self._writer).append(line)
            except OSError as error:
                raise self._not_written(error) from None
            self.index.note(short_key(reply.key), place, has_failed=reply.error is not None)
            if is_first and reply.head is not None:
                heads.add(reply.head)

    def flush(self) -> None:
        """Bring all written lines to the disk, so that a power cut does not lose them.

        Raises:
            ChatError: the disk does not take them.
        """
        try:
            cast("LineWriter", self._writer).flush()
        except OSError as error:
            raise self._not_written(error) from None

    def make_room(self, rows: int) -> None:
        """Make room for the lines of the rows under way, before one of them is sent.

        Args:
            rows: their number.

        Raises:
            ChatError: there is no room.
        """
        writer = cast("LineWriter", self._writer)
        if writer.has_room(rows):
            return  # mostly, and so no thread waits for another one's write
        with self._lock:
            try:
                writer.make_room(rows)
            except OSError as error:
                raise self._not_written(error) from None

    def _not_written(self, error: OSError) -> ChatError:
        why = error.strerror or str(error)
        hint = "The rows before it are in the file."
        return ChatError(f"{self.path.name} cannot be written: {why}.", hint=hint)

    def close(self) -> None:
        """Remove the room, and close the file; may be repeated.

        A file without any line is removed.
        """
        if self._file is None or self._file.closed:
            return
        if self._writer is not None:
            with swallowed(OSError):
                self._writer.cut()
                if not self._writer.end:
                    self.path.unlink()
        self._file.close()
