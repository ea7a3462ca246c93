"""One conversation with one service: ask, stream, store the turn, account for it.

Python, magic and panel all come through :meth:`Session.run`, one at a time.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import chatmagic
from chatmagic import address, deck, loading, playback, repeatable, settings
from chatmagic.conversation import Change, Context, Conversation, Turn
from chatmagic.deck import Deck, Taping
from chatmagic.errors import ChatInterrupted, InputError
from chatmagic.reel import Question
from chatmagic.settings import Connection
from chatmagic.tape import Recorded
from chatmagic.wire import Message, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from chatmagic.cassette import Play, Who
    from chatmagic.client import Client, ReplyStream
    from chatmagic.connection import Halt
    from chatmagic.conversation import Entry
    from chatmagic.page import Layout
    from chatmagic.patience import Timeout
    from chatmagic.record import Record, Value
    from chatmagic.wire import Credits


NAP: Final = 0.1
"""Seconds after which an ask that waits for another one looks whether it was interrupted."""

_NOTHING: Final = Context(turns=(), total=0)


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked, and by whom.

    Args:
        text: the prompt as it is sent.
        max_tokens: upper limit on generated tokens.
        temperature: sampling temperature.
        stream: whether the reply is asked for as a stream.
        history: whether the conversation is sent along and the turn kept.
        last: how many of the newest turns are sent along at most.
        typed: the prompt as typed, where values were put in.
        values: what was put in.
        keep_values: whether the record keeps the values themselves, for all to see.
        owner: hash of the cell that owns the turn.
        execution: identity of the cell's execution.
        entry: where it was asked.
        asker: who asks, in words, for whoever has to wait.
        order: hashes of the page's cells from top to bottom; ``None`` is as the session's
            pages tell them, if they do.
    """

    text: str
    max_tokens: int | None = None
    temperature: float | None = None
    stream: bool = True
    history: bool = True
    last: int | None = None
    typed: str | None = None
    values: tuple[Value, ...] = ()
    keep_values: bool = False
    owner: str | None = None
    execution: str | None = None
    entry: Entry = "python"
    asker: str = "Python"
    order: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an ask: the reply, and the record that an output keeps of the turn."""

    reply: Reply
    record: Record


@dataclass(frozen=True, slots=True)
class Began:
    """A follower hears: this request is about to be sent."""

    ask: Ask
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A follower hears: a fragment of the reply under way came."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A follower hears: the ask has ended, with a reply or a part of one, or with neither."""

    ask: Ask
    answer: Answer | None
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class Changed:
    """A follower hears: the conversation is another one than before (undo, redo, reset, order)."""


Event = Began | Fragment | Ended | Changed


@dataclass(frozen=True, slots=True)
class Setup:
    """Where and how a session asks."""

    connection: Connection
    timeout: Timeout | Mapping[str, float | None] | float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)


