"""Function of a table that asks one prompt for each row, for any engine that calls functions.

It can be pickled, and holds no key: address and key are those of the process that runs it. The
answers are in a folder. Each task, which is the set of rows of one call, has a file of its own
there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from chatmagic._fork import Lock
from chatmagic._version import __version__
from chatmagic.archive import table
from chatmagic.client.config import MODE_VARIABLE
from chatmagic.conversation.question import Format
from chatmagic.errors import InputError, shown_at
from chatmagic.protocol.url import EMULATOR, request_url
from chatmagic.safe_text import counted, one_line
from chatmagic.session import forms
from chatmagic.session.ask import Ask
from chatmagic.session.current import current_session
from chatmagic.session.features import replayed_file
from chatmagic.session.map.map import MapOptions, quote
from chatmagic.session.map.mapper_task import MapperTask
from chatmagic.session.map.pace import SHORT
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import RowTemplate
from chatmagic.session.map.rows import Rows, are_columns, is_lazy, is_table
from chatmagic.session.map.shared_files import (
    FolderPause,
    files_in,
    latest_reply,
    replies_in,
)
from chatmagic.session.map.typed_columns import TypedColumns
from chatmagic.session.session import Session
from chatmagic.session.source import AnswerFile

_TableT = TypeVar("_TableT")
_INVENTING: Final = frozenset({"emulate", "_emulate"})
"""Functions of Dask that call another one with an invented table, to learn the columns."""
_MOST_INVENTED: Final = 2
"""Largest number of rows that Dask invents (``meta_nonempty``, tried with Dask 2026.8)."""
_RUNNING_TASKS: Final = frozenset(
    {
        "dask._task_spec",
        "dask.core",
        "dask.local",
        "distributed.worker",
        "ray.util.dask.scheduler",
    }
)
"""Modules that call the tasks of a graph of Dask, here, on a cluster and on Ray's."""

_connecting = Lock()


@dataclass(frozen=True, slots=True)
class _Fields:
    """Settings of a mapper's requests, wherever it runs.

    Args:
        extra_body: the fields of every request beside the interface's own, such as the model.
        system_role: whether instructions are a message of the role ``system``.
    """

    extra_body: Mapping[str, Any]
    system_role: bool = False


class Answers(list[RowReply]):
    """Replies in a folder, one for each request, those that ended first in front."""

    def to_dataframe(self) -> Any:
        """Return the replies as a pandas DataFrame, a row each.

        Raises:
            ImportError: pandas is not installed.
        """
        return table.dataframe(RowReply, self)


