"""Many prompts of one template: quoted, asked beside the conversation, kept in a file."""

from __future__ import annotations

import json
import os
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chatmagic._json import digest, shared
from chatmagic.batch import outcome
from chatmagic.batch.handle import MapHandle
from chatmagic.batch.job import Job
from chatmagic.batch.job_file import JobFile
from chatmagic.batch.quote import Quote
from chatmagic.batch.rows import Rows
from chatmagic.batch.tasks import Tasks
from chatmagic.conversation import template
from chatmagic.conversation.request_facts import Parameters
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    InputError,
    NotRecordedError,
    ReplyFormatError,
)
from chatmagic.models import Reply
from chatmagic.protocol.known_secrets import secret_in, secret_variables
from chatmagic.protocol.url import EMULATOR
from chatmagic.session import forms
from chatmagic.session.environment import setup_for
from chatmagic.session.row_asker import RowAsker
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chatmagic.batch.tasks import Task
    from chatmagic.cassette.cassette import AnswerSource, CassetteSetup
    from chatmagic.client.client import Client
    from chatmagic.protocol.wire import Request
    from chatmagic.session.events import Ask
    from chatmagic.session.state import SessionState

MOST_WORKERS: Final = 32


@dataclass(frozen=True, slots=True)
class MapOptions:
    """How many prompts are asked, as :meth:`chatmagic.session.session.Session.map` has it.

    Args:
        ask: the template as its prompt, and the options of each question.
        workers: how many requests are under way at most.
        file: the job's file; ``None`` is one in the working folder.
        wait: whether a limit that was reached is waited for.
        yes: whether it starts without a question.
        keep: whether the result is kept in memory.
        block: whether it is waited for.
    """

    ask: Ask
    _: KW_ONLY
    workers: int = 4
    file: str | Path | None = None
    wait: bool = False
    yes: bool = False
    keep: bool = True
    block: bool = True

    def __post_init__(self) -> None:
        """Refuse more threads than are sensible.

        Raises:
            InputError: there are more, or none.
        """
        workers: Any = self.workers
        if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
            raise InputError(f"workers is a number from 1 to {MOST_WORKERS}. Nothing was sent.")


class RowPrompts:
    """What makes the request of a row.

    Args:
        ask: the template as its prompt, and the options of each question.
        extra: fields that every request has beside the interface's own.
        named: gives what a name of the namespace stands for.

    Raises:
        InputError: the template or an option cannot be used.
    """

    def __init__(self, ask: Ask, extra: Mapping[str, Any], named: Any) -> None:
        """Read the schema; fill nothing yet."""
        ask.refuse_empty()
        value, _, self.schema = forms.asked_for(
            Parameters(**shared(ask, Parameters)), ask.form, (), (), named
        )
        self.ask = ask
        self._front = [] if value is None else [value]
        self._extra = extra
        self._variables = () if ask.allow_secrets else secret_variables(os.environ)
        fields = json.dumps({**extra}, ensure_ascii=False, default=str)
        for place, text in (("The template", ask.prompt), ("extra_body", fields)):
            if not ask.allow_secrets and (secret := secret_in(text, self._variables)) is not None:
                raise InputError(
                    f"{place} holds {secret}. Nothing was sent.",
                    hint="allow_secrets=True sends it.",
                )

    @property
    def is_parsed(self) -> bool:
        """Whether the replies have values beside their texts."""
        return self.ask.format == "json"

    @property
    def job(self) -> str:
        """Digest by which a job is known that names no file; a replay knows no service."""
        front = [value.text for value in self._front]
        return digest([self.ask.prompt, front, self.ask.parameters])

    def __call__(self, number: int, row: Mapping[str, Any]) -> tuple[Request, ChatError | None]:
        """Return a row's request, and why it is not to be sent.

        Args:
            number: the row's place, from 0.
            row: its values by name.

        Raises:
            InputError: the template does not go with the row.
        """
        try:
            prompt, missing = template.fill_row(self.ask.prompt, row)
            ask = replace(self.ask, prompt=template.in_front(self._front, prompt))
            request = ask.request((), self._extra)
        except ValueError as error:
            what = error.message if isinstance(error, InputError) else f"{error}. Nothing was sent."
            raise InputError(f"Row {number:,}: {what}", hint=getattr(error, "hint", None)) from None
        return request, self._problem(number, prompt, missing)

    def _problem(self, number: int, prompt: str, missing: str | None) -> InputError | None:
        if missing is not None:
            return InputError(
                f"Row {number:,} has no value for {{{{ {one_line(missing)} }}}}, so it is not "
                "sent: fill the value in, or leave the row out."
            )
        if not prompt.strip():
            return InputError(f"Row {number:,} makes an empty prompt, which is not sent.")
        if self.ask.allow_secrets or (secret := secret_in(prompt, self._variables)) is None:
            return None
        return InputError(
            f"Row {number:,} holds {secret}, so it is not sent: allow_secrets=True sends it."
        )

    def parse(self, text: str) -> Any:
        """Return what a reply in JSON holds, or the instance of the schema; else ``None``.

        Raises:
            ReplyFormatError: it is no JSON, or has another form.
        """
        return self.checked(Reply(text)).parsed if self.is_parsed else None

    def checked(self, reply: Reply) -> Reply:
        """Return a reply, once it has the form that was asked for.

        Raises:
            ReplyFormatError: it is no JSON, or has another form; it is the error's reply.
        """
        return forms.parsed(reply, self.schema, kept=False) if self.is_parsed else reply


