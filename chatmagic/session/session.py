"""One conversation with one service: ask, stream, store the turn, account for it.

Python, magic and panel all come through :meth:`Session.run`, one at a time in each thread of the
conversation.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from chatmagic._json import digest
from chatmagic.archive import table
from chatmagic.client.halt import Halt
from chatmagic.conversation.steering import ThreadStart, instructed, refuse_fork
from chatmagic.errors import NotRecordedError
from chatmagic.models import Reply
from chatmagic.session import forms
from chatmagic.session import map as many
from chatmagic.session.ask import AskRun
from chatmagic.session.events import Answer, Ask, Changed, Listener
from chatmagic.session.ledger import Reservation
from chatmagic.session.state import SessionState
from chatmagic.session.worker import Worker, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path
    from typing import ParamSpec, Protocol, TypeVar

    import typing_extensions

    from chatmagic.client.client import ModelList
    from chatmagic.client.credit_tracker import CreditState
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.request_facts import Format
    from chatmagic.conversation.schema_text import Schema
    from chatmagic.conversation.slots import Change
    from chatmagic.conversation.steering import Steering
    from chatmagic.models import Credits
    from chatmagic.session.ask import Preview
    from chatmagic.session.events import Event, View

    _Given = ParamSpec("_Given")
    _Result = TypeVar("_Result")
    # As of Python 3.13: without a schema a reply is one of ``Any``.
    _Parsed = typing_extensions.TypeVar("_Parsed", default=Any)
    _Parsed_co = TypeVar("_Parsed_co", covariant=True)

    class Adapter(Protocol[_Parsed_co]):
        """Schema that reads a value itself, as pydantic's ``TypeAdapter`` does."""

        def validate_python(self, value: Any, /) -> _Parsed_co:
            """Return the instance that a value stands for."""


def _in_worker(ask: Callable[_Given, _Result]) -> Callable[_Given, Coroutine[Any, Any, _Result]]:
    """Return a method that asks, as one that is awaited while other tasks go on.

    A task that is cancelled stops the reply; what came of it is kept.

    Args:
        ask: the method; its option ``halt`` stops it.
    """

    @wraps(ask)
    async def call(*args: _Given.args, **options: _Given.kwargs) -> _Result:
        given = options.get("halt")
        options["halt"] = halt = given if isinstance(given, Halt) else Halt()
        try:
            return await asyncio.to_thread(ask, *args, **options)
        except asyncio.CancelledError:
            halt.stop()
            raise

    return call