@dataclass(frozen=True, eq=False, repr=False)
class Mapper:
    """Function of a table that returns it with a reply for each row.

    Args:
        ask: the options of each question, with the template as prompt, and without the schema.
        folder: the folder of the answers.
        options: the options of a call.
        schema: the schema, as it was given.
        columns: whether each field of the schema is a column.
        column: name of the column of replies.
        fields: the settings of the requests.
        address: the address of the process that made it; ``None`` if it replayed.
        version: release of chatmagic that made it.
    """

    ask: Ask
    folder: Path
    options: MapOptions
    schema: object
    columns: bool
    column: str | None
    fields: _Fields
    address: str | None
    version: str = __version__

    __name__ = "mapper"
    """Name of a task in engines; without it, Dask takes ``repr``, which reads the whole folder."""

    def __call__(self, frame: _TableT) -> _TableT:
        """Return a table with a reply for each row; only rows without an answer are asked.

        Args:
            frame: a table of pandas, polars or pyarrow, or a mapping of columns; of Dask's tables
                and polars' lazy ones the result is one that asks when it is computed.

        Raises:
            InputError: it is no table, or another release or address is used here.
            NotRecordedError: a cassette is replayed, and the folder lacks an answer.
            ChatError: an error that ends the other rows, too; what was answered is in the folder.
            ChatInterrupted: a person stopped it; what was answered is in the folder.
        """
        if is_lazy(frame):
            return self._lazily(frame)  # type: ignore[no-any-return]
        session = current_session()
        with shown_at(session.place):
            rows = _rows_of(frame)
            template = self._template(session)
            template.columns.refuse_taken(frame)
            typed = TypedColumns(template.columns, template.ask.form)
            if not rows:
                return typed.added_to(frame, [])  # type: ignore[no-any-return]
            if len(rows) <= _MOST_INVENTED and _is_invented():
                return typed.added_to(frame, [_NO_REPLY] * len(rows))  # type: ignore[no-any-return]
            task = self._task(rows, template, session)
            replies = task.replies()
            return typed.added_to(frame, [replies[place] for place in task.places])  # type: ignore[no-any-return]

    def _lazily(self, frame: Any) -> Any:
        """Return a table that asks when it is computed, of Dask or polars; nothing is sent.

        Args:
            frame: a table that is computed part by part.

        Raises:
            InputError: it is computed in another way.
        """
        if hasattr(type(frame), "map_partitions"):  # of Dask
            return frame.map_partitions(self, meta=self(frame._meta))  # noqa: SLF001 - its documented empty table
        if hasattr(type(frame), "collect_schema"):  # of polars
            empty = import_module("polars").DataFrame(schema=frame.collect_schema())
            # A later condition may be one on the replies, and a later choice of columns may lack
            # one that the template needs.
            return frame.map_batches(
                self,
                predicate_pushdown=False,
                projection_pushdown=False,
                slice_pushdown=False,
                schema=self(empty).schema,
            )
        raise _no_table(frame)

    def quote(self, frame: object) -> str:
        """Return the rows, tokens and credits that a call would take, in one line; send nothing.

        Args:
            frame: the table.

        Raises:
            InputError: as for a call.
        """
        session = current_session()
        with shown_at(session.place):
            rows = _rows_of(frame)
            template = self._template(session)
            return quote(self._task(rows, template, session).job_to_quote())

    def answers(self) -> Answers:
        """Return the replies in the folder: of each request the last line, or the last answer.

        Raises:
            ChatError: a file was removed meanwhile.
        """
        files = files_in(self.folder)
        keys = {key for file in files for key in file.index.keys}
        replies = [reply for reply in replies_in(files, list(keys)) if reply is not None]
        return Answers(sorted(replies, key=lambda reply: str(reply.ended_at)))

    def __repr__(self) -> str:
        """Return the folder with the numbers of its answers and failures, and the credits."""
        files = files_in(self.folder)
        indexes = [file.index for file in files]
        answered = {key for index in indexes for key in index.keys if index.is_answered(key)}
        failed = {key for index in indexes for key in index.keys} - answered
        parts = [f"{len(answered):,} answered", f"{len(failed):,} failed"]
        latest = latest_reply(files)
        if latest is not None and latest.credits_left is not None:
            parts.append(f"{counted(latest.credits_left, 'credit')} left")
        return f"<mapper of {one_line(self.folder.name)}: {', '.join(parts)}>"

    def _task(
        self, rows: list[dict[str, Any]], template: RowTemplate, session: Session
    ) -> MapperTask:
        """Return the task of a call's rows.

        Raises:
            InputError: another address is set here, or the template does not fit a row.
            ChatError: nothing is connected.
        """
        sender = self._sender(session)
        return MapperTask.of(rows, template, sender, self.folder, self.options)

    def _template(self, session: Session) -> RowTemplate:
        """Return the template of the rows.

        Raises:
            InputError: another release made this mapper, or the template cannot be used.
        """
        if self.version != __version__:
            raise InputError(
                f"This mapper was made by chatmagic {self.version}, and {__version__} runs it "
                "here. Nothing was sent.",
                hint="Install the same release everywhere, or make the mapper anew.",
            )
        ask = self.ask
        if self.schema is not None:
            name = forms.name_of(self.schema)
            ask = replace(ask, schema=name, form=forms.schema_of(self.schema, name))
        return RowTemplate(
            ask,
            session.environment,
            self.fields,
            columns=self.columns,
            column=self.column,
            repeats=self.options.repeats,
        )

    def _sender(self, session: Session) -> RowSender:
        """Return the sender of the rows.

        Raises:
            InputError: another address is set here.
            ChatError: nothing is connected.
        """
        replayed = None
        if _is_replay(session):
            replayed = AnswerFile("Folder", self.folder.name, "replay", "")
        with _connecting:
            sender = RowSender(
                session.environment,
                session.ledger,
                session.clients,
                session.features,
                replayed=replayed,
            )
        sender.pause = FolderPause(self.folder, SHORT)
        here = sender.address
        if here is not None:
            if self.address is None or _request_url(self.address) != _request_url(here):
                raise self._other_address(sender, here)
            sender.written_as = self.address  # else another spelling would ask all rows again
            sender.ledger.refuse_wrong_limits()
        return sender

    def _other_address(self, sender: RowSender, here: str) -> InputError:
        """Return the error of a process in which another address is set.

        Args:
            sender: the sender of this process.
            here: its address.
        """
        made = "while a cassette was replayed"
        if self.address is not None:
            made = f"for {sender.shown(self.address)}"
        return InputError(
            f"This mapper was made {made}: requests go to {sender.shown(here)} here. Nothing was "
            "sent.",
            hint="Set the same CHATMAGIC_BASE_URL everywhere, or make the mapper anew.",
        )


_NO_REPLY: Final = RowReply(row=0, key="0" * 64, request="0" * 64, occurrence=1)


def _rows_of(frame: object) -> list[dict[str, Any]]:
    """Return the rows of a table.

    Raises:
        InputError: it is no table in memory.
    """
    if is_table(frame) or are_columns(frame):
        return list(Rows(frame))
    raise _no_table(frame)


