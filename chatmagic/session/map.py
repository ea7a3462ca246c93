"""Many prompts of one template: quoted, asked beside the conversation, kept in a file."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from chatmagic._json import digest, shared_fields
from chatmagic._log import swallowed
from chatmagic.batch.job import NAP, Job, Task, Tasks
from chatmagic.batch.job_file import JobFile
from chatmagic.batch.rows import Rows, is_table, refuse_taken, with_replies
from chatmagic.cassette.cassette import AnswerSource
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.conversation import template
from chatmagic.conversation.request_facts import Parameters
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    InputError,
    NotRecordedError,
    ReplyFormatError,
)
from chatmagic.models import Credits, Reply
from chatmagic.protocol.known_secrets import secret_in, secret_variables
from chatmagic.protocol.url import EMULATOR
from chatmagic.protocol.wire import Request
from chatmagic.session import forms
from chatmagic.session.environment import ClientPool, Environment, setup_for
from chatmagic.session.events import Ask
from chatmagic.session.ledger import Ledger, Meter, Reservation, service_of
from chatmagic.session.worker import Worker
from chatmagic.text import counted, one_line

MOST_WORKERS: Final = 32


class RowAsker:
    """Requests of a job's rows, each made of one template and sent through the ledger.

    It has the methods of :class:`chatmagic.batch.job.Asker`.

    Args:
        environment: says where it is asked.
        ledger: counts the requests.
        clients: the session's.
        ask: the template as its prompt, and the options of each question.

    Raises:
        ChatError: the template or an option cannot be used, or nothing is connected.
    """

    def __init__(
        self, environment: Environment, ledger: Ledger, clients: ClientPool, ask: Ask
    ) -> None:
        """Read the schema; send nothing yet."""
        cassette = environment.cassette()
        is_replay = cassette is not None and cassette.config.mode == "replay"
        self.replayed = cassette if is_replay else None
        """The cassette that is replayed, so that nothing is sent; ``None`` for none."""
        source: AnswerSource = "cassette" if is_replay else "service"
        self._client = clients.client(source, lambda: setup_for(source, environment, cassette))
        ask.refuse_empty()
        value, _, self._schema = forms.asked_for(
            Parameters(**shared_fields(ask, Parameters)),
            ask.form,
            (),
            (),
            environment.named,
        )
        self.environment = environment
        self.ledger = ledger
        self._ask = ask
        self._cell = environment.cell()[0]
        self._front = [] if value is None else [value]
        self._extra = (clients.given or self._client).setup.extra_body or {}
        self._variables = () if ask.allow_secrets else secret_variables(os.environ)
        fields = json.dumps({**self._extra}, ensure_ascii=False, default=str)
        for place, text in (("The template", ask.prompt), ("extra_body", fields)):
            if not ask.allow_secrets and (secret := secret_in(text, self._variables)) is not None:
                raise InputError(
                    f"{place} holds {secret}. Nothing was sent.",
                    hint="allow_secrets=True sends it.",
                )

    # --- Requests ------------------------------------------------------------------------------

    @property
    def is_parsed(self) -> bool:
        """Whether the replies have values beside their texts."""
        return self._ask.format == "json"

    @property
    def job(self) -> str:
        """Digest by which a job is known that names no file; a replay knows no service."""
        return digest([self._ask.prompt, [v.text for v in self._front], self._ask.parameters])

    def compose(self, number: int, row: Mapping[str, Any]) -> tuple[Request, ChatError | None]:
        """Return a row's request, and why it is not to be sent.

        Args:
            number: the row's place, from 0.
            row: its values by name.

        Raises:
            InputError: the template does not go with the row.
        """
        try:
            prompt, missing = template.fill_row(self._ask.prompt, row)
            ask = replace(self._ask, prompt=template.in_front(self._front, prompt))
            request = ask.request((), self._extra)
        except ValueError as error:
            what = error.message if isinstance(error, InputError) else f"{error}. Nothing was sent."
            raise InputError(f"Row {number:,}: {what}", hint=getattr(error, "hint", None)) from None
        return request, self._problem(number, prompt, missing)

    def _problem(self, number: int, prompt: str, missing: str | None) -> InputError | None:
        """Return why a row's prompt is not to be sent; ``None`` where it is."""
        if missing is not None:
            return InputError(
                f"Row {number:,} has no value for {{{{ {one_line(missing)} }}}}, so it is not "
                "sent: fill the value in, or leave the row out."
            )
        if not prompt.strip():
            return InputError(f"Row {number:,} makes an empty prompt, which is not sent.")
        if self._ask.allow_secrets or (secret := secret_in(prompt, self._variables)) is None:
            return None
        return InputError(
            f"Row {number:,} holds {secret}, so it is not sent: allow_secrets=True sends it."
        )

    def checked(self, reply: Reply) -> Reply:
        """Return a reply with the value of its JSON, where that was asked for.

        Args:
            reply: a whole reply.

        Raises:
            ReplyFormatError: it is no JSON, or has another form; it is the error's reply.
        """
        return forms.parsed(reply, self._schema, kept=False) if self.is_parsed else reply

    # --- Sending -------------------------------------------------------------------------------

    def connect(self) -> AbstractContextManager[Client]:
        """Return a client for one thread; a transport of the user's own is shared."""
        return self._client.twin() or contextlib.nullcontext(self._client)

    def ask(self, client: Client, request: Request, halt: Halt) -> Reply:
        """Send a request, and return the whole reply.

        Args:
            client: one that :meth:`connect` returned.
            request: the row's.
            halt: stops it from another thread.

        Raises:
            ChatError: it does not go into a budget, or it was ended early.
            ChatInterrupted: it was stopped.
        """
        stream = client.send(request, halt)
        reservation = Reservation(client.endpoint, "map", self._cell, request.digest())
        try:
            with self.ledger.sending(reservation, lambda: stream.reply), stream:
                for _ in stream:
                    pass
        finally:
            self.ledger.note_tokens(request, stream.reply)
        return self.checked(stream.reply)

    @property
    def address(self) -> str | None:
        """The address that is part of each row's key; ``None`` where nothing is sent."""
        endpoint = self._client.endpoint
        if self.replayed is not None:
            return None
        return EMULATOR if endpoint.is_emulator else endpoint.base_url

    @property
    def service(self) -> str:
        """Name of the service in the ledger."""
        return service_of(self._client.endpoint)

    @property
    def meter(self) -> Meter:
        """The meter of the service."""
        return self.ledger.meter(self.service)

    def cost(self) -> int:
        """Return the estimated credits of a request, at least 1."""
        return self.meter.dearest or 1

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the credits, by whichever request told them."""
        figures = self.ledger.figures(self._client.endpoint)
        return None if figures is None else figures.credits


class MapHandle:
    """Handle of a map that runs beside the notebook.

    Args:
        job: the job.
        tasks: the rows that it asks.
        collect: returns its result, once it has ended.
    """

    def __init__(self, job: Job, tasks: Tasks, collect: Callable[[], Any]) -> None:
        """Start nothing yet."""
        self.path = tasks.file.path
        """The job's file."""
        self.total = None if tasks.listed is None else len(tasks.listed)
        """How many rows it asks; ``None`` is unknown."""
        self._job = job
        self._collect = collect
        self._worker = Worker(self._work, job.interrupt, daemon=False)
        self._tick: Callable[[], object] | None = None

    @property
    def answered(self) -> int:
        """How many rows were answered, by this run."""
        return self._job.progress.answered

    @property
    def failed(self) -> int:
        """How many rows failed in this run."""
        return self._job.progress.failed

    @property
    def credits_left(self) -> int | None:
        """Credits left by the latest answer; ``None`` is unknown."""
        return self._job.pace.credits_left

    @property
    def is_running(self) -> bool:
        """Whether rows are being asked."""
        return self._worker.is_running

    def stop(self) -> None:
        """Begin no more rows; those under way go on to their end."""
        self._job.stop()

    def result(self) -> Any:
        """Wait for the end, and return the map's result.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: it was stopped, or the wait was, and it goes on.
        """
        try:
            while self.is_running:
                time.sleep(NAP)
        except KeyboardInterrupt:
            raise ChatInterrupted(
                "Interrupted while waiting: the map goes on.", hint="stop() ends it."
            ) from None
        self._worker.result  # noqa: B018 - raises the error that ended it
        return self._collect()

    def start(self) -> None:
        """Run the job beside the caller.

        Raises:
            KeyboardInterrupt: an interrupt came as it was started; no row is asked.
        """
        try:
            self._worker.start()
        except BaseException:
            self._worker.cancel()
            raise

    def run(self, *, is_watched: bool) -> Any:
        """Run the job, wait for it with a bar where a person watches, and return the result.

        The rows are read in this thread. After an interrupt the rows under way are waited for;
        after a second one they are cut off, and stored as far as they came; after a third one
        nothing is waited for.

        Args:
            is_watched: whether a person sees what is printed.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: a person stopped it.
        """
        with _bar(self.total, is_watched=is_watched) as bar:
            self._tick = lambda: self._show_in(bar)
            raised = self._worker.wait()
        if isinstance(raised, KeyboardInterrupt):
            raise ChatInterrupted("Interrupted.", hint=self._how_far()) from None
        if raised is not None:
            raise raised
        return self.result()

    def __repr__(self) -> str:
        """Return how far it has come."""
        of_total = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self.answered:,}{of_total} rows answered", f"{self.failed:,} failed"]
        if self.credits_left is not None:
            parts.append(f"{counted(self.credits_left, 'credit')} left")
        state = self._job.progress.waiting or "running" if self.is_running else "not running"
        return f"<map, {state}: {', '.join(parts)}; {self.path.name}>"

    def _work(self, worker: Worker[None]) -> None:
        """Run the job; where a thread waits for it, that one reads the rows."""
        tick, job = self._tick, self._job
        try:
            job.run(tick and (lambda: worker.tell(partial(job.hand_out, tick))))
        except ChatError as error:
            error.hint = " ".join(filter(None, [error.hint, self._how_far()]))
            raise
        except KeyboardInterrupt:
            # One that the rows raised: beside its caller no other comes.
            raise ChatInterrupted("Interrupted.", hint=self._how_far()) from None
        if job.is_stopped:
            raise ChatInterrupted("Stopped.", hint=self._how_far())

    def _show_in(self, bar: Any) -> None:
        if bar is not None:
            bar.n = self.answered + self.failed
            left, waiting = self.credits_left, self._job.progress.waiting
            words = [] if left is None else [f"{counted(left, 'credit')} left"]
            bar.set_postfix_str(", ".join([*words, waiting] if waiting else words), refresh=False)
            bar.refresh()

    def _how_far(self) -> str:
        lost, failed = self._job.progress.lost, self.failed
        words = f"{counted(self.answered, 'row')} answered by this run"
        words += f", {failed:,} failed" if failed else ""
        words += f", kept in {self.path.name}: the same call goes on."
        words += f" {counted(lost, 'row')} lost whose reply had come." if lost else ""
        return words


