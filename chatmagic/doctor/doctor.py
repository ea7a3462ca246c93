"""The doctor: a list of looks, each of which makes lines of what it sees, with what to do.

The lines are a block to read, and to paste where help is asked for: no key is in them.
"""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import platformdirs
from requests.utils import get_environ_proxies, select_proxy

from chatmagic import _log
from chatmagic._version import __version__
from chatmagic.cassette.cassette import Cassette
from chatmagic.client import config, keys, network_errors
from chatmagic.client.endpoint import SET_AUTH, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.client.transport import HttpTransport
from chatmagic.doctor import one_question
from chatmagic.errors import ChatError
from chatmagic.protocol.auth import redacted
from chatmagic.protocol.url import EMULATOR, is_loopback, origin, origin_or_none
from chatmagic.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import timedelta

    from chatmagic.cassette.cassette import CassetteConfig
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.doctor.one_question import Answered
    from chatmagic.protocol.auth import Secret
    from chatmagic.session.session import Session

Mark = Literal["ok", "!!", "?"]
"""Well, wrong, and what cannot be told."""

PACKAGES: Final = ("ipython", "ipykernel", "ipywidgets", "requests", "urllib3")
ENOUGH: Final = 5
"""Fewest fragments by which it can be told whether they come as they are made."""
LONG_WAIT: Final = 1.0
"""Seconds of a wait after which a reply that comes all at once was held back."""
SHARE: Final = 0.01
"""Part of the wait for the first word within which all of a reply is there at once."""
_SHOWN: Final = 400
_OPEN: Final = 0o077
_LEAST: Final = 65_536
"""Bytes that there must be room for."""


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the block.

    Args:
        mark: whether it is well.
        name: what was looked at.
        seen: what was seen.
        todo: one thing to do; empty where there is nothing to be done.
    """

    mark: Mark
    name: str
    seen: str
    todo: str = ""


class Place(Protocol):
    """Place that is looked at: what is set there."""

    @property
    def settings(self) -> Any:
        """The settings, of which ``timeout`` counts."""

    def address(self) -> Endpoint:
        """Return the address that counts, without a key; raises :exc:`ChatError`."""

    def endpoint(self) -> Endpoint:
        """Return where requests go and with which key; raises :exc:`ChatError`."""

    def choice(self) -> CassetteConfig | None:
        """Return the cassette that is chosen; raises :exc:`ChatError`."""

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that are known, for whichever address."""


@dataclass(slots=True)
class Examination:
    """What the looks have in common.

    Args:
        place: what is set.
        session: its session, whose answers so far told the time.
        front_end: the line on what shows replies.
        is_asking: whether the question is to be sent.
        address: the address, without a key; ``None`` while none is known.
        is_hindered: whether what is seen keeps a question from being answered.
        answered: what became of the question; ``None`` where none was put.
        errors: what was set aside before the first look.
    """

    place: Place
    session: Session
    front_end: Line
    is_asking: bool = False
    address: Endpoint | None = None
    is_hindered: bool = False
    answered: Answered | None = None
    errors: Sequence[str] = field(default_factory=lambda: tuple(_log.LAST))

    @property
    def is_emulator(self) -> bool:
        """Whether the address is the emulator of this process."""
        return self.address is not None and self.address.base_url == EMULATOR

    def hindered(self, name: str, error: ChatError, todo: str = "") -> Line:
        """Return the line on an error, because of which no question is sent.

        Args:
            name: what was looked at.
            error: what is wrong.
            todo: what to do where the error does not say.
        """
        self.is_hindered = True
        return _failed(name, error, todo)


