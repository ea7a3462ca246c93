"""The doctor: a list of looks, each of which makes lines of what it sees, with what to do.

The lines are a block to read, and to paste where help is asked for: no key is in them. With
``ask`` one question is put, and its answer is watched.
"""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal, Protocol

import platformdirs
from requests.utils import get_environ_proxies, select_proxy

from chatmagic import _log
from chatmagic._version import __version__
from chatmagic.cassette.cassette import MODES, Cassette, CassetteConfig
from chatmagic.client import config, keys
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport, Transport
from chatmagic.errors import ChatError, NotRecordedError
from chatmagic.models import Message
from chatmagic.protocol.auth import Secret, redacted
from chatmagic.protocol.url import EMULATOR, is_loopback, origin, origin_or_none
from chatmagic.protocol.wire import Request
from chatmagic.session.ledger import Reservation
from chatmagic.session.session import Session
from chatmagic.text import counted, one_line

Mark = Literal["ok", "!!", "!", "?"]
"""It is well; it keeps a question from its answer; it is unwise or slow; it cannot be told."""

PACKAGES: Final = ("ipython", "ipykernel", "ipywidgets", "requests", "urllib3")
QUESTION: Final = "Count from 1 to 20, in digits with spaces between them."
MOST_TOKENS: Final = 100
ENOUGH: Final = 5
"""Fewest fragments by which it can be told whether they come as they are made."""
LONG_WAIT: Final = 1.0
"""Seconds of a wait after which a reply that comes all at once was held back."""
SHARE: Final = 0.01
"""Part of the wait for the first word within which all of a reply is there at once."""
_TOLERANCE: Final = timedelta(minutes=1)
_SHOWN: Final = 400
_OPEN: Final = 0o077
_LEAST: Final = 65_536
"""Bytes that there must be room for."""


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the block.

    Args:
        mark: whether it is well.
        name: name of the thing that was looked at.
        seen: its state, in words.
        todo: one thing to do; empty where there is nothing to be done.
    """

    mark: Mark
    name: str
    seen: str
    todo: str = ""


class Surroundings(Protocol):
    """Settings that are looked at, as a kernel or a shell has them."""

    @property
    def settings(self) -> Any:
        """The settings, of which ``timeout`` counts."""

    def address(self) -> Endpoint:
        """Return the address that counts, without a key; raises :exc:`ChatError`."""

    def endpoint(self) -> Endpoint:
        """Return where requests go and with which key; raises :exc:`ChatError`."""

    def choice(self) -> CassetteConfig | None:
        """Return the cassette that is chosen; raises :exc:`ChatError`."""

    def model(self) -> str | None:
        """Return the model that requests name; raises :exc:`ChatError`."""

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that are known, for whichever address."""


@dataclass(slots=True)
class Answered:
    """Outcome of the one question.

    Args:
        error: why no whole reply came.
        is_sent: whether the question may have been sent.
        first: seconds to the first word.
        last: seconds to the last one.
        fragments: how many fragments the reply has.
        took: about how many credits it took; ``None`` is unknown.
        remaining: how many credits are left; ``None`` is unknown.
        off: how far the clock here is ahead at least (below 0: behind); ``None`` where the answer
            did not tell the time.
    """

    error: ChatError | None = None
    is_sent: bool = True
    first: float = 0.0
    last: float = 0.0
    fragments: int = 0
    took: int | None = None
    remaining: int | None = None
    off: timedelta | None = None


@dataclass(slots=True)
class Examination:
    """Facts that the looks share, and the function that shows their lines.

    Args:
        surroundings: settings that are looked at.
        session: its session, whose answers so far told the time.
        front_end: the line on what shows replies.
        show: takes each line of text: no known key is in it, nor the path of the user's home
            folder, which tells a name.
        is_asking: whether the question is to be sent.
        is_shell: whether a question keeps its conversation in a file.
        address: the address, without a key; ``None`` while none is known.
        marks: how many lines have each mark.
        answered: the outcome of the question; ``None`` where none was put.
        errors: the errors that were set aside before the first look.
    """

    surroundings: Surroundings
    session: Session
    front_end: Line
    show: Callable[[str], object]
    is_asking: bool = False
    is_shell: bool = False
    address: Endpoint | None = None
    marks: Counter[Mark] = field(default_factory=Counter)
    answered: Answered | None = None
    errors: Sequence[str] = field(default_factory=lambda: tuple(_log.LAST))

    @property
    def is_emulator(self) -> bool:
        """Whether the address is the emulator of this process."""
        return self.address is not None and self.address.base_url == EMULATOR

    def tell(self, line: Line) -> None:
        """Show a line, and count it.

        Args:
            line: the line to show.
        """
        self.marks[line.mark] += 1
        self.show(f"[{line.mark:>2}] {line.name}: {self._safe(line.seen)}")
        if line.todo:
            self.show(f"     -> {self._safe(line.todo)}")

    def _safe(self, words: str) -> str:
        # Before it is cut, which could leave a part of a key.
        words, home = redacted(words, self.surroundings.known_keys()), str(Path.home())
        return one_line(words.replace(home, "~") if len(home) > 1 else words, _SHOWN)


