"""Many prompts of one template: estimated, asked beside the conversation, kept in a file.

One thread reads the rows and hands each to an idle thread, which sends it and stores the reply.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from chatmagic._fork import Lock
from chatmagic._json import digest, shared_fields
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import Place, sentences
from chatmagic.batch.job_file import JobFile, RowReply, replay_key
from chatmagic.batch.rows import Rows, is_table, refuse_taken, with_replies
from chatmagic.cassette.cassette import AnswerSource
from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.conversation import template
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    InputError,
    NotRecordedError,
    RateLimitError,
    ReplyFormatError,
    shown_at,
)
from chatmagic.models import BodyFacts, Credits, Reply
from chatmagic.protocol.secret_scanner import secret_in, secret_variables
from chatmagic.protocol.url import EMULATOR
from chatmagic.protocol.wire import Request
from chatmagic.safe_text import counted, one_line
from chatmagic.session import forms
from chatmagic.session.environment import ClientPool, Environment, setup_for
from chatmagic.session.events import Ask
from chatmagic.session.exchange import Link, Sending, exchange
from chatmagic.session.habits import Habits
from chatmagic.session.key_note import KeyNote
from chatmagic.session.ledger import Ledger, Meter, service_of
from chatmagic.session.worker import Worker

MOST_WORKERS: Final = 32
NAP: Final = 0.1
"""Seconds between two checks of the state."""
SHORT: Final = 60.0
"""Seconds: the longest wait for the end of a limit without ``wait=True``."""
MOST_FAILURES: Final = 10
"""Number of failed rows in succession that ends the map."""

_ENDING: Final = (AuthenticationError, BudgetError, ConnectError, NotRecordedError)
"""Errors that all other rows would have, too, and before which nothing was sent."""


class RowAsker:
    """Requests of a job's rows, each made of one template and sent through the ledger.

    Args:
        environment: the source of the endpoint.
        ledger: the ledger of the requests.
        habits: what each address takes.
        clients: the session's clients.
        ask: the options of each question, with the template as prompt.
        columns: whether the fields of the schema get columns of their own.

    Raises:
        ChatError: the template or an option cannot be used, or nothing is connected.
    """

    fields: tuple[str, ...] = ()
    """The fields of the values that get columns of their own."""

    def __init__(
        self,
        environment: Environment,
        ledger: Ledger,
        habits: Habits,
        clients: ClientPool,
        ask: Ask,
        *,
        columns: bool = False,
    ) -> None:
        """Read the schema; send nothing yet."""
        self.replayed = cassette = environment.replayed()
        """The replayed cassette, with which nothing is sent; ``None`` for none."""
        source: AnswerSource = "service" if cassette is None else "cassette"
        self._client = clients.client(source, lambda: setup_for(source, environment, cassette))
        ask.refuse_empty()
        value, _, schema = forms.asked_for(ask, (), (), environment.named)
        if columns:
            self.fields = () if schema is None else tuple(schema.document.get("properties", ()))
            if not self.fields or not {"reply", "error"}.isdisjoint(self.fields):
                message = "columns=True takes the fields of a schema, none of them reply or error."
                raise InputError(f"{message} Nothing was sent.")
        self.environment = environment
        self.place: Place = environment.place if clients.given is None else "python"
        """The place whose words the map's errors have."""
        self.ledger = ledger
        self._ask = replace(ask, form=schema)
        self._cell = environment.cell()[0]
        self._front = [] if value is None else [value]
        self._links: list[Link] = [KeyNote(environment.notify), ledger, habits]
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
        """Digest that names the file of a job without one; it is the same for any service."""
        return digest([self._ask.prompt, [v.text for v in self._front], self._ask.parameters])

    def compose(self, number: int, row: Mapping[str, Any]) -> tuple[Request, str | None]:
        """Return a row's request, and the reason not to send it; ``None`` if there is none.

        Args:
            number: the row's place, from 0.
            row: its values by name.

        Raises:
            InputError: the template does not fit the row.
        """
        try:
            prompt, missing = template.fill_row(self._ask.prompt, row)
            ask = replace(self._ask, prompt=template.in_front(self._front, prompt))
            request = ask.request((), self._extra)
        except ValueError as error:
            why = error.message if isinstance(error, InputError) else f"{error}. Nothing was sent."
            raise InputError(
                f"Row {number:,}: {why}", hint=getattr(error, "advice", None)
            ) from None
        return request, self._problem(number, prompt, missing)

    def _problem(self, number: int, prompt: str, missing: str | None) -> str | None:
        """Return the reason not to send a row's prompt; ``None`` if there is none."""
        if missing is not None:
            return (
                f"Row {number:,} has no value for {{{{ {one_line(missing)} }}}}, so it is not "
                "sent: fill the value in, or leave the row out."
            )
        if not prompt.strip():
            return f"Row {number:,} makes an empty prompt, which is not sent."
        if self._ask.allow_secrets or (secret := secret_in(prompt, self._variables)) is None:
            return None
        return f"Row {number:,} holds {secret}, so it is not sent: allow_secrets=True sends it."

    def checked(self, reply: Reply) -> Reply:
        """Return a reply with the value of its JSON, if JSON was asked for.

        Args:
            reply: a whole reply.

        Raises:
            ReplyFormatError: the reply is no JSON, or has another form; the error holds it.
        """
        return forms.parsed(reply, self._ask.form, kept=False) if self.is_parsed else reply

    # --- Sending -------------------------------------------------------------------------------

    def connect(self) -> AbstractContextManager[Client]:
        """Return a client for one thread; threads share a user's own transport."""
        return self._client.twin() or contextlib.nullcontext(self._client)

    def ask(self, client: Client, request: Request, halt: Halt) -> Reply:
        """Send a request, and return the whole reply.

        Args:
            client: a client of :meth:`connect`.
            request: the row's request.
            halt: stops it from another thread.

        Raises:
            ChatError: the request exceeds a budget, or ended early.
            ChatInterrupted: it was stopped.
        """
        sending = Sending(
            client, request, request.digest(), "map", self._cell, halt=halt, question=self._ask
        )
        answer = exchange(sending, self._links)
        self.ledger.note_tokens(request, answer.reply)
        return self.checked(answer.whole())

    @property
    def address(self) -> str | None:
        """The address that is part of each row's key; ``None`` if nothing is sent."""
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

    @property
    def credits(self) -> Credits | None:
        """The latest figures of the credits, from any request."""
        figures = self.ledger.figures(self._client.endpoint)
        return None if figures is None else figures.credits


