"""One conversation with one service: ask, stream, store the turn, account for it.

Python, magic and panel all come through :meth:`Session.run`, one at a time.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from chatmagic._log import log_swallowed
from chatmagic.cassette import transports
from chatmagic.cassette.active import CASSETTE, ActiveCassette
from chatmagic.client.credit_tracker import CreditState
from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.session import schema_reader
from chatmagic.session.ask import AskState, interrupted, read, refuse_empty, set_aside_note
from chatmagic.session.client_pool import ClientPool
from chatmagic.session.environment import PlainPython, setup_for
from chatmagic.session.events import (
    Answer,
    Ask,
    Began,
    Changed,
    Ended,
    Followers,
    Fragment,
    Listener,
)
from chatmagic.session.lock import AskLock
from chatmagic.session.preview import Preview
from chatmagic.session.secret_check import SecretCheck

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.client.client import Client
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.client.stream import ReplyStream
    from chatmagic.conversation.history import Change
    from chatmagic.conversation.instructions import Instructions
    from chatmagic.conversation.request_facts import Format
    from chatmagic.conversation.request_parts import TokenRate
    from chatmagic.conversation.turn import Turn
    from chatmagic.models import Credits, Reply
    from chatmagic.session.environment import Environment
    from chatmagic.session.events import Event, View


class Session:
    """A conversation that is kept, with a service.

    Args:
        client: the client that asks; ``None`` makes one as the environment says at each ask.
        environment: where the session runs; ``None`` is plain Python.
    """

    def __init__(
        self, client: Client | None = None, *, environment: Environment | None = None
    ) -> None:
        """Start an empty conversation; nothing is sent."""
        self.conversation = Conversation()
        self.cassette = ActiveCassette()
        self.environment: Environment = environment or PlainPython()
        """Where the session runs; another one counts from the next ask on."""
        self._clients = ClientPool(client)
        self._took: int | None = None
        self.token_rate: TokenRate | None = None
        """Tokens of the latest request whose service told them; ``None`` before the first."""
        self.followers = Followers()
        self._lock = AskLock()
        self._secret_check = SecretCheck()

    @property
    def credit_state(self) -> CreditState:
        """The latest credits and what belongs to them, read as one."""
        client = self._clients.latest
        state = CreditState() if client is None else client.credit_tracker.state
        return replace(state, took=self._took)

    @property
    def credits(self) -> Credits | None:
        """The latest credits; ``None`` is unknown."""
        return self.credit_state.credits

    @property
    def took(self) -> int | None:
        """About how many credits the latest turn took; ``None`` is unknown."""
        return self._took

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the latest ask went, and with which key; ``None`` before the first."""
        client = self._clients.latest
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
        format: Format = "markdown",
        schema: object = None,
        allow_secrets: bool = False,
        fit: bool = False,
        on_fragment: Callable[[str], object] | None = None,
    ) -> Reply:
        """Ask, keep the turn and give the reply; shows nothing itself.

        Args:
            text: the prompt.
            max_tokens: upper limit on generated tokens.
            temperature: sampling temperature.
            stream: whether the reply is asked for as a stream.
            history: whether the conversation is sent along and the turn kept.
            last: how many of the newest turns are sent along at most.
            format: form of the reply: ``markdown``, ``text``, ``code`` or ``json``; of JSON,
                :attr:`Reply.parsed` has the value.
            schema: what the JSON has to be: a pydantic model, a dataclass, a TypedDict or a
                JSON schema; :attr:`Reply.parsed` is the instance.
            allow_secrets: whether it is sent although it holds a secret.
            fit: whether it is sent once more, without the oldest turns, where the service says
                that the conversation is too long.
            on_fragment: called with each fragment as it comes.

        Raises:
            InputError: the prompt is empty, an argument cannot be sent, or what is sent
                holds a secret.
            ReplyFormatError: the reply came whole, and is no such JSON; its turn is kept.
            ChatError: as the tree in :mod:`chatmagic.errors` has it. With a part of a
                reply the turn is kept, marked; without one the conversation is as before.
            ChatInterrupted: a person stopped it; the same holds.
        """
        owner, execution = self.environment.cell()
        name = None if schema is None else schema_reader.name_of(schema)
        ask = Ask(
            text,
            max_tokens=max_tokens,
            temperature=temperature,
            stream=stream,
            history=history,
            last=last,
            format=format,
            schema=name,
            form=None if name is None else schema_reader.read(schema, name),
            allow_secrets=allow_secrets,
            fit=fit,
            owner=owner,
            execution=execution,
        )
        return self.run(ask, Listener(on_fragment)).reply

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
        state = AskState(ask, halt or Halt())
        try:
            answer = self._run(state, view)
        except BaseException as error:
            self.followers.tell(Ended(ask, state.answer, error))
            raise
        self.followers.tell(Ended(ask, answer, None))
        return answer

    def preview(self, ask: Ask) -> Preview:
        """Return what an ask would send; nothing is sent, kept or changed.

        Args:
            ask: what would be asked.

        Raises:
            ChatError: the ask would fail before it is sent, or it holds a secret.
        """
        refuse_empty(ask)
        state = AskState(ask, Halt())
        state.cassette = setup = self.environment.cassette()
        is_replay = setup is not None and setup.config.mode == "replay"
        endpoint: Endpoint | None = None
        # A replay needs no service; where one is set, its key is not shown either.
        try:
            endpoint = self._endpoint(state)
        except ChatError as error:
            if not is_replay:
                raise
            log_swallowed(error)
        conversation = copy(self.conversation)
        self._compose(state, conversation)
        to = CASSETTE if endpoint is None else endpoint
        self._secret_check.refuse(state, to, conversation.turns, is_sent=False)
        return Preview.of(state, conversation.turns, endpoint, self.token_rate)

    def follow(self, follower: Callable[[Event], object]) -> Callable[[], None]:
        """Call a function with each event of this session from now on.

        Args:
            follower: called in the thread that asks: to be quick, and to leave what it does
                to a thread of its own. What it raises is left out.

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
        change = self._lock.alone("a change of the conversation", lambda: action(self.conversation))
        self.followers.tell(Changed())
        return change

    def instruct(self, instructions: Instructions) -> Change | None:
        """Give the questions below a place standing instructions, while no ask is under way.

        Args:
            instructions: with their place.

        Raises:
            InputError: an ask of this very thread is under way.
        """

        def add(conversation: Conversation) -> Change:
            layout = self.environment.layout(instructions.owner)
            if layout is None:
                return conversation.add(instructions)
            conversation.follow(layout)
            return conversation.add(instructions, order=layout.order)

        return self.change(add)

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

        def change() -> str | None:
            summary = self.cassette.eject() if again else None
            if not off:
                # With it, none is wanted; what the environment names comes with the next ask.
                self.cassette.insert(self.environment.cassette())
            if not again:
                self.cassette.retry()
            return summary

        return self._lock.alone("a change of the cassette", change)

    def alone(self, action: Callable[[], str]) -> str:
        """Return what an action with the cassette returns, run while no ask is under way.

        Args:
            action: what to do.
        """
        return self._lock.alone("a change of the cassette", action)

    def follow_pages(self, owner: str | None = None) -> Change | None:
        """Put the turns in the order of the page's cells, unless an ask is under way.

        Args:
            owner: hash of the running cell; ``None`` without one.

        Returns:
            The change, if turns of cells that are gone were set aside.
        """
        layout = self.environment.layout(owner)
        if layout is None or not self._lock.enter_if_free("a change of the conversation"):
            return None
        try:
            change = self.conversation.follow(layout)
        finally:
            self._lock.leave()
        if change is not None:
            self.followers.tell(Changed())
        return change

    def disconnect(self) -> None:
        """Forget the connection and its credits; the next ask makes its own."""
        self._clients.forget()
        self._took = None

    def close(self) -> None:
        """Close the connections that are kept."""
        self._clients.close()

    # --- The steps of one ask ------------------------------------------------------------------

    def _run(self, state: AskState, view: View) -> Answer:
        """Do an ask under the lock; whatever ends it, release the lock and the connection."""
        ask = state.ask

        def action() -> None:
            self._prepare(state)
            # The view warms its renderer while requests is loaded and the headers awaited.
            view.began(state.notes)
            turns = self.conversation.turns
            self.followers.tell(Began(ask, tuple(state.notes), turns, state.halt))
            self._receive(state, self._send(state), view)

        refuse_empty(ask)
        try:
            self._lock.alone(ask.asker, action, view.waiting, state.halt)
            return state.deliver(view)
        except BaseException as error:
            state.abandon(view, error)
            raise

    def _prepare(self, state: AskState) -> None:
        """Decide what is sent, and what answers it; nothing is sent yet."""
        state.cassette = setup = self.environment.cassette()
        self.cassette.insert(setup)
        if setup is None and self._clients.given is None:
            state.service = self.environment.service()
        aside = self._compose(state, self.conversation)
        self._look_up(state)
        if state.source == "service":
            self._secret_check.refuse(state, self._endpoint(state), self.conversation.turns)
        state.notes = [*set_aside_note(aside), *self.cassette.news(), *state.what_is_sent()]

    def _look_up(self, state: AskState) -> None:
        """Look up what answers the request while a cassette is active."""
        if self.cassette.current is not None:
            state.lookup = state.look_up(
                self.cassette.current, self.conversation, lambda: self._endpoint(state).is_emulator
            )

    def _compose(self, state: AskState, conversation: Conversation) -> Change | None:
        """Make the request; return the change of a conversation that follows its page."""
        aside = state.follow_page(conversation, self.environment)
        above: tuple[Turn, ...] = ()
        if state.ask.history:
            who = state.ask.owner, state.ask.execution
            state.context = conversation.context(*who, last=state.ask.last, order=state.order)
            above = conversation.context(*who, order=state.order).turns
        state.ask_for_form(above, self.environment.named)
        self._make_request(state)
        return aside

    def _make_request(self, state: AskState) -> None:
        """Make the request of what is asked and what goes along."""
        given = self._clients.given
        source = given.setup if given is not None else state.cassette or state.service
        state.make_request(
            (source and source.extra_body) or {},
            system_role=source is not None and source.system_role,
        )

    def _endpoint(self, state: AskState) -> Endpoint:
        """Return where the service is asked, where that is what answers."""
        if self._clients.given is not None:
            return self._clients.given.endpoint
        state.service = state.service or self.environment.service()
        return state.service.endpoint

    def _send(self, state: AskState) -> ReplyStream:
        """Hand the request to a client; the cassette stands between that and its transport."""
        client = self._clients.client(
            state.source,
            lambda: state.service or setup_for(state.source, self.environment, state.cassette),
        )
        through = transports.through(
            state.lookup,
            self.cassette.current,
            lambda: transports.Outcome(
                replace(stream.reply, took=client.took), client.endpoint.key
            ),
        )
        state.added = self.conversation.added
        state.stream = stream = client.send(state.request, state.halt, through)
        return stream

    def _send_shortened(self, state: AskState) -> ReplyStream:
        """Hand over the request once more without the oldest turns, as the user has set."""
        state.shorten()
        self._make_request(state)
        self._look_up(state)
        return self._send(state)

    def _receive(self, state: AskState, stream: ReplyStream, view: View) -> None:
        """Read the reply to its end, or to what ends it early; keep what came."""

        def show(fragment: str) -> None:
            view.fragment(fragment)
            self.followers.tell(Fragment(fragment))

        try:
            state.problem = read(stream, show)
            if state.may_be_shortened() and not stream.reply.text:
                stream = self._send_shortened(state)
                state.problem = read(stream, show)
                state.say_shortened()
            if state.problem is not None and not stream.reply.text:
                raise state.problem
            self._keep(state, stream.reply)
            state.parse()
        except KeyboardInterrupt:
            stream.close()
            reply = stream.reply
            if not reply.text:
                raise
            # Stop came when the reply had come: it is paid for, so it is kept all the same.
            self._keep(state, reply)
            state.problem = interrupted(cast("Answer", state.answer).reply)

    def _keep(self, state: AskState, reply: Reply) -> None:
        """Write the turn's record and put it into the conversation, once, as the last step."""
        client, ask = self._clients.latest, state.ask
        self._took = None if client is None else client.took
        if state.lookup is not None and (recorded := state.lookup.interaction) is not None:
            self._took = recorded.took
            reply = replace(reply, recorded=recorded.origin, by_order=state.lookup.by_order)
        turn = state.turn(replace(reply, took=self._took))
        self.token_rate = state.token_rate(reply) or self.token_rate
        if ask.allow_secrets:
            self._secret_check.allow(reply.text)
        if isinstance(state.problem, ChatError | ChatInterrupted):
            state.problem.reply = turn.reply
        record = turn.to_record(state.context.digests, state.digest)
        record = record if ask.keep_values else record.bare
        answer = Answer(turn.reply, record.listing(state.context.shown))
        if ask.history and self.conversation.added == state.added:
            self.conversation.add(replace(turn, record=record), order=state.order)
        state.answer = answer