def examine(
    surroundings: Surroundings,
    session: Session,
    front_end: Line,
    show: Callable[[str], object],
    *,
    ask: bool = False,
    is_shell: bool = False,
) -> bool:
    """Show the block, each line as soon as it is known, and return whether a question can be asked.

    Connections are tried; no request is sent unless ``ask`` is set.

    Args:
        surroundings: settings that are looked at.
        session: its session.
        front_end: the line on what shows replies.
        show: as for :class:`Examination`.
        ask: whether one short question is sent, where what is seen lets it be answered.
        is_shell: whether a question keeps its conversation in a file.
    """
    examination = Examination(surroundings, session, front_end, show, ask, is_shell)
    for look in LOOKS:
        for line in look(examination):
            examination.tell(line)
    faults, remarks = examination.marks["!!"], examination.marks["!"]
    told = f"{counted(faults, 'thing') if faults else 'Nothing'} wrong"
    told += f", {counted(remarks, 'thing')} to mind" if remarks else ""
    is_sent = examination.answered is not None and examination.answered.is_sent
    show(f"{told}. {'One question was sent.' if is_sent else 'No request was sent.'}")
    return not faults


def versions(_: Examination) -> Iterator[Line]:
    """Yield the line on the versions; one that is not installed is said."""
    told = [f"chatmagic {__version__}", f"Python {platform.python_version()}"]
    told.append(f"{platform.system() or 'system'} {platform.release()} {platform.machine()}")
    for name in PACKAGES:
        try:
            told.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            told.append(f"{name} is not installed")
    yield Line("ok", "versions", ", ".join(told))


def front_end(examination: Examination) -> Iterator[Line]:
    """Yield the line on the front end and its features."""
    yield examination.front_end


def address(examination: Examination) -> Iterator[Line]:
    """Yield the line on the address."""
    try:
        at = examination.address = examination.surroundings.address()
    except ChatError as error:
        yield _failed("address", error)
        return
    if examination.is_emulator:
        yield Line("ok", "address", f"the emulator of this process ({at.url_from})")
        return
    words = f"requests are posted to {at.posted_to()} ({at.url_from})"
    if at.warnings:
        todo = "Give its https address, without a name or a password."
        yield Line("!", "address", f"{words}. {' '.join(at.warnings).rstrip('.')}", todo)
    else:
        yield Line("ok", "address", words)


def key(examination: Examination) -> Iterator[Line]:
    """Yield the line on the key: where it was found, and never what it is."""
    if examination.address is None:
        yield Line("?", "key", "without an address no key is looked for")
        return
    try:
        endpoint = examination.surroundings.endpoint()
    except ChatError as error:
        yield _failed("key", error)
        return
    if examination.is_emulator or endpoint.auth == "none":
        yield Line("ok", "key", "none is sent, and none is needed")
    elif endpoint.key is not None:
        yield Line("ok", "key", f"found in {endpoint.key_from}, sent as {endpoint.auth}")
    else:
        yield _no_key(endpoint)


def _no_key(endpoint: Endpoint) -> Line:
    words, without = "none for this address", endpoint.how_to_set_auth("none")
    todo = f"%chat_login asks for one; for a server without keys: {without}."
    if endpoint.elsewhere is not None:
        words += f"; the environment's key belongs to {endpoint.elsewhere}"
        todo = "Set CHATMAGIC_BASE_URL to the address of the key, or run %chat_login here."
    return Line("!!", "key", words, todo)


def model(examination: Examination) -> Iterator[Line]:
    """Yield the line on the model, where an address is known."""
    server = None if examination.address is None else examination.address.server
    try:
        named = examination.surroundings.model()
    except ChatError as error:
        yield _failed("model", error)
        return
    if named is not None:
        yield Line("ok", "model", named)
    elif server is not None and server.needs_model:
        words = f"none is named, and {server.name} answers only what names one"
        yield Line("!!", "model", words, f"%chat_connect {server.name} --model NAME")
    elif examination.address is not None:
        yield Line("ok", "model", "none is named: the service chooses")