def run(session: SessionState, source: object, options: MapOptions) -> Any:
    """Quote a job, start it where that is agreed to, and return its result or its handle.

    Args:
        session: its environment says where it is asked.
        source: a table, a list, an iterable, or a collection in parts.
        options: how the rows are asked.

    Raises:
        ChatError: something cannot be sent, the job was not agreed to, or it ended early.
        ChatInterrupted: a person stopped it.
    """
    rows, replayed = Rows(source), _replayed(session)
    client = _client(session, replayed)
    setup = (session.clients.given or client).setup
    prompts = RowPrompts(options.ask, setup.extra_body or {}, session.environment.named)
    outcome.refuse_taken(source, parsed=prompts.is_parsed)
    asker = RowAsker(session, client, prompts.checked)
    name = options.file or f"map-{prompts.job[:12]}.jsonl"
    file = JobFile(Path(name).expanduser().absolute(), replays=replayed is not None)
    address = None if replayed is not None else _address(client)
    handle: MapHandle | None = None
    try:
        tasks = Tasks(rows, prompts, address, file.open(), keeps=options.keep)
        if replayed is None:
            _agree_to(session, tasks, asker, options)
        asked = tasks if replayed is None else _refused(tasks, replayed.config.name)
        job = Job(asked, file, asker, workers=options.workers, waits=options.wait)
        handle = MapHandle(job, tasks, lambda: _result(tasks, prompts, options))
        if options.block:
            return handle.run(is_watched=session.environment.is_watched())
        handle.start()
        return handle  # noqa: TRY300 - an interrupt here leaves the file to the job
    except KeyboardInterrupt:
        if handle is not None:
            raise
        raise ChatInterrupted("Interrupted before the map started. Nothing was sent.") from None
    finally:
        # Again, for an interrupt anywhere; the job's own threads close it otherwise.
        if handle is None or not handle.is_running:
            file.close()
        session.ledger.tell()


def _agree_to(session: SessionState, tasks: Tasks, asker: RowAsker, options: MapOptions) -> None:
    """Refuse a job that is not agreed to; nothing is sent yet."""
    session.ledger.budgets()  # one that cannot be read is told before anything is sent
    if not options.yes and tasks.listed != []:
        _agree(_quote(session, asker, tasks))


def _result(tasks: Tasks, prompts: RowPrompts, options: MapOptions) -> Any:
    """Return what a job returns that has ended."""
    if not options.keep:
        return tasks.file.path
    replies = [_with_value(reply, prompts) for reply in tasks.file.replies(tasks.keys)]
    return outcome.of(tasks.rows.source, replies, parsed=prompts.is_parsed)


def _replayed(session: SessionState) -> CassetteSetup | None:
    """Return the cassette that is replayed, so that nothing is sent; ``None`` for none."""
    cassette = session.environment.cassette()
    return cassette if cassette is not None and cassette.config.mode == "replay" else None


def _client(session: SessionState, replayed: CassetteSetup | None) -> Client:
    """Return the session's client for what answers; a replay needs neither address nor key."""
    source: AnswerSource = "service" if replayed is None else "cassette"
    return session.clients.client(source, lambda: setup_for(source, session.environment, replayed))


def _address(client: Client) -> str:
    """Return the address that is part of each row's key."""
    return EMULATOR if client.endpoint.is_emulator else client.endpoint.base_url


def _refused(tasks: Tasks, cassette: str) -> Iterator[Task]:
    """Refuse the first row that would be sent while a cassette is replayed."""
    for task in tasks:
        raise NotRecordedError(
            f"{cassette} is replayed here, and row {task.row:,} has no answer in "
            f"{tasks.file.path.name}. Nothing was sent.",
            hint="A cassette holds no rows of a map; the map's own file does.",
        )
    yield from ()


def _quote(session: SessionState, asker: RowAsker, tasks: Tasks) -> Quote:
    """Return what a job will ask."""
    listed, rate = tasks.listed or [], session.token_rate
    problems = [task.problem for task in listed if task.problem is not None]
    sent = [task.request for task in listed if task.problem is None]
    characters = sum(len(message.content) for request in sent for message in request.messages)
    cheapest, dearest = asker.costs()
    credits = asker.credits
    return Quote(
        file=tasks.file.path.name,
        rows=tasks.rows.count,
        to_ask=len(listed),
        failed=tasks.failed,
        unsent=len(problems),
        problem=problems[0].message if problems else "",
        characters=characters,
        tokens=None if rate is None else rate.tokens_of(characters),
        cheapest=cheapest,
        dearest=dearest,
        left=None if credits is None else credits.remaining,
    )


def _agree(quote: Quote) -> None:
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


def _with_value(reply: Any, prompts: RowPrompts) -> Any:
    """Return a row's reply with the value of its JSON; a schema may read it otherwise by now."""
    if reply is None or reply.error is not None:
        return reply
    try:
        return replace(reply, value=prompts.parse(reply.text or ""))
    except ReplyFormatError as error:
        return replace(reply, error=error.message)
