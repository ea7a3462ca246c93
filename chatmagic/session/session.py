"""One conversation with one service: ask, stream, store the turn, account for it.

Python, the magics and the panel all ask by :meth:`Session.run`, one ask at a time in each thread of
the conversation.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar, cast

from chatmagic._fork import Lock
from chatmagic._json import digest
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import GOES_ON, LESS, TOOK_SCHEMA, Note, Place, note_at, sentences
from chatmagic.archive import table
from chatmagic.cassette.cassette import (
    CASSETTE,
    ActiveCassette,
    AnswerSource,
    CassetteConfig,
)
from chatmagic.client import config
from chatmagic.client.client import Client, ModelList
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.client.stream import CreditTracker
from chatmagic.conversation import continuation
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Format, Part
from chatmagic.conversation.state import Change
from chatmagic.conversation.steering import (
    Steering,
    ThreadStart,
    instructed,
    refuse_fork,
)
from chatmagic.conversation.window import Window
from chatmagic.errors import (
    SHORTER_HINT,
    ChatError,
    ChatInterrupted,
    NotRecordedError,
    ReplyFormatError,
    TooLongError,
    shown_at,
)
from chatmagic.models import Credits, Reply
from chatmagic.protocol.api_key import refuse_keys
from chatmagic.protocol.wire import Request
from chatmagic.safe_text import counted
from chatmagic.session import forms
from chatmagic.session.environment import ClientPool, Environment, RequestSettings, setup_for
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
from chatmagic.session.exchange import Answer, Receiver, Sending, exchange
from chatmagic.session.feature import Candidate, Feature
from chatmagic.session.features import features_of, new_ledger
from chatmagic.session.map.map import MapOptions
from chatmagic.session.map.map import run as run_map
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import RowTemplate
from chatmagic.session.prepare import Prepared, keep, prepare
from chatmagic.session.recorder import Recorder
from chatmagic.session.worker import NAP, AskLock, Worker, whole

if TYPE_CHECKING:
    import typing_extensions

    _Given = ParamSpec("_Given")

    _Result = TypeVar("_Result")
    _FeatureT = TypeVar("_FeatureT", bound=Feature)

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

    ledger = new_ledger()
    """The requests of this process, ``rows`` and ``to_dataframe()``: its limits hold for all its
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
        self.followers: tuple[Callable[[Event], object], ...] = ()
        """The functions that are called with each event."""
        self.lock = AskLock()
        self.state_lock = Lock()
        """Lock for state that all asks share. Only workers hold it, because an interrupt of another
        thread could leave it locked."""
        self.features = features_of(self)
        """The features, which a question meets in this order as links."""

    def feature(self, kind: type[_FeatureT]) -> _FeatureT:
        """Return the feature of a kind.

        Args:
            kind: its class.
        """
        return next(feature for feature in self.features if isinstance(feature, kind))

    @property
    def cassette(self) -> ActiveCassette:
        """The cassette that answers or records this session's requests."""
        return self.feature(Recorder).cassette

    @property
    def place(self) -> Place:
        """The place whose words the session's errors and lines have.

        A client of one's own has arguments, and no settings of a notebook.
        """
        return self.environment.place if self.clients.given is None else "python"

    def threads_of(self, ask: Ask) -> tuple[str, ...]:
        """Return the name of a question's thread, then the names of threads that share its turns.

        In these threads only one question is asked at a time.

        Args:
            ask: the question.

        Raises:
            InputError: the turn to ask again is no longer in the conversation.
        """
        name = ask.thread_in(self.conversation, order_of(ask, self.layout_of(ask)))
        threads = self.conversation.threads
        own = {turn.number for turn in threads.get(name, ())}
        others = (
            other
            for other, turns in threads.items()
            if other != name and any(turn.number in own for turn in turns)
        )
        return name, *others

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
        retries: int = 0,
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
            workers: largest number of requests under way, up to 256.
            retries: number of times that a row is sent again after an error of the server or the
                network that may have been paid for.
            max_tokens: as for :meth:`ask`.
            temperature: as for :meth:`ask`.
            model: as for :meth:`ask`.
            stream: as for :meth:`ask`.
            format: as for :meth:`ask`.
            schema: as for :meth:`ask`.
            columns: whether each field of the schema is a column of the DataFrame.
            allow_secrets: as for :meth:`ask`.
            file: the job's file; ``None`` is ``map-….jsonl`` in the working folder.
            wait: whether the map waits for the end of any limit; otherwise it waits for a minute.
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
            options = MapOptions(
                workers=workers,
                retries=retries,
                waits=wait,
                keeps=keep,
                file=file,
                yes=yes,
                block=block,
            )
            sender = RowSender(self.environment, self.ledger, self.clients, self.features)
            made = RowTemplate(ask, self.environment, sender.setup, columns=columns)
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
        stop = halt or Halt()
        worker: Worker[_Ending] = Worker(partial(self._work, ask, view, stop), stop.stop)
        try:
            with shown_at(self.place):
                raised = worker.wait()
                outcome = self._end(ask, view, worker.finished or _Ending(), raised)
        except BaseException as error:
            kept = worker.finished
            self.tell(Ended(ask, None if kept is None else kept.outcome, error))
            raise
        self.tell(Ended(ask, outcome, None))
        return outcome

    def _end(self, ask: Ask, view: View, ending: _Ending, raised: BaseException | None) -> Outcome:
        """Show the end of an ask; return its outcome, or raise the error that ended it early.

        Args:
            ask: the question.
            view: the view that shows the ask.
            ending: the end of its work.
            raised: the error that interrupted the wait for the worker.
        """
        self.ledger.tell()
        try:
            if raised is None:
                ending = ending.parsed(ask)
            ending.show(view)
        except KeyboardInterrupt as error:
            raised = error
            # The interrupt came while the last state was drawn. The turn is kept, so draw it again.
            ending.show(view)
        problem = ending.problem
        if isinstance(raised, KeyboardInterrupt):
            if not isinstance(problem, ChatInterrupted):
                problem = interrupted(None if ending.outcome is None else ending.outcome.kept)
        elif raised is not None:
            problem = raised
        prepared = ending.prepared
        if isinstance(problem, TooLongError) and prepared and not prepared.window.turns:
            other = (SHORTER_HINT if part == LESS else part for part in problem.advice)
            problem.advice = sentences(*other)
        for feature in self.features:
            for line in feature.late_news(problem):
                self.notify(line)
        if problem is not None:
            raise problem from None
        return cast("Outcome", ending.outcome)

    def _work(self, ask: Ask, view: View, halt: Halt, worker: Worker[_Ending]) -> _Ending:
        """Do a whole ask, in a worker, while its thread of the conversation has no other ask."""
        try:
            ask.refuse_empty()
            with self.lock.held(
                ask.asker,
                worker.caller,
                halt,
                waiting=lambda holder: worker.tell(partial(view.waiting, holder)),
                threads=partial(self.threads_of, ask),
            ):
                with self.state_lock:
                    asking = self._admitted(ask)
                worker.tell_first(partial(view.began, asking.notes))
                turns = self.conversation.turns
                thread = asking.prepared.window.thread
                self.tell(Began(ask, asking.notes, turns, halt, thread))
                return self._asked(asking, halt, _Audience(ask, self, view, worker))
        except ChatInterrupted:
            return _Ending(problem=interrupted(None))
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            return _Ending(problem=error)

    def _admitted(self, ask: Ask) -> _Asking:
        """Prepare a question, and find the source of its answer."""
        settings = self._settings()
        self.cassette.insert(settings.cassette)
        layout = self.layout_of(ask)
        aside = None if layout is None else self.conversation.follow(layout)
        order = order_of(ask, layout)
        window = ask.window_in(self.conversation, order) if ask.history else NOTHING
        prepared = prepare(ask, window, self.environment.named, settings.before_address)
        asking = self._looked_up(_Asking(ask, prepared, (), order, settings))
        news = [note_at(note, self.place) for feature in self.features for note in feature.news()]
        lookup = asking.prepared.lookup
        found = () if lookup is None else lookup.notes
        without: list[str] = []
        if lookup is None or lookup.source == "service":
            without = self._notes(prepared, settings.service)
        notes = (*set_aside_note(aside), *news, *found, *prepared.notes, *without)
        return replace(asking, notes=notes)

    def _notes(self, prepared: Prepared, service: ServiceSetup | None) -> list[str]:
        """Return the notes of the features on a question that a service answers."""
        request, ask = prepared.request, prepared.ask
        return [note for feature in self.features for note in feature.notes(request, ask, service)]

    def _looked_up(self, asking: _Asking) -> _Asking:
        """Return a question with the source of its answer, if it may be sent there."""
        prepared = asking.prepared
        settings = asking.settings
        cassette = self.cassette.current
        source: AnswerSource = "service"
        if cassette is not None:
            lookup = cassette.look_up(prepared.query, lambda: settings.service.endpoint.is_emulator)
            prepared = replace(prepared, lookup=lookup)
            source = lookup.source
        if source == "service":
            self._check(Candidate(prepared, settings.service.endpoint))
        return replace(asking, prepared=prepared)

    def _check(self, candidate: Candidate) -> None:
        """Raise the error of a feature that does not let a question be sent."""
        for feature in self.features:
            feature.check(candidate)

    def _exchanged(self, asking: _Asking, halt: Halt, receiver: Receiver) -> Answer:
        """Return the answer to a question; a cassette may give it."""
        if halt.reason is not None:
            raise ChatInterrupted("Interrupted before it was sent.")
        prepared = asking.prepared
        lookup = prepared.lookup
        source: AnswerSource = "service" if lookup is None else lookup.source

        def setup() -> ServiceSetup:
            if source == "service":
                return asking.settings.service
            return setup_for(source, self.environment, asking.settings.cassette)

        with self.state_lock:
            client = self.clients.client(source, setup)
        sending = Sending(
            client=client,
            request=prepared.request,
            digest=prepared.digest,
            entry=prepared.ask.entry,
            cell=prepared.ask.owner,
            halt=halt,
            receiver=receiver,
            question=prepared.ask,
            lookup=lookup,
        )
        return exchange(sending, self.features)

    def _asked(self, asking: _Asking, halt: Halt, receiver: Receiver) -> _Ending:
        """Exchange a question for its reply, whole or in part, and keep it."""
        answer = self._exchanged(asking, halt, receiver)
        is_too_long = isinstance(answer.problem, TooLongError) and not answer.reply.text
        if is_too_long and asking.prepared.ask.fit and asking.prepared.window.turns:
            asking, answer = self._asked_shorter(asking, answer, halt, receiver)
        prepared, problem = asking.prepared, answer.problem
        if isinstance(problem, ChatInterrupted):
            problem = interrupted(problem.reply)
        if problem is not None and not answer.reply.text:
            return _Ending(prepared, answer.reply, problem=problem)
        with self.state_lock:
            outcome = self._kept(asking, answer, problem)
        return _Ending(prepared, answer.reply, outcome, problem)

    def _asked_shorter(
        self, asking: _Asking, first: Answer, halt: Halt, receiver: Receiver
    ) -> tuple[_Asking, Answer]:
        """Return a shorter question and its answer; the first ones if that cannot be sent."""
        window, left_out = asking.prepared.shorter()
        try:
            with self.state_lock:
                prepared = prepare(
                    asking.ask,
                    window,
                    self.environment.named,
                    asking.settings.before_address,
                    left_out=left_out,
                )
                shorter = self._looked_up(replace(asking, prepared=prepared))
            second = self._exchanged(shorter, halt, receiver)
        except ChatError as error:
            return asking, first if first.is_sent else replace(first, problem=error)
        if first.is_sent and isinstance(second.problem, ChatError):
            if not second.is_sent:
                return asking, first
            again = f"Sent once more without the oldest {counted(left_out, 'turn')}."
            second.problem.advice = sentences(again, second.problem.advice)
        return shorter, second

    def _kept(self, asking: _Asking, answer: Answer, problem: BaseException | None) -> Outcome:
        """Keep a question's turn with its record, as the last step."""
        prepared, ask = asking.prepared, asking.prepared.ask
        reply = replace(answer.reply, took=answer.took)
        turn, record = keep(prepared, reply, self.conversation.replies.get(ask.again or 0, ()))
        self.took = turn.reply.took
        for feature in self.features:
            feature.take_reply(prepared, reply)
        kept = turn if ask.part is None else continuation.joined_turn(ask.part, turn)
        if isinstance(problem, ChatError | ChatInterrupted):
            problem.reply = kept.reply
            if ask.history and reply.text and reply.state != "complete":
                problem.advice = sentences(problem.advice, GOES_ON)
        if ask.history:
            self.conversation.add(kept, order=asking.order)
        return Outcome(turn.reply, record, None if ask.part is None else kept.reply)

    def preview(self, ask: Ask) -> Preview:
        """Return the request of an ask; nothing is sent, kept or changed.

        Args:
            ask: the question.

        Raises:
            ChatError: the ask would fail before it is sent, or it holds a secret.
        """
        with shown_at(self.place):
            ask.refuse_empty()
            settings = self._settings()
            cassette = settings.cassette
            service = self._service_of(settings)
            conversation = copy(self.conversation)
            layout = self.layout_of(ask)
            if layout is not None:
                conversation.follow(layout)
            order = order_of(ask, layout)
            window = ask.window_in(conversation, order) if ask.history else NOTHING
            prepared = prepare(ask, window, self.environment.named, settings.before_address)
            return self._checked(prepared, service, cassette)

    def _settings(self) -> RequestSettings:
        """Return the settings of a question that is asked now."""
        given = self.clients.given
        return self.environment.current(None if given is None else given.setup)

    def _service_of(self, settings: RequestSettings) -> ServiceSetup | None:
        """Return the service of a preview; ``None`` in a replay without one."""
        cassette = settings.cassette
        try:
            return settings.service
        except ChatError as error:
            if cassette is None or cassette.mode != "replay":
                raise
            log_swallowed(error)
            return None

    def _checked(
        self, prepared: Prepared, service: ServiceSetup | None, cassette: CassetteConfig | None
    ) -> Preview:
        """Return the preview of a prepared question, if it could be sent."""
        ask, request = prepared.ask, prepared.request
        endpoint = None if service is None else service.endpoint
        is_replayable = endpoint is None or (cassette is not None and cassette.mode != "refresh")
        self._check(
            Candidate(prepared, endpoint or CASSETTE, is_sent=False, is_replayable=is_replayable)
        )
        # An answer from a cassette needs no key, and may be there for this request.
        if endpoint is not None and not is_replayable:
            endpoint.refuse_no_key()
        for feature in self.features:
            request = feature.as_sent(request, ask, service)
        texts = [request.encode().decode(), *(message.content for message in request.messages)]
        refuse_keys(texts, config.known_keys() if endpoint is None else endpoint.known_keys)
        is_given = self.clients.given is not None
        headers = None if is_given or service is None else service.extra_headers
        return Preview(
            request=request,
            parts=prepared.parts,
            endpoint=endpoint,
            cassette=cassette,
            extra_headers=tuple(headers or ()),
            rate=self.ledger.token_rate,
            notes=(*prepared.notes, *self._notes(prepared, service)),
        )

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

    def notify(self, line: Note) -> None:
        """Show a line to the user at once; a warning that is an error loses no reply.

        Args:
            line: the line.
        """
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

    def complete_cassette(self) -> list[Note]:
        """Save what the cassette's file lacks, while no ask is under way; return lines on it."""
        self.lock.alone("a change of the cassette", self.cassette.keep)
        return self.cassette.news()

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
        answer = exchange(sending, self.features)
        listed: ModelList = answer.whole().parsed
        return listed, answer.took

    def disconnect(self) -> None:
        """Forget the connection and its credits; the next ask makes its own."""
        self.clients.forget()
        self.took = None

    def close(self) -> None:
        """Close the kept connections, and let each feature end its work."""
        for feature in self.features:
            feature.close()
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
    worker: Worker[_Ending]

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


