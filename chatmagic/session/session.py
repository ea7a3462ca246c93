"""One conversation with one service: ask, stream, store the turn, account for it.

Python, magic and panel all come through :meth:`Session.run`, one at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from chatmagic import _json
from chatmagic._log import swallowed
from chatmagic.cassette import active, reproducibility, transports
from chatmagic.cassette.active import ActiveCassette, CassetteSetup
from chatmagic.cassette.interaction import Recorded
from chatmagic.cassette.matching import Query
from chatmagic.client import config
from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import InputError
from chatmagic.session import client_pool
from chatmagic.session.ask import (
    NOTHING,
    AskState,
    delivered,
    interrupted,
    listen,
    notes,
    request_of,
    set_aside,
    turn_of,
)
from chatmagic.session.client_pool import ClientPool, ServiceSetup
from chatmagic.session.events import (
    Answer,
    Ask,
    Changed,
    Ended,
    Event,
    Listener,
    Told,
    View,
)
from chatmagic.session.lock import AskLock

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from chatmagic.cassette.cassette import AnswerSource, Lookup
    from chatmagic.client.client import Client
    from chatmagic.client.config import Endpoint
    from chatmagic.client.sockets import Halt
    from chatmagic.conversation.cell_order import Layout
    from chatmagic.conversation.history import Change
    from chatmagic.conversation.turn import Context
    from chatmagic.models import Credits, Reply
    from chatmagic.protocol.ratelimit import RequestLimit
    from chatmagic.protocol.wire import Request


class Session:
    """A conversation that is kept, with a service.

    Args:
        client: whom to ask; ``None`` looks the address and key up at each ask.
    """

    def __init__(self, client: Client | None = None) -> None:
        """Start an empty conversation; nothing is sent."""
        self.conversation = Conversation()
        self.cassette = ActiveCassette()
        self.set_free()
        self._clients = ClientPool(client)
        self._took: int | None = None
        self._followers: tuple[Callable[[Event], object], ...] = ()
        self._turnstile = AskLock()
        self._under_way: tuple[Ask, Halt] | None = None

    @property
    def credits(self) -> Credits | None:
        """The latest credits; ``None`` is unknown."""
        client = self._clients.latest
        return None if client is None else client.credits

    @property
    def credits_received_at(self) -> datetime | None:
        """The time here when the answer that told the latest credits came."""
        client = self._clients.latest
        return None if client is None else client.credits_received_at

    @property
    def request_limit(self) -> RequestLimit | None:
        """How many requests are left in the service's window; ``None`` is unknown."""
        client = self._clients.latest
        return None if client is None else client.request_limit

    @property
    def lacks_usage(self) -> bool:
        """Whether the latest reply was streamed by a service and told no tokens."""
        client = self._clients.latest
        return client is not None and client.lacks_usage

    @property
    def clock_off(self) -> timedelta | None:
        """How far the clock here is ahead of the service's; ``None`` if it may be right."""
        client = self._clients.latest
        return None if client is None else client.clock_off

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the latest ask went, and with which key; ``None`` before the first."""
        client = self._clients.latest
        return None if client is None else client.endpoint

    @property
    def took(self) -> int | None:
        """About how many credits the latest ask took; ``None`` is not known."""
        return self._took

    def ask(
        self,
        text: str,
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stream: bool = True,
        history: bool = True,
        last: int | None = None,
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
            on_fragment: called with each fragment as it comes.

        Raises:
            InputError: the prompt is empty, or an argument cannot be sent.
            ChatError: as the tree in :mod:`chatmagic.errors` has it. With a part of a
                reply the turn is kept, marked; without one the conversation is as before.
            ChatInterrupted: a person stopped it; the same holds.
        """
        owner, execution = self.execution()
        ask = Ask(
            text,
            max_tokens=max_tokens,
            temperature=temperature,
            stream=stream,
            history=history,
            last=last,
            owner=owner,
            execution=execution,
        )
        return self.run(ask, Listener(on_fragment)).reply

    def run(self, ask: Ask, view: View, halt: Halt | None = None) -> Answer:
        """Do one ask from beginning to end, telling a view and the followers how it goes.

        Args:
            ask: what is asked.
            view: who is shown it.
            halt: stops it from another thread.

        Raises:
            ChatError: see :meth:`ask`.
            ChatInterrupted: see :meth:`ask`.
        """
        told = Told(ask, view, self._tell, self.conversation)
        try:
            answer = self._run(ask, told, halt)
        except BaseException as error:
            self._tell(Ended(ask, told.answer, error))
            raise
        self._tell(Ended(ask, answer, None))
        return answer

    def stop(self, ask: Ask) -> bool:
        """Stop an ask from another thread, whoever asked it; what came of it is kept, marked.

        Args:
            ask: as :class:`Began` told it.

        Returns:
            Whether its request was under way; another one is never stopped in its place.
        """
        under_way = self._under_way
        if under_way is None or under_way[0] is not ask:
            return False
        under_way[1].stop()
        return True

    def follow(self, follower: Callable[[Event], object]) -> Callable[[], None]:
        """Let somebody hear of every ask and change, whoever makes it.

        Args:
            follower: called with each event, in the thread that asks: to be quick, and to
                leave what it does to a thread of its own. What it raises is left out.

        Returns:
            What to call to follow no more.
        """
        self._followers = (*self._followers, follower)

        def leave() -> None:
            self._followers = tuple(other for other in self._followers if other is not follower)

        return leave

    def _tell(self, event: Event) -> None:
        for follower in self._followers:
            with swallowed():
                follower(event)

    def _run(self, ask: Ask, view: View, halt: Halt | None) -> Answer:
        if not isinstance(ask.text, str):
            raise InputError(
                f"The prompt is text, not {type(ask.text).__name__}. Nothing was sent.",
                hint="str(value) makes text of a value.",
            )
        if not ask.text.strip():
            raise InputError("The prompt is empty. Nothing was sent.")
        self._turnstile.refuse_its_holder()
        course = AskState(ask)
        try:
            try:
                self._turnstile.enter(ask.asker, view.waiting, halt)
                self._asked(course, view, halt)
            finally:
                if self._under_way is not None and self._under_way[0] is ask:
                    self._under_way = None
                self._turnstile.leave()
            return delivered(course, view)
        except BaseException as error:
            # Again, for an interrupt that came just before; the same holds for the stream.
            self._turnstile.leave()
            stopped = isinstance(error, KeyboardInterrupt)
            if course.stream is not None:
                course.stream.close()
            if course.answer is None:
                view.failed()
            elif stopped and not course.shown:
                # Stop came while the last state was being drawn; the turn is kept, so draw it.
                view.ended(course.answer)
            if stopped and error is not course.problem:
                raise interrupted(None if course.answer is None else course.answer.reply) from None
            raise

    def change(self, action: Callable[[Conversation], Change | None]) -> Change | None:
        """Change the conversation (undo, redo, reset) while no ask is under way.

        Args:
            action: what to do with it.

        Raises:
            InputError: an ask of this very thread is under way.
        """
        change = self._turnstile.alone(
            "a change of the conversation", lambda: action(self.conversation)
        )
        self._tell(Changed())
        return change

    def retape(self, *, again: bool = True, off: bool = False) -> str | None:
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

        def exchanged() -> str | None:
            summary = self.cassette.eject() if again else None
            if not off:
                # Who is done asks for none; what the environment has comes with the next ask.
                self.cassette.insert()
            if not again:
                self.cassette.retry()
            return summary

        return self._turnstile.alone("a change of the cassette", exchanged)

    def alone(self, action: Callable[[], str]) -> str:
        """Do something with the cassette while no ask is under way.

        Args:
            action: what to do; its result is returned.
        """
        return self._turnstile.alone("a change of the cassette", action)

    def follow_pages(self, owner: str | None = None) -> Change | None:
        """Let the conversation follow the pages, unless an ask is under way.

        Args:
            owner: hash of the cell that wants to know; ``None`` without one.

        Returns:
            The change, if turns of cells that are gone were set aside.
        """
        layout = self.layout(owner)
        if layout is None or not self._turnstile.enter_if_free("a change of the conversation"):
            return None
        try:
            change = self.conversation.follow(layout)
        finally:
            self._turnstile.leave()
        if change is not None:
            self._tell(Changed())
        return change

    def _follow_for(self, course: AskState) -> Change | None:
        """Let the conversation follow the pages before an ask, which goes by their order."""
        ask = course.ask
        if not ask.history or ask.order is not None:
            return None
        # The panel is on no page's list; it goes by the newest word.
        layout = self.layout(None if ask.entry == "panel" else ask.owner)
        if layout is None:
            return None
        course.ask = replace(ask, order=layout.order)
        return self.conversation.follow(layout)

    def _asked(self, course: AskState, view: View, halt: Halt | None) -> None:
        """Ask, and keep what came, with what ended it early."""
        asked, taping = course.ask, self.cassette.insert()
        setup = self.setup() if taping is None and self._clients.given is None else None
        aside = self._follow_for(course)
        ask = course.ask
        course.context = context = self._context(ask)
        source = cast(
            "Client | CassetteSetup | ServiceSetup", self._clients.given or taping or setup
        )
        request, course.digest = request_of(ask, context, source.extra_body)
        course.asked_model = _json.word(request.extra.get("model"))
        course.play = play = None if taping is None else self._play(ask, context, request)
        # The view warms its renderer while requests is loaded and the headers awaited.
        view.began(
            [
                *set_aside(aside),
                *self.cassette.news(),
                *(play.notes if play is not None else ()),
                *notes(asked, context),
            ]
        )
        who: AnswerSource = "service" if play is None else play.source
        client = self._clients.of(who, lambda: self._setup_for(who, setup, taping))
        through = transports.through(
            play,
            self.cassette.current,
            lambda: transports.Outcome(stream.reply, client.took, client.endpoint.key),
        )
        course.added = self.conversation.added
        halt = _or_new(halt)
        self._under_way = asked, halt
        course.stream = stream = client.send(request, halt, through)
        try:
            course.problem = listen(stream, view)
            if course.problem is not None and not stream.reply.text:
                raise course.problem
            self._keep(course, stream.reply)
        except KeyboardInterrupt:
            stream.close()
            reply = stream.reply
            if not reply.text:
                raise
            # Stop came when the reply had come: it is paid for, so it is kept all the same.
            self._keep(course, reply)
            course.problem = interrupted(reply)

    def set_free(self) -> None:
        """Ask as the environment says, for nobody's cell; a kernel's commands say otherwise."""
        self.setup: Callable[[], ServiceSetup] = client_pool.from_environment
        self.cassette.choose_setup = active.from_environment
        self.execution: Callable[[], tuple[str | None, str | None]] = _nobody
        self.layout: Callable[[str | None], Layout | None] = _unknown

    def disconnect(self) -> None:
        """Forget the connection and what it told of the credits; the next ask makes its own."""
        self._clients.forget()
        self._took = None

    def close(self) -> None:
        """Close the connections that are kept."""
        self._clients.close()

    def _play(self, ask: Ask, context: Context, request: Request) -> Lookup | None:
        """Find out who answers, while a cassette is in."""
        asked = Recorded.asked(request, typed=ask.typed, owner=ask.owner)
        query = Query(asked, ask.execution, ask.order)
        return self.cassette.look_up(query, self._warnings(ask, context), self._asks_emulator)

    def _asks_emulator(self) -> bool:
        """Tell whether the service that is asked is this kernel's emulator."""
        given = self._clients.given
        return config.is_emulator(self.setup().endpoint if given is None else given.endpoint)

    def _warnings(self, ask: Ask, context: Context) -> tuple[str, ...]:
        """Say what of a question another run will not ask as it is asked now."""
        before = self.conversation.context(ask.owner, ask.execution, order=ask.order).turns
        below = [
            turn
            for turn in self.conversation
            if ask.owner is not None and turn.owner != ask.owner and turn not in before
        ]
        put_in = ask.text if ask.values or ask.entry == "python" else ""
        return reproducibility.warnings(
            self.conversation, context, below if ask.history else [], put_in
        )

    def _setup_for(
        self, who: AnswerSource, setup: ServiceSetup | None, taping: CassetteSetup | None
    ) -> ServiceSetup:
        """Say where and how to ask the one who answers."""
        if taping is not None and who != "service":
            endpoint = active.CASSETTE if who == "cassette" else client_pool.practice()
            return ServiceSetup(endpoint, taping.timeout, taping.extra_body)
        return setup or self.setup()

    def _context(self, ask: Ask) -> Context:
        if not ask.history:
            return NOTHING
        return self.conversation.context(ask.owner, ask.execution, last=ask.last, order=ask.order)

    def _keep(self, course: AskState, reply: Reply) -> None:
        """Write the turn's record and put it into the conversation, once, as the last step."""
        ask, context = course.ask, course.context
        client = self._clients.latest
        self._took = None if client is None else client.took
        if course.play is not None and (recorded := course.play.interaction) is not None:
            self._took = recorded.took
            reply = replace(reply, recorded=recorded.origin, by_order=course.play.by_order)
        turn = turn_of(course, reply, self._took)
        record = turn.to_record(context.digests, course.digest)
        if not ask.history:
            record = replace(record, parameters={**record.parameters, "history": False})
        record = record if ask.keep_values else record.bare
        answer = Answer(reply, record.listing(context.shown))
        if ask.history and self.conversation.added == course.added:
            self.conversation.add(replace(turn, record=record), order=ask.order)
        course.answer = answer


def _or_new(halt: Halt | None) -> Halt:
    """Give what stops an exchange; by now what it needs has been loaded."""
    from chatmagic.client.sockets import Halt  # noqa: PLC0415 - requests comes with the first question

    return Halt() if halt is None else halt


def _nobody() -> tuple[str | None, str | None]:
    """Tell that no cell is asking."""
    return None, None


def _unknown(_owner: str | None) -> None:
    """Tell that no page says how its cells stand."""
