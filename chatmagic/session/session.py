"""One conversation with one service: ask, stream, store the turn, account for it.

Python, the magics and the panel all ask by :meth:`Session.run`, one ask at a time in each thread of
the conversation.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar, cast

from chatmagic import _json
from chatmagic._json import digest, shared_fields
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import GOES_ON, LESS, TOOK_SCHEMA, Place, note_at, sentences
from chatmagic.archive import table
from chatmagic.cassette.cassette import (
    CASSETTE,
    ActiveCassette,
    AnswerSource,
    CassetteConfig,
    Lookup,
)
from chatmagic.cassette.file import Interaction
from chatmagic.cassette.match import Query
from chatmagic.client import config
from chatmagic.client.client import Client, ModelList
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.client.stream import CreditTracker
from chatmagic.conversation import continuation, magic_line, template
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Format, Part, RequestFacts, parts_of
from chatmagic.conversation.record import Record
from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import (
    Steering,
    ThreadStart,
    instructed,
    instructions_note,
    refuse_fork,
)
from chatmagic.conversation.turn import MAIN, Turn
from chatmagic.conversation.window import Window
from chatmagic.errors import (
    SHORTER_HINT,
    ChatError,
    ChatInterrupted,
    InputError,
    NotRecordedError,
    ReplyFormatError,
    TooLongError,
    shown_at,
)
from chatmagic.models import Credits, Message, Reply
from chatmagic.protocol.api_key import refuse_keys
from chatmagic.protocol.wire import Request
from chatmagic.render import reply_forms
from chatmagic.safe_text import counted, one_line
from chatmagic.session import forms
from chatmagic.session import map as many
from chatmagic.session.environment import ClientPool, Environment, setup_for
from chatmagic.session.events import (
    Ask,
    Began,
    Changed,
    Ended,
    Event,
    Fragment,
    Listener,
    Outcome,
    Thought,
    View,
)
from chatmagic.session.exchange import Answer, Link, Receiver, Sending, exchange
from chatmagic.session.habits import Habits
from chatmagic.session.ledger import Ledger, Reservation
from chatmagic.session.recorder import Recorder
from chatmagic.session.secret_check import SecretCheck
from chatmagic.session.worker import NAP, AskLock, Worker, whole

if TYPE_CHECKING:
    import typing_extensions

    _Given = ParamSpec("_Given")

    _Result = TypeVar("_Result")

    # With a default, as from Python 3.13 on: without a schema it means ``Reply[Any]``.
    _Parsed = typing_extensions.TypeVar("_Parsed", default=Any)

    _Parsed_co = TypeVar("_Parsed_co", covariant=True)

    class Adapter(Protocol[_Parsed_co]):
        """Schema that reads a value itself, as pydantic's ``TypeAdapter`` does."""

        def validate_python(self, value: Any, /) -> _Parsed_co:
            """Return the instance that a value stands for."""


def _in_worker(ask: Callable[_Given, _Result]) -> Callable[_Given, Coroutine[Any, Any, _Result]]:
    """Return the coroutine function of a method that asks.

    Cancelling the task stops the reply; the text so far is kept.

    Args:
        ask: the method; its option ``halt`` stops it.
    """

    @wraps(ask)
    async def call(*args: _Given.args, **options: _Given.kwargs) -> _Result:
        options["halt"] = halt = cast("Halt", options.get("halt") or Halt())
        work = partial(contextvars.copy_context().run, partial(ask, *args, **options))
        reply = asyncio.get_running_loop().run_in_executor(None, work)
        try:
            # ipykernel cancels in a handler of a signal, which wakes no loop that waits.
            while not reply.done():
                await asyncio.wait([reply], timeout=NAP)
            return reply.result()
        except asyncio.CancelledError:
            halt.stop()
            reply.cancel()
            raise

    return call


