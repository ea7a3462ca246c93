"""What the tests of cassettes share: a clock that stands still, a file, what is in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from logged import Emulator

from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.archive.interaction import Interaction
from chatmagic.models import Message
from chatmagic.protocol.request import Request
from chatmagic.session.session import Session

FILE = "talk.jsonl"


NOTEBOOK = "%chat_cassette talk.jsonl --replay"


def exchange_of(request: Request, /, **facts: Any) -> Interaction:
    """Give the exchange of a request, with these facts."""
    return replace(Interaction.asked(request), **facts)


def talk(count: int) -> list[Interaction]:
    """Give the exchanges of a conversation of so many turns, each of which carries all before."""
    messages = [Message(("user", "assistant")[n % 2], f"m{n}") for n in range(2 * count)]
    requests = [Request(tuple(messages[: 2 * n + 1])) for n in range(count)]
    return [exchange_of(one, text=f"m{2 * n + 1}") for n, one in enumerate(requests)]


def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the address and the key away."""
    monkeypatch.delenv("CHATMAGIC_BASE_URL", raising=False)
    monkeypatch.delenv("CHATMAGIC_API_KEY", raising=False)


def held(path: str = FILE) -> tuple[Interaction, ...]:
    """Give what a cassette holds."""
    return CassetteFile(Path(path)).read_interactions()


def prompts(path: str = FILE) -> list[str]:
    """Give the prompts that a cassette holds."""
    return [one.prompt for one in held(path)]


def asked(emulator: Emulator) -> list[str]:
    """Give the prompts that were really sent."""
    return [received.body["messages"][-1]["content"] for received in emulator.requests]


def mode(monkeypatch: pytest.MonkeyPatch, word: str, file: str = FILE) -> Session:
    """Set the environment, and begin a session."""
    monkeypatch.setenv("CHATMAGIC_CASSETTE", file)
    monkeypatch.setenv("CHATMAGIC_MODE", word)
    return Session()
