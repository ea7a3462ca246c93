"""Pool of the threads that ask a map's rows, each row in one thread.

The threads are our own: those of ``concurrent.futures`` are waited for before a program's end can
be known to them, so that a map in the background that waits for a limit would hold the program up.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Final

from chatmagic._log import log_swallowed
from chatmagic.client.client import Client
from chatmagic.session.map.answer_writer import AnswerWriter
from chatmagic.session.map.gate import Gate
from chatmagic.session.map.pace import Pace
from chatmagic.session.map.row_asker import JobOptions, RowAsker
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import Row, RowTemplate
from chatmagic.session.map.run_state import NAP, Clock, RunState
from chatmagic.session.map.shared_files import SharedFile

SAME_ROWS: Final = "another task asks the same rows; if it hangs, end its process"
"""Reason for the wait for another task's answers."""


class RowPool:
    """Threads that ask rows, and store each reply; at most twice as many rows wait as are sent.

    Args:
        template: makes the rows' requests.
        sender: sends them.
        file: keeps the reply to each row, or its error.
        options: the options.
        clock: the time.
    """

    def __init__(
        self,
        template: RowTemplate,
        sender: RowSender,
        file: SharedFile,
        options: JobOptions,
        clock: Clock,
    ) -> None:
        """Start no thread yet."""
        self.run = RunState(clock)
        """Whether rows are begun, and why none is."""
        self.gate = Gate(Pace(options.workers, waits=options.waits), self.run, sender, file)
        """The gate of the requests, which counts them."""
        self.asker = RowAsker(template, sender, self.gate, options, file.head)
        """Asks each row."""
        self.from_others = 0
        """Number of rows that other tasks have answered meanwhile."""
        self._sender = sender
        self._file = file
        self._workers = options.workers
        self._given = queue.SimpleQueue[Row | None]()
        self._places = queue.SimpleQueue[None]()
        """A place for each row that may be handed out now."""
        self._free(2 * options.workers)
        self._threads: list[threading.Thread] = []
        self._open = contextlib.ExitStack()
        """What is closed when all threads have ended."""
        self.answers = AnswerWriter(file, self._free, self.run.end)
        """The writer of the answers, which counts them."""

    def start(self) -> None:
        """Start the writer of the answers."""
        self.answers.start()

    def ask(
        self, rows: Iterable[Row], while_waiting: Callable[[], object], *, known: int = 0
    ) -> None:
        """Give rows to the threads, and wait until all are done, or the run is stopped.

        Args:
            rows: the rows, which are read in the calling thread as they are needed.
            while_waiting: called again and again meanwhile.
            known: number of rows that are there for certain. Threads for them are started at once:
                later each start would wait for the requests of the others.
        """
        client = self._open.enter_context(self._sender.connect())
        self._hand_out(client, rows, while_waiting, known)
        while self._ends_all(while_waiting) and (put_off := self.asker.take_put_off()):
            self._free(2 * self._workers)
            self._hand_out(client, put_off, while_waiting, len(put_off))

    def _hand_out(
        self, client: Client, rows: Iterable[Row], while_waiting: Callable[[], object], known: int
    ) -> None:
        """Give rows to threads, each as soon as it has a place; then let the threads end."""
        number = min(known, self._workers)
        for _ in range(number):
            self._add_thread(client)
        for row in rows:
            if not self._takes_place(while_waiting):
                break
            if number < self._workers:
                self._add_thread(client)
                number += 1
            self._given.put(row)
        self._end_threads(number)

    def _ends_all(self, while_waiting: Callable[[], object]) -> bool:
        """Wait for all rows that were handed out; return whether the run goes on."""
        return all(self._takes_place(while_waiting) for _ in range(2 * self._workers))

    def close(self, while_waiting: Callable[[], object]) -> None:
        """Wait for the rows under way, and until all answers are on the disk.

        Args:
            while_waiting: called again and again meanwhile.
        """
        self._end_threads(len(self._threads))
        for thread in self._threads:
            while thread.is_alive():
                while_waiting()
                thread.join(NAP)
        self._open.close()
        self.answers.close()

    def _add_thread(self, client: Client) -> None:
        """Start a thread that asks rows. Rows under way end before the interpreter exits."""
        thread = threading.Thread(
            target=self._ask_rows, args=[client], name="chatmagic-map", daemon=False
        )
        self._threads.append(thread)
        thread.start()

    def _end_threads(self, number: int) -> None:
        """Let so many threads end when no row is left, though others are under way.

        Hundreds that end together hold up the end of a map. More may be named than there are.
        """
        for _ in range(number):
            self._given.put(None)

    def _takes_place(self, while_waiting: Callable[[], object]) -> bool:
        """Take the place of a row that is handed out; return whether the run goes on."""
        while not self.run.is_stopped:
            while_waiting()
            with contextlib.suppress(queue.Empty):
                self._places.get(timeout=NAP)
                return True
        return False

    def _free(self, rows: int) -> None:
        """Let as many more rows be handed out."""
        for _ in range(rows):
            self._places.put(None)

    def _ask_rows(self, client: Client) -> None:
        """Ask rows until there are no more."""
        try:
            while (row := self._given.get()) is not None:
                if self.run.is_stopped or not self._ask_row(client, row):
                    self._free(1)
        except BaseException as error:  # noqa: BLE001 - the job raises it
            log_swallowed(error)
            self.run.end(error)

    def _ask_row(self, client: Client, row: Row) -> bool:
        """Ask one row, and store its line; return whether there is one."""
        if not self._claim(row):
            return False
        try:
            line = self.asker.line(client, row)
            if line is not None:
                self.answers.add(line)
            return line is not None
        finally:
            self._file.give_back(row.key)

    def _claim(self, row: Row) -> bool:
        """Wait until no other task asks a row; return whether it is still to be asked."""
        while not self._file.claim(row.key):
            with self.run.changed:
                if not self.run.goes_on():
                    return False
                self.run.waiting = SAME_ROWS
                self.run.wait(NAP)
        if not self._file.is_answered_meanwhile(row.key):
            return True
        self._file.give_back(row.key)
        with self.run.changed:
            self.from_others += 1
        return False
