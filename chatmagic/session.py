"""One conversation with one service: ask, stream, store the turn, account for it.

Python, magic and panel all come through :meth:`Session.run`, one at a time.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import chatmagic
from chatmagic import address, deck, loading, playback, repeatable, settings
from chatmagic.asking import (
    Answer,
    Ask,
    Changed,
    Ended,
    Event,
    Listener,
    Told,
    View,
)
from chatmagic.conversation import Conversation
from chatmagic.course import (
    NOTHING,
    Course,
    delivered,
    interrupted,
    listen,
    notes,
    request_of,
    set_aside,
)
from chatmagic.deck import Deck, Taping
from chatmagic.errors import InputError
from chatmagic.reel import Question
from chatmagic.settings import Connection
from chatmagic.tape import Recorded
from chatmagic.turn import Context, Turn
from chatmagic.turnstile import Turnstile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta
    from pathlib import Path

    from chatmagic.accounting import Credits
    from chatmagic.cassette import Play, Who
    from chatmagic.changes import Change
    from chatmagic.client import Client
    from chatmagic.connection import Halt
    from chatmagic.page import Layout
    from chatmagic.patience import Timeout
    from chatmagic.wire import Reply, Request


@dataclass(frozen=True, slots=True)
class Setup:
    """Where and how a session asks."""

    connection: Connection
    timeout: Timeout | Mapping[str, float | None] | float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)


class Session:
    """A conversation that is kept, with a service.

    Args:
        client: whom to ask; ``None`` looks the address and key up at each ask.
    """

    def __init__(self, client: Client | None = None) -> None:
        """Start an empty conversation; nothing is sent."""
        self.conversation = Conversation()
        self.deck = Deck(_in_notebook)
        self.set_free()
        self._given = client
        self._client = client
        self._clients: dict[Who, tuple[Setup, Client]] = {}
        self._took: int | None = None
        self._followers: tuple[Callable[[Event], object], ...] = ()
        self._turnstile = Turnstile()
        self._under_way: tuple[Ask, Halt] | None = None

    @property
    def credits(self) -> Credits | None:
        """The latest credits; ``None`` is unknown."""
        return None if self._client is None else self._client.credits

    @property
    def clock_off(self) -> timedelta | None:
        """How far the clock here is ahead of the service's; ``None`` if it may be right."""
        return None if self._client is None else self._client.clock_off

    @property
    def connection(self) -> Connection | None:
        """Where the latest ask went, and with which key; ``None`` before the first."""
        return None if self._client is None else self._client.connection

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
            with contextlib.suppress(Exception):
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
        course = Course(ask)
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
        self._turnstile.refuse_its_holder()
        try:
            try:
                self._turnstile.enter("a change of the conversation", lambda _: None)
                change = action(self.conversation)
            finally:
                self._turnstile.leave()
        except BaseException:
            # As in run.
            self._turnstile.leave()
            raise
        self._tell(Changed())
        return change

    def retape(self, *, again: bool = True, whole: bool = False) -> str | None:
        """Put in the cassette that is chosen now, while no ask is under way.

        Args:
            again: take out the one that is in, also where the same is chosen; otherwise only
                what it could not save before is saved.
            whole: whether all was asked that is to be asked; a refresh then drops the rest.

        Returns:
            What was done with the one that is out, in one line; ``None`` where none is.

        Raises:
            ChatError: what is chosen cannot be used, or what is out cannot be saved.
        """
        self._turnstile.refuse_its_holder()
        try:
            try:
                self._turnstile.enter("a change of the cassette", lambda _: None)
                summary = self.deck.eject(whole=whole) if again else None
                if not again:
                    self.deck.retry()
                if not whole:
                    # Who is done asks for none; what the environment has comes with the next ask.
                    self.deck.insert()
            finally:
                self._turnstile.leave()
        except BaseException:
            # As in run.
            self._turnstile.leave()
            raise
        return summary

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

    def _follow_for(self, course: Course) -> Change | None:
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

    def _asked(self, course: Course, view: View, halt: Halt | None) -> None:
        """Ask, and keep what came, with what ended it early."""
        asked, taping = course.ask, self.deck.insert()
        setup = self.setup() if taping is None and self._given is None else None
        aside = self._follow_for(course)
        ask = course.ask
        course.context = context = self._context(ask)
        source = cast("Client | Taping | Setup", self._given or taping or setup)
        request, course.digest = request_of(ask, context, source.extra_body)
        course.play = play = None if taping is None else self._play(ask, context, request)
        # The view warms its renderer while requests is loaded and the headers awaited.
        view.began(
            [
                *set_aside(aside),
                *(play.notes if play is not None else ()),
                *notes(asked, context),
            ]
        )
        client = self._connected(setup, taping, play)
        through = playback.through(
            play,
            self.deck.cassette,
            lambda: playback.Came(stream.reply, client.took, client.connection.key),
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
        self.setup: Callable[[], Setup] = _from_environment
        self.deck.taping = deck.from_environment
        self.execution: Callable[[], tuple[str | None, str | None]] = _nobody
        self.layout: Callable[[str | None], Layout | None] = _unknown

    def disconnect(self) -> None:
        """Forget the connection and what it told of the credits; the next ask makes its own."""
        self.close()
        self._clients.clear()
        self._client, self._took = self._given, None

    def close(self) -> None:
        """Close the connections that are kept."""
        for client in (self._given, *(client for _, client in self._clients.values())):
            if client is not None:
                client.close()

    def _play(self, ask: Ask, context: Context, request: Request) -> Play | None:
        """Find out who answers, while a cassette is in."""
        asked = Recorded.asked(request, typed=ask.typed, owner=ask.owner)
        question = Question(asked, ask.execution, ask.order)
        return self.deck.play(question, self._warnings(ask, context))

    def _warnings(self, ask: Ask, context: Context) -> tuple[str, ...]:
        """Say what of a question another run will not ask as it is asked now."""
        before = self.conversation.context(ask.owner, ask.execution, order=ask.order).turns
        below = [
            turn
            for turn in self.conversation
            if ask.owner is not None and turn.owner != ask.owner and turn not in before
        ]
        put_in = ask.text if ask.values or ask.entry == "python" else ""
        return repeatable.warnings(self.conversation, context, below if ask.history else [], put_in)

    def _connected(self, setup: Setup | None, taping: Taping | None, play: Play | None) -> Client:
        """Give the client for what is set now; a new one only where that has changed."""
        who: Who = "service" if play is None else play.who
        if who == "service" and self._given is not None:
            self._client = self._given
            return self._given
        if taping is not None and who != "service":
            connection = deck.CASSETTE if who == "recording" else _practice()
            setup = Setup(connection, taping.timeout, taping.extra_body)
        setup = setup or self.setup()
        known = self._clients.get(who)
        if known is None or known[0] != setup:
            # requests comes with the first question, not with the extension.
            loading.load("chatmagic.transport")
            from chatmagic.client import Client  # noqa: PLC0415

            door, timeout, extra_body = setup.connection, setup.timeout, setup.extra_body
            if known is not None and door.is_door_of(known[1].connection):
                client = known[1]
                client.retune(door, timeout=timeout, extra_body=extra_body)
            else:
                if known is not None:
                    known[1].close()
                client = Client.connected(door, timeout=timeout, extra_body=extra_body)
            known = self._clients[who] = setup, client
        self._client = known[1]
        return self._client

    def _context(self, ask: Ask) -> Context:
        if not ask.history:
            return NOTHING
        return self.conversation.context(ask.owner, ask.execution, last=ask.last, order=ask.order)

    def _keep(self, course: Course, reply: Reply) -> None:
        """Write the turn's record and put it into the conversation, once, as the last step."""
        ask, context = course.ask, course.context
        self._took = None if self._client is None else self._client.took
        if course.play is not None and (recorded := course.play.recorded) is not None:
            self._took = recorded.took
            reply = replace(reply, recorded=recorded.origin, by_order=course.play.by_order)
        turn = Turn(
            prompt=ask.text,
            reply=reply,
            owner=ask.owner,
            execution=ask.execution,
            entry=ask.entry,
            asker=ask.asker,
            carried=context.numbers,
            typed=ask.typed,
            values=ask.values,
            max_tokens=ask.max_tokens,
            temperature=ask.temperature,
            last=ask.last,
            stream=ask.stream,
            took=self._took,
        )
        record = turn.to_record(context.digests, course.digest)
        if not ask.history:
            record = replace(record, parameters={**record.parameters, "history": False})
        answer = Answer(reply, record if ask.keep_values else record.bare)
        if ask.history and self.conversation.added == course.added:
            self.conversation.add(replace(turn, record=answer.record), order=ask.order)
        course.answer = answer


def current_session() -> Session:
    """Give this process's session: the one that the magics of a kernel talk with."""
    global _current  # noqa: PLW0603 - one per kernel is the point
    with _current_lock:
        if _current is None:
            _current = Session()
            if chatmagic.on_session is not None:
                chatmagic.on_session(_current)
        return _current


def has_begun() -> bool:
    """Tell whether this process's session has been made."""
    return _current is not None


def ask(text: str, **options: Any) -> Reply:
    """Ask in this process's session; see :meth:`Session.ask`."""
    return current_session().ask(text, **options)


_current: Session | None = None
_current_lock = threading.Lock()


def _or_new(halt: Halt | None) -> Halt:
    """Give what stops an exchange; by now what it needs has been loaded."""
    from chatmagic.connection import Halt  # noqa: PLC0415 - requests comes with the first question

    return Halt() if halt is None else halt


def _nobody() -> tuple[str | None, str | None]:
    """Tell that no cell is asking."""
    return None, None


def _unknown(_owner: str | None) -> None:
    """Tell that no page says how its cells stand."""


def _from_environment() -> Setup:
    return Setup(settings.for_client(os.environ))


def _practice() -> Connection:
    """Give the emulator of this kernel, for what a cassette does not hold."""
    return settings.practised(
        Connection(address.EMULATOR, "bearer", None, "--else emulator", address.EMULATOR)
    )


def _in_notebook(path: Path) -> tuple[Recorded, ...]:
    """Give what a notebook's outputs hold, for its replay."""
    # nbformat comes with the first notebook that is read.
    from chatmagic import notebook  # noqa: PLC0415

    return notebook.recorded(path)