class Session(SessionState):
    """A conversation that is kept, with a service.

    Args:
        client: the client that asks; ``None`` makes one as the environment says at each ask.
        environment: where the session runs; ``None`` is plain Python.
    """

    @property
    def credit_state(self) -> CreditState:
        """The latest credits and what belongs to them, read as one."""
        state = self.clients.credit_state
        figures = None if self.endpoint is None else self.ledger.figures(self.endpoint)
        is_without = state.credits is not None and state.credits.remaining is None
        if figures is None or is_without or figures.credits == state.credits:
            return state
        # A map asks by clients of its own.
        return replace(state, credits=figures.credits, received_at=figures.came_at)

    @property
    def credits(self) -> Credits | None:
        """The latest credits; ``None`` is unknown."""
        return self.credit_state.credits

    def to_dataframe(self) -> Any:
        """Return the live turns as a pandas DataFrame, one row each, times in UTC.

        ``request`` and ``reply`` are the digests that the ledger's rows have, too.

        Raises:
            ImportError: pandas is not installed.
        """
        self.follow_pages(self.environment.cell()[0])
        return table.dataframe(table.TurnRow, table.of_conversation(self.conversation))

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the latest ask went, and with which key; ``None`` before the first."""
        client = self.clients.latest
        return None if client is None else client.endpoint

    def ask(
        self,
        text: str,
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stream: bool = True,
        history: bool = True,
        last: int | None = None,
        thread: str | None = None,
        hide: bool = False,
        format: Format = "markdown",
        schema: type[_Parsed] | Mapping[str, object] | Adapter[_Parsed] | None = None,
        allow_secrets: bool = False,
        fit: bool = False,
        on_fragment: Callable[[str], object] | None = None,
        halt: Halt | None = None,
    ) -> Reply[_Parsed]:
        """Ask, keep the turn and give the reply; shows nothing itself.

        Args:
            text: the prompt.
            max_tokens: upper limit on generated tokens.
            temperature: sampling temperature.
            stream: whether the reply is asked for as a stream.
            history: whether the conversation is sent along and the turn kept.
            last: how many of the newest turns are sent along at most.
            thread: name of the thread that it is asked in; ``None`` is that of its place.
            hide: whether later requests leave the turn out.
            format: form of the reply: ``markdown``, ``text``, ``code`` or ``json``; of JSON,
                :attr:`Reply.parsed` has the value.
            schema: what the JSON has to be: a pydantic model, a dataclass, a TypedDict or a
                JSON schema; :attr:`Reply.parsed` is the instance.
            allow_secrets: whether it is sent although it holds a secret.
            fit: whether it is sent once more, without the oldest turns, where the service says
                that the conversation is too long.
            on_fragment: called with each fragment as it comes.
            halt: stops it from another thread.

        Raises:
            InputError: the prompt is empty, an argument cannot be sent, or what is sent
                holds a secret.
            ReplyFormatError: the reply came whole, and is no such JSON; its turn is kept.
            ChatError: as the tree in :mod:`chatmagic.errors` has it. With a part of a
                reply the turn is kept, marked; without one the conversation is as before.
            ChatInterrupted: a person stopped it; the same holds.
        """
        owner, execution = self.environment.cell()
        name, form = _given(schema)
        ask = Ask(
            text,
            max_tokens=max_tokens,
            temperature=temperature,
            stream=stream,
            history=history,
            last=last,
            thread=thread,
            hide=hide,
            format=format,
            schema=name,
            form=form,
            allow_secrets=allow_secrets,
            fit=fit,
            owner=owner,
            execution=execution,
        )
        return self.run(ask, Listener(on_fragment), halt).reply

    aask = _in_worker(ask)

    def messages(self, thread: str | None = None) -> list[dict[str, str]]:
        """Return the conversation in the service's form, as a next question would carry it.

        Args:
            thread: name of the thread; ``None`` is that of the place where the cell stands.

        Returns:
            One ``{"role": …, "content": …}`` for each message, oldest first.
        """
        owner, execution = self.environment.cell()
        self.follow_pages(owner)
        window = self.conversation.window(owner, execution, thread=thread)
        messages, client = window.messages, self.clients.latest
        if messages and window.instructions is not None:
            role = client is not None and client.setup.system_role
            messages = instructed(messages, window.instructions, system_role=role)
        return [message.to_json() for message in messages]

    def map(
        self,
        template: str,
        rows: object,
        *,
        workers: int = 4,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stream: bool = True,
        format: Format = "markdown",
        schema: object = None,
        allow_secrets: bool = False,
        file: str | Path | None = None,
        wait: bool = False,
        yes: bool = False,
        keep: bool = True,
        block: bool = True,
    ) -> Any:
        """Ask one prompt for each row, beside the conversation, and keep each reply in a file.

        It quotes rows, tokens and credits and asks whether to start. Run again, it asks only
        the rows that have no answer in the file, those that failed first.

        Args:
            template: the prompt; ``{{ it }}`` gives way to the row, ``{{ name }}`` to a column.
            rows: a DataFrame, a list or another iterable of texts or mappings, a collection of
                Dask's or polars', or its parts.
            workers: how many requests are under way at most, up to 32.
            max_tokens: as for :meth:`ask`.
            temperature: as for :meth:`ask`.
            stream: as for :meth:`ask`.
            format: as for :meth:`ask`.
            schema: as for :meth:`ask`.
            allow_secrets: as for :meth:`ask`.
            file: the job's file; ``None`` is ``map-….jsonl`` in the working folder.
            wait: whether a limit that was reached is waited for; otherwise it ends the map.
            yes: whether it starts without a question.
            keep: whether the result is kept in memory.
            block: whether it is waited for.

        Returns:
            The DataFrame with the columns ``reply``, ``value`` (of JSON) and ``error``; for other
            rows a list; with ``keep=False`` the path of the file; with ``block=False`` a handle,
            whose ``result()`` has the same.

        Raises:
            InputError: something cannot be sent, or the map was not agreed to.
            ChatError: what would end the other rows, too, such as credits that are used up; what
                came is in the file.
            ChatInterrupted: a person stopped it; the same holds.
        """
        name, form = _given(schema)
        ask = Ask(
            template,
            max_tokens=max_tokens,
            temperature=temperature,
            stream=stream,
            history=False,
            format=format,
            schema=name,
            form=form,
            allow_secrets=allow_secrets,
        )
        return many.run(
            self, rows, ask, workers=workers, file=file, wait=wait, yes=yes, keep=keep, block=block
        )

    def run(self, ask: Ask, view: View, halt: Halt | None = None) -> Answer:
        """Do one ask from beginning to end, telling a view and the followers how it goes.

        Args:
            ask: what is asked.
            view: what shows it.
            halt: stops it from another thread.

        Raises:
            ChatError: see :meth:`ask`.
            ChatInterrupted: see :meth:`ask`.
        """
        return AskRun(self, ask, halt or Halt()).run(view)

    def preview(self, ask: Ask) -> Preview:
        """Return what an ask would send; nothing is sent, kept or changed.

        Args:
            ask: what would be asked.

        Raises:
            ChatError: the ask would fail before it is sent, or it holds a secret.
        """
        return AskRun(self, ask, Halt()).preview()

    def follow(self, follower: Callable[[Event], object]) -> Callable[[], None]:
        """Call a function with each event of this session from now on.

        Args:
            follower: called in the thread that asks, a worker: to be quick, and to leave what
                it does to a thread of its own. What it raises is left out.

        Returns:
            A function that ends it.
        """
        return self.followers.add(follower)

    def change(self, action: Callable[[Conversation], Change | None]) -> Change | None:
        """Change the conversation (undo, redo, reset) while no ask is under way.

        Args:
            action: what to do with it.

        Raises:
            InputError: an ask of this very thread is under way.
        """
        change = self.lock.alone("a change of the conversation", lambda: action(self.conversation))
        self.followers.tell(Changed())
        return change

    def steer(self, item: Steering) -> Change | None:
        """Put what steers the questions below into its place; asks under way go on without it.

        Args:
            item: instructions, the start of a thread, or a hiding, with its place.

        Raises:
            InputError: a fork cannot begin there.
        """

        def add(_: Worker[Change]) -> Change:
            conversation, layout = self.conversation, self.environment.layout(item.owner)
            order = None if layout is None else layout.order
            with self.state_lock:
                if layout is not None:
                    conversation.follow(layout)
                if isinstance(item, ThreadStart):
                    where = partial(conversation.window, item.owner, item.execution, order=order)
                    refuse_fork(item, where(), where(thread=item.name))
                return conversation.add(item, order=order)

        change = whole(add)
        self.followers.tell(Changed())
        return change

    def change_cassette(self, *, again: bool = True, off: bool = False) -> str | None:
        """Put in the cassette that is chosen now, while no ask is under way.

        Args:
            again: take out the one that is in, also where the same is chosen; otherwise only
                what it could not save before is saved.
            off: only take out the one that is in.

        Returns:
            What was done with the one that is out, in one line; ``None`` where none is.

        Raises:
            ChatError: what is chosen cannot be used.
        """
        choose = self.environment.cassette
        change = partial(self.cassette.change, choose, again=again, off=off)
        return self.lock.alone("a change of the cassette", change)

    def follow_pages(self, owner: str | None = None) -> Change | None:
        """Put the turns in the order of the page's cells, unless an ask is under way.

        Args:
            owner: hash of the running cell; ``None`` without one.

        Returns:
            The change, if turns of cells that are gone were set aside.
        """
        layout = self.environment.layout(owner)
        if layout is None or not self.lock.is_free():
            return None
        follow = partial(self.conversation.follow, layout)
        change = self.lock.alone("a change of the conversation", follow)
        if change is not None:
            self.followers.tell(Changed())
        return change

    def models(self) -> tuple[ModelList, int | None]:
        """Ask the service for its models, while no ask is under way; the ledger counts it.

        Returns:
            The list, and how many credits it took; ``None`` is unknown.

        Raises:
            ChatError: there is no list, or nothing may be sent.
        """
        cassette, halt = self.environment.cassette(), Halt()
        if cassette is not None and cassette.config.mode == "replay":
            raise NotRecordedError(
                f"{cassette.config.name} is replayed here, and holds no list of models. Nothing "
                "was sent."
            )
        return self.lock.alone("the list of models", partial(self._models, halt), halt)

    def _models(self, halt: Halt) -> tuple[ModelList, int | None]:
        client = self.clients.client("service", self.environment.service)
        cell = self.environment.cell()[0]
        asked = Reservation(client.endpoint, "models", cell, digest("models"))
        try:
            self.ledger.begin(asked)
            listed = client.models(halt)
        except BaseException as error:
            self.ledger.end(asked, problem=error)
            raise
        self.ledger.end(asked, Reply("", credits=listed.credits, origin=listed.origin))
        return listed, asked.took

    def disconnect(self) -> None:
        """Forget the connection and its credits; the next ask makes its own."""
        self.clients.forget()
        self.took = None

    def close(self) -> None:
        """Close the connections that are kept."""
        self.clients.close()


def _given(schema: object) -> tuple[str | None, Schema | None]:
    """Return the name of a schema, and the schema; for none ``None`` twice."""
    if schema is None:
        return None, None
    name = forms.name_of(schema)
    return name, forms.schema_of(schema, name)