def examine(
    place: Place,
    session: Session,
    front_end: Line,
    show: Callable[[str], object],
    *,
    ask: bool = False,
) -> bool:
    """Show the block, each line as soon as it is known, and return whether nothing is wrong.

    Connections are tried; no request is sent unless ``ask`` is set.

    Args:
        place: what is set.
        session: its session.
        front_end: the line on what shows replies.
        show: takes each line of text: no known key is in it, nor the path of the user's home
            folder, which tells a name.
        ask: whether one short question is sent, where what is seen lets it be answered.
    """
    examination = Examination(place, session, front_end, ask)
    known, home = place.known_keys(), str(Path.home())

    def safe(words: str) -> str:
        # Before it is cut, which could leave a part of a key.
        words = redacted(words, known)
        return one_line(words.replace(home, "~") if len(home) > 1 else words, _SHOWN)

    wrong = 0
    for look in LOOKS:
        for line in look(examination):
            wrong += line.mark == "!!"
            show(f"[{line.mark:>2}] {line.name}: {safe(line.seen)}")
            if line.todo:
                show(f"     -> {safe(line.todo)}")
    is_sent = examination.answered is not None and examination.answered.is_sent
    sent = "One question was sent." if is_sent else "No request was sent."
    show(f"{counted(wrong, 'thing') if wrong else 'Nothing'} wrong. {sent}")
    return not wrong


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
        at = examination.address = examination.place.address()
    except ChatError as error:
        yield examination.hindered("address", error)
        return
    if examination.is_emulator:
        yield Line("ok", "address", f"the emulator of this process ({at.url_from})")
        return
    words = f"requests are posted to {at.posted_to()} ({at.url_from})"
    if at.warnings:
        todo = "Give its https address, without a name or a password."
        yield Line("!!", "address", f"{words}. {' '.join(at.warnings).rstrip('.')}", todo)
    else:
        yield Line("ok", "address", words)


def key(examination: Examination) -> Iterator[Line]:
    """Yield the line on the key: where it was found, and never what it is."""
    if examination.address is None:
        yield Line("?", "key", "without an address no key is looked for")
        return
    try:
        endpoint = examination.place.endpoint()
    except ChatError as error:
        yield examination.hindered("key", error)
        return
    if examination.is_emulator or endpoint.auth == "none":
        yield Line("ok", "key", "none is sent, and none is needed")
    elif endpoint.key is not None:
        yield Line("ok", "key", f"found in {endpoint.key_from}, sent as {endpoint.auth}")
    else:
        examination.is_hindered = True
        yield _no_key(endpoint)


def _no_key(endpoint: Endpoint) -> Line:
    if endpoint.elsewhere is not None:
        return Line(
            "!!",
            "key",
            f"none for this address; the environment's key belongs to {endpoint.elsewhere}",
            "Set CHATMAGIC_BASE_URL to the address that the key is for, or run %chat_login here.",
        )
    todo = f"%chat_login asks for one; for a server without keys: {SET_AUTH.format('none')}."
    return Line("!!", "key", "none for this address", todo)


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
    setup = ServiceSetup(at, examination.place.settings.timeout)
    try:
        reached = HttpTransport(setup).connect(Halt())
    except ChatError as error:
        yield examination.hindered("connection", error)
        return
    whose = "the proxy at " if proxy else ""
    yield Line("ok", "connection", f"made to {whose}{reached.peer}, and closed again")
    if reached.tls:
        bundle = network_errors.certificate_bundle(os.environ)
        by = "" if bundle is None else f", authorities of {bundle[0]}"
        words = f"{reached.tls}, certificate valid until {reached.valid_until}{by}"
        yield Line("ok", "TLS", words)


def _proxy(url: str) -> str | None:
    """Return the origin of the proxy that an address is asked through; ``None`` for none."""
    at = origin(url)
    named = None if is_loopback(url) else select_proxy(at, get_environ_proxies(at))
    if named is None:
        return None
    return origin_or_none(named if "://" in named else f"http://{named}") or "one without a URL"


def files(_: Examination) -> Iterator[Line]:
    """Yield the line on the folder of what is kept, and on the rights of private files."""
    state = platformdirs.user_state_path("chatmagic", appauthor=False)
    try:
        there = next(path for path in (state, *state.parents) if path.exists())
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(_LEAST))
    except OSError as error:
        yield Line(
            "!!",
            "files",
            f"nothing can be written to {state}: {error.strerror}",
            "The shell keeps conversations in it: free it, or set XDG_STATE_HOME.",
        )
        return
    modes = _modes(state)
    wrong = [f"{path} ({mode:03o})" for path, mode in modes.items() if mode & _OPEN]
    if wrong:
        todo = "chmod 600 lets you alone read it."
        yield Line("!!", "files", f"others can read {', '.join(wrong)}", todo)
    elif modes:
        yield Line("ok", "files", f"{counted(len(modes), 'private file')}, for you alone")
    else:
        yield Line("ok", "files", "no private file of yours is there")


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
    try:
        choice = examination.place.choice()
        count = 0 if choice is None else len(Cassette(choice).interactions)
    except ChatError as error:
        todo = "Put back a whole copy of the file, or choose another one."
        yield examination.hindered("cassette", error, todo)
        return
    if choice is None:
        yield Line("ok", "cassette", "none")
    else:
        words = f"{choice.name}, {choice.mode} ({choice.mode_from}), {counted(count, 'exchange')}"
        yield Line("ok", "cassette", words)


