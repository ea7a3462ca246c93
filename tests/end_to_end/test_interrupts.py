"""Stop, anywhere: at each line of ours that an ask runs through, and at moments outside it."""

from __future__ import annotations

import contextlib
import gc
import pkgutil
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal, Self

import pytest
from asking import stop
from loopback import (
    CHUNKS_END,
    DONE,
    EVENTS,
    PATIENCE,
    Peer,
    Server,
    chunked,
    document,
    event,
    head,
)
from shells import KEY, Shell, alone

import chatmagic
from chatmagic.client import connections
from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.errors import ChatError, ChatInterrupted
from chatmagic.models import Reply
from chatmagic.session.ask import Ask
from chatmagic.session.current import current_session
from chatmagic.session.session import Session
from chatmagic.session.views import View

PACKAGE: Final = Path(chatmagic.__file__).parent


def watched(*names: str) -> tuple[str, ...]:
    """Return the files of the package's modules."""
    return tuple(str(PACKAGE / f"{name}.py") for name in names)


WAITING: Final = watched(
    "client/halt",
    "session/ask",
    "session/ask_run",
    "session/ending",
    "session/events",
    "session/session",
    "session/views",
    "session/worker",
)
"""What the thread that waits comes to; what only computes is left out."""
IN_A_CELL: Final = (
    *WAITING,
    *watched(
        "jupyter/commands/ask",
        "jupyter/page/drawing_loop",
        "jupyter/kernel",
        "jupyter/magics",
        "jupyter/page/live_page",
        "jupyter/settings",
        "jupyter/reply_views",
    ),
)
WORKING: Final = (
    *WAITING,
    *watched(
        "cassette/cassette",
        "cassette/lookup",
        "cassette/storage",
        "cassette/transports",
        "client/client",
        "client/adapter",
        "client/clock",
        "client/connections",
        "client/timed_response",
        "client/body",
        "client/reply_errors",
        "client/reply_reader",
        "client/service_call",
        "client/stream",
        "client/streamed_events",
        "client/transport",
        "conversation/conversation",
        "conversation/positions",
        "conversation/slots",
        "conversation/state",
        "conversation/turn",
        "conversation/undo_history",
        "conversation/window",
        "protocol/chunk",
        "protocol/growing_facts",
        "protocol/growing_text",
        "protocol/reply_builder",
        "protocol/request",
        "session/ask_lock",
        "session/asker",
        "session/exchange",
        "session/habits",
        "session/ledger",
        "session/prepare",
        "session/recorder",
    ),
    contextlib.__file__,
)
"""What the worker comes to."""
CONNECTING: Final = watched(
    "client/adapter",
    "client/client",
    "client/clock",
    "client/connections",
    "client/sockets",
    "client/halt",
    "client/service_call",
    "client/stream",
    "client/transport",
)
"""Those of them whose lines do other work where a connection is made first."""
SENDING: Final = watched(
    "client/reply_reader",
    "client/service_call",
    "client/stream",
    "client/streamed_events",
    "client/transport",
    "session/exchange",
    "session/ledger",
)
"""Those of them that hold a connection or a reservation."""
Event = Literal["interrupt", "stop", "error"]
"""What comes at a line."""
# A socket that an interrupt orphans is shut down by us; Python closes it when it is collected.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

TEXT: Final = "hello there"
STREAMED: Final = {**EVENTS, "Transfer-Encoding": "chunked"}
ANSWERS: Final = {
    "whole": (
        head(headers=STREAMED),
        chunked(event("hello ")),
        chunked(event("there")),
        chunked(event("", finish_reason="stop") + DONE) + CHUNKS_END,
    ),
    "in one piece": (document({"choices": [{"message": {"content": TEXT}}]}),),
    "refused": (document({"error": "e", "message": "m"}, "500 Oops"),),
    "cut off": (head(headers=STREAMED), chunked(event("hello "))),
}


@dataclass
class Service:
    """A service that counts requests, and knows which connections are open."""

    answer: str = "whole"
    pause: float = 0.0
    served: int = 0
    open: set[Peer] = field(default_factory=set)
    news: threading.Condition = field(default_factory=threading.Condition)

    def __call__(self, peer: Peer) -> None:
        """Serve one connection; that the client leaves early is what the tests do."""
        with self.news:
            self.open.add(peer)
        with contextlib.suppress(OSError):
            while peer.request():
                self.served += 1
                for piece in ANSWERS[self.answer]:
                    peer.send(piece)
                    time.sleep(self.pause)
                if self.answer == "cut off":
                    break
        with self.news:
            self.open.discard(peer)
            self.news.notify_all()

    def only_one_is_open(self) -> bool:
        """Wait until no more than one connection is open."""
        with self.news:
            return self.news.wait_for(lambda: len(self.open) <= 1, timeout=PATIENCE)