def order_of(ask: Ask, layout: Layout | None) -> tuple[str, ...] | None:
    """Return the hashes of the page's cells from top to bottom; ``None`` if no page reports them.

    Args:
        ask: a question, which may have an order of its own.
        layout: the order that its page reports; ``None`` for none.
    """
    return ask.order if layout is None else layout.order


NOTHING: Final = Window()
"""The window of an ask without history."""


@dataclass(frozen=True, slots=True)
class _Asking:
    """Question that is about to be sent.

    Args:
        ask: the question as it was asked.
        prepared: the question as it is sent.
        notes: lines to show while the reply is awaited.
        order: hashes of the page's cells from top to bottom, in whose order the turn is kept.
        settings: the settings of the request, and of its address.
    """

    ask: Ask
    prepared: Prepared
    notes: tuple[str, ...]
    order: tuple[str, ...] | None
    settings: RequestSettings


@dataclass(frozen=True, slots=True)
class _Ending:
    """End of the work for an ask.

    Args:
        prepared: the question as it was sent last; ``None`` if it was not.
        reply: the reply so far; ``None`` if nothing was sent.
        outcome: the reply that is kept; ``None`` for none.
        problem: the error that ended the reply early.
    """

    prepared: Prepared | None = None
    reply: Reply | None = None
    outcome: Outcome | None = None
    problem: BaseException | None = None

    def show(self, view: View) -> None:
        """Show the end in a view.

        Args:
            view: the view that shows the ask.
        """
        if self.outcome is not None:
            view.ended(self.outcome)
            return
        view.failed()
        if self.reply is not None and self.reply.reasoning:
            view.thought(self.reply.reasoning)

    def parsed(self, asked: Ask) -> _Ending:
        """Return the end with the value of a JSON reply, or with its error; the turn is kept.

        Args:
            asked: the question as it was asked.
        """
        prepared, outcome = self.prepared, self.outcome
        if self.problem is not None or outcome is None or prepared is None:
            return self
        ask = prepared.ask
        if ask.format != "json":
            return self
        try:
            reply = forms.parsed(outcome.kept, ask.form, kept=ask.history)
        except ReplyFormatError as problem:
            if asked.schema is None and ask.schema is not None:
                problem.advice = sentences(problem.advice, TOOK_SCHEMA)
            return replace(self, problem=problem)
        if outcome.whole is None:
            return replace(self, outcome=replace(outcome, reply=reply))
        return replace(self, outcome=replace(outcome, whole=reply))


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