def _bar(total: int | None, *, is_watched: bool) -> AbstractContextManager[Any]:
    """Return a bar by tqdm; without tqdm, and without a person who watches, none."""
    if is_watched:
        with contextlib.suppress(ImportError):
            bar: AbstractContextManager[Any] = import_module("tqdm.auto").tqdm(
                total=total, unit="row", leave=False
            )
            return bar
    return contextlib.nullcontext()


def run(
    asker: RowAsker,
    source: object,
    *,
    workers: int,
    file: str | Path | None,
    wait: bool,
    yes: bool,
    keep: bool,
    block: bool,
) -> Any:
    """Quote a job, start it where that is agreed to, and return its result or its handle.

    Args:
        asker: makes and sends the requests.
        source: a table, a list, an iterable, or a collection in parts.
        workers: as :meth:`chatmagic.session.session.Session.map` has it, as all that follow.
        file: the job's file; ``None`` is one in the working folder.
        wait: whether a limit that was reached is waited for.
        yes: whether it starts without a question.
        keep: whether the result is kept in memory.
        block: whether it is waited for.

    Raises:
        ChatError: something cannot be sent, the job was not agreed to, or it ended early.
        ChatInterrupted: a person stopped it.
    """
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"workers is a number from 1 to {MOST_WORKERS}. Nothing was sent.")
    rows, environment, replayed = Rows(source), asker.environment, asker.replayed
    refuse_taken(source, parsed=asker.is_parsed)
    path = Path(file or f"map-{asker.job[:12]}.jsonl").expanduser().absolute()
    kept = JobFile(path, replays=replayed is not None)
    handle: MapHandle | None = None
    try:
        tasks = Tasks(rows, asker.compose, asker.address, kept.open(), keeps=keep)
        if replayed is None:
            asker.ledger.budgets()  # one that cannot be read is told before anything is sent
            if not yes and tasks.listed != []:
                _agree(quote(tasks, asker))
        asked = tasks if replayed is None else _refused(tasks, replayed.config.name)
        job = Job(asked, kept, asker, workers=workers, waits=wait)
        if kept.unread:
            what = counted(kept.unread, "line")
            notify(environment, f"{what} of {path.name} cannot be read: that row is asked again.")
        handle = MapHandle(job, tasks, lambda: _result(tasks, asker, job))
        if block:
            return handle.run(is_watched=environment.is_watched())
        handle.start()
        return handle  # noqa: TRY300 - an interrupt here leaves the file to the job
    except KeyboardInterrupt:
        if handle is not None:
            raise
        raise ChatInterrupted("Interrupted before the map started. Nothing was sent.") from None
    finally:
        # Again, for an interrupt anywhere; the job itself closes it otherwise.
        if handle is None or not handle.is_running:
            kept.close()
        asker.ledger.tell()