class Strike:
    """Acts when a line of ours is come to, the first time.

    Args:
        files: those whose lines are noted.
        place: file and line; ``None`` only takes note of the lines.
        act: what is done there; else a KeyboardInterrupt is raised, as Ctrl-C does.
        times: at how many lines it is done, of which this is the first.
    """

    def __init__(
        self,
        files: Sequence[str],
        place: tuple[str, int] | None = None,
        act: Callable[[], object] | None = None,
        times: int = 1,
    ) -> None:
        """Prepare."""
        self.places: dict[tuple[str, int], None] = {}
        self.struck = 0
        self._place = place
        # Of one strike at a known place no other file's lines count.
        self._files = {place[0]} if place is not None and times == 1 else {*files}
        self._act = act
        self._times = times

    def __enter__(self) -> Self:
        """Begin to watch: the thread that waits; where it acts otherwise, the worker."""
        self._before = sys.gettrace()
        if self._act is None:
            sys.settrace(self.watch)
        else:
            threading.settrace(self.watch)
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no more."""
        sys.settrace(self._before)
        threading.settrace(self._before)

    def watch(self, frame: FrameType, what: str, _: object) -> Any:
        """Take note of a line, and act there; a trace function."""
        file = frame.f_code.co_filename
        if file not in self._files:
            return None
        if what == "line":
            place = (file, frame.f_lineno)
            self.places[place] = None
            if (place == self._place and not self.struck) or 0 < self.struck < self._times:
                self.struck += 1
                if self._act is None:
                    raise KeyboardInterrupt
                self._act()
        return self.watch


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """Have every orphan collected here, where it is expected, and not in a later test."""
    yield
    gc.collect()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    """Give a service that the environment names, and which keeps its connections."""
    monkeypatch.setattr(connections, "WATCH", 0.0)
    counting = Service()
    with alone(monkeypatch, tmp_path), Server(counting) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield counting


def terse() -> Shell:
    """Give a shell whose tracebacks are short: IPython takes its time to colour them."""
    return Shell(config={"InteractiveShell": {"xmode": "Minimal", "colors": "nocolor"}})


def test_each_watched_module_is_there() -> None:
    """No list names one that was moved, whose lines would no longer be tried."""
    lists = {*IN_A_CELL, *WORKING, *CONNECTING, *SENDING}
    assert [name for name in lists if not Path(name).is_file()] == []


@pytest.mark.parametrize(
    ("times", "every"), [(1, 4), *(pytest.param(n, 1, marks=pytest.mark.release) for n in (1, 2))]
)
def test_at_each_line_of_the_thread_that_waits(service: Service, times: int, every: int) -> None:
    """Wherever Ctrl-C comes, and comes again: one request, a turn or none, nothing left locked."""
    done: set[tuple[str, int]] = set()
    session = current_session()
    for answer in ANSWERS:
        at_each_line(
            service, WAITING, lambda _: session.ask("hi"), done, answer, times=times, every=every
        )
    assert len(done) > 60


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.release)])
def test_at_each_line_of_a_cell(service: Service, every: int) -> None:
    """The same through the magic, the view and the output."""
    done: set[tuple[str, int]] = set()
    shell = terse()

    def ask(_: Halt) -> None:
        ran = shell.run("%%chat\nhi", person=False)
        if ran.error is not None:
            assert len(ran.traceback) <= 2 or type(ran.error) is KeyboardInterrupt
            raise ran.error

    at_each_line(service, IN_A_CELL, ask, done, "whole", every=every)
    assert len(done) > 100


@pytest.mark.parametrize("every", [30, pytest.param(1, marks=pytest.mark.release)])
def test_a_stop_at_each_line_of_the_worker(service: Service, every: int) -> None:
    """Stop ends it there, or comes too late; a fresh connection is stopped as a kept one.

    There are 1,500 such lines: each run takes every thirtieth, and a release takes all.
    """
    done: set[tuple[str, int]] = set()
    session = current_session()

    def ask(halt: Halt) -> None:
        session.run(Ask("hi"), View(), halt)

    for answer in ANSWERS:
        at_each_line(service, WORKING, ask, done, answer, event="stop", every=every)
    assert len(done) > 250
    fresh: set[tuple[str, int]] = set()
    at_each_line(service, CONNECTING, ask, fresh, "whole", event="stop", fresh=True, every=every)
    assert len(fresh) > 100
    connects = connections.Connection._new_conn.__code__
    lines = {(connects.co_filename, line) for _, _, line in connects.co_lines()}
    assert lines & fresh


@pytest.mark.parametrize(
    ("answers", "every"),
    [(("whole", "refused"), 6), pytest.param(tuple(ANSWERS), 1, marks=pytest.mark.release)],
)
def test_an_error_at_each_line_of_the_sender(
    service: Service, answers: tuple[str, ...], every: int
) -> None:
    """Whatever is raised there closes the connection, and leaves nothing reserved or locked.

    A stop raises nothing in the worker, and cuts the connection itself: it does not tell whether
    the sender closes it, nor whether an error ends a reservation.
    """
    done: set[tuple[str, int]] = set()
    session = current_session()

    def ask(halt: Halt) -> None:
        session.run(Ask("hi"), View(), halt)

    for answer in answers:
        at_each_line(service, SENDING, ask, done, answer, event="error", every=every)
    assert len(done) > 150


@pytest.mark.parametrize(
    "command",
    [
        "%chat_retry --pick ",
        *(
            pytest.param(command, marks=pytest.mark.release)
            for command in ("%%chat_instructions\n", "%chat_thread ", "%chat_hide ")
        ),
    ],
)
def test_at_each_line_of_what_steers(service: Service, command: str) -> None:
    """That which held holds on, or the new does; nothing is sent, and nothing stays locked."""
    shell = terse()
    session = current_session()
    for prompt in "12":
        session.conversation.add(Turn(prompt=prompt, reply=Reply("r")))
    if "pick" in command:
        session.conversation.add(Turn(prompt="2", reply=Reply("s"), again=2))
    names = ("1", "2") if command.endswith(("hide ", "pick ")) else ("old", "new")
    old, new = (command + name for name in names)

    def held() -> object:
        here = session.conversation.window()
        return here.thread, here.instructions, here.carried

    states = []
    for cell in (new, old, new, old):
        shell.page(cell, "i")
        states.append(held())
    assert states[:2] == states[2:]
    assert states[0] != states[1]
    shell.page(old, "i")  # what is kept of reading the conversation is then as before each strike
    with Strike(IN_A_CELL) as noted:
        shell.page(new, "i")

    def strike(place: tuple[str, int]) -> None:
        shell.page(old, "i")
        depth = session.conversation.undo_depth
        with Strike(IN_A_CELL, place) as one:
            shell.run(new, cell="i")
        assert one.struck, place
        is_new = session.conversation.undo_depth == depth + 1
        assert held() == states[0 if is_new else 1], place
        session.changes.make(Conversation.undo)

    for place in noted.places:
        apart(strike, place)
    assert len(noted.places) > 30
    assert service.served == 0


def at_each_line(
    service: Service,
    files: Sequence[str],
    ask: Callable[[Halt], object],
    done: set[tuple[str, int]],
    answer: str,
    *,
    event: Event = "interrupt",
    fresh: bool = False,
    times: int = 1,
    every: int = 1,
) -> None:
    """Strike at each line that an ask comes to and that is not done yet, one ask for each.

    Args:
        service: what is asked.
        files: those whose lines count.
        ask: asks; its halt stops it.
        done: the lines that are done.
        answer: what the service answers.
        event: what comes at a line: an interrupt, at one of the thread that waits; a stop or an
            error, at one of the worker.
        fresh: whether each ask makes a connection.
        times: at how many lines, one after the other.
        every: which share of the lines: all, or the first of so many.
    """
    session = current_session()
    service.answer = "whole"
    # What comes with the first ask alone is done.
    ask(Halt())
    service.answer = answer
    if fresh:
        session.close()
    only_noted = None if event == "interrupt" else bool
    with Strike(files, act=only_noted) as noted, contextlib.suppress(ChatError):
        ask(Halt())

    def strike_at(place: tuple[str, int]) -> None:
        halt = Halt()
        if fresh:
            session.close()

        def stop() -> None:
            stopper = threading.Thread(target=halt.stop)
            stopper.start()
            # Where the worker has the halt's own lock, the stop waits for that.
            stopper.join(0.05)

        acts = {"interrupt": None, "stop": stop, "error": fail}
        strike = Strike(files, place, acts[event], times)
        one_strike(service, partial(ask, halt), strike, place)

    for place in [place for place in noted.places if place not in done][::every]:
        apart(strike_at, place)
    done.update(noted.places)


def fail() -> None:
    """Raise what may be raised anywhere; not where something is closed, or an error is handled.

    What cleans up cannot clean up behind itself.
    """
    line = sys._getframe(2)
    if line.f_code.co_name not in {"close", "__exit__"} and sys.exc_info()[0] is None:
        raise MemoryError


def apart(action: Callable[..., object], *arguments: object) -> None:
    """Do it in a thread of its own, and fail as it does.

    Where a trace function raises, Python may leave an exception behind as one that is being
    handled in the thread; what the tests after this one raise must not be chained to it.
    """
    failures = queue.Queue[BaseException]()

    def run() -> None:
        try:
            action(*arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised again, where it is seen
            failures.put(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(3 * PATIENCE)
    assert not thread.is_alive()
    if not failures.empty():
        raise failures.get()


def one_strike(
    service: Service, ask: Callable[[], object], strike: Strike, place: tuple[str, int]
) -> None:
    """Strike at one line, and look at what is left."""
    where = f"{Path(place[0]).name}:{place[1]}"
    session = current_session()
    session.conversation = Conversation()
    served = service.served
    caught: BaseException | None = None
    with strike:
        try:
            ask()
        except (KeyboardInterrupt, MemoryError, ChatError) as error:
            caught = error
    if not strike.struck:
        # What this ask does not come to, as what is done once.
        return
    another_works(service, session, where)
    # By then a worker that a second interrupt left alone has ended, too.
    assert service.served - served <= 2, where
    told = str(caught)
    turns = session.conversation.turns[:-1]
    assert len(turns) <= 1, where
    if turns:
        reply = turns[0].reply
        assert service.served - served == 2, where
        assert reply.text
        assert TEXT.startswith(reply.text), where
        assert reply.text == TEXT or turns[0].state != "complete", where
        assert "as it was" not in told, where
        assert not isinstance(caught, ChatInterrupted) or caught.reply in (reply, None)
    else:
        assert caught is not None, where
        assert "kept" not in told, where


def another_works(service: Service, session: Session, where: str) -> None:
    """Ask in another thread, which hangs where a lock is held, and count the connections."""
    answer, service.answer = service.answer, "whole"
    replies = queue.Queue[str]()
    thread = threading.Thread(target=lambda: replies.put(session.ask("hi").text), daemon=True)
    thread.start()
    try:
        assert replies.get(timeout=PATIENCE) == TEXT, where
    except queue.Empty:
        pytest.fail(f"{where}: the next ask waits for ever")
    thread.join(PATIENCE)
    assert session.conversation.turns[-1].reply.text == TEXT
    assert service.only_one_is_open(), where
    assert session.ledger.under_way == (), where
    service.answer = answer


# --- Outside our own lines ----------------------------------------------------------------


@contextlib.contextmanager
def struck(path: str, press: Callable[[], object], thread: str, *, late: bool) -> Iterator[None]:
    """Press Ctrl-C, once, before or after a function of this name is called in a thread."""
    strikes = [press]
    real = pkgutil.resolve_name(path)

    def striking(*args: Any, **kwargs: Any) -> Any:
        mine = strikes and threading.current_thread().name == thread
        if mine and not late:
            strikes.pop()()
        result = real(*args, **kwargs)
        if mine and strikes:
            strikes.pop()()
        return result

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(path, striking)
        yield
    assert not strikes, f"{path} was not called"


@pytest.mark.parametrize(
    ("path", "late"),
    [
        ("chatmagic.conversation.magic_line.parse_line", False),
        ("chatmagic.conversation.template.fill", True),
        ("chatmagic.jupyter.reply_views.Once", True),
        ("chatmagic.session.session.Session.run", True),
    ],
)
def test_a_cell_tells_it_in_one_line_before_and_after_the_ask(
    service: Service, path: str, *, late: bool
) -> None:
    """Where no ask is under way, too, a cell shows no traceback."""
    shell = Shell()
    shell.machine("%%chat\nhi")

    with struck(path, stop, "MainThread", late=late):
        ran = shell.fails("%%chat\nhi", person=False)
    assert isinstance(ran.error, ChatInterrupted)
    assert len(ran.traceback) == 1
    assert service.served == len(current_session().conversation)
