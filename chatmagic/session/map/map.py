"""Start of a map: the estimate, the user's yes, and the job."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypedDict

from chatmagic.conversation.question import Format
from chatmagic.errors import ChatInterrupted, InputError
from chatmagic.safe_text import counted
from chatmagic.session.environment import Environment
from chatmagic.session.map.job import Job, notify
from chatmagic.session.map.row_asker import JobOptions
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import RowTemplate
from chatmagic.session.map.rows import Rows
from chatmagic.session.map.shared_files import SharedFile, beside, opened

MOST_WORKERS: Final = 256


class MapArguments(TypedDict, total=False):
    """Arguments of a map that its result does not depend on, for type checkers."""

    workers: int
    repeats: int
    retries: int
    max_tokens: int | None
    temperature: float | None
    model: str | None
    instructions: str | None
    stream: bool
    format: Format
    schema: object
    column: str | None
    columns: bool
    allow_secrets: bool
    keep_prompts: bool
    file: str | Path | None
    wait: bool
    yes: bool


class Table(Protocol):
    """Table in memory."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


class Column(Protocol):
    """Column by itself, such as a Series."""

    def to_list(self) -> list[Any]:
        """Return the values."""


@dataclass(frozen=True, slots=True)
class MapOptions(JobOptions):
    """Options of a call of a map, as for :meth:`chatmagic.session.session.Session.map`.

    Args:
        file: the job's file; ``None`` is one in the working folder.
        repeats: number of times that each row is asked.
        yes: whether the job starts without a question.
        block: whether to wait for the end.
    """

    file: str | Path | None = None
    repeats: int = 1
    yes: bool = False
    block: bool = True

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be used.

        Raises:
            InputError: a number cannot be used.
        """
        if type(self.workers) is not int or not 1 <= self.workers <= MOST_WORKERS:
            raise InputError(f"workers is a number from 1 to {MOST_WORKERS}. Nothing was sent.")
        if type(self.repeats) is not int or self.repeats < 1:
            raise InputError("repeats is a number from 1 on. Nothing was sent.")
        if type(self.retries) is not int or self.retries < 0:
            raise InputError("retries is a number from 0 on. Nothing was sent.")


def run(template: RowTemplate, sender: RowSender, source: object, options: MapOptions) -> Any:
    """Show an estimate, start the job if the user agrees, and return its result or its handle.

    Args:
        template: makes the rows' requests.
        sender: sends them.
        source: a table, columns, a list or an iterable.
        options: the options of the call.

    Raises:
        ChatError: a row cannot be sent, the user did not agree, or the job ended early.
        ChatInterrupted: a person stopped it.
    """
    rows = Rows(source)
    template.columns.refuse_taken(source)
    name = options.file or f"map-{template.digest[:12]}.jsonl"
    path = Path(name).expanduser().absolute()
    file: SharedFile | None = None
    job: Job | None = None
    try:
        file = _file(path, template, sender)
        job = Job(template, sender, rows, file, options)
        if sender.replayed is None:
            _refuse_unwanted(job, options)
        _tell_of(file, path, sender.environment)
        if options.block:
            return job.run(is_watched=sender.environment.is_watched())
        job.start()
        return job
    finally:
        close_unless_running(file, job)
        sender.ledger.tell()


def _file(path: Path, template: RowTemplate, sender: RowSender) -> SharedFile:
    """Return the file of a map, with the answers that are there, open unless it is replayed.

    Raises:
        InputError: it cannot be read or written, another job has it, or it is another file.
    """
    is_replay = sender.replayed is not None
    others = beside(path, replays=is_replay)
    if not is_replay:
        return opened(path, others, head=template.head.text, access="refuses")
    file = SharedFile(path, others, replays=True)
    file.read()
    return file


def _refuse_unwanted(job: Job, options: MapOptions) -> None:
    """Raise an error if the limits are wrong, or the user does not want to ask.

    Raises:
        InputError: a limit is wrong, the answer is no, or nobody can answer.
        ChatInterrupted: the question was interrupted.
    """
    job.sender.ledger.refuse_wrong_limits()
    is_nothing_to_ask = job.to_ask.knows_all and not job.to_ask.first
    if not options.yes and not is_nothing_to_ask:
        _agree(quote(job))


def _tell_of(file: SharedFile, path: Path, environment: Environment) -> None:
    """Tell where the answers go if not to the named file, and which lines were not read.

    Args:
        file: the file.
        path: the named file.
        environment: the environment that shows it.
    """
    if file.path != path:
        notify(
            environment,
            f"There are no file locks here: answers go to {file.path.name}, beside {path.name}; "
            "both are read.",
        )
    for number, state in [(file.index.unread, "unreadable"), (file.index.edited, "edited")]:
        if number:
            lines = counted(number, f"{state} line")
            notify(
                environment,
                f"{lines} of {file.path.name} not used; a row without another answer is asked "
                "again.",
            )


def close_unless_running(file: SharedFile | None, job: Job | None) -> None:
    """Close the file of a job that did not start, for an interrupt anywhere; others close it.

    Args:
        file: the file; ``None`` if it was not opened.
        job: the job; ``None`` if there is none.
    """
    if file is not None and (job is None or not job.is_running):
        file.close()


def quote(job: Job) -> str:
    """Return the rows, tokens and credits of a job, in one line.

    Of many rows the first ones are counted, and the others are taken to be like them.

    Args:
        job: the job, before it starts.
    """
    words = _sizes(job)
    credits = job.sender.credits
    if credits is not None and credits.remaining is not None:
        words += f" {counted(credits.remaining, 'credit')} left; others may share them."
    unsent = (job.template.problem(row, f"Row {row.number:,}") for row in job.to_ask.first)
    problems = [problem for problem in unsent if problem is not None]
    if problems:
        words += f" {counted(len(problems), 'row')} will not be sent: {problems[0]}"
    return words


def _sizes(job: Job) -> str:
    """Return the rows, tokens and credits of a job in words."""
    to = f"answers go to {job.path.name}"
    if job.total is None:
        return f"The rows are read as they are needed, so their number is not known; {to}."
    sent = [row for row in job.to_ask.first if job.template.problem(row) is None]
    characters = sum(job.template.size(row) for row in sent)
    repeats = job.template.repeats
    rows = counted(job.total // repeats, "row")
    if repeats > 1:
        rows += f", {repeats:,} times each"
    requests = len(sent)
    to_ask = f"{requests:,} to ask"
    about = ""
    if not job.to_ask.knows_all:
        # Of rows that are not read yet it is not known which are answered.
        requests = len(sent) + job.total - job.to_ask.read
        characters = characters * requests // max(len(sent), 1)
        to_ask = f"up to {requests:,} to ask"
        about = "About "
    size = f"{about}{counted(characters, 'character')} of prompts"
    rate = job.sender.ledger.token_rate
    if rate is not None:
        size = f"About {counted(round(rate * characters), 'token')} of prompts"
    return f"{rows}, {to_ask}; {to}. {size}{_cost(job, requests)}."


def _cost(job: Job, requests: int) -> str:
    """Return the cost of requests in words."""
    meter = job.sender.meter
    cost = meter.about(requests)
    if cost is not None:
        return f" and {counted(cost, 'credit')}, by the cost of recent requests"
    if meter.answers and not meter.latest:
        return ""  # the answers tell no credits
    return "; their cost in credits is not known before the first answers"


def _agree(quote: str) -> None:
    """Ask the user whether to start.

    Raises:
        InputError: the answer is no, or nobody can answer.
        ChatInterrupted: the question was interrupted.
    """
    try:
        answer = input(f"{quote}\nAsk them? [y/N] ")
    except KeyboardInterrupt:
        raise ChatInterrupted("Interrupted before the map started. Nothing was sent.") from None
    except (EOFError, NotImplementedError, OSError):
        # No input is allowed here, as in a notebook that a program runs.
        raise InputError(
            f"A map asks before it starts, and nobody can answer here: {quote} Nothing was sent.",
            hint="yes=True starts it without a question.",
        ) from None
    if answer.strip().lower() not in {"y", "yes"}:
        raise InputError("The map was not started. Nothing was sent.")
