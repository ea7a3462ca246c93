"""One conversation with one service: ask, stream, store the turn, account for it.

Python, the magics and the panel all ask by :meth:`Session.run`, one ask at a time in each thread of
the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, Unpack, overload

from chatmagic._fork import Lock
from chatmagic._log import swallowed
from chatmagic.advice import Note, Place
from chatmagic.archive import table
from chatmagic.client.client import Client
from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.client.endpoint import Endpoint
from chatmagic.client.halt import Halt
from chatmagic.client.listed_models import ModelList
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Format
from chatmagic.conversation.steering import instructed
from chatmagic.conversation.window import QuestionPlace
from chatmagic.errors import (
    shown_at,
)
from chatmagic.models import Credits, Reply
from chatmagic.other_tools import SESSION, missing_name
from chatmagic.session import forms
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.ask_lock import AskLock
from chatmagic.session.ask_run import AskRun
from chatmagic.session.asker import Asker, Preview
from chatmagic.session.changes import CHANGE, Changes
from chatmagic.session.client_pool import ClientPool
from chatmagic.session.coroutine import awaitable
from chatmagic.session.environment import Environment
from chatmagic.session.events import Followers
from chatmagic.session.feature import Feature
from chatmagic.session.features import features_of, new_ledger, replayed_file
from chatmagic.session.map.job import Job
from chatmagic.session.map.map import (
    Column,
    MapArguments,
    MapOptions,
    Table,
)
from chatmagic.session.map.map import run as run_map
from chatmagic.session.map.results import Replies
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import RowTemplate
from chatmagic.session.model_list import listed_models
from chatmagic.session.other_arguments import refuses_other_options
from chatmagic.session.views import Listener, View

_RowsT = TypeVar("_RowsT", bound=Table | Column | Mapping[str, Any])

if TYPE_CHECKING:
    import typing_extensions

    _FeatureT = TypeVar("_FeatureT", bound=Feature)

    # With a default, as from Python 3.13 on: without a schema it means ``Reply[Any]``.
    _Parsed = typing_extensions.TypeVar("_Parsed", default=Any)

    _Parsed_co = TypeVar("_Parsed_co", covariant=True)

    class Adapter(Protocol[_Parsed_co]):
        """Schema that reads a value itself, as pydantic's ``TypeAdapter`` does."""

        def validate_python(self, value: Any, /) -> _Parsed_co:
            """Return the instance that a value stands for."""