Task = tuple[RowReply, Request]
"""A row to ask: the known part of its line in the file, with an error if it is not sent."""


class Job:
    """Map under way, which is also its handle in the background.

    Args:
        asker: makes and sends the requests.
        rows: all rows.
        file: keeps the reply to each row, or its error.
        workers: largest number of requests under way.
        waits: whether the job waits for limits longer than a minute, too.
        keeps: whether the keys of all rows are kept for the result. Otherwise the file gets a line
            of this call even for a row that another call answered.

    Raises:
        InputError: the template does not fit a row in memory.
        NotRecordedError: a cassette is replayed, and the file has no answer to a row in memory.
    """

    def __init__(
        self,
        asker: RowAsker,
        rows: Rows,
        file: JobFile,
        *,
        workers: int,
        waits: bool = False,
        keeps: bool = True,
    ) -> None:
        """Make the requests of all rows in memory, so that a mistake in the last costs nothing."""
        self.asker, self.rows, self.file = asker, rows, file
        self.path = file.path
        """The job's file."""
        self.answered = self.failed = self.lost = 0
        """Number of answered rows, of failed rows, and of lost replies in this run."""
        self.waiting = ""
        """Time until which no request is sent, in words; empty if requests are sent."""
        self.keys: list[str] = []
        """The keys of the rows that were read, in their order."""
        self.tasks: list[Task] | None = None
        """The rows to ask; ``None`` if they are read as they are needed."""
        self.error: BaseException | None = None
        """The error that ended it before its last row."""
        self.is_stopped = False
        """Whether no more rows are begun."""
        self._workers, self._waits, self._keeps = workers, waits, keeps
        self._paused_until = 0.0
        self._read_rows = self._sending = self._sent = self._failures = 0
        self._given = queue.SimpleQueue["Task | None"]()
        self._idle = queue.SimpleQueue[None]()
        self._halts: set[Halt] = set()
        self._is_interrupted = self._is_cut = False
        self._lock = Lock()
        self._bar: Any = None
        self._is_awaited = False
        self._worker = Worker(self._work, self.interrupt, daemon=False)
        if rows.count is not None:
            self.tasks = [*self._read()]

    @property
    def total(self) -> int | None:
        """Number of rows to ask; ``None`` if unknown."""
        return None if self.tasks is None else len(self.tasks)

    @property
    def credits_left(self) -> int | None:
        """Credits left by the latest answer; ``None`` is unknown."""
        credits = self.asker.credits
        return None if credits is None else credits.remaining

    @property
    def is_running(self) -> bool:
        """Whether rows are being asked."""
        return self._worker.is_running

    def start(self) -> None:
        """Run beside the caller.

        Raises:
            KeyboardInterrupt: an interrupt arrived during the start; no row is asked.
        """
        try:
            self._worker.start()
        except BaseException:
            self._worker.cancel()
            raise

    def run(self, *, is_watched: bool) -> Any:
        """Run the job, wait for its end, and return the result.

        The rows are read in this thread. An interrupt begins no more rows and waits for those under
        way. A second one cuts these off, and the text so far is stored. After a third one nothing
        is awaited.

        Args:
            is_watched: whether a person sees printed text, and so a bar.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: a person stopped it.
        """
        self._is_awaited = True
        with _bar(self.total, is_watched=is_watched) as self._bar:
            raised = self._worker.wait()
        if isinstance(raised, KeyboardInterrupt):
            raise ChatInterrupted("Interrupted.", hint=self._progress()) from None
        if raised is not None:
            raise raised
        return self.result()

    def result(self) -> Any:
        """Wait for the end, report the number of failed rows, and return the map's result.

        Raises:
            ChatError: the error that ended it before the last row.
            ChatInterrupted: the map was stopped, or only this wait was.
        """
        try:
            while self.is_running:
                time.sleep(NAP)
        except KeyboardInterrupt:
            raise ChatInterrupted(
                "Interrupted while waiting: the map goes on.", hint="stop() ends it."
            ) from None
        self._worker.result  # noqa: B018 - raises the error that ended it
        asker, source, total = self.asker, self.rows.source, self._read_rows
        if self.failed:
            where = "column error" if is_table(source) else "error of each"
            where = where if self._keeps else f"error in {self.path.name}"
            words = f"{total - self.failed:,} of {total:,} answered, {self.failed:,} failed: "
            notify(asker.environment, f"{words}{where}.")
        if not self._keeps:
            return self.path
        replies = [_with_value(reply, asker) for reply in self.file.replies(self.keys)]
        return with_replies(source, replies, parsed=asker.is_parsed, fields=asker.fields)

    def stop(self) -> None:
        """Begin no more rows. Those under way continue to their end."""
        self.is_stopped = True
        self._given.put(None)

    def interrupt(self) -> None:
        """Begin no more rows; at the second call, cut off those under way."""
        self._is_cut, self._is_interrupted = self._is_interrupted, True
        self.stop()
        if self._is_cut:
            for halt in tuple(self._halts):
                halt.stop()

    def __repr__(self) -> str:
        """Return the state of the job and its numbers."""
        of_total = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self.answered:,}{of_total} rows answered", f"{self.failed:,} failed"]
        if self.credits_left is not None:
            parts.append(f"{counted(self.credits_left, 'credit')} left")
        state = self.waiting or "running" if self.is_running else "not running"
        return f"<map, {state}: {', '.join(parts)}; {self.path.name}>"

    def _progress(self) -> str:
        words = f"{counted(self.answered, 'row')} answered by this run"
        words += f", {self.failed:,} failed" if self.failed else ""
        words += f", kept in {self.path.name}: the same call goes on."
        words += f" {counted(self.lost, 'row')} lost whose reply had come." if self.lost else ""
        return words

    # --- Its rows ------------------------------------------------------------------------------

    def _read(self) -> Iterator[Task]:
        """Yield the rows without an answer in the file, in their order."""
        asker, file, address = self.asker, self.file, self.asker.address
        seen: Counter[str] = Counter()
        call: str | None = None
        for number, row in enumerate(self.rows):
            request, problem = asker.compose(number, row)
            known = request.digest()
            seen[known] += 1
            occurrence = seen[known]
            if address is None:
                key = replay_key(known, occurrence)
            else:
                key = digest([address, json.loads(request.encode()), occurrence])
            self._read_rows = number + 1
            call = call or key[:16]
            if self._keeps:
                self.keys.append(key)
            if not file.is_answered(key):
                if asker.replayed is not None:
                    raise NotRecordedError(
                        f"{asker.replayed.name} is replayed here, and row {number:,} has no "
                        f"answer in {self.path.name}. Nothing was sent.",
                        hint="A cassette holds no rows of a map; the map's own file does.",
                    )
                facts: dict[str, Any] = {"request": known, "occurrence": occurrence, "call": call}
                yield RowReply(row=number, key=key, error=problem, **facts), request
            elif not self._keeps and address is not None:
                file.copy(key, number, call)

    def _work(self, worker: Worker[None]) -> None:
        """Ask all rows, and wait for the last one; then close the file.

        If a thread waits for the worker, that thread reads the rows.
        """
        # Rows under way end before the interpreter exits.
        threads = [
            threading.Thread(target=self._ask_rows, name="chatmagic-map", daemon=False)
            for _ in range(self._workers)
        ]
        try:
            for thread in threads:
                thread.start()
            if self._is_awaited:
                worker.tell(self._hand_out)
            else:
                self._hand_out()
        except BaseException as problem:  # noqa: BLE001 - it is raised below
            log_swallowed(problem)
            self._end(problem)
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        self.file.close()
        error = self.error
        if isinstance(error, ChatError):
            error.advice = sentences(error.advice, self._progress())
        elif isinstance(error, KeyboardInterrupt) or (error is None and self.is_stopped):
            # An interrupt here comes from the user's rows, as the caller's thread gets all others.
            how = "Stopped." if error is None else "Interrupted."
            error = ChatInterrupted(how, hint=self._progress())
        if error is not None:
            with shown_at(self.asker.place):
                raise error from None

    def _hand_out(self) -> None:
        """Hand each row to an idle thread, and wait until all rows are done."""
        try:
            for task in self._read() if self.tasks is None else self.tasks:
                if not self._has_idle_thread():
                    return
                self._given.put(task)
            if all(self._has_idle_thread() for _ in range(self._workers)):
                self._show()
                self._given.put(None)
        except Exception as error:  # noqa: BLE001 - `_work` raises it
            log_swallowed(error)
            self._end(error)

    def _has_idle_thread(self) -> bool:
        """Wait for an idle thread; return whether its next row may begin."""
        while not self.is_stopped:
            self._show()
            with contextlib.suppress(queue.Empty):
                self._idle.get(timeout=NAP)
                return True
        return False

    def _show(self) -> None:
        """Show the progress in the bar."""
        if (bar := self._bar) is not None:
            bar.n = self.answered + self.failed
            left = self.credits_left
            words = [] if left is None else [f"{counted(left, 'credit')} left"]
            words += [self.waiting] if self.waiting else []
            bar.set_postfix_str(", ".join(words), refresh=False)
            bar.refresh()

    # --- Its threads ---------------------------------------------------------------------------

    def _ask_rows(self) -> None:
        """Ask rows until there are no more, with a client for this thread alone."""
        try:
            with self.asker.connect() as client:
                self._idle.put(None)
                while (task := self._given.get()) is not None:
                    line, request = task
                    if line.error is None:
                        self._ask(client, line, request)
                    else:
                        self._keep(line)
                    self._idle.put(None)
        except BaseException as error:  # noqa: BLE001 - `_work` raises it
            log_swallowed(error)
            self._end(error)
        self._given.put(None)

    def _ask(self, client: Client, line: RowReply, request: Request) -> None:
        """Send one row's request, and store its reply or its error.

        It is sent once. A request that was refused for a limit is sent again after the time that
        the refusal names, as long as other rows are answered meanwhile. While others are only being
        sent, it is sent again ten times.
        """
        at_refusal, refusals = -1, 0  # number of the answered rows; of the refusals since
        while self._may_send():
            before = self._sent
            reply, problem = self._send(client, request)
            is_limited = isinstance(problem, RateLimitError) and reply is None
            if isinstance(problem, BudgetError) and (self._sending or self._sent > before):
                # Until the cost of a request is known, a single request may reserve all that is
                # left.
                time.sleep(NAP)
            elif (
                is_limited and refusals < MOST_FAILURES and self._is_waited_for(problem, at_refusal)
            ):
                refusals = refusals + 1 if self.answered == at_refusal else 0
                at_refusal = self.answered
            else:
                if problem is not None and (is_limited or isinstance(problem, _ENDING)):
                    self._end(problem)
                else:
                    self._keep(line, reply, problem)
                return

    def _is_waited_for(self, refusal: Any, answered: int) -> bool:
        """Let all requests wait until the time that a refusal names; return whether they do.

        Args:
            refusal: the error.
            answered: number of the answered rows at this row's previous refusal.
        """
        until = refusal.retry_after
        if until is None or not (self._sending or self.answered > answered):
            return False
        seconds = (until - datetime.now(UTC)).total_seconds()
        if seconds > SHORT and not self._waits:
            refusal.advice = sentences(refusal.advice, "wait=True waits for the reset.")
            return False
        with self._lock:
            self._paused_until = time.monotonic() + seconds
            self.waiting = f"waiting until {until:%Y-%m-%d %H:%M:%S} UTC"
        return True

    def _may_send(self) -> bool:
        """Wait until a request may be sent, with room for its reply; return whether it may."""
        while True:
            with self._lock:
                if not threading.main_thread().is_alive():
                    self._end(RuntimeError("the program has ended"))
                if self.is_stopped:
                    return False
                left = self._paused_until - time.monotonic()
                if left <= 0:
                    self.waiting = ""
                    self.file.make_room(self._sending + 1)
                    self._sending += 1
                    return True
            time.sleep(min(left, NAP))

    def _send(
        self, client: Client, request: Request
    ) -> tuple[Reply | None, ChatError | ChatInterrupted | None]:
        """Return the reply so far, and the error that ended it early."""
        halt, is_asked = Halt(), True
        self._halts.add(halt)
        if self._is_cut:
            # The interrupt came before this halt was in the list.
            halt.stop()
        try:
            return self.asker.ask(client, request, halt), None
        except (ChatError, ChatInterrupted) as error:
            is_asked = not isinstance(error, BudgetError)
            return error.reply, error
        finally:
            self._halts.discard(halt)
            with self._lock:
                self._sending -= 1
                self._sent += is_asked

    def _keep(
        self,
        line: RowReply,
        reply: Reply | None = None,
        problem: ChatError | ChatInterrupted | None = None,
    ) -> None:
        """Store a row's reply, or its error."""
        line = replace(
            line,
            service=self.asker.service,
            text=None if reply is None else reply.text,
            error=line.error if problem is None else problem.message,
            ended_at=datetime.now(UTC),
            **({} if reply is None else shared_fields(reply, BodyFacts)),
        )
        with self._lock:
            self.lost += reply is not None
            self.file.append(line)
            self.lost -= reply is not None
            if line.error is None:
                self.answered += 1
                self._failures = 0
                return
            self.failed += 1
            if problem is None or isinstance(problem, InputError | ChatInterrupted):
                return
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                ended = f"The map ended, as {MOST_FAILURES} rows in succession failed."
                problem.advice = sentences(ended, problem.advice)
                self._end(problem)

    def _end(self, error: BaseException) -> None:
        """Begin no more rows because of an error; the first error counts."""
        with self._lock:
            self.error = self.error or error
        self.stop()