def last_errors(examination: Examination) -> Iterator[Line]:
    """Yield the line on what was set aside lately, by type and place."""
    yield Line("ok", "set aside lately", "; ".join(examination.errors) or "no error")


def answer(examination: Examination) -> Iterator[Line]:
    """Yield the lines on the one question, where it is to be sent."""
    if not examination.is_asking:
        return
    if examination.is_hindered:
        yield Line("?", "answer", "not asked: what is wrong above comes first")
        return
    try:
        seen = examination.answered = one_question.ask(examination.session)
    except ChatError as error:
        yield _failed("answer", error)
        return
    if seen.error is not None:
        line = _failed("answer", seen.error)
        is_told = seen.status is None or "HTTP" in line.seen
        yield line if is_told else replace(line, seen=f"{line.seen} (HTTP {seen.status})")
        return
    cost = (
        "what it took is not told"
        if seen.took is None
        else f"it took {counted(seen.took, 'credit')}"
    )
    if seen.remaining is not None:
        cost += f", {seen.remaining:,} are left"
    yield Line("ok", "answer", f"a whole reply came; {cost}")
    yield Line("ok", "first word", f"after {seen.first:.2f} s")
    yield streaming(seen)
    yield _CONNECTION_KEPT[seen.connection]


def streaming(seen: Answered) -> Line:
    """Return the line on whether fragments come as they are made, or all at once."""
    count = counted(seen.fragments, "fragment")
    if seen.fragments < ENOUGH:
        return Line("?", "streaming", f"{count}: too few to tell")
    if seen.last - seen.first > SHARE * seen.first:
        return Line("ok", "streaming", f"{count} as they are made, up to {seen.last:.2f} s")
    if seen.first >= LONG_WAIT:
        return Line(
            "!!",
            "streaming",
            f"{count} all at once, after {seen.first:.2f} s",
            "A proxy on the way may hold replies back: its operator can turn buffering off.",
        )
    return Line("?", "streaming", f"{count} at once, too soon to tell: {seen.last:.2f} s")


_CONNECTION_KEPT: Final = {
    None: Line("?", "connection kept", "not told"),
    "kept": Line("ok", "connection kept", "the next question can use it"),
    "ended": Line("ok", "connection kept", "no: each question connects anew, as the answer says"),
    "dropped": Line(
        "!!",
        "connection kept",
        "the server, or a proxy, closes it after an answer that does not say so",
        "Its operator can turn keep-alive on, or have the answers say Connection: close.",
    ),
}


def clock(examination: Examination) -> Iterator[Line]:
    """Yield the line on the clock; the emulator's stands still, so it is not compared."""
    answered = examination.answered
    off = examination.session.credit_state.clock_off
    if examination.is_emulator:
        return
    if answered is not None and answered.has_date:
        well = Line("ok", "clock", "right within a minute, by the service's time")
        yield well if answered.clock_off is None else _clock_off(answered.clock_off)
    elif off is not None:
        yield _clock_off(off)
    elif answered is not None:
        yield Line("?", "clock", "not compared: no answer told the service's time")
    else:
        todo = "--ask compares it with the time of an answer."
        yield Line("?", "clock", "no answer so far tells that it is wrong", todo)


def _clock_off(off: timedelta) -> Line:
    minutes = round(abs(off).total_seconds() / 60)
    way = "ahead of" if off.total_seconds() > 0 else "behind"
    return Line(
        "!!",
        "clock",
        f"about {counted(minutes, 'minute')} {way} the service's",
        "Set this machine's clock: certificates and resets are judged by it.",
    )


def _failed(name: str, error: ChatError, todo: str = "") -> Line:
    return Line("!!", name, error.message, error.hint or todo or "Correct it where it is set.")


LOOKS: Final[Sequence[Callable[[Examination], Iterator[Line]]]] = (
    versions,
    front_end,
    address,
    key,
    network,
    files,
    cassette,
    last_errors,
    answer,
    clock,
)
"""What is looked at, in order; the clock last, as the answer tells the service's time."""