class Session:
    """A conversation that is kept, with a service.

    Args:
        client: the client that asks; ``None`` makes one by the environment at each ask.
        environment: the settings of the session's place; ``None`` is plain Python.
    """

    ledger = new_ledger()
    """The requests of this process, as ``rows`` and ``to_dataframe()``. Its limits hold for all its
    sessions together."""

    def __init__(
        self, client: Client | None = None, *, environment: Environment | None = None
    ) -> None:
        """Start an empty conversation; nothing is sent."""
        self.conversation = Conversation()
        self.environment = environment or Environment()
        """The settings of the session's place; a change takes effect at the next ask."""
        self.clients = ClientPool(client)
        self.took: int | None = None
        """Approximate cost of the latest turn in credits; ``None`` if unknown."""
        self.followers = Followers()
        """The functions that are called with each event."""
        self.lock = AskLock()
        self.state_lock = Lock()
        """Lock for state that all asks share. Only workers hold it, because an interrupt of another
        thread could leave it locked."""
        self.features = features_of(self)
        """The features, which a question meets in this order as links."""
        self.asker = Asker(self)
        self.changes = Changes(self)
        """The changes of the conversation that are no questions."""

    if not TYPE_CHECKING:  # an attribute that is not there is an error for a type checker, too

        def __getattr__(self, name: str) -> Any:
            """Raise the error for an attribute that a session does not have, with the word here."""
            raise AttributeError(missing_name("A session", name, SESSION))

    def feature(self, kind: type[_FeatureT]) -> _FeatureT:
        """Return the feature of a kind.

        Args:
            kind: its class.
        """
        return next(feature for feature in self.features if isinstance(feature, kind))

    @property
    def place(self) -> Place:
        """The place whose words the session's errors and lines have.

        A client of one's own has arguments, and no settings of a notebook.
        """
        return self.environment.place if self.clients.given is None else "python"

    @property
    def credit_state(self) -> CreditTracker:
        """The latest credits with their time and limits, read at one moment."""
        state = self.clients.credit_state
        figures = None if self.endpoint is None else self.ledger.figures(self.endpoint)
        reports_none = state.credits is not None and state.credits.remaining is None
        if figures is None or reports_none or figures.credits == state.credits:
            return state
        # A map asks by clients of its own.
        return replace(state, credits=figures.credits, received_at=figures.came_at)

    @property
    def credits(self) -> Credits | None:
        """The latest credits; ``None`` is unknown."""
        return self.credit_state.credits

    def to_dataframe(self) -> Any:
        """Return the live turns as a pandas DataFrame, one row each, times in UTC.

        The ledger's rows have the same digests, ``request`` and ``reply``.

        Raises:
            ImportError: pandas is not installed.
        """
        self.changes.follow_pages(self.environment.cell()[0])
        return table.dataframe(table.TurnRow, table.of_conversation(self.conversation))

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint of the latest ask, with its key; ``None`` before the first."""
        client = self.clients.latest
        return None if client is None else client.endpoint

    @refuses_other_options
    def ask(
        self,
        text: str,
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        model: str | None = None,
        stream: bool = True,
        history: bool = True,
        last: int | None = None,
        thread: str | None = None,
        hide: bool = False,
        instructions: str | None = None,
        format: Format = "markdown",
        schema: type[_Parsed] | Mapping[str, object] | Adapter[_Parsed] | None = None,
        allow_secrets: bool = False,
        fit: bool = False,
        on_fragment: Callable[[str], object] | None = None,
        halt: Halt | None = None,
    ) -> Reply[_Parsed]:
        """Ask, keep the turn, and return the reply; nothing is shown.

        Args:
            text: the prompt.
            max_tokens: upper limit on generated tokens.
            temperature: sampling temperature.
            model: name of the requested model; ``None`` is the configured one.
            stream: whether the reply is requested as a stream.
            history: whether the request carries the conversation, and the turn is kept.
            last: largest number of turns to carry, the newest.
            thread: name of its thread; ``None`` for the thread of its place.
            hide: whether later requests leave the turn out.
            instructions: instructions of this question alone; ``None`` takes those of its place,
                and an empty text none.
            format: form of the reply: ``markdown``, ``text``, ``code`` or ``json``; of JSON,
                :attr:`Reply.parsed` has the value.
            schema: the schema of the JSON: a pydantic model, a dataclass, a TypedDict or a JSON
                schema; :attr:`Reply.parsed` is the instance.
            allow_secrets: whether the question is sent although it holds a secret.
            fit: whether it is sent once more, without the oldest turns, if the service refuses the
                conversation as too long.
            on_fragment: called with each fragment as it arrives.
            halt: stops it from another thread.

        Raises:
            InputError: the prompt is empty, an argument cannot be sent, or the request holds a
                secret.
            ReplyFormatError: the whole reply arrived, but is no such JSON; its turn is kept.
            ChatError: see :mod:`chatmagic.errors`. With a part of a reply the turn is kept, marked;
                without one the conversation is as before.
            ChatInterrupted: a person stopped the reply, which is kept in the same way.
        """
        owner, execution = self.environment.cell()
        schema_name, form = forms.read_schema(schema)
        ask = Ask(
            text,
            max_tokens=max_tokens,
            temperature=temperature,
            model=model,
            stream=stream,
            history=history,
            last=last,
            thread=thread,
            hide=hide,
            instructions=instructions,
            format=format,
            allow_secrets=allow_secrets,
            schema=schema_name,
            form=form,
            fit=fit,
            owner=owner,
            execution=execution,
        )
        return self.run(ask, Listener(on_fragment), halt).reply

    aask = awaitable(ask)

    def messages(self, thread: str | None = None) -> list[dict[str, str]]:
        """Return the conversation in the service's form, as a next question would carry it.

        Args:
            thread: name of the thread; ``None`` for the thread of the cell's place.

        Returns:
            One ``{"role": …, "content": …}`` for each message, oldest first.
        """
        owner, execution = self.environment.cell()
        self.changes.follow_pages(owner)
        window = self.conversation.window(QuestionPlace(owner, execution, thread=thread))
        messages = window.messages
        if messages and window.instructions is not None:
            client = self.clients.latest
            is_system = client is not None and client.setup.system_role
            messages = instructed(messages, window.instructions, system_role=is_system)
        return [message.to_json() for message in messages]

    @overload
    def map(
        self,
        template: str,
        rows: object,
        *,
        block: Literal[False],
        **how: Unpack[MapArguments],
    ) -> Job: ...

    @overload
    def map(  # type: ignore[overload-overlap] # a table is an iterable, too
        self, template: str, rows: _RowsT, **how: Unpack[MapArguments]
    ) -> _RowsT: ...

    @overload
    def map(
        self, template: str, rows: Iterable[object], **how: Unpack[MapArguments]
    ) -> Replies: ...

    @overload
    def map(
        self,
        template: str,
        rows: object,
        *,
        block: bool = ...,
        **how: Unpack[MapArguments],
    ) -> Any: ...

    @refuses_other_options
    def map(
        self,
        template: str,
        rows: object,
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
        file: str | Path | None = None,
        wait: bool = False,
        yes: bool = False,
        block: bool = True,
    ) -> Any:
        """Ask one prompt for each row, beside the conversation, and keep each reply in a file.

        It estimates tokens and credits, and asks whether to start. A second run asks only the rows
        without an answer in the file.

        Args:
            template: the prompt; ``{{ it }}`` stands for the row, ``{{ name }}`` for a column.
            rows: a DataFrame, a Series, a table of pyarrow, a mapping of columns, a list or another
                iterable of texts, mappings, instances or named tuples.
            workers: largest number of requests under way, up to 256.
            repeats: number of times that each row is asked.
            retries: number of times that a row is sent again after an error of the server or the
                network that may have been paid for.
            max_tokens: as for :meth:`ask`.
            temperature: as for :meth:`ask`.
            model: as for :meth:`ask`.
            instructions: instructions of each row.
            stream: as for :meth:`ask`.
            format: as for :meth:`ask`.
            schema: as for :meth:`ask`.
            column: name of the column of replies, with which the names of the others begin.
            columns: whether each field of the schema is a column of the result.
            allow_secrets: as for :meth:`ask`.
            keep_prompts: whether the job's file keeps each row's prompt, with its values.
            file: the job's file; ``None`` is ``map-….jsonl`` in the working folder.
            wait: whether the map waits for the end of any limit; otherwise it waits for a minute.
            yes: whether the map starts without a question.
            block: whether to wait for the end.

        Returns:
            The table with the columns ``reply``, ``value`` (of JSON; or the fields of the schema)
            and ``error``; for a Series one of the replies, or of their values, with its index; for
            other rows a list; with ``block=False`` a handle, whose ``result()`` returns the same.
            With ``repeats`` the reply is the most frequent answer, beside ``agree``, its share, and
            ``replies``, the list of answers.

        Raises:
            InputError: a row cannot be sent, or the user did not agree to the map.
            ChatError: an error that would end the other rows, too, such as used-up credits; the
                finished rows are in the file.
            ChatInterrupted: a person stopped the map; the finished rows are in the file.
        """
        schema_name, form = forms.read_schema(schema)
        ask = Ask(
            template,
            max_tokens=max_tokens,
            temperature=temperature,
            model=model,
            instructions=instructions,
            stream=stream,
            history=False,
            format=format,
            allow_secrets=allow_secrets,
            schema=schema_name,
            form=form,
        )
        with shown_at(self.place):
            options = MapOptions(
                workers=workers,
                retries=retries,
                waits=wait,
                keep_prompts=keep_prompts,
                file=file,
                repeats=repeats,
                yes=yes,
                block=block,
            )
            sender = RowSender(
                self.environment,
                self.ledger,
                self.clients,
                self.features,
                replayed=replayed_file(self.environment),
            )
            made = RowTemplate(
                ask,
                self.environment,
                sender.setup,
                columns=columns,
                column=column,
                repeats=options.repeats,
            )
            return run_map(made, sender, rows, options)

    def run(self, ask: Ask, view: View, halt: Halt | None = None) -> Outcome:
        """Do one ask from beginning to end, with its events to a view and the followers.

        Args:
            ask: the question.
            view: the view that shows it.
            halt: stops it from another thread.

        Raises:
            ChatError: see :meth:`ask`.
            ChatInterrupted: see :meth:`ask`.
        """
        return AskRun(self, ask, view, halt or Halt()).outcome()

    def preview(self, ask: Ask) -> Preview:
        """Return the request of an ask; nothing is sent, kept or changed.

        Args:
            ask: the question.

        Raises:
            ChatError: the ask would fail before it is sent, or it holds a secret.
        """
        with shown_at(self.place):
            return self.asker.preview(ask)

    def notify(self, line: Note) -> None:
        """Show a line to the user at once; a warning that is an error loses no reply.

        Args:
            line: the line.
        """
        with swallowed():
            self.environment.notify(line)

    def late_news(self) -> list[Note]:
        """Let each feature complete its work, while no ask is under way; return lines on it."""

        def complete() -> None:
            for feature in self.features:
                feature.complete()

        self.lock.alone(CHANGE, complete)
        return [line for feature in self.features for line in feature.late_news(None)]

    def models(self) -> tuple[ModelList, int | None]:
        """Ask the service for its models, while no ask is under way; the ledger counts the request.

        Returns:
            The list, and its cost in credits; ``None`` if unknown.

        Raises:
            ChatError: there is no list, or nothing may be sent.
        """
        with shown_at(self.place):
            return listed_models(self)

    def disconnect(self) -> None:
        """Forget the connection and its credits; the next ask makes its own."""
        self.clients.forget()
        self.took = None

    def close(self) -> None:
        """Close the kept connections, and let each feature complete its work."""
        for feature in self.features:
            feature.complete()
        self.clients.close()