def _bar(total: int | None, *, is_watched: bool) -> AbstractContextManager[Any]:
    """Return a bar of tqdm; no bar without tqdm, or if nobody watches."""
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
    """Show an estimate, start the job if the user agrees, and return its result or its handle.

    Args:
        asker: makes and sends the requests.
        source: a table, a list, an iterable, or a collection in parts.
        workers: as for :meth:`chatmagic.session.session.Session.map`, like all that follow.
        file: the job's file; ``None`` is one in the working folder.
        wait: whether the job waits for the end of a limit.
        yes: whether the job starts without a question.
        keep: whether the result is kept in memory.
        block: whether to wait for the end.

    Raises:
        ChatError: a row cannot be sent, the user did not agree, or the job ended early.
        ChatInterrupted: a person stopped it.
    """
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"workers is a number from 1 to {MOST_WORKERS}. Nothing was sent.")
    rows, environment, is_replay = Rows(source), asker.environment, asker.replayed is not None
    refuse_taken(source, parsed=asker.is_parsed, fields=asker.fields)
    path = Path(file or f"map-{asker.job[:12]}.jsonl").expanduser().absolute()
    kept = JobFile(path, replays=is_replay)
    job: Job | None = None
    try:
        job = Job(asker, rows, kept.open(), workers=workers, waits=wait, keeps=keep)
        if not is_replay:
            asker.ledger.budgets()  # raises for a wrong one before anything is sent
            if not yes and job.tasks != []:
                _agree(quote(job))
        if kept.unread:
            lines = counted(kept.unread, "line")
            notify(environment, f"{lines} of {path.name} unreadable; such rows are asked again.")
        if block:
            return job.run(is_watched=environment.is_watched())
        job.start()
        return job
    finally:
        # For an interrupt anywhere; otherwise the job closes the file itself.
        if job is None or not job.is_running:
            kept.close()
        asker.ledger.tell()


