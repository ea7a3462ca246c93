"""Numbers of a map's run, and the sentences that tell them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from chatmagic.safe_text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """Numbers of a run at one time; in all of them a repeat counts as a row.

    Args:
        file_name: name of the map's file.
        total: number of replies that are wanted; ``None`` if unknown.
        read: number of rows that were read.
        from_file: number of rows that the file had answered before.
        from_others: number of rows that other tasks have answered meanwhile.
        sent: number of requests.
        answered: number of rows that this run has answered.
        failed: number of rows that failed in it.
        lost: number of its replies that could not be stored.
        credits_left: credits left by the latest answer; ``None`` is unknown.
        waiting: the reason why no request is sent now; empty if requests are sent.
    """

    file_name: str
    total: int | None
    read: int
    from_file: int
    from_others: int
    sent: int
    answered: int
    failed: int
    lost: int
    credits_left: int | None
    waiting: str

    @property
    def done(self) -> int:
        """Number of rows that need no more requests in this run."""
        return self.from_file + self.from_others + self.answered + self.failed

    @property
    def state(self) -> str:
        """The failed rows, the credits and the reason for a wait, for a bar."""
        words = [f"{self.failed:,} failed"] if self.failed else []
        if self.credits_left is not None:
            words.append(f"{counted(self.credits_left, 'credit')} left")
        if self.waiting:
            words.append(self.waiting)
        return ", ".join(words)

    @property
    def summary(self) -> str:
        """The rows and the credits, for a handle."""
        of_total = "" if self.total is None else f" of {self.total:,}"
        words = f"{self.from_file + self.answered:,}{of_total} rows answered, "
        words += f"{self.failed:,} failed"
        if self.credits_left is not None:
            words += f", {counted(self.credits_left, 'credit')} left"
        return f"{words}; {self.file_name}"

    @property
    def so_far(self) -> str:
        """What an error at the end of the run says of the rows before it."""
        words = f"{counted(self.answered, 'row')} answered by this run"
        if self.failed:
            words += f", {self.failed:,} failed"
        words += f", kept in {self.file_name}: the same call resumes."
        if self.lost:
            words += f" {counted(self.lost, 'row')} lost whose reply had come."
        return words

    def from_file_line(self, names: str, latest: datetime | None) -> str:
        """Return a line on the rows that the file had answered before.

        Args:
            names: the named file, and what is beside it, in words.
            latest: the time of the latest answer before the run; ``None`` if unknown.
        """
        asked = f"{counted(self.sent, 'request')} sent" if self.sent else "nothing was sent"
        when = "" if latest is None else f", of {_day(latest)}"
        kept = f"{self.from_file:,} of {counted(self.read, 'answer')} from {names}"
        return f"{kept}{when}; {asked}. Another file=… asks all rows anew."

    def failed_line(self, error_place: str) -> str:
        """Return a line on the rows that failed.

        Args:
            error_place: the place of a row's error in words.
        """
        answered = self.read - self.failed
        return f"{answered:,} of {self.read:,} answered, {self.failed:,} failed: {error_place}."


def _day(when: datetime) -> str:
    """Return a day in words; that of now is "today", so that a notebook repeats."""
    if when.astimezone(UTC).date() == datetime.now(UTC).date():
        return "today"
    return f"{when.day} {when:%B %Y}"
