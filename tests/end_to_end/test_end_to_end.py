"""The same behaviour through every entry: Python, magics, panel; over HTTP to the emulator."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from comms import Widgets
from logged import Emulator, Settings
from panel_views import PATIENCE, View, Wire
from shells import Shell, alone

import chatmagic
from chatmagic.session.events import Ended

KEY = "sk-end-to-end-2f9d"
Ask = Callable[[str], Any]
ENTRIES = ("client", "stream", "session", "package", "cell", "line", "panel")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Emulator]:
    """A service that the environment names."""
    with alone(monkeypatch, tmp_path), Emulator(Settings()) as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield emulator


@pytest.fixture(params=ENTRIES)
def ask(
    request: pytest.FixtureRequest,
    service: Emulator,  # noqa: ARG001 - what the environment names
    monkeypatch: pytest.MonkeyPatch,
) -> Ask:
    """A way to ask: gives the reply, or raises what went wrong."""
    return entry(request.param, monkeypatch)


def entry(name: str, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Open one of the entries; each keeps its client for as long as it is used."""
    if name == "client":
        client = chatmagic.Client()
        return lambda text: client.complete([chatmagic.Message("user", text)])
    if name == "stream":
        return streamed(chatmagic.Client())
    if name == "session":
        return chatmagic.Session(chatmagic.Client()).ask
    if name == "panel":
        return in_a_panel(monkeypatch)
    shell = Shell()
    if name == "package":
        return chatmagic.ask

    def by_magic(text: str) -> Any:
        line = f"%%chat -o reply\n{text}" if name == "cell" else f"reply = %chat {text}"
        ran = shell.run(line)
        if ran.error is not None:
            raise ran.error
        return shell["reply"]

    return by_magic


def streamed(client: chatmagic.Client) -> Ask:
    """Ask fragment by fragment."""

    def ask(text: str) -> chatmagic.Reply:
        with client.stream([chatmagic.Message("user", text)]) as stream:
            fragments = list(stream)
        assert "".join(fragments) == stream.reply.text
        return stream.reply

    return ask


def in_a_panel(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask in a panel's page, by messages; the session tells how that ended."""
    widgets = Widgets(monkeypatch)
    Shell().page("%chat_panel", "P")
    (widget,) = widgets.having("draft")
    view = View(Wire(widget))
    ends = queue.Queue[Ended]()

    def heard(event: object) -> None:
        if isinstance(event, Ended):
            ends.put(event)

    chatmagic.current_session().followers.add(heard)

    def ask(text: str) -> chatmagic.Reply:
        view.asked(text)
        end = ends.get(timeout=PATIENCE)
        if end.error is not None:
            raise end.error
        assert end.outcome is not None
        assert view.log()[-1]["reply"]["text"] == end.outcome.reply.text
        return end.outcome.reply

    return ask


def test_a_reply_is_whole_and_accounted_for(ask: Ask, service: Emulator) -> None:
    """Text, model, finish reason, usage and credits come through every entry."""
    reply = ask("echo:Grüße, 東京 🎉")
    assert (reply.text, reply.finish_reason, reply.model) == ("Grüße, 東京 🎉", "stop", "emulator")
    assert reply.state == "complete"
    assert reply.origin == "emulator"
    assert reply.usage.completion_tokens > 0
    assert (reply.credits.limit, reply.credits.remaining, reply.credits.used) == (100, 99, 1)
    assert len(service.requests) == 1


def test_many_asks_use_one_connection(ask: Ask, service: Emulator) -> None:
    """The connection is kept between them."""
    for number in range(5):
        ask(f"echo:{number}")
    assert len(service.requests) == 5
    assert len({request.port for request in service.requests}) == 1


def test_used_up_credits_are_said_with_their_figures(ask: Ask, service: Emulator) -> None:
    """The rate-limit error carries used, limit and reset."""
    service.settings = Settings(credits=1)
    ask("echo:one")
    with pytest.raises(chatmagic.errors.RateLimitError, match="1 of 1 used") as caught:
        ask("echo:two")
    assert caught.value.status == 429
    assert caught.value.credits is not None
    assert caught.value.credits.resets_at is not None


@pytest.mark.parametrize("name", ENTRIES)
def test_a_cut_off_reply_keeps_its_part(
    service: Emulator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What came is in the error; of a reply in one piece nothing can be told from a part."""
    service.settings = Settings(fault="cut", fault_after=3)
    with pytest.raises(chatmagic.errors.CutOffError) as caught:
        entry(name, monkeypatch)("echo:one two three four five six")
    part = None if caught.value.reply is None else caught.value.reply.text
    assert part == (None if name == "client" else "one two three ")
    assert len(service.requests) == 1


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("way", ["bearer", "x-api-key", "query"])
def test_each_way_of_the_key_is_taken(
    service: Emulator, monkeypatch: pytest.MonkeyPatch, way: str, name: str
) -> None:
    """The key goes in the one place that is configured (fact 12)."""
    monkeypatch.setenv("CHATMAGIC_AUTH", way)
    entry(name, monkeypatch)("echo:hello")
    assert service.requests[-1].ways == (way,)