def budget(examination: Examination) -> Iterator[Line]:
    """Yield the line on the budgets."""
    ledger = examination.session.ledger
    try:
        budgets = ledger.budgets()
        for item in budgets:
            item.reserve(ledger.used(item), None)
    except ChatError as error:
        yield _failed("budget", error, "Set it anew, or unset it.")
    else:
        told = (f"{item}, {ledger.used(item):,} used ({item.setting})" for item in budgets)
        yield Line("ok", "budget", "; ".join(told) or "none")


def network(examination: Examination) -> Iterator[Line]:
    """Yield the lines on the proxy, and on a connection like a question's; it is closed again."""
    at = examination.address
    if at is None:
        yield Line("?", "network", "no address")
        return
    if examination.is_emulator:
        yield Line("ok", "network", "the emulator needs none")
        return
    proxy = _proxy(at.base_url)
    yield Line("ok", "proxy", f"{proxy}, by the environment" if proxy else "none")
    # Without the key, which a connection does not need.
    setup = ServiceSetup(at, examination.surroundings.settings.timeout)
    try:
        HttpTransport(setup).connect(Halt())
    except ChatError as error:
        yield _failed("connection", error)
        return
    yield Line("ok", "connection", "made, and closed again")


def _proxy(url: str) -> str | None:
    """Return the origin of the proxy that an address is asked through; ``None`` for none."""
    at = origin(url)
    named = None if is_loopback(url) else select_proxy(at, get_environ_proxies(at))
    if named is None:
        return None
    return origin_or_none(named if "://" in named else f"http://{named}") or "one without a URL"


def files(examination: Examination) -> Iterator[Line]:
    """Yield the line on the folder of what is kept, and on the rights of private files."""
    state = platformdirs.user_state_path("chatmagic", appauthor=False)
    try:
        there = next(path for path in (state, *state.parents) if path.exists())
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(_LEAST))
    except OSError as error:
        words = f"nothing can be written to {state}: {error.strerror}"
        todo = "The shell keeps conversations in it: free it, or set XDG_STATE_HOME."
        yield Line("!!" if examination.is_shell else "!", "files", words, todo)
        return
    modes = _modes(state)
    wrong = [f"{path} ({mode:03o})" for path, mode in modes.items() if mode & _OPEN]
    if wrong:
        todo = "chmod 600 lets you alone read it."
        yield Line("!", "files", f"others can read {', '.join(wrong)}", todo)
    else:
        yield Line("ok", "files", f"{counted(len(modes), 'private file')}, for you alone")


def _modes(state: Path) -> dict[Path, int]:
    """Return the permissions of the files of keys, and of the conversations from a shell."""
    if os.name != "posix":
        return {}
    named, _ = config.environment_setting(keys.KEY_FILE_VARIABLE)
    paths = [Path(named).expanduser()] if named else []
    paths += [keys.open_store().folder / keys.FILE, *sorted((state / "shell").glob("*.json"))]
    modes = {}
    for path in paths:
        with contextlib.suppress(OSError):
            modes[path] = path.stat().st_mode & 0o777
    return modes


def cassette(examination: Examination) -> Iterator[Line]:
    """Yield the line on the cassette, which is read anew."""
    todo = f"The mode is one of {', '.join(MODES)}: CHATMAGIC_MODE, or %config ChatMagics.mode."
    try:
        choice = examination.surroundings.choice()
        todo = "Put back a whole copy of the file, or choose another one."
        count = 0 if choice is None else len(Cassette(choice).interactions)
    except ChatError as error:
        yield _failed("cassette", error, todo)
        return
    if choice is None:
        yield Line("ok", "cassette", "none")
    else:
        words = f"{choice.name}, {choice.mode} ({choice.mode_from}), {counted(count, 'exchange')}"
        yield Line("ok", "cassette", words)


def last_errors(examination: Examination) -> Iterator[Line]:
    """Yield the line on what was set aside lately, by type and surroundings."""
    yield Line("ok", "set aside lately", "; ".join(examination.errors) or "no error")


def answer(examination: Examination) -> Iterator[Line]:
    """Yield the lines on the one question, where it is to be sent."""
    if not examination.is_asking:
        return
    if examination.marks["!!"]:
        yield Line("?", "answer", "not asked: what is wrong above comes first")
        return
    try:
        seen = examination.answered = ask_one_question(examination)
    except ChatError as error:
        yield _failed("answer", error)
        return
    if seen.error is not None:
        yield _failed("answer", seen.error)
        return
    took, left = seen.took, seen.remaining
    cost = "what it took is not told" if took is None else f"it took {counted(took, 'credit')}"
    cost += "" if left is None else f", {left:,} are left"
    yield Line("ok", "answer", f"a whole reply came; {cost}")
    yield streaming(seen)