class Session:
    """A conversation that is kept, with a service.

    Args:
        client: the client that asks; ``None`` makes one by the environment at each ask.
        environment: the settings of the session's place; ``None`` is plain Python.
    """

    ledger = Ledger()
    """The requests of this process, ``rows`` and ``to_dataframe()``: its budgets hold for all its
    sessions together."""

    def __init__(
        self, client: Client | None = None, *, environment: Environment | None = None
    ) -> None:
        """Start an empty conversation; nothing is sent."""
        self.conversation = Conversation()
        self.environment = environment or Environment()
        """The settings of the session's place; a change takes effect at the next ask."""
        self.cassette = ActiveCassette(self._notify)
        self.clients = ClientPool(client)
        self.took: int | None = None
        """Approximate cost of the latest turn in credits; ``None`` if unknown."""
        self.followers: tuple[Callable[[Event], object], ...] = ()
        """The functions that are called with each event."""
        self.lock = AskLock()
        self.state_lock = threading.RLock()
        """Lock for state that all asks share. Only workers hold it, because an interrupt of another
        thread could leave it locked."""
        self.secret_check = SecretCheck()
        self.habits = Habits()

    @property
    def links(self) -> list[Link]:
        """The links that a question goes through on its way to the service."""
        return [Recorder(self.cassette, self.state_lock), self.ledger, self.habits]

    @property
    def place(self) -> Place:
        """The place whose words the session's errors and lines have.

        A client of one's own has arguments, and no settings of a notebook.
        """
        return self.environment.place if self.clients.given is None else "python"

    def threads_of(self, ask: Ask) -> list[str]:
        """Return the name of a question's thread, then the names of threads that share its turns.

        In these threads only one question is asked at a time.

        Args:
            ask: the question.

        Raises:
            InputError: the turn to ask again is no longer in the conversation.
        """
        conversation, layout = self.conversation, self.layout_of(ask)
        order = ask.order if layout is None else layout.order
        name, threads = ask.window_in(conversation, order).thread, conversation.threads
        own = {turn.number for turn in threads.get(name, ())}
        others = (
            other
            for other, turns in threads.items()
            if other != name and any(turn.number in own for turn in turns)
        )
        return [name, *others]

    def layout_of(self, ask: Ask) -> Layout | None:
        """Return the order of the cells for an ask; ``None`` if the ask has its own, or needs none.

        Args:
            ask: the ask.
        """
        if not ask.history or ask.order is not None:
            return None
        # The panel is no cell, so the page that reported last counts.
        return self.environment.layout(None if ask.entry == "panel" else ask.owner)

    @property
    def credit_state(self) -> CreditTracker:
        """The latest credits with their time and limits, read at one moment."""
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

        The ledger's rows have the same digests, ``request`` and ``reply``.

        Raises:
            ImportError: pandas is not installed.
        """
        self.follow_pages(self.environment.cell()[0])
        return table.dataframe(table.TurnRow, table.of_conversation(self.conversation))

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint of the latest ask, with its key; ``None`` before the first."""
        client = self.clients.latest
        return None if client is None else client.endpoint

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
            format=format,
            allow_secrets=allow_secrets,
            **_given(schema),
            fit=fit,
            owner=owner,
            execution=execution,
        )
        return self.run(ask, Listener(on_fragment), halt).reply

    aask = _in_worker(ask)

    def messages(self, thread: str | None = None) -> list[dict[str, str]]:
        """Return the conversation in the service's form, as a next question would carry it.

        Args:
            thread: name of the thread; ``None`` for the thread of the cell's place.

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
        model: str | None = None,
        stream: bool = True,
        format: Format = "markdown",
        schema: object = None,
        columns: bool = False,
        allow_secrets: bool = False,
        file: str | Path | None = None,
        wait: bool = False,
        yes: bool = False,
        keep: bool = True,
        block: bool = True,
    ) -> Any:
        """Ask one prompt for each row, beside the conversation, and keep each reply in a file.

        It estimates tokens and credits, and asks whether to start. A second run asks only the rows
        without an answer in the file.

        Args:
            template: the prompt; ``{{ it }}`` stands for the row, ``{{ name }}`` for a column.
            rows: a DataFrame, a list or another iterable of texts or mappings, a collection of
                Dask's or polars', or its parts.
            workers: largest number of requests under way, up to 32.
            max_tokens: as for :meth:`ask`.
            temperature: as for :meth:`ask`.
            model: as for :meth:`ask`.
            stream: as for :meth:`ask`.
            format: as for :meth:`ask`.
            schema: as for :meth:`ask`.
            columns: whether each field of the schema is a column of the DataFrame.
            allow_secrets: as for :meth:`ask`.
            file: the job's file; ``None`` is ``map-….jsonl`` in the working folder.
            wait: whether the map waits for the end of a limit; otherwise the limit ends the map.
            yes: whether the map starts without a question.
            keep: whether the result is kept in memory.
            block: whether to wait for the end.

        Returns:
            The DataFrame with the columns ``reply``, ``value`` (of JSON; or the fields of the
            schema) and ``error``; for other rows a list; with ``keep=False`` the path of the file;
            with ``block=False`` a handle, whose ``result()`` returns the same.

        Raises:
            InputError: a row cannot be sent, or the user did not agree to the map.
            ChatError: an error that would end the other rows, too, such as used-up credits; the
                finished rows are in the file.
            ChatInterrupted: a person stopped the map; the finished rows are in the file.
        """
        ask = Ask(
            template,
            max_tokens=max_tokens,
            temperature=temperature,
            model=model,
            stream=stream,
            history=False,
            format=format,
            allow_secrets=allow_secrets,
            **_given(schema),
        )
        with shown_at(self.place):
            asker = many.RowAsker(
                self.environment, self.ledger, self.habits, self.clients, ask, columns=columns
            )
            return many.run(
                asker, rows, workers=workers, file=file, wait=wait, yes=yes, keep=keep, block=block
            )

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
        return AskRun(self, ask, halt or Halt()).run(view)

    def preview(self, ask: Ask) -> Preview:
        """Return the request of an ask; nothing is sent, kept or changed.

        Args:
            ask: the question.

        Raises:
            ChatError: the ask would fail before it is sent, or it holds a secret.
        """
        with shown_at(self.place):
            return AskRun(self, ask, Halt()).preview()

    def follow(self, follower: Callable[[Event], object]) -> Callable[[], None]:
        """Call a function with each event of this session from now on.

        Args:
            follower: the function. It is called in the ask's worker, so it must be quick. Its
                exceptions are ignored.

        Returns:
            A function that removes the follower.
        """
        self.followers = (*self.followers, follower)

        def leave() -> None:
            self.followers = tuple(each for each in self.followers if each is not follower)

        return leave

    def _notify(self, line: str) -> None:
        """Show a line to the user at once; a warning that is an error loses no reply."""
        with swallowed():
            self.environment.notify(line)

    def tell(self, event: Event) -> None:
        """Call the followers with an event; their exceptions are ignored.

        Args:
            event: the event.
        """
        for follower in self.followers:
            with swallowed():
                follower(event)

    def change(self, action: Callable[[Conversation], Change | None]) -> Change | None:
        """Change the conversation (undo, redo, reset) while no ask is under way.

        Args:
            action: changes the conversation.

        Raises:
            InputError: an ask of this very thread is under way.
        """
        change = self.lock.alone("a change of the conversation", lambda: action(self.conversation))
        self.tell(Changed())
        return change

    def steer(self, item: Steering) -> Change | None:
        """Add a steering item at its place; asks under way continue without it.

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
        self.tell(Changed())
        return change

    def change_cassette(self, *, again: bool = True, off: bool = False) -> str | None:
        """Insert the chosen cassette, while no ask is under way.

        Args:
            again: whether to eject the present cassette even if the same one is chosen; otherwise
                its unsaved exchanges are saved.
            off: whether to eject the present cassette without inserting one.

        Returns:
            A line on the ejected cassette; ``None`` if none was ejected.

        Raises:
            ChatError: the choice cannot be used.
        """

        def change() -> str | None:
            summary = self.cassette.eject() if again else None
            if not off:
                # With `off`, only the next ask inserts the environment's cassette again.
                self.cassette.insert(self.environment.cassette())
            return summary

        return self.lock.alone("a change of the cassette", change)

    def follow_pages(self, owner: str | None = None) -> Change | None:
        """Arrange the turns in the order of the page's cells, unless an ask is under way.

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
            self.tell(Changed())
        return change

    def models(self) -> tuple[ModelList, int | None]:
        """Ask the service for its models, while no ask is under way; the ledger counts the request.

        Returns:
            The list, and its cost in credits; ``None`` if unknown.

        Raises:
            ChatError: there is no list, or nothing may be sent.
        """
        halt = Halt()
        with shown_at(self.place):
            if (cassette := self.environment.replayed()) is not None:
                why = f"{cassette.name} is replayed here, and holds no list of models."
                raise NotRecordedError(f"{why} Nothing was sent.")
            return self.lock.alone("the list of models", partial(self._models, halt), halt)

    def _models(self, halt: Halt) -> tuple[ModelList, int | None]:
        client = self.clients.client("service", self.environment.service)
        cell = self.environment.cell()[0]
        sending = Sending(client, None, digest("models"), "models", cell, halt=halt)
        answer = exchange(sending, [self.ledger])
        listed: ModelList = answer.whole().parsed
        return listed, answer.took

    def disconnect(self) -> None:
        """Forget the connection and its credits; the next ask makes its own."""
        self.clients.forget()
        self.took = None

    def close(self) -> None:
        """Close the kept connections."""
        self.clients.close()


def _given(schema: object) -> dict[str, Any]:
    """Return the schema's facts for an ask: its name, and the schema as it is read."""
    if schema is None:
        return {}
    name = forms.name_of(schema)
    return {"schema": name, "form": forms.schema_of(schema, name)}