class View(Protocol):
    """Who is told how an ask goes (see :mod:`chatmagic.display`)."""

    def waiting(self, holder: str) -> None:
        """Another ask is under way; this one waits for it."""

    def began(self, notes: Sequence[str]) -> None:
        """The request is about to be sent."""

    def fragment(self, text: str) -> None:
        """A fragment came."""

    def ended(self, answer: Answer) -> None:
        """There is a reply, whole or in part."""

    def failed(self) -> None:
        """There is none; the conversation is as it was."""


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
        self._turnstile = _Turnstile()
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
        return self.run(ask, _Listener(on_fragment)).reply

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
        told = _Told(ask, view, self._tell)
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
        course = _Course(ask)
        try:
            try:
                self._turnstile.enter(ask.asker, view.waiting, halt)
                self._asked(course, view, halt)
            finally:
                if self._under_way is not None and self._under_way[0] is ask:
                    self._under_way = None
                self._turnstile.leave()
            return _delivered(course, view)
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
                raise _interrupted(None if course.answer is None else course.answer.reply) from None
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
            again: take out the one that is in, also where the same is chosen.
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

    def _follow_for(self, course: _Course) -> Change | None:
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

    def _asked(self, course: _Course, view: View, halt: Halt | None) -> None:
        """Ask, and keep what came, with what ended it early."""
        asked, taping = course.ask, self.deck.insert()
        setup = self.setup() if taping is None and self._given is None else None
        aside = self._follow_for(course)
        ask = course.ask
        course.context = context = self._context(ask)
        source = cast("Client | Taping | Setup", self._given or taping or setup)
        request, course.digest = _request(ask, context, source.extra_body)
        course.play = play = None if taping is None else self._play(ask, context, request)
        # The view warms its renderer while requests is loaded and the headers awaited.
        view.began(
            [
                *_set_aside(aside),
                *(play.notes if play is not None else ()),
                *_notes(asked, context),
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
            course.problem = _listen(stream, view)
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
            course.problem = _interrupted(reply)

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
            return _NOTHING
        return self.conversation.context(ask.owner, ask.execution, last=ask.last, order=ask.order)

    def _keep(self, course: _Course, reply: Reply) -> None:
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


@dataclass(slots=True)
class _Course:
    """How far one ask has come, for whoever has to end it."""

    ask: Ask
    context: Context = _NOTHING
    digest: str = ""
    added: int = 0
    stream: ReplyStream | None = None
    play: Play | None = None
    problem: BaseException | None = None
    answer: Answer | None = None
    shown: bool = False


class _Turnstile:
    """Lets one ask through at a time, and tells the next one whom it waits for.

    ``leave`` may follow an ``enter`` that was interrupted anywhere, and may be repeated.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holder = ""
        self._thread: int | None = None

    def refuse_its_holder(self) -> None:
        """Refuse an ask from within an ask: it would wait for itself."""
        if self._thread == threading.get_ident():
            raise InputError("A reply is still streaming here; ask again when it has ended.")

    def enter(self, asker: str, waiting: Callable[[str], object], halt: Halt | None = None) -> None:
        """Take the place, waiting for it if need be; an interrupt or a halt ends the wait."""
        if not self._lock.acquire(blocking=False):
            waiting(self._holder)
            # Not every system wakes who waits for a lock without an end.
            while not self._lock.acquire(timeout=NAP):
                if halt is not None and halt.reason is not None:
                    raise ChatInterrupted("Interrupted while waiting for its turn.")
        self._holder, self._thread = asker, threading.get_ident()

    def enter_if_free(self, asker: str) -> bool:
        """Take the place if nobody has it, this thread neither; say whether it was."""
        if self._thread == threading.get_ident() or not self._lock.acquire(blocking=False):
            return False
        self._holder, self._thread = asker, threading.get_ident()
        return True

    def leave(self) -> None:
        """Give the place free, if it is this thread's."""
        try:
            if self._thread == threading.get_ident():
                self._thread = None
            while True:
                self._lock.release()
        except RuntimeError:
            # It is not this thread's, or not any more.
            return
        except KeyboardInterrupt:
            self.leave()
            raise


class _Told:
    """A view that also tells the followers."""

    def __init__(self, ask: Ask, view: View, tell: Callable[[Event], None]) -> None:
        self.answer: Answer | None = None
        self._ask = ask
        self._view = view
        self._tell = tell

    def waiting(self, holder: str) -> None:
        self._view.waiting(holder)

    def began(self, notes: Sequence[str]) -> None:
        self._view.began(notes)
        self._tell(Began(self._ask, tuple(notes)))

    def fragment(self, text: str) -> None:
        self._view.fragment(text)
        self._tell(Fragment(text))

    def ended(self, answer: Answer) -> None:
        self.answer = answer
        self._view.ended(answer)

    def failed(self) -> None:
        self._view.failed()


class _Listener:
    """The view of a caller that wants the fragments at most."""

    def __init__(self, on_fragment: Callable[[str], object] | None) -> None:
        self._on_fragment = on_fragment

    def waiting(self, holder: str) -> None:
        pass

    def began(self, notes: Sequence[str]) -> None:
        pass

    def fragment(self, text: str) -> None:
        if self._on_fragment is not None:
            self._on_fragment(text)

    def ended(self, answer: Answer) -> None:
        pass

    def failed(self) -> None:
        pass


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


def _delivered(course: _Course, view: View) -> Answer:
    """Tell the view of the end, and give the answer or raise what ended it early."""
    answer = cast("Answer", course.answer)
    view.ended(answer)
    course.shown = True
    if course.problem is not None:
        raise course.problem from None
    return answer


def _listen(stream: ReplyStream, view: View) -> BaseException | None:
    """Read a reply to its end; give what ended it early, with the part that came."""
    try:
        with stream:
            for fragment in stream:
                view.fragment(fragment)
    except ChatInterrupted as error:
        return _interrupted(error.reply)
    except KeyboardInterrupt:
        return _interrupted(stream.reply)
    except BaseException as error:  # noqa: BLE001 - the part that came is kept whatever ended it
        return error
    return None


def _or_new(halt: Halt | None) -> Halt:
    """Give what stops an exchange; by now what it needs has been loaded."""
    from chatmagic.connection import Halt  # noqa: PLC0415 - requests comes with the first question

    return Halt() if halt is None else halt


def _interrupted(reply: Reply | None) -> ChatInterrupted:
    if reply is None or not reply.text:
        return ChatInterrupted("Interrupted before the reply began; the conversation is as it was.")
    words = len(reply.text.split())
    after = (
        f"Interrupted after {words:,} word{'' if words == 1 else 's'}; what came is kept, marked."
    )
    return ChatInterrupted(
        after if reply.state != "complete" else "Interrupted after the reply's end; it is kept.",
        reply=reply,
        credits=reply.credits,
    )


def _request(ask: Ask, context: Context, extra_body: Mapping[str, Any]) -> tuple[Request, str]:
    """Give the request and its digest, before anything is spent on it."""
    try:
        request = Request(
            (*context.messages, Message("user", ask.text)),
            stream=ask.stream,
            max_tokens=ask.max_tokens,
            temperature=ask.temperature,
            extra=extra_body,
        )
        return request, request.digest()
    except ValueError as error:
        raise InputError(f"{error}. Nothing was sent.") from None


def _notes(ask: Ask, context: Context) -> list[str]:
    """Say what is sent, where that is not simply what stands above."""
    sent, total, panel = len(context.turns), context.total, context.from_panel
    notes = [f"sent the last {sent:,} of {total:,} turns"] if sent < total else []
    if panel and ask.entry != "panel":
        notes.append(f"with {panel:,} turn{'' if panel == 1 else 's'} from the panel")
    return notes


def _set_aside(change: Change | None) -> list[str]:
    """Say that turns were set aside before this one was asked."""
    if change is None:
        return []
    count = len(change.went)
    what = "1 turn whose cell is" if count == 1 else f"{count:,} turns whose cells are"
    return [f"set aside {what} gone from the page"]


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