def notify(environment: Environment, line: str) -> None:
    """Show a line to the user; if warnings are errors, no reply is lost.

    Args:
        environment: the environment that shows it.
        line: the line.
    """
    with swallowed():
        environment.notify(line)


def _with_value(reply: Any, asker: RowAsker) -> Any:
    """Return a row's reply with its value; a changed schema may no longer accept the reply."""
    if reply is None or reply.error is not None:
        return reply
    try:
        return replace(reply, value=asker.checked(Reply(reply.text or "")).parsed)
    except ReplyFormatError as error:
        return replace(reply, error=error.message)


def quote(job: Job) -> str:
    """Return the rows, tokens and credits of a job, in one line.

    Args:
        job: the job, before it starts.
    """
    asker, tasks, to = job.asker, job.tasks, f"answers go to {job.path.name}"
    words = f"The rows are read as they are needed, so their number is not known; {to}."
    sent = [request for line, request in tasks or () if line.error is None]
    if tasks is not None:
        characters = sum(len(message.content) for request in sent for message in request.messages)
        rate, cost = asker.ledger.token_rate, asker.meter.about(len(sent))
        size = f"{counted(characters, 'character')} of prompts"
        if rate is not None:
            size = f"About {counted(round(rate * characters), 'token')} of prompts"
        takes = "; their cost in credits is not known before the first answers"
        if asker.meter.answers and not asker.meter.latest:
            takes = ""  # the answers tell no credits
        if cost is not None:
            takes = f" and {counted(cost, 'credit')}, as requests took lately"
        rows = counted(job.rows.count or 0, "row")
        words = f"{rows}, {len(sent):,} to ask; {to}. {size}{takes}."
    credits = asker.credits
    if credits is not None and credits.remaining is not None:
        words += f" {counted(credits.remaining, 'credit')} left; others may share them."
    if problems := [line.error for line, _ in tasks or () if line.error is not None]:
        words += f" {counted(len(problems), 'row')} will not be sent: {problems[0]}"
    return words


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