@dataclass(frozen=True, slots=True)
class _Audience(Receiver):
    """Receiver that passes an answer to a view, in the thread that waits, and to the followers.

    Args:
        ask: the question for the followers.
        session: its session, with the followers.
        view: the view that shows it.
        worker: the worker in which it is received.
    """

    ask: Ask
    session: Session
    view: View
    worker: Worker[None]

    def sent(self) -> None:
        """Tell the view that the request goes to the network now."""
        self.worker.tell(self.view.sent)

    def thought(self, text: str) -> None:
        """Tell the followers a fragment of the reasoning.

        Args:
            text: the fragment.
        """
        self.session.tell(Thought(self.ask, text))

    def fragment(self, text: str) -> None:
        """Tell the view and the followers a fragment of the reply.

        Args:
            text: the fragment.
        """
        self.worker.tell(partial(self.view.fragment, text))
        self.session.tell(Fragment(self.ask, text))


NOTHING: Final = Window()
"""The window of an ask without history."""


class AskRun:
    """One ask under way: each step sets the fields that later steps need.

    The steps run in a worker (:mod:`chatmagic.session.worker`), which no interrupt reaches. The
    calling thread waits, and calls the view and at the end the user's schema.

    Args:
        session: its session.
        ask: the question.
        halt: stops it from another thread.
    """

    def __init__(self, session: Session, ask: Ask, halt: Halt) -> None:
        """Do nothing yet."""
        self.session = session
        self.ask = ask
        self.asked = ask
        """The question for followers, without the words in front of its prompt."""
        self.halt = halt
        self.cassette: CassetteConfig | None = None
        """The chosen cassette; ``None`` for none."""
        self.service: ServiceSetup | None = None
        """The endpoint of the service; ``None`` until it is needed."""
        self.order: tuple[str, ...] | None = None
        """Hashes of the page's cells from top to bottom, in whose order it is asked."""
        self.window = NOTHING
        """The turns that the request carries."""
        self.left_out = 0
        """Number of the oldest turns that the request leaves out because it was too long."""
        self.request: Request
        self.digest = ""
        self.without_markdown: str | None = None
        """Digest of the request without Markdown cells; ``None`` if it carries none."""
        self.lookup: Lookup | None = None
        """The source of the answer while a cassette is active."""
        self.answer = Answer(Reply(""))
        """The answer as far as it has come."""
        self.problem: BaseException | None = None
        """The error that ended the reply early."""
        self.outcome: Outcome | None = None
        """The reply that is kept."""

    def run(self, view: View) -> Outcome:
        """Do the ask in a worker, and return its outcome; an interrupt stops it.

        Args:
            view: the view that shows the ask.

        Raises:
            ChatError: see :meth:`chatmagic.session.session.Session.ask`.
            ChatInterrupted: the same.
        """
        tell = self.session.tell
        try:
            worker: Worker[None] = Worker(partial(self._work, view), self.halt.stop)
            with shown_at(self.session.place):
                outcome = self._end(view, worker.wait())
        except BaseException as error:
            tell(Ended(self.asked, self.outcome, error))
            raise
        tell(Ended(self.asked, outcome, None))
        return outcome

    def _end(self, view: View, raised: BaseException | None) -> Outcome:
        """Show the end of the ask; return its outcome, or raise the error that ended it early.

        Args:
            view: the view that shows the ask.
            raised: the error that interrupted the wait for the worker.
        """
        self.session.ledger.tell()
        try:
            if raised is None:
                self._parse()
            self._show_end(view)
        except KeyboardInterrupt as error:
            raised = error
            # The interrupt came while the last state was drawn. The turn is kept, so draw it again.
            self._show_end(view)
        if isinstance(raised, KeyboardInterrupt):
            if not isinstance(self.problem, ChatInterrupted):
                self.problem = interrupted(None if self.outcome is None else self.outcome.kept)
        elif raised is not None:
            self.problem = raised
        if isinstance(self.problem, TooLongError) and not self.window.turns:
            other = (SHORTER_HINT if part == LESS else part for part in self.problem.advice)
            self.problem.advice = sentences(*other)
        if self.problem is not None:
            raise self.problem from None
        return cast("Outcome", self.outcome)

    def _show_end(self, view: View) -> None:
        if self.outcome is None:
            view.failed()
            if self.answer.reply.reasoning:
                view.thought(self.answer.reply.reasoning)
        else:
            view.ended(self.outcome)

    def _work(self, view: View, worker: Worker[None]) -> None:
        """Do the whole ask, in a worker, while its thread of the conversation has no other ask."""
        session, ask = self.session, self.ask
        try:
            ask.refuse_empty()
            with session.lock.held(
                ask.asker,
                worker.caller,
                self.halt,
                waiting=lambda holder: worker.tell(partial(view.waiting, holder)),
                threads=partial(session.threads_of, ask),
            ):
                with session.state_lock:
                    notes = self._prepare()
                worker.tell_first(partial(view.began, notes))
                turns, thread = session.conversation.turns, self.window.thread
                session.tell(Began(self.asked, tuple(notes), turns, self.halt, thread))
                self._receive(_Audience(self.asked, session, view, worker))
        except ChatInterrupted:
            self.problem = interrupted(None)
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            self.problem = error

    def preview(self) -> Preview:
        """Return the request of the ask; nothing is sent, kept or changed.

        Raises:
            ChatError: it would fail before it is sent, or it holds a secret.
        """
        session = self.session
        self.ask.refuse_empty()
        self.cassette = setup = session.environment.cassette()
        endpoint: Endpoint | None = None
        # A replay needs no service. If one is set, its key is not shown either.
        try:
            endpoint = self._endpoint()
        except ChatError as error:
            if setup is None or setup.mode != "replay":
                raise
            log_swallowed(error)
        self._compose(copy(session.conversation))
        given, ask, window = session.clients.given, self.ask, self.window
        session.secret_check.refuse(ask, window, self.request, endpoint or CASSETTE, is_sent=False)
        # An answer from a cassette needs no budget and no key, and may be there for this request.
        if endpoint is not None and (setup is None or setup.mode == "refresh"):
            session.ledger.needed(Reservation(endpoint, ask.entry, ask.owner, self.digest))
            endpoint.refuse_no_key()
        sent_by = self.service if given is None else given.setup
        request = session.habits.as_sent(self.request, ask, sent_by)
        texts = [request.encode().decode(), *(message.content for message in request.messages)]
        refuse_keys(texts, config.known_keys() if endpoint is None else endpoint.known_keys)
        sizes = [(place, len(turn.prompt) + len(turn.reply.text)) for place, turn in window.places]
        return Preview(
            request,
            tuple(parts_of(sizes, window.instructions, ask)),
            endpoint,
            setup,
            tuple((self.service and self.service.extra_headers) or ()),
            session.ledger.token_rate,
            tuple(self._request_notes()),
        )

    # --- Before it is sent -------------------------------------------------------------------

    @property
    def _source(self) -> AnswerSource:
        """The source of the answer: the cassette, the service or the emulator."""
        return "service" if self.lookup is None else self.lookup.source

    def _prepare(self) -> list[str]:
        """Make the request, and find the source of its answer; return notes, a line each."""
        session = self.session
        self.cassette = setup = session.environment.cassette()
        session.cassette.insert(setup)
        if setup is None and session.clients.given is None:
            self.service = session.environment.service()
        aside = self._compose(session.conversation)
        self._look_up()
        if self._source == "service":
            asked = self.ask, self.window, self.request
            session.secret_check.refuse(*asked, self._endpoint(), is_sent=True)
        news = [*session.cassette.news(), *session.ledger.news()]
        told = [note_at(note, session.place) for note in news]
        return [*set_aside_note(aside), *told, *self._request_notes()]

    def _compose(self, conversation: Conversation) -> Change | None:
        """Make the request; return the change of a conversation that follows its page."""
        aside = None
        self.order = self.ask.order
        if (layout := self.session.layout_of(self.ask)) is not None:
            self.order, aside = layout.order, conversation.follow(layout)
        if self.ask.history:
            self.window = self.ask.window_in(conversation, self.order, last=self.ask.last)
        self._ask_for_form()
        self._make_request()
        return aside

    def _ask_for_form(self) -> None:
        """Put the words for the form of the reply in front of the prompt."""
        ask, above = self.ask, replace(self.window, last=None).turns
        named = self.session.environment.named
        value, name, schema = forms.asked_for(ask, above, self.window.turns, named)
        if value is not None and (ask.again is None or ask.entry == "panel"):
            self.ask = replace(
                ask,
                prompt=template.in_front([value], ask.prompt),
                typed=ask.as_typed,
                values=(value, *ask.values),
                schema=name,
                form=schema,
            )

    def _make_request(self) -> None:
        """Make the request and its digest, before anything is spent on it."""
        given = self.session.clients.given
        setup = given.setup if given is not None else self.cassette or self.service
        extra_body = (setup and setup.extra_body) or {}
        system_role = setup is not None and setup.system_role
        try:
            ask, window = self.ask.as_sent(self.window)
            instructions = self.window.instructions

            def made(ask: Ask, window: Window) -> Request:
                request = ask.request(window.messages, extra_body)
                if instructions is None:
                    return request
                messages = instructed(request.messages, instructions, system_role=system_role)
                return replace(request, messages=messages)

            self.request = made(ask, window)
            self.digest = self.request.digest()
            self.without_markdown = None
            sent = ask, *window.turns
            if any(value.kind == "markdown" for each in sent for value in each.values):
                plain = template.without_markdown
                turns = [replace(turn, prompt=plain(turn)) for turn in window.turns]
                ask = replace(ask, prompt=plain(ask))
                self.without_markdown = made(ask, Window(turns, len(turns))).digest()
        except ValueError as error:
            raise InputError(f"{error}. Nothing was sent.") from None

    def _look_up(self) -> None:
        """Look up the source of the answer while a cassette is active."""
        cassette = self.session.cassette.current
        if cassette is None:
            return
        ask, window = self.ask.as_sent(self.window)
        messages = (*window.messages, Message("user", ask.prompt))
        known = {"typed": ask.typed, "owner": ask.owner, "without_markdown": self.without_markdown}
        asked = Interaction.asked(self.request, messages, window.instructions, **known)
        query = Query(asked, ask.execution)
        self.lookup = cassette.look_up(query, lambda: self._endpoint().is_emulator)

    def _request_notes(self) -> list[str]:
        """Return notes on the request, if it does not carry exactly the turns above."""
        ask, window, lookup = self.ask, self.window, self.lookup
        carried, total, panel = len(window.turns), window.total, window.from_panel
        notes = [] if lookup is None else [*lookup.notes]
        if ask.again is not None:
            does = "asked again" if ask.part is None else "continued"
            notes.append(f"{does}: {reply_forms.excerpt(ask.as_typed)}")
        if carried < total:
            notes.append(f"sent the last {carried:,} of {total:,} turns")
        if window.hidden_above:
            notes.append(f"sent without {counted(window.hidden_above, 'hidden turn')}")
        if window.thread != MAIN:
            notes.append(f"in the thread {window.thread}")
        if window.instructions is not None:
            notes.append(instructions_note(window.instructions))
        if panel and ask.entry != "panel":
            notes.append(f"with {counted(panel, 'turn')} from the panel")
        front = [value for value in ask.values if value.kind is not None]
        if front:
            sizes = (f"{one_line(v.name)} ({counted(v.size, 'character')})" for v in front)
            notes.append(f"in front of the question: {', '.join(sizes)}")
        merged = magic_line.merged_cell_notes(ask.as_typed) if ask.entry == "cell" else []
        return [*notes, *ask.notes, *magic_line.placeholder_notes(ask.placeholder), *merged]

    def _endpoint(self) -> Endpoint:
        """Return the endpoint of the service, if the service answers."""
        if self.session.clients.given is not None:
            return self.session.clients.given.endpoint
        self.service = self.service or self.session.environment.service()
        return self.service.endpoint

    # --- Sending and receiving ---------------------------------------------------------------

    def _exchange(self, receiver: Receiver) -> Answer:
        """Return the answer to the request; a cassette may give it."""
        session, source = self.session, self._source
        if self.halt.reason is not None:
            raise ChatInterrupted("Interrupted before it was sent.")
        with session.state_lock:
            client = session.clients.client(
                source,
                lambda: self.service or setup_for(source, session.environment, self.cassette),
            )
        sending = Sending(
            client=client,
            request=self.request,
            digest=self.digest,
            entry=self.ask.entry,
            cell=self.ask.owner,
            halt=self.halt,
            receiver=receiver,
            question=self.ask,
            lookup=self.lookup,
        )
        return exchange(sending, session.links)

    def _receive(self, receiver: Receiver) -> None:
        """Exchange the request for its reply, whole or in part, and keep it."""
        self.answer = self._exchange(receiver)
        is_too_long = isinstance(self.answer.problem, TooLongError) and not self.answer.reply.text
        if is_too_long and self.ask.fit and self.window.turns:
            self.answer = self._sent_shorter(self.answer, receiver)
        self.problem = self.answer.problem
        if isinstance(self.problem, ChatInterrupted):
            self.problem = interrupted(self.problem.reply)
        if self.problem is not None and not self.answer.reply.text:
            raise self.problem
        with self.session.state_lock:
            self._keep(self.answer)

    # --- A request that is too long ----------------------------------------------------------

    def _sent_shorter(self, first: Answer, receiver: Receiver) -> Answer:
        """Return the answer to a shorter request; the first one if that cannot be sent."""
        self._shorten()
        try:
            with self.session.state_lock:
                self._make_request()
                self._look_up()
            second = self._exchange(receiver)
        except ChatError as error:
            return first if first.is_sent else replace(first, problem=error)
        if not first.is_sent or not isinstance(second.problem, ChatError):
            return second
        if not second.is_sent:
            return first
        again = f"Sent once more without the oldest {counted(self.left_out, 'turn')}."
        second.problem.advice = sentences(again, second.problem.advice)
        return second

    def _shorten(self) -> None:
        """Leave out the oldest turns, at least one, so that half of the request's text is left."""
        turns = self.window.turns
        size = sum(len(message.content) for message in self.request.messages)
        left = size
        while self.left_out < len(turns) and (not self.left_out or left > size // 2):
            left -= sum(len(message.content) for message in turns[self.left_out].messages)
            self.left_out += 1
        self.window = replace(self.window, last=len(turns) - self.left_out)

    # --- Keeping the reply ------------------------------------------------------------------

    def _keep(self, answer: Answer) -> None:
        """Write the turn's record and put it into the conversation, as the last step."""
        ask, session, reply = self.ask, self.session, answer.reply
        session.took = answer.took
        if self.lookup is not None and (recorded := self.lookup.interaction) is not None:
            session.took = recorded.took
            reply = replace(
                reply,
                recorded=recorded.origin,
                by_order=self.lookup.by_order,
                seconds=recorded.seconds,
            )
        turn = self._turn(replace(reply, took=session.took))
        session.ledger.note_tokens(self.request, reply)
        if ask.allow_secrets:
            session.secret_check.allow(reply.text)
        record = self._record_of(turn)
        record = record if ask.keep_values else record.bare
        kept = replace(turn, record=record)
        if ask.part is not None:
            kept = continuation.joined_turn(ask.part, kept)
        if isinstance(self.problem, ChatError | ChatInterrupted):
            self.problem.reply = kept.reply
            if ask.history and reply.text and reply.state != "complete":
                self.problem.advice = sentences(self.problem.advice, GOES_ON)
        whole = None if ask.part is None else kept.reply
        if ask.history:
            session.conversation.add(kept, order=self.order)
        self.outcome = Outcome(turn.reply, record, whole)

    def _turn(self, reply: Reply) -> Turn:
        """Return the turn that the ask makes: the question, the turns it carried, and the reply."""
        facts = shared_fields(self.ask, RequestFacts)
        facts["asked_model"] = _json.whole_text(self.request.extra.get("model"))
        if self.left_out:
            # In the conversation it is like a turn that was asked with --last.
            facts["last"] = len(self.window.turns)
            reply = replace(reply, left_out=self.left_out)
        return Turn(
            **facts, reply=reply, carried=self.window.carried, instructions=self.window.instructions
        )

    def _record_of(self, turn: Turn) -> Record:
        """Return the record of the turn that the ask makes."""
        record = turn.to_record(self.digest, self.window.shown)
        earlier = self.session.conversation.replies.get(self.ask.again or 0, ())
        digests = dict.fromkeys(other.recorded_digest for other in earlier)
        record = replace(record, in_place_of=tuple(digests), without_markdown=self.without_markdown)
        if (part := self.ask.part) is None:
            return record
        texts = part.reply.text, turn.reply.text
        record = replace(record, continues=part.recorded_digest, cut=continuation.cut_size(*texts))
        whole = continuation.joined_turn(part, replace(turn, record=record))
        block = continuation.block_opening(*texts, self.ask.format)
        return replace(record, turn=whole.digest, block=block)

    def _parse(self) -> None:
        """Set the value of a JSON reply, or note the error; the turn is kept in both cases."""
        if self.problem is not None or self.outcome is None or self.ask.format != "json":
            return
        try:
            reply = forms.parsed(self.outcome.kept, self.ask.form, kept=self.ask.history)
        except ReplyFormatError as problem:
            if self.asked.schema is None and self.ask.schema is not None:
                problem.advice = sentences(problem.advice, TOOK_SCHEMA)
            self.problem = problem
            return
        if self.outcome.whole is None:
            self.outcome = replace(self.outcome, reply=reply)
        else:
            self.outcome = replace(self.outcome, whole=reply)


@dataclass(frozen=True, slots=True)
class Preview:
    """Request as it would be sent.

    Args:
        request: the request.
        parts: its parts with their sizes.
        endpoint: endpoint of the request; ``None`` in a replay without a service.
        cassette: the chosen cassette; ``None`` for none.
        extra_headers: names of the headers beside the connection's own.
        rate: tokens for each character, for an estimate; ``None`` if unknown.
        notes: notes on the request, a line each.
    """

    request: Request
    parts: tuple[Part, ...]
    endpoint: Endpoint | None
    cassette: CassetteConfig | None
    extra_headers: tuple[str, ...]
    rate: float | None
    notes: tuple[str, ...]


def interrupted(reply: Reply | None) -> ChatInterrupted:
    """Return the error for an ask that a person stopped, with the partial reply.

    Args:
        reply: the part that arrived; ``None`` without one.
    """
    if reply is None or not reply.text:
        return ChatInterrupted("Interrupted before the reply began; the conversation is as it was.")
    words = len(reply.text.split())
    after = f"Interrupted after {counted(words, 'word')}; the text so far is kept, marked."
    return ChatInterrupted(
        after if reply.state != "complete" else "Interrupted after the reply's end; it is kept.",
        reply=reply,
        credits=reply.credits,
    )


def set_aside_note(change: Change | None) -> list[str]:
    """Return a note that turns were set aside before this one was asked.

    Args:
        change: the change; ``None`` if there was none.
    """
    if change is None:
        return []
    turns = [counted(len(change.went), "turn")] if change.went else []
    items = " and ".join([*turns, *(f"the {kind}" for kind in change.steered)])
    return [f"set aside {items} of cells gone from the page"]
