"""Plugin of pytest: fixtures for tests of code that asks through chatmagic.

``chat_cassette`` replays a cassette beside the test's file, without a network; ``pytest
--chat-record`` records it. ``chat_emulator`` is a service on this machine with replies of the
test's own. pytest loads this module at each start, so it imports nothing else of the package before
a fixture is used.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

if TYPE_CHECKING:
    from chatmagic.archive.interaction import Interaction
    from chatmagic.emulator.server import Emulator
    from chatmagic.models import Message
    from chatmagic.protocol.request import Request

__all__ = ["ChatCassette", "ChatEmulator", "chat_cassette", "chat_emulator"]

FOLDER: Final = "cassettes"
"""Name of the folder of cassettes beside a test's file."""
LONGEST_NAME: Final = 80
"""Largest number of characters of a cassette's name, which a test's parameters may make long."""
_ADDRESS: Final = (
    "CHATMAGIC_BASE_URL",
    "CHATMAGIC_API_KEY",
    "CHATMAGIC_API_KEY_FILE",
    "CHATMAGIC_AUTH",
)
_CASSETTE: Final = ("CHATMAGIC_CASSETTE", "CHATMAGIC_MODE")
_RECORDS: Final = "pytest --chat-record asks the service, and records it."


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--chat-record``.

    Args:
        parser: pytest's parser of its command line.
    """
    group = parser.getgroup("chatmagic", "chatmagic: tests of code that asks a language model")
    text = "ask the service what a cassette of chat_cassette lacks, and record it"
    group.addoption("--chat-record", action="store_true", default=False, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker ``chat_cassette``.

    Args:
        config: pytest's configuration.
    """
    text = "chat_cassette(name): the cassette's name, which several tests of a file may share"
    config.addinivalue_line("markers", text)


@dataclass(frozen=True, slots=True)
class ChatCassette:
    """Cassette of a test.

    Args:
        path: its file.
        mode: ``replay``, in which nothing is sent, or ``record``.
    """

    path: Path
    mode: Literal["replay", "record"]

    @property
    def exchanges(self) -> tuple[Interaction, ...]:
        """The requests with their answers that the file holds now, in the order of recording."""
        from chatmagic.archive.cassette_file import CassetteFile  # noqa: PLC0415 - not at pytest's start

        return CassetteFile(self.path).read_interactions()


class ChatEmulator:
    """Emulator of a test: a service on this machine, whose replies the test may give.

    Args:
        emulator: the server.
        key: the key with which chatmagic asks it.
    """

    def __init__(self, emulator: Emulator, key: str) -> None:
        """Answer with the emulator's own replies."""
        self.key = key
        """Its key, which is also in ``CHATMAGIC_API_KEY``."""
        self.requests: list[Request] = []
        """The requests, oldest first, with ``messages``, ``max_tokens``, ``temperature``, …"""
        self._emulator = emulator
        self._replies: deque[str | int] = deque()

    @property
    def asked(self) -> list[tuple[Message, ...]]:
        """The messages of each request, oldest first."""
        return [request.messages for request in self.requests]

    @property
    def url(self) -> str:
        """Its address, which is also in ``CHATMAGIC_BASE_URL``."""
        return self._emulator.url

    def reply_with(self, *texts: str) -> None:
        """Answer the next requests with these texts, in this order; after them, as before.

        Args:
            *texts: a text for each request.
        """
        self._replies.extend(texts)

    def fail_with(self, *statuses: int) -> None:
        """Let the next requests fail, in their place among the replies.

        Args:
            *statuses: an HTTP status from 400 to 599 for each request, such as 503.

        Raises:
            ValueError: a status is no failure; then nothing changes.
        """
        if not all(400 <= status <= 599 for status in statuses):  # noqa: PLR2004 - HTTP's failures
            raise ValueError(f"a failure has a status from 400 to 599, not {statuses}")
        self._replies.extend(statuses)

    def answer(self, request: Request) -> str | int | None:
        """Return the reply to a request, or its status; ``None`` for a reply of the emulator's own.

        Args:
            request: the request.
        """
        # The emulator answers one request after the other.
        self.requests.append(request)
        return self._replies.popleft() if self._replies else None


@pytest.fixture
def chat_cassette(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ChatCassette]:
    """Replay what the test asks from a cassette beside its file; nothing is sent.

    The file is ``cassettes/TEST_FILE/TEST.jsonl``; ``@pytest.mark.chat_cassette("name")`` names
    another one there. A request that it lacks is an error, and so is one of a client without a
    session. With ``pytest --chat-record`` that request is sent, with the address and the key of the
    environment, and recorded. The test has a conversation of its own in ``chatmagic.ask``, and the
    variables hold for the processes that it starts, too.
    """
    records = bool(request.config.getoption("chat_record", default=False))
    cassette = ChatCassette(_path(request), "record" if records else "replay")
    if not records:
        words = f"{cassette.path} is replayed. {_RECORDS}"
        request.node.add_report_section("setup", "chatmagic", words)
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(cassette.path))
    monkeypatch.setenv("CHATMAGIC_MODE", cassette.mode)
    yield from _with_own_session(cassette)


@pytest.fixture
def chat_emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatEmulator]:
    """Ask an emulator on this machine; its address and a key of its own are in the environment.

    The test has a conversation of its own in ``chatmagic.ask``.
    """
    from chatmagic.emulator.server import Emulator, Settings  # noqa: PLC0415 - not at pytest's start

    emulator = Emulator()
    chat = ChatEmulator(emulator, "practice-key-of-a-test")
    emulator.settings = Settings(credits=1_000_000, answer=chat.answer)
    for name in (*_ADDRESS, *_CASSETTE):
        monkeypatch.delenv(name, raising=False)
    with emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", chat.key)
        yield from _with_own_session(chat)


def _with_own_session(value: Any) -> Iterator[Any]:
    """Yield a fixture's value, with a new session of ``chatmagic.ask`` that ends with the test."""
    from chatmagic.session import current  # noqa: PLC0415 - not at pytest's start

    current.end_session()
    try:
        yield value
    finally:
        current.end_session()


def _path(request: pytest.FixtureRequest) -> Path:
    """Return the file of a test's cassette."""
    marker = request.node.get_closest_marker("chat_cassette")
    if marker is None:
        classes = request.node.nodeid.split("::")[1:-1]
        name = _file_name(".".join([*classes, request.node.name]))
    elif len(marker.args) == 1 and isinstance(marker.args[0], str) and not marker.kwargs:
        name = _file_name(marker.args[0])
    else:
        pytest.fail('The marker chat_cassette takes a name: @pytest.mark.chat_cassette("name").')
    return request.path.parent / FOLDER / request.path.stem / f"{name}.jsonl"


def _file_name(name: str) -> str:
    """Return a test's name as the name of a file, another one for each test."""
    match = re.fullmatch(r"([A-Za-z0-9_.]+)(?:\[([A-Za-z0-9_.-]*)\])?", name)
    if match is not None and ".." not in name and len(name) <= LONGEST_NAME:
        return match[1] if match[2] is None else f"{match[1]}-{match[2]}"
    plain = re.sub("[^A-Za-z0-9_]+", "-", name)[:LONGEST_NAME]
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
