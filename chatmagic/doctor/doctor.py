"""The doctor: a list of checks, each of which reports lines with advice.

The lines are a block to read, and to paste where help is asked for: no key is in them. With
``--ask`` it asks one question and watches the answer.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import Final

import platformdirs

from chatmagic._version import __version__
from chatmagic.advice import Place, joined_sentences, model_of_server, note_at
from chatmagic.client import config, key_store
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.client.proxies import proxy_of
from chatmagic.client.transport import HttpTransport
from chatmagic.client.user_key_file import KEY_FILE_VARIABLE
from chatmagic.errors import ChatError
from chatmagic.models import Credits, Message
from chatmagic.protocol.api_key import Secret, redacted
from chatmagic.protocol.request import Request
from chatmagic.protocol.url import EMULATOR
from chatmagic.safe_text import counted, one_line
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.exchange import Receiver, Sending, exchange
from chatmagic.session.feature import DoctorLine, Mark
from chatmagic.session.session import Session

PACKAGES: Final = ("ipython", "ipykernel", "ipywidgets", "requests", "urllib3")
QUESTION: Final = "Count from 1 to 20, in digits with spaces between them."
MOST_TOKENS: Final = 100
ENOUGH: Final = 5
"""Fewest fragments that show whether a reply is streamed."""
LONG_WAIT: Final = 1.0
"""Wait, in seconds, after which a reply that comes all at once was held back."""
SHARE: Final = 0.01
"""Part of the wait for the first word; a reply that ends within it came all at once."""
_SHOWN: Final = 400


@dataclass(slots=True)
class Examination:
    """Facts that the checks share, and the function that shows their lines.

    Args:
        environment: the environment to check.
        session: its session, with the answers so far.
        front_end: the line on the front end that shows replies.
        show: takes each line, and a sentence at the end. They have no known key, and no path of
            the user's home folder, as that shows a name.
        is_asking: whether one short question is sent, if the checks before allow it.
        place: the place that shows the lines; only in a shell a question keeps its conversation.
        address: the address, without a key; ``None`` while none is known.
        marks: number of lines with each mark.
        has_asked: whether a question was sent.
        keys: the known keys, which no line shows; looked for once, as a keyring may take its time.
    """

    environment: ConfiguredEnvironment
    session: Session
    front_end: DoctorLine
    show: Callable[[DoctorLine | str], object]
    is_asking: bool = False
    place: Place = "notebook"
    address: Endpoint | None = None
    marks: Counter[Mark] = field(default_factory=Counter)
    has_asked: bool = False
    keys: tuple[Secret, ...] = ()

    @property
    def is_emulator(self) -> bool:
        """Whether the address is the emulator of this process."""
        return self.address is not None and self.address.base_url == EMULATOR

    def run(self) -> bool:
        """Show the block, each line as soon as it is known.

        Connections are tried; the question alone is sent.

        Returns:
            Whether a question can be asked.
        """
        self.keys = self.environment.known_keys()
        for check in CHECKS:
            for line in self.lines(check.__name__, check(self)):
                self.tell(line)
        faults = self.marks["!!"]
        remarks = self.marks["!"]
        words = f"{counted(faults, 'thing') if faults else 'Nothing'} wrong"
        if remarks:
            words += f", {counted(remarks, 'warning')}"
        self.show(
            f"{words}. {'One question was sent.' if self.has_asked else 'No request was sent.'}"
        )
        return not faults

    def lines(self, name: str, checked: Iterator[DoctorLine]) -> Iterator[DoctorLine]:
        """Yield the lines of a check; an error that it raises becomes a line.

        Args:
            name: name of the check.
            checked: its lines.
        """
        try:
            yield from checked
        except ChatError as error:
            todo = error.hint_at(self.place) or "Correct it where it is set."
            yield DoctorLine("!!", name, error.message, todo)

    def tell(self, line: DoctorLine) -> None:
        """Show a line, and count it.

        Args:
            line: the line to show.
        """
        self.marks[line.mark] += 1
        self.show(replace(line, seen=self._safe(line.seen), todo=self._safe(line.todo)))

    def _safe(self, words: str) -> str:
        """Return words without keys, and without the name of the home folder."""
        # Before the text is cut, as a cut could leave a part of a key.
        words = redacted(words, self.keys)
        home = str(Path.home())
        return one_line(words.replace(home, "~") if len(home) > 1 else words, _SHOWN)


def versions(_: Examination) -> Iterator[DoctorLine]:
    """Yield the line on the versions, with missing packages, too.

    Args:
        _: the examination, which is not needed.
    """
    words = [f"chatmagic {__version__}", f"Python {platform.python_version()}"]
    words.append(f"{platform.system() or 'system'} {platform.release()} {platform.machine()}")
    for name in PACKAGES:
        try:
            words.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            words.append(f"{name} is not installed")
    yield DoctorLine("ok", "versions", ", ".join(words))


def front_end(examination: Examination) -> Iterator[DoctorLine]:
    """Yield the line on the front end and its features.

    Args:
        examination: the environment and the settings to examine.
    """
    yield examination.front_end


def address(examination: Examination) -> Iterator[DoctorLine]:
    """Yield the line on the address.

    Args:
        examination: the environment and the settings to examine.
    """
    at = examination.address = examination.environment.address()
    if examination.is_emulator:
        yield DoctorLine("ok", "address", f"the emulator of this process ({at.url_from})")
        return
    words = f"requests are posted to {at.posted_to()} ({at.url_from})"
    if at.warnings:
        todo = "Give its https address, without a name or a password."
        warnings = joined_sentences(note_at(warning, examination.place) for warning in at.warnings)
        yield DoctorLine("!", "address", f"{words}. {warnings}", todo)
    else:
        yield DoctorLine("ok", "address", words)


def key(examination: Examination) -> Iterator[DoctorLine]:
    """Yield the line on the key: the place where it was found, and never the key.

    Args:
        examination: the environment and the settings to examine.
    """
    if examination.address is None:
        yield DoctorLine("?", "key", "without an address no key is looked for")
        return
    endpoint = examination.environment.endpoint()
    if examination.is_emulator or endpoint.is_keyless:
        yield DoctorLine("ok", "key", "none is sent, and none is needed")
    else:
        endpoint.require_key()
        yield DoctorLine("ok", "key", f"found in {endpoint.key_from}, sent as {endpoint.auth}")


def model(examination: Examination) -> Iterator[DoctorLine]:
    """Yield the line on the model, if an address is known.

    Args:
        examination: the environment and the settings to examine.
    """
    server = None if examination.address is None else examination.address.server
    named = examination.environment.model()
    if named is not None:
        yield DoctorLine("ok", "model", named)
    elif server is not None and server.needs_model:
        words = f"none is named, and {server.name} requires one"
        todo = model_of_server(server.name).at(examination.place)
        yield DoctorLine("!!", "model", words, todo)
    elif examination.address is not None:
        yield DoctorLine("ok", "model", "none is named: the service chooses")


def connection(examination: Examination) -> Iterator[DoctorLine]:
    """Yield the lines on the proxy, and on a connection that is made and closed again.

    Args:
        examination: the environment and the settings to examine.
    """
    at = examination.address
    if at is None:
        yield DoctorLine("?", "connection", "no address")
        return
    if examination.is_emulator:
        yield DoctorLine("ok", "connection", "the emulator needs none")
        return
    yield DoctorLine("ok", "proxy", str(proxy_of(at.origin) or "none"))
    # Without the key, which a connection does not need.
    HttpTransport(ServiceSetup(at, examination.environment.settings.timeout)).connect(Halt())
    yield DoctorLine("ok", "connection", "made, and closed again")


def files(examination: Examination) -> Iterator[DoctorLine]:
    """Yield the line on the folder of kept conversations, and on the rights of private files.

    Args:
        examination: the environment and the settings to examine.
    """
    state = platformdirs.user_state_path("chatmagic", appauthor=False)
    try:
        _write_below(state)
    except OSError as error:
        words = f"nothing can be written to {state}: {error.strerror}"
        todo = "A shell saves its conversations there: make it writable, or set XDG_STATE_HOME."
        yield DoctorLine("!!" if examination.place == "doctor" else "!", "files", words, todo)
        return
    modes = {
        path: path.stat().st_mode & 0o777
        for path in _private_files(state)
        if os.name == "posix" and os.path.exists(path)  # noqa: PTH110 - in a closed folder, too
    }
    wrong = [f"{path} ({mode:03o})" for path, mode in modes.items() if mode & 0o077]
    if wrong:
        todo = "chmod 600 makes it readable only by you."
        yield DoctorLine("!", "files", f"others can read {', '.join(wrong)}", todo)
    else:
        yield DoctorLine("ok", "files", f"{counted(len(modes), 'private file')}, for you alone")


def _write_below(folder: Path) -> None:
    """Write a file that goes at once, in a folder or in the nearest folder above that is there.

    Raises:
        OSError: nothing can be written there.
    """
    there = next(path for path in (folder, *folder.parents) if path.exists())
    with tempfile.TemporaryFile(dir=there) as file:
        file.write(bytes(65_536))


def _private_files(state: Path) -> list[Path]:
    """Return the files that only their user may read: keys, and conversations from a shell."""
    named, _ = config.environment_setting(KEY_FILE_VARIABLE)
    paths = [Path(named).expanduser()] if named else []
    paths.append(key_store.open_store().file.path)
    return [*paths, *sorted((state / "shell").glob("*.json"))]


def features(examination: Examination) -> Iterator[DoctorLine]:
    """Yield the lines of the features, each named by its feature.

    Args:
        examination: the environment and the settings to examine.
    """
    for feature in examination.session.features:
        lines = feature.examine(examination.environment, examination.place)
        yield from examination.lines(feature.name, lines)


def answer(examination: Examination) -> Iterator[DoctorLine]:
    """Yield the lines on the one question, if it is sent.

    Args:
        examination: the environment and the settings to examine.
    """
    if not examination.is_asking:
        return
    if examination.marks["!!"]:
        yield DoctorLine("?", "answer", "not asked: correct the faults above first")
        return
    halt = Halt()
    ask = partial(_ask, examination, halt)
    yield from examination.session.lock.alone("the doctor's question", ask, halt)


@dataclass(slots=True)
class _Watch(Receiver):
    """Receiver of the answer to the doctor's question, with the times at which it arrives.

    Args:
        tell: shows a line.
        began: time at which the request is sent, of ``monotonic``.
        count: number of fragments.
        first: seconds to the first fragment.
        last: seconds to the last one.
    """

    tell: Callable[[DoctorLine], None]
    began: float = 0.0
    count: int = 0
    first: float = 0.0
    last: float = 0.0

    def sent(self) -> None:
        """Begin to measure."""
        self.began = monotonic()

    def begun(self) -> None:
        """Show the time of the headers."""
        self.tell(DoctorLine("ok", "headers", f"after {monotonic() - self.began:.2f} s"))

    def fragment(self, text: str) -> None:
        """Note the time of a fragment, and show that of the first.

        Args:
            text: the fragment, which is not needed.
        """
        del text
        self.count += 1
        self.last = monotonic() - self.began
        if self.count == 1:
            self.first = self.last
            self.tell(DoctorLine("ok", "first word", f"after {self.first:.2f} s"))


def _ask(examination: Examination, halt: Halt) -> list[DoctorLine]:
    """Ask the question, and return the last lines; the others are shown as they are known.

    The question is beside the conversation. The ledger and its limits count it.
    """
    session = examination.session
    environment = session.environment
    client = session.clients.client("service", environment.service)
    request = Request(
        (Message("user", QUESTION),), max_tokens=MOST_TOKENS, extra=client.setup.extra_body or {}
    )
    watch = _Watch(examination.tell)
    cell = environment.cell()[0]
    sending = Sending(client, request, request.digest(), "doctor", cell, halt=halt, receiver=watch)
    answer = exchange(sending, session.features)
    examination.has_asked = answer.is_sent
    cost = _cost_words(answer.took, answer.whole().credits)
    whole = DoctorLine("ok", "answer", f"a whole reply arrived; {cost}")
    return [whole, streaming(watch.count, watch.first, watch.last)]


def _cost_words(took: int | None, credits: Credits | None) -> str:
    """Return the cost of the question, and the credits that are left, as far as they are known."""
    cost = "its cost is not known" if took is None else f"it cost {counted(took, 'credit')}"
    if credits is None or credits.remaining is None:
        return cost
    return f"{cost}, {credits.remaining:,} are left"


def streaming(fragments: int, first: float, last: float) -> DoctorLine:
    """Return the line on streaming: fragments come one by one, or all at once.

    Args:
        fragments: number of fragments of the reply.
        first: seconds to the first word.
        last: seconds to the last one.
    """
    count = counted(fragments, "fragment")
    if fragments < ENOUGH:
        return DoctorLine("?", "streaming", f"{count}: too few to tell")
    if last - first > SHARE * first:
        return DoctorLine("ok", "streaming", f"{count} as they are made, up to {last:.2f} s")
    if first >= LONG_WAIT:
        todo = "A proxy on the way may hold replies back: its operator can turn buffering off."
        return DoctorLine("!", "streaming", f"{count} all at once, after {first:.2f} s", todo)
    return DoctorLine("?", "streaming", f"{count} at once, too soon to tell: {last:.2f} s")


CHECKS: Final[Sequence[Callable[[Examination], Iterator[DoctorLine]]]] = (
    versions,
    front_end,
    address,
    key,
    model,
    connection,
    files,
    features,
    answer,
)
"""The checks, in order. A failed check is named by its function."""
