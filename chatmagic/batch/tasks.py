"""Tasks of a job: the rows that are still to be asked, each with its request and its key."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmagic._json import digest
from chatmagic.batch.job_file import is_in
from chatmagic.batch.row_reply import replay_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chatmagic.batch.job_file import JobFile
    from chatmagic.batch.rows import Rows
    from chatmagic.errors import ChatError
    from chatmagic.protocol.wire import Request

    Compose = Callable[[int, Mapping[str, Any]], tuple[Request, ChatError | None]]
    """Makes a row's request, and says why it is not to be sent."""


@dataclass(frozen=True, slots=True)
class Task:
    """One row to ask.

    Args:
        row: its place, from 0.
        key: digest of its request with the address and, of equal requests, which it is.
        request: what it sends.
        occurrence: which of equal requests it is, from 1.
        problem: why it is not to be sent.
    """

    row: int
    key: str
    request: Request
    occurrence: int
    problem: ChatError | None = None


@dataclass(slots=True)
class Tasks:
    """Rows of a job that the file has no answer to.

    Args:
        rows: all rows.
        compose: makes a row's request.
        address: of the service, which is part of each key; ``None`` where a file is replayed.
        file: the job's file.
        keeps: whether the keys of all rows are kept.
        keys: those keys, in the rows' order.
        answered: how many rows had an answer.
        failed: how many have failed before.
        listed: the tasks, those that failed first; ``None`` where rows are read as needed.
    """

    rows: Rows
    compose: Compose
    address: str | None
    file: JobFile
    keeps: bool = True
    keys: list[str] = field(default_factory=list)
    answered: int = 0
    failed: int = 0
    listed: list[Task] | None = None

    def __post_init__(self) -> None:
        """Make all requests, where the rows are in memory: a mistake in the last costs nothing."""
        if self.rows.count is not None:
            before = self.file.failed()
            # The order of the sort is stable.
            self.listed = sorted(self._read(), key=lambda task: not is_in(task.key, before))
            self.failed = sum(is_in(task.key, before) for task in self.listed)

    def __iter__(self) -> Iterator[Task]:
        """Return the tasks in the order in which they are asked."""
        return self._read() if self.listed is None else iter(self.listed)

    def _read(self) -> Iterator[Task]:
        seen: dict[bytes, int] = {}
        for number, row in enumerate(self.rows):
            request, problem = self.compose(number, row)
            known = request.digest()
            short = bytes.fromhex(known)[:16]
            seen[short] = occurrence = seen.get(short, 0) + 1
            key = self._key(request, known, occurrence)
            if self.keeps:
                self.keys.append(key)
            if self.file.is_answered(key):
                self.answered += 1
            else:
                yield Task(number, key, request, occurrence, problem)

    def _key(self, request: Request, known: str, occurrence: int) -> str:
        if self.address is None:
            return replay_key(known, occurrence)
        return digest([self.address, json.loads(request.encode()), occurrence])