def streaming(seen: Answered) -> Line:
    """Return the line on whether fragments come as they are made, or all at once."""
    count = counted(seen.fragments, "fragment")
    if seen.fragments < ENOUGH:
        return Line("?", "streaming", f"{count}: too few to tell")
    if seen.last - seen.first > SHARE * seen.first:
        return Line("ok", "streaming", f"{count} as they are made, up to {seen.last:.2f} s")
    if seen.first >= LONG_WAIT:
        todo = "A proxy on the way may hold replies back: its operator can turn buffering off."
        return Line("!", "streaming", f"{count} all at once, after {seen.first:.2f} s", todo)
    return Line("?", "streaming", f"{count} at once, too soon to tell: {seen.last:.2f} s")


def ask_one_question(examination: Examination) -> Answered:
    """Ask the question, beside the conversation; budgets and ledger count it.

    Args:
        examination: the session that asks, and what shows the first lines of what is seen.

    Returns:
        What was seen.

    Raises:
        ChatError: what is set cannot be used, or a cassette is replayed; nothing was sent.
    """
    session = examination.session
    cassette = session.environment.cassette()
    if cassette is not None and cassette.config.mode == "replay":
        raise NotRecordedError(f"{cassette.config.name} is replayed here. Nothing was sent.")
    halt = Halt()
    return session.lock.alone("the doctor's question", partial(_ask, examination, halt), halt)


def _ask(examination: Examination, halt: Halt) -> Answered:
    session, tell = examination.session, examination.tell
    client = session.clients.client("service", session.environment.service)
    extra = client.setup.extra_body or {}
    request = Request((Message("user", QUESTION),), max_tokens=MOST_TOKENS, extra=extra)
    cell = session.environment.cell()[0]
    reservation = Reservation(client.endpoint, "doctor", cell, request.digest())
    seen, used = Answered(), list[Transport]()

    def through(transport: Transport) -> Transport:
        used.append(transport)
        return transport

    stream = client.send(request, halt, through)
    problem: BaseException | None = None
    try:
        session.ledger.begin(reservation)
        asked, began = datetime.now(UTC), monotonic()
        with stream:
            arrived = datetime.now(UTC)
            tell(Line("ok", "headers", f"after {monotonic() - began:.2f} s"))
            if (written := stream.reply.date) is not None:
                seen.off = clock_off(written, asked, arrived)
            for _ in stream:
                seen.last = monotonic() - began
                if not seen.fragments:
                    seen.first = seen.last
                    tell(Line("ok", "first word", f"after {seen.first:.2f} s"))
                seen.fragments += 1
    except ChatError as error:
        problem = seen.error = error
    except BaseException as error:
        problem = error
        raise
    finally:
        session.ledger.end(reservation, stream.reply, problem)
    credits = stream.reply.credits
    seen.is_sent, seen.took = reservation.was_sent(problem), reservation.took
    seen.remaining = None if credits is None else credits.remaining
    return seen


def clock_off(written: datetime, asked: datetime, arrived: datetime) -> timedelta:
    """Return how far the clock here is ahead at least (below 0: behind).

    Args:
        written: the response's own ``Date``.
        asked: the time here when the request was sent, aware.
        arrived: the time here when the response's headers had come, aware.
    """
    return min(max(written, asked), arrived) - written


def clock(examination: Examination) -> Iterator[Line]:
    """Yield the line on the clock; the emulator's stands still, so it is not compared."""
    if examination.is_emulator:
        return
    off = None if examination.answered is None else examination.answered.off
    if examination.answered is None:
        todo = "--ask compares it with the time of an answer."
        yield Line("?", "clock", "not compared: no question was asked", todo)
    elif off is None:
        yield Line("?", "clock", "not compared: no answer told the service's time")
    elif abs(off) <= _TOLERANCE:
        yield Line("ok", "clock", "right within a minute, by the service's time")
    else:
        minutes = counted(round(abs(off) / _TOLERANCE), "minute")
        words = f"about {minutes} {'ahead of' if off > timedelta() else 'behind'} the service's"
        todo = "Set this machine's clock: certificates and resets are judged by it."
        yield Line("!", "clock", words, todo)


def _failed(name: str, error: ChatError, todo: str = "") -> Line:
    return Line("!!", name, error.message, error.hint or todo or "Correct it where it is set.")


LOOKS: Final[Sequence[Callable[[Examination], Iterator[Line]]]] = (
    versions,
    front_end,
    address,
    key,
    model,
    budget,
    network,
    files,
    cassette,
    last_errors,
    answer,
    clock,
)
"""The looks, in order; the clock last, as the answer tells the service's time."""