def _result(tasks: Tasks, asker: RowAsker, job: Job) -> Any:
    """Return the rows of a job that has ended, with their replies; say how many failed."""
    total, failed, path = tasks.total, job.progress.failed, tasks.file.path
    if failed:
        where = "column error" if is_table(tasks.rows.source) else "error of each"
        where = where if tasks.keeps else f"error in {path.name}"
        words = f"{total - failed:,} of {total:,} answered, {failed:,} failed: {where}."
        notify(asker.environment, words)
    if not tasks.keeps:
        return path
    replies = [_with_value(reply, asker) for reply in tasks.file.replies(tasks.keys)]
    return with_replies(tasks.rows.source, replies, parsed=asker.is_parsed)


def notify(environment: Environment, line: str) -> None:
    """Show a line to the user, which loses no reply where a warning is an error.

    Args:
        environment: shows it.
        line: the line.
    """
    with swallowed():
        environment.notify(line)


def _with_value(reply: Any, asker: RowAsker) -> Any:
    """Return a row's reply with the value of its JSON; a schema may read it otherwise by now."""
    if reply is None or reply.error is not None:
        return reply
    try:
        return replace(reply, value=asker.checked(Reply(reply.text or "")).parsed)
    except ReplyFormatError as error:
        return replace(reply, error=error.message)