def _no_table(value: object) -> InputError:
    """Return the error of a value that is no table in memory."""
    kind = type(value)
    library, _, _ = kind.__module__.partition(".")
    name = kind.__name__ if library == "builtins" else f"{library}'s {kind.__name__}"
    return InputError(
        f"A mapper takes a table of pandas, polars or pyarrow, not {name}. Nothing was sent.",
        hint="An engine calls it for each part of a table. chatmagic.map(…) takes lists and other "
        "rows.",
    )


def _is_invented() -> bool:
    """Return whether Dask calls with an invented table, to learn the columns of the result.

    It does so while a user's code makes a graph, or in a function of its own. A task of a graph,
    which has real rows, is called by a scheduler or a worker.
    """
    is_of_tables = False
    frame = sys._getframe()  # noqa: SLF001 - the table itself does not tell
    while frame.f_back is not None:
        frame = frame.f_back
        module = str(frame.f_globals.get("__name__"))
        if module in _RUNNING_TASKS:
            return False
        if module.startswith(("dask.dataframe", "dask_expr")):
            is_of_tables = True
            if frame.f_code.co_name in _INVENTING:
                return True
    return is_of_tables


def mapper(
    template: str,
    folder: str | Path,
    *,
    workers: int = 4,
    repeats: int = 1,
    retries: int = 0,
    max_tokens: int | None = None,
    temperature: float | None = None,
    model: str | None = None,
    instructions: str | None = None,
    stream: bool = True,
    format: Format = "markdown",
    schema: object = None,
    column: str | None = None,
    columns: bool = False,
    allow_secrets: bool = False,
    keep_prompts: bool = False,
    wait: bool = False,
) -> Mapper:
    """Return a function that asks one prompt for each row of a table, for use by any engine.

    It can be pickled, and holds no key: each process that runs it needs the address and a key of
    its own, as ``CHATMAGIC_BASE_URL`` and ``CHATMAGIC_API_KEY``. The answers are kept in a folder,
    so that no row is asked twice, by whichever process. It starts without a question.

    Args:
        template: the prompt; ``{{ name }}`` stands for a column.
        folder: the folder of the answers, which all processes share.
        workers: largest number of requests under way of one call, up to 256.
        repeats: number of times that each row is asked.
        retries: as for :meth:`chatmagic.Session.map`.
        max_tokens: as for :meth:`chatmagic.Session.ask`.
        temperature: as for :meth:`chatmagic.Session.ask`.
        model: as for :meth:`chatmagic.Session.ask`.
        instructions: instructions of each row.
        stream: as for :meth:`chatmagic.Session.ask`.
        format: as for :meth:`chatmagic.Session.ask`.
        schema: as for :meth:`chatmagic.Session.ask`.
        column: name of the column of replies, with which the names of the others begin.
        columns: whether each field of the schema is a column of the result.
        allow_secrets: as for :meth:`chatmagic.Session.ask`.
        keep_prompts: as for :meth:`chatmagic.Session.map`.
        wait: whether a call waits for the end of any limit; otherwise it waits for a minute.

    Raises:
        InputError: the template or an option cannot be used.
        ChatError: nothing is connected.
    """
    session = current_session()
    with shown_at(session.place):
        environment = session.environment
        made = Mapper(
            Ask(
                template,
                max_tokens=max_tokens,
                temperature=temperature,
                model=model,
                instructions=instructions,
                stream=stream,
                history=False,
                format=format,
                allow_secrets=allow_secrets,
            ),
            _folder(folder),
            MapOptions(
                workers=workers,
                retries=retries,
                waits=wait,
                keep_prompts=keep_prompts,
                repeats=repeats,
                reports=False,
            ),
            schema,
            columns,
            column,
            _Fields(environment.fields()),
            None if _is_replay(session) else _address(session),
        )
        made._template(session)  # noqa: SLF001 - refuses what cannot be used
        return made


def _is_replay(session: Session) -> bool:
    """Return whether the folder alone answers: a cassette is replayed, or the mode says so.

    Raises:
        InputError: the settings contradict each other.
    """
    mode = os.environ.get(MODE_VARIABLE, "").strip().lower()
    return mode == "replay" or replayed_file(session.environment) is not None


def _address(session: Session) -> str:
    """Return the address of requests, as it is part of their keys."""
    endpoint = session.environment.address()
    return EMULATOR if endpoint.base_url == EMULATOR else endpoint.base_url


def _request_url(address: str) -> str:
    """Return the address that requests are posted to, in whichever spelling it was set."""
    return address if address == EMULATOR else request_url(address)


def _folder(folder: str | Path) -> Path:
    """Return the folder of a mapper.

    Raises:
        InputError: it is an address.
    """
    if "://" in str(folder):
        raise InputError(
            f"{one_line(str(folder))} is an address, not a folder. Nothing was sent.",
            hint="The answers need a folder of a file system that all processes share.",
        )
    return Path(folder).expanduser().absolute()