def _refused(tasks: Tasks, cassette: str) -> Iterator[Task]:
    """Refuse the first row that would be sent while a cassette is replayed."""
    for task in tasks:
        raise NotRecordedError(
            f"{cassette} is replayed here, and row {task.line.row:,} has no answer in "
            f"{tasks.file.path.name}. Nothing was sent.",
            hint="A cassette holds no rows of a map; the map's own file does.",
        )
    yield from ()


def quote(tasks: Tasks, asker: RowAsker) -> str:
    """Return the rows, tokens and credits of a job, in one line.

    Args:
        tasks: the rows to ask.
        asker: sends them.
    """
    listed, to = tasks.listed, f"nswers go to {tasks.file.path.name}"
    problems = [task.problem for task in listed or () if task.problem is not None]
    if listed is None:
        words = f"The rows are read as they are needed, so how many there are is not known. A{to}."
        each = _credits(asker.meter, 1)
        words += "" if each is None else f" A request took {each} lately."
    else:
        sent = [task.request for task in listed if task.problem is None]
        failed = f" ({tasks.failed:,} of them failed before and come first)" if tasks.failed else ""
        rows = counted(tasks.rows.count or 0, "row")
        words = f"{rows}, {len(sent):,} to ask{failed}; a{to}. {_size(sent, asker)}."
    credits = asker.credits
    if credits is not None and credits.remaining is not None:
        words += f" {counted(credits.remaining, 'credit')} left; others may share them."
    if problems:
        words += f" {counted(len(problems), 'row')} will not be sent: {problems[0].message}"
    return words


def _size(sent: Sequence[Request], asker: RowAsker) -> str:
    """Return the length of prompts, and about how many credits they take."""
    characters = sum(len(message.content) for request in sent for message in request.messages)
    rate, credits = asker.ledger.token_rate, _credits(asker.meter, len(sent))
    size = f"{counted(characters, 'character')} of prompts"
    if rate is not None:
        size = f"About {counted(rate.tokens_of(characters), 'token')} of prompts"
    if credits is None:
        return f"{size}; what they take in credits is not known before the first answers"
    return f"{size} and {credits}, as requests took lately"


def _credits(meter: Meter, count: int) -> str | None:
    """Return the range of credits that so many requests take; ``None`` is unknown."""
    if meter.dearest is None:
        return None
    low, high = min(meter.costs) * count, meter.dearest * count
    return counted(high, "credit") if low == high else f"{low:,} to {counted(high, 'credit')}"


def _agree(quote: str) -> None:
    """Ask the person whether to start.

    Raises:
        InputError: the answer is no, or nobody is there to answer.
    """
    try:
        answer = input(f"{quote}\nAsk them? [y/N] ")
    except (EOFError, NotImplementedError, OSError):
        # No input is allowed here, as in a notebook that a program runs.
        raise InputError(
            f"A map asks before it starts, and nobody can answer here: {quote} Nothing was sent.",
            hint="yes=True starts it without a question.",
        ) from None
    if answer.strip().lower() not in {"y", "yes"}:
        raise InputError("The map was not started. Nothing was sent.")
