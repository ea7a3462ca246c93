"""Record and replay through every entry: Python, magics, a headless kernel."""

from __future__ import annotations

import atexit
import contextlib
import errno
import json
import os
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from environments import GivenEnvironment
from kernels import kernel
from shells import KEY, Ran, Shell, alone

import chatmagic
from chatmagic.cassette.active import CassetteSetup
from chatmagic.cassette.mode import CassetteConfig, CassetteOptions, resolve
from chatmagic.cassette.storage import CassetteFile
from chatmagic.emulator.server import Emulator, Settings
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    ConnectError,
    InputError,
    NotRecordedError,
    RateLimitError,
)
from chatmagic.jupyter import cassette_command
from chatmagic.session.current import current_session
from chatmagic.session.events import Ask
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmagic.cassette.interaction import Recorded

FIXED = Settings(now=datetime(2026, 1, 1, 12, tzinfo=UTC))
FILE = "talk.jsonl"
NOTEBOOK = "%chat_cassette talk.jsonl --replay"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Give a folder to work in, with nothing set."""
    with alone(monkeypatch, tmp_path):
        work = tmp_path / "work"
        work.mkdir()
        monkeypatch.chdir(work)
        monkeypatch.delattr(sys, "last_value", raising=False)
        yield work


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Give a service whose clock stands still, named by the environment."""
    with Emulator(FIXED) as running:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", running.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield running


def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the address and the key away."""
    monkeypatch.delenv("CHATMAGIC_BASE_URL", raising=False)
    monkeypatch.delenv("CHATMAGIC_API_KEY", raising=False)


def held(path: str = FILE) -> tuple[Recorded, ...]:
    """Give what a cassette holds."""
    return CassetteFile(Path(path)).read()


def prompts(path: str = FILE) -> list[str]:
    """Give the prompts that a cassette holds."""
    return [one.prompt for one in held(path)]


def asked(emulator: Emulator) -> list[str]:
    """Give the prompts that were really sent."""
    return [received.body["messages"][-1]["content"] for received in emulator.requests]


# Which cassette is in.


@pytest.mark.parametrize(
    ("environ", "magic", "config", "person", "mode"),
    [
        ({}, None, None, True, None),
        ({"CHATMAGIC_CASSETTE": "e.jsonl"}, None, None, False, "replay"),
        ({"CHATMAGIC_CASSETTE": "e.jsonl"}, None, None, True, "record"),
        (
            {"CHATMAGIC_CASSETTE": "e.jsonl", "CHATMAGIC_MODE": "Refresh "},
            None,
            None,
            False,
            "refresh",
        ),
        ({"CHATMAGIC_CASSETTE": "e.jsonl", "CHATMAGIC_MODE": "live"}, None, None, False, None),
        ({"CHATMAGIC_MODE": "live"}, CassetteOptions("m.jsonl", "replay"), None, False, None),
        ({"CHATMAGIC_MODE": "replay"}, CassetteOptions("m.jsonl", "record"), None, True, "replay"),
        ({}, CassetteOptions("m.jsonl"), None, True, "record"),
        ({}, CassetteOptions("m.jsonl"), None, False, "replay"),
        (
            {},
            CassetteOptions("m.jsonl", "refresh"),
            CassetteOptions("c.jsonl", "replay"),
            False,
            "refresh",
        ),
        ({}, CassetteOptions("m.jsonl", fallback="emulator"), None, True, "replay"),
        ({}, CassetteOptions("m.jsonl", by_order=True), None, True, "replay"),
        ({}, None, CassetteOptions("c.jsonl"), False, "replay"),
        ({}, None, CassetteOptions("c.jsonl", "record"), False, "record"),
        ({}, CassetteOptions(off=True), CassetteOptions("c.jsonl", "record"), False, None),
        ({"CHATMAGIC_CASSETTE": "e.jsonl"}, CassetteOptions(off=True), None, False, "replay"),
        ({"CHATMAGIC_CASSETTE": "paper.ipynb"}, None, None, True, "replay"),
        (
            {"CHATMAGIC_CASSETTE": "paper.ipynb"},
            CassetteOptions("m.jsonl", "record"),
            None,
            True,
            "replay",
        ),
        ({"CHATMAGIC_CASSETTE": " "}, None, None, True, None),
    ],
)
def test_who_decides(
    environ: dict[str, str],
    magic: CassetteOptions | None,
    config: CassetteOptions | None,
    person: bool,
    mode: str | None,
) -> None:
    """The environment beats the magic, which beats the configuration."""
    choice = resolve(environ, magic, config, interactive=person)
    assert (None if choice is None else choice.mode) == mode
    if choice is not None:
        assert choice.name[0] == (
            "e" if environ.get("CHATMAGIC_CASSETTE", " ")[0] == "e" else choice.name[0]
        )


@pytest.mark.parametrize(
    ("magic", "config", "later", "found"),
    [
        (CassetteOptions("m", "record"), CassetteOptions("c", "replay"), {"mode"}, ("m", "replay")),
        (
            CassetteOptions("m", "record"),
            CassetteOptions("c", "replay"),
            {"cassette"},
            ("c", "record"),
        ),
        (CassetteOptions("m", "record"), CassetteOptions("c", "replay"), set(), ("m", "record")),
        (CassetteOptions("m"), CassetteOptions(None, "replay"), set(), ("m", "replay")),
        (CassetteOptions("m", "replay"), CassetteOptions(None, "live"), {"mode"}, None),
        (CassetteOptions("m", "replay"), CassetteOptions(None, None), {"mode"}, ("m", "replay")),
        (CassetteOptions(off=True), CassetteOptions("c", "record"), {"cassette"}, ("c", "record")),
        (CassetteOptions(off=True), CassetteOptions("c", "record"), set(), None),
        (CassetteOptions(off=True), CassetteOptions("c", "replay"), {"cassette"}, ("c", "replay")),
        (CassetteOptions(off=True), CassetteOptions("c", "replay"), set(), InputError),
        (CassetteOptions(off=True), CassetteOptions(None, "Replay"), {"mode"}, InputError),
        (CassetteOptions(off=True), CassetteOptions("c", "record"), {"mode"}, InputError),
    ],
)
def test_the_later_word_counts(
    magic: CassetteOptions,
    config: CassetteOptions,
    later: set[str],
    found: tuple[str, str] | type[Exception] | None,
) -> None:
    """Of the magic and the configuration, for the file and for the mode; no replay becomes live."""
    if isinstance(found, type):
        with pytest.raises(found, match=r"no cassette is set\. Nothing was sent"):
            resolve({}, magic, config, changed_later=later)
        return
    choice = resolve({}, magic, config, changed_later=later)
    assert found == (None if choice is None else (choice.name, choice.mode))


@pytest.mark.parametrize(
    ("environ", "magic", "match"),
    [
        ({"CHATMAGIC_MODE": "replay"}, None, "CHATMAGIC_MODE says replay, but no cassette is set"),
        (
            {"CHATMAGIC_MODE": "play"},
            None,
            "CHATMAGIC_MODE is one of live, record, replay, refresh",
        ),
        (
            {},
            CassetteOptions("p.ipynb", "record"),
            "A notebook is only replayed, and %chat_cassette says",
        ),
        ({"CHATMAGIC_MODE": "refresh"}, CassetteOptions("p.IPYNB"), "A notebook is only replayed"),
        (
            {},
            CassetteOptions("~nobody-here/talk.jsonl", "record"),
            "%chat_cassette names a home folder",
        ),
        (
            {"CHATMAGIC_CASSETTE": "p.ipynb", "CHATMAGIC_MODE": "record"},
            None,
            "A notebook is only replayed, and CHATMAGIC_MODE says",
        ),
    ],
)
def test_what_does_not_go_together(
    environ: dict[str, str], magic: CassetteOptions | None, match: str
) -> None:
    """One clear line before anything is sent."""
    with pytest.raises(InputError, match=match):
        resolve(environ, magic)


@pytest.mark.parametrize(
    ("line", "chosen"),
    [
        ("talk.jsonl", CassetteOptions("talk.jsonl")),
        (
            "--replay my talk.jsonl --else emulator",
            CassetteOptions("my talk.jsonl", "replay", "emulator"),
        ),
        ("'my talk.jsonl' --by-order", CassetteOptions("my talk.jsonl", by_order=True)),
        ("--else Emulator a--b.jsonl", CassetteOptions("a--b.jsonl", fallback="emulator")),
        ("--refresh", CassetteOptions("before.jsonl", "refresh")),
    ],
)
def test_the_line_is_read(line: str, chosen: CassetteOptions) -> None:
    """A file with spaces, options before or behind it."""
    assert cassette_command.parse(line, "before.jsonl") == chosen


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("f --record --replay", "--replay and --record do not go together"),
        ("f --else", "--else takes one word: emulator"),
        ("f --else nobody", "--else takes one word: emulator"),
        ("f --record --by-order", "go with --replay"),
        ("f --off", "--off is not an option of %chat_cassette, or stands alone"),
        ("f --rec", "--rec is not an option"),
    ],
)
def test_a_line_that_makes_no_sense(line: str, match: str) -> None:
    """One line, and a second that shows how."""
    with pytest.raises(InputError, match=match) as caught:
        cassette_command.parse(line)
    assert caught.value.hint == cassette_command.USAGE


# In Python.


def mode(monkeypatch: pytest.MonkeyPatch, word: str, file: str = FILE) -> Session:
    """Set the environment, and begin a session."""
    monkeypatch.setenv("CHATMAGIC_CASSETTE", file)
    monkeypatch.setenv("CHATMAGIC_MODE", word)
    return Session()


def test_recorded_and_replayed_in_python(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same replies and facts, with nothing sent, no address and no key."""
    live = mode(monkeypatch, "record")
    replies = [live.ask("echo:one\ntwo"), live.ask("What is a mean?", temperature=0)]
    no_service(monkeypatch)
    session = mode(monkeypatch, "replay")
    again = [session.ask("echo:one\ntwo"), session.ask("What is a mean?", temperature=0)]
    assert [replace(reply, origin="emulator", recorded=None) for reply in again] == replies
    assert {(reply.origin, reply.recorded) for reply in again} == {("replay", "emulator")}
    assert (session.credits, session.took) == (live.credits, live.took) != (None, None)
    assert [turn.took for turn in session.conversation] == [None, 1]
    assert len(emulator.requests) == 2
    with pytest.raises(NotRecordedError, match="Nothing was sent") as caught:
        session.ask("And a median?")
    assert "5" not in (caught.value.hint or "").split("carries")[0]
    assert len(session.conversation) == 2


def test_what_a_turn_took_is_what_was_recorded(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the one before it is not replayed, so that it could not be told again."""
    live = mode(monkeypatch, "record")
    for prompt in ("echo:one", "echo:two"):
        live.ask(prompt, history=False)
    session = mode(monkeypatch, "replay")
    session.ask("echo:two", history=False)
    assert session.took == live.took == 1
    assert len(emulator.requests) == 2


def test_a_client_of_ones_own_is_recorded_and_needed_no_more(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session with a client goes through the cassette, too."""
    mode(monkeypatch, "record")
    own = chatmagic.Client(extra_body={"model": "small"})
    Session(own).ask("echo:hi")
    assert emulator.requests[0].body["model"] == "small"
    emulator.stop()
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    session = Session(own)
    assert session.ask("echo:hi").text == "hi"
    monkeypatch.setenv("CHATMAGIC_MODE", "live")
    with pytest.raises(ConnectError):
        session.ask("echo:hi")


def test_in_replay_a_client_by_itself_sends_nothing(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in no cassette, and a reviewer's credits are not to be spent."""
    mode(monkeypatch, "replay")
    with pytest.raises(NotRecordedError, match="a client by itself is not recorded"):
        chatmagic.Client().complete([chatmagic.Message("user", "hello")])
    assert not emulator.requests


def test_what_is_recorded_needs_no_service(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who records is answered from the file before anybody is looked for."""
    mode(monkeypatch, "record").ask("echo:one")
    no_service(monkeypatch)
    session = mode(monkeypatch, "record")
    assert session.ask("echo:one").text == "one"
    with pytest.raises(ConnectError, match="No address is set"):
        session.ask("echo:two")
    assert len(emulator.requests) == 1


def test_without_a_stated_mode_python_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cassette that is not there is not made by accident."""
    monkeypatch.setenv("CHATMAGIC_CASSETTE", FILE)
    with pytest.raises(InputError, match=r"There is no cassette talk\.jsonl to replay"):
        Session().ask("hello")


def test_the_file_holds_no_key_no_header_and_no_host(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Whatever came over the wire."""
    session = mode(monkeypatch, "record")
    session.ask("echo:hello")
    monkeypatch.setenv("CHATMAGIC_API_KEY", "invalid-key-4711-secret")
    with pytest.raises(ChatError):
        session.ask("echo:again")
    text = (folder / FILE).read_text(encoding="utf-8")
    assert len(held()) == 2
    words = (KEY, "4711", "127.0.0.1", "localhost", emulator.url, "uthorization", "ser-")
    assert not [word for word in words if word in text]
    assert "Server" not in text


def test_errors_are_recorded_and_asked_again(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of credits, replayed as it was; who records may ask again."""
    emulator.settings = replace(FIXED, credits=0)
    with pytest.raises(RateLimitError) as live:
        mode(monkeypatch, "record").ask("echo:one")
    with pytest.raises(RateLimitError) as replayed:
        mode(monkeypatch, "replay").ask("echo:one")
    assert str(replayed.value) == str(live.value)
    assert replayed.value.credits == live.value.credits
    emulator.settings = FIXED
    assert mode(monkeypatch, "record").ask("echo:one").text == "one"
    assert [(one.text, one.superseded) for one in held()] == [("one", False), (None, True)]
    assert mode(monkeypatch, "replay").ask("echo:one").text == "one"
    assert len(emulator.requests) == 2


FAULTY: tuple[Settings, ...] = (
    replace(FIXED, fault="cut", fault_after=2),
    replace(FIXED, fault="error", fault_after=2),
)


@pytest.mark.parametrize("faulty", FAULTY, ids=["cut", "error"])
def test_what_was_never_whole_is_not_recorded(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, faulty: Settings
) -> None:
    """A reply that was cut off, or broken by an error inside, is in no cassette."""
    emulator.settings = faulty
    with pytest.raises(ChatError):
        mode(monkeypatch, "record").ask("echo:one two three four")
    assert not Path(FILE).exists()


def test_what_was_stopped_is_not_recorded(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop keeps the part in the conversation, and nothing in the cassette."""

    def stop(_: str) -> None:
        raise KeyboardInterrupt

    session = mode(monkeypatch, "record")
    with pytest.raises(ChatInterrupted):
        session.ask("echo:one two three", on_fragment=stop)
    assert len(emulator.requests) == len(session.conversation) == 1
    assert not Path(FILE).exists()


def test_a_file_that_cannot_be_written_costs_no_reply(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """The reply is kept here, and saved with the next one."""
    session = mode(monkeypatch, "record")
    (folder / f".{FILE}.new").mkdir()
    with pytest.raises(ChatError, match="could not be written") as caught:
        session.ask("echo:one")
    assert "kept here" in str(caught.value)
    assert [turn.reply.text for turn in session.conversation] == ["one"]
    (folder / f".{FILE}.new").rmdir()
    session.ask("echo:two")
    assert prompts() == ["echo:one", "echo:two"]
    assert len(emulator.requests) == 2


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give a list of the files that cannot be written: the disk is full for them."""
    names: list[str] = []
    real = os.fsync

    def fsync(place: int) -> None:
        if any(Path(f".{name}.new").exists() for name in names):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(place)

    monkeypatch.setattr(os, "fsync", fsync)
    return names


def test_what_could_not_be_written_is_saved_by_the_status(
    shell: Shell, emulator: Emulator, full: list[str]
) -> None:
    """On a disk that is full nothing half-written is left; when there is room, all is saved."""
    shell.do(f"%chat_cassette {FILE} --record")
    full.append(FILE)
    ran = shell.fails("%chat echo:one")
    assert "No space left on device. What was recorded is kept here." in ran.traceback[0]
    assert list(Path().iterdir()) == []
    told = shell.do("%chat_cassette").printed
    assert "record (%chat_cassette)" in told
    assert "1 of them not saved: talk.jsonl could not be written: No space left" in told
    shell.fails("%chat echo:two")
    full.clear()
    assert "not saved" not in shell.do("%chat_cassette").printed
    assert prompts() == ["echo:one", "echo:two"]
    assert asked(emulator) == ["echo:one", "echo:two"]


def test_what_could_not_be_saved_goes_along_into_another_file(
    shell: Shell, emulator: Emulator, full: list[str]
) -> None:
    """It is told what became of it, and nothing of it is asked again."""
    shell.do(f"%chat_cassette {FILE} --record")
    full.append(FILE)
    shell.fails("%chat --no-history echo:one")
    full.append("other.jsonl")
    told = shell.do("%chat_cassette other.jsonl --record").printed
    assert "1 recorded exchange could not be saved in talk.jsonl" in told
    assert "other.jsonl could not be written" in told
    full.remove("other.jsonl")
    shell.do("%chat --no-history echo:two")
    assert prompts("other.jsonl") == ["echo:one", "echo:two"]
    shell.do("%chat --no-history echo:one")
    assert asked(emulator) == ["echo:one", "echo:two"]
    assert "not saved" not in shell.do("%chat_cassette").printed
    full.append("other.jsonl")
    shell.fails("%chat --no-history echo:three")
    told = shell.do("%chat_cassette third.jsonl --record").printed
    assert "1 recorded exchange from other.jsonl saved in third.jsonl." in told
    assert "lost" not in told


@pytest.mark.parametrize("conflict", [True, False])
def test_off_works_though_nothing_can_be_saved(
    shell: Shell, emulator: Emulator, full: list[str], conflict: bool
) -> None:
    """And says what will be lost; it is taken along later, when a file takes it."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat --no-history echo:one")
    if conflict:
        Path(FILE).write_text("<<<<<<< HEAD\n", encoding="utf-8")
    else:
        full.append(FILE)
    shell.fails("%chat --no-history echo:two")
    told = shell.do("%chat_cassette --off").printed
    assert "1 recorded exchange could not be saved in talk.jsonl, and will be lost" in told
    assert ("a conflict of a merge" if conflict else "No space left") in told
    shell.do("%chat --no-history echo:three")
    told = shell.do("%chat_cassette").printed
    assert "No cassette is in" in told
    assert "1 recorded exchange could not be saved" in told
    told = shell.do("%chat_cassette other.jsonl --record").printed
    assert "1 recorded exchange from talk.jsonl saved in other.jsonl." in told
    assert prompts("other.jsonl") == ["echo:two"]
    assert "could not" not in shell.do("%chat_cassette").printed
    assert asked(emulator) == ["echo:one", "echo:two", "echo:three"]


def test_live_works_though_nothing_can_be_saved(
    shell: Shell, full: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the environment, by another cassette and by the configuration; the next cell says so."""
    shell.do(f"%chat_cassette {FILE} --record")
    full.append(FILE)
    shell.fails("%chat echo:one")
    monkeypatch.setenv("CHATMAGIC_MODE", "live")
    ran = shell.page("%chat echo:two", "a")
    assert "1 recorded exchange could not be saved in talk.jsonl" in repr(ran.messages)
    assert "could not be saved" not in repr(shell.page("%chat echo:three", "b").messages)
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "third.jsonl")
    ran = shell.page("%chat echo:four", "c")
    assert "1 recorded exchange from talk.jsonl saved in third.jsonl" in repr(ran.messages)
    assert prompts("third.jsonl") == ["echo:one", "echo:four"]


def test_a_cassette_that_cannot_be_read_is_told_and_taken_out(shell: Shell) -> None:
    """The state says which is chosen and why nothing is sent; --off and others work."""
    Path(FILE).write_text("<<<<<<< HEAD\n", encoding="utf-8")
    assert "conflict of a merge" in shell.fails(f"%chat_cassette {FILE}").traceback[0]
    shell.fails("%chat echo:one")
    told = shell.do("%chat_cassette").printed
    assert "Cassette talk.jsonl" in told
    assert "line 1: it is a conflict of a merge" in told
    assert "--off takes it out" in told
    shell.do("%chat_cassette --off")
    shell.do("%chat echo:one")


def test_the_state_says_what_takes_a_cassette_out(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not --off, where the environment names the cassette or says that it is replayed."""
    live = "CHATMAGIC_MODE=live in the environment asks without it"
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    assert live in shell.do("%chat_cassette").printed
    monkeypatch.delenv("CHATMAGIC_MODE")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", FILE)
    Path(FILE).write_text("no cassette", encoding="utf-8")
    assert live in shell.do("%chat_cassette").printed
    monkeypatch.setenv("CHATMAGIC_MODE", "live")
    shell.do("%chat echo:one")
    monkeypatch.delenv("CHATMAGIC_MODE")
    monkeypatch.delenv("CHATMAGIC_CASSETTE")
    shell.do("%config ChatMagics.mode = 'replay'")
    setting = '%config ChatMagics.mode = "live"'
    assert f"{setting} asks without it" in shell.do("%chat_cassette").printed
    shell.do(setting)
    shell.do("%chat echo:two")
    assert asked(emulator) == ["echo:one", "echo:two"]


def test_a_refresh_asks_again_and_drops_nothing(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept, changed, new and not asked; what was not asked stays."""
    session = mode(monkeypatch, "record")
    for prompt in ("echo:one", "echo:two", "echo:three"):
        session.ask(prompt, history=False)
    session = mode(monkeypatch, "refresh")
    session.ask("echo:one", history=False)
    session.ask("echo:four", history=False)
    assert prompts() == ["echo:one", "echo:four", "echo:two", "echo:three"]
    assert session.cassette.eject() == (
        "1 kept word for word, 0 changed, 1 new, 2 not asked, which stay."
    )
    session.ask("echo:one", history=False)
    said = session.cassette.eject()
    assert said == "1 kept word for word, 0 changed, 0 new, 3 not asked, which stay."
    assert prompts() == ["echo:one", "echo:four", "echo:two", "echo:three"]
    assert session.cassette.eject() is None
    assert len(emulator.requests) == 6


def test_an_error_takes_no_replys_place(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refresh without credits, and a changed talk in record; a retry takes the place then."""
    session = mode(monkeypatch, "record")
    session.ask("echo:one")
    session.ask("echo:two")
    before = Path(FILE).read_bytes()
    emulator.settings = replace(FIXED, credits=0)
    session = mode(monkeypatch, "refresh")
    for prompt in ("echo:one", "echo:two"):
        with pytest.raises(RateLimitError):
            session.ask(prompt)
    assert Path(FILE).read_bytes() == before
    session = mode(monkeypatch, "record")
    with pytest.raises(RateLimitError):
        session.ask("echo:two")
    assert [one.text for one in held()] == ["one", "two"]
    emulator.settings = FIXED
    session = mode(monkeypatch, "refresh")
    session.ask("echo:one")
    assert [one.text for one in held()] == ["one", "two"]


def test_a_copy_takes_nothing_of_the_first_notebook(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cells have the same identities; what it asks otherwise stands beside the first one's."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    for n in range(4):
        shell.page(f"%chat echo:first {n}", f"c{n}")
    before = {one.text for one in held()}
    monkeypatch.setattr(chatmagic.session.current, "_current", None)
    copy = Shell()
    copy.do(f"%chat_cassette {FILE} --record", cell="in")
    for n in range(4):
        ran = copy.page(f"%chat echo:copied {n}", f"c{n}")
        assert "stays in talk.jsonl: %chat_cassette --prune lists it" in repr(ran.messages)
    assert {one.text for one in held()} == before | {f"copied {n}" for n in range(4)}
    no_service(monkeypatch)
    monkeypatch.setattr(chatmagic.session.current, "_current", None)
    first = Shell()
    first.do(NOTEBOOK)
    for n in range(4):
        assert first.page(f"%chat echo:first {n}", f"c{n}").texts == [f"first {n}"]
    assert len(emulator.requests) == 8


def test_a_kernel_that_ends_drops_nothing(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever runs at the end of the process."""
    ends: list[Any] = []
    monkeypatch.setattr(atexit, "register", ends.append)
    mode(monkeypatch, "record").ask("echo:one", history=False)
    mode(monkeypatch, "refresh").ask("echo:two", history=False)
    for end in ends:
        end()
    assert prompts() == ["echo:one", "echo:two"]
    assert len(emulator.requests) == 2


def test_replies_of_the_emulator_go_into_no_cassette_of_a_service(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hand-out that was put in without a mode: what a student asks the emulator stays out."""
    shell.do(f"%chat_cassette {FILE} --record")
    assert "recording into talk.jsonl from here on: talk.jsonl" in repr(
        shell.page("%chat echo:one", "a").messages
    )
    shell.do("%chat_cassette --off")
    lesson = Path(FILE).read_text(encoding="utf-8").replace('"from": "emulator"', '"from": "live"')
    Path(FILE).write_text(lesson, encoding="utf-8")
    shell.do("%chat_reset")
    shell.do(f"%chat_cassette {FILE}")
    assert shell.page("%chat echo:one", "a").texts == ["one"]
    shell.page("%chat echo:mine", "b")
    assert "1 of the emulator's not recorded" in shell.do("%chat_cassette").printed
    shell.do("%chat_connect emulator")
    ran = shell.page("%chat echo:mine too", "c")
    assert "not recorded: talk.jsonl holds a service" in repr(ran.messages)
    assert "recording into" not in repr(ran.messages)
    assert Path(FILE).read_text(encoding="utf-8") == lesson
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "own.jsonl")
    shell.page("%chat echo:own", "d")
    assert prompts("own.jsonl") == ["echo:own"]
    assert asked(emulator) == ["echo:one", "echo:mine"]


def test_another_model_is_a_miss_that_names_both(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none is set now, whatever model was recorded answers."""
    mode(monkeypatch, "record")
    Session(chatmagic.Client(extra_body={"model": "small"})).ask("echo:one")
    assert [one.asked_model for one in held()] == ["small"]
    mode(monkeypatch, "replay")
    for extra in ({}, {"model": "small", "stream_options": {"include_usage": True}}):
        assert Session(chatmagic.Client(extra_body=extra)).ask("echo:one").text == "one"
    with pytest.raises(NotRecordedError) as caught:
        Session(chatmagic.Client(extra_body={"model": "large"})).ask("echo:one")
    assert caught.value.hint == (
        "The messages are the same, but model is 'large'; recorded was 'small'."
    )
    mode(monkeypatch, "record")
    Session(chatmagic.Client(extra_body={"model": "large"})).ask("echo:one")
    assert [(one.asked_model, one.superseded) for one in held()] == [
        ("small", False),
        ("large", False),
    ]
    assert len(emulator.requests) == 2


def test_pruning_lists_first_and_removes_by_number(shell: Shell, emulator: Emulator) -> None:
    """Nothing goes that was not listed in this kernel, and nothing while it is replayed."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    for cell, prompt in (("a", "one"), ("b", "two"), ("a", "uno"), ("c", "three"), ("b", "dos")):
        shell.page(f"%chat --no-history echo:{prompt}", cell)
    for line in ("--prune superseded", "--prune 1"):
        failed = shell.fails(f"%chat_cassette {line}")
        assert "Nothing of talk.jsonl was listed yet." in failed.traceback[0]
    listed = shell.do("%chat_cassette --prune").printed
    assert "   3  echo:one (3 characters, superseded)" in listed
    assert "Nothing was removed." in listed
    assert "--prune superseded the 2" in listed
    assert len(held()) == 5
    for wrong in ("0", "6", "x", "superseded 1", "1 superseded"):
        assert (
            "is no number of that list"
            in shell.fails(f"%chat_cassette --prune {wrong}").traceback[0]
        )
    # Asked again since it was listed, it is in force and stays.
    shell.page("%chat --no-history echo:two", "b")
    removed = shell.do("%chat_cassette --prune superseded").printed
    assert "echo:one" in removed
    assert "Removed 1 from talk.jsonl." in removed
    assert prompts() == ["echo:uno", "echo:three", "echo:dos", "echo:two"]
    assert "was removed" in shell.fails("%chat_cassette --prune 3").traceback[0]
    shell.do("%chat_cassette --prune 1 2")
    assert prompts() == ["echo:dos", "echo:two"]
    assert "It holds 2 exchanges, 1 of them superseded" in shell.do("%chat_cassette").printed
    shell.do(f"%chat_cassette {FILE} --replay")
    shell.do("%chat_cassette --prune")
    assert "is replayed" in shell.fails("%chat_cassette --prune 1").traceback[0]
    shell.do("%chat_cassette --off")
    assert "No cassette is in" in shell.fails("%chat_cassette --prune").traceback[0]
    assert len(emulator.requests) == 5


def test_pruning_goes_by_what_the_file_holds(shell: Shell, emulator: Emulator) -> None:
    """What another kernel put in is listed; what it took out has no number any more."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    shell.page("%chat --no-history echo:one", "a")
    shell.page("%chat --no-history echo:two", "b")
    other = CassetteFile(Path(FILE))
    one, two = other.read()
    secret = replace(one, request="5" * 64, prompt="secret", before=("6" * 64,))
    other.save(lambda _, now: (*now, secret))
    assert "   3  secret (3 characters)" in shell.do("%chat_cassette --prune").printed
    other.save(lambda _, now: tuple(each for each in now if each.prompt != one.prompt))
    failed = shell.fails("%chat_cassette --prune 1 2")
    assert "1 is not what it was" in failed.traceback[0]
    assert prompts() == [two.prompt, "secret"]
    assert "   2  secret" in shell.do("%chat_cassette --prune").printed
    shell.do("%chat_cassette --prune 2")
    assert prompts() == [two.prompt]
    assert len(emulator.requests) == 2


def test_pruning_that_cannot_be_saved_removes_nothing(
    shell: Shell, emulator: Emulator, full: list[str]
) -> None:
    """Neither now nor when the file can be written again, or read."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    shell.page("%chat --no-history echo:one", "a")
    text = Path(FILE).read_text()
    shell.do("%chat_cassette --prune")
    Path(FILE).write_text(text.replace("{", "<<<<<<< HEAD\n{", 1))
    shell.fails("%chat_cassette --prune 1")
    assert "echo:one" in shell.do("%chat_cassette --prune").printed
    Path(FILE).write_text(text)
    full.append(FILE)
    shell.fails("%chat_cassette --prune 1")
    full.clear()
    shell.page("%chat --no-history echo:two", "b")
    assert prompts() == ["echo:one", "echo:two"]
    shell.do("%chat_cassette --prune 1")
    assert prompts() == ["echo:two"]
    assert len(emulator.requests) == 2


def test_an_empty_cassette_has_nothing_to_prune(shell: Shell) -> None:
    """It says so."""
    shell.do(f"%chat_cassette {FILE} --record")
    assert shell.do("%chat_cassette --prune").printed == "talk.jsonl holds nothing.\n"


def test_two_kernels_record_into_one_file(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither loses what the other recorded."""
    first, second = mode(monkeypatch, "record"), mode(monkeypatch, "record")
    for session, prompt in ((first, "a"), (second, "b"), (first, "c"), (second, "d")):
        session.ask(f"echo:{prompt}")
    assert sorted(prompts()) == ["echo:a", "echo:b", "echo:c", "echo:d"]
    assert len(emulator.requests) == 4


def test_values_of_another_day_are_answered_by_order(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each such reply says so in its record."""

    def run(session: Session, value: str) -> list[Any]:
        asks = [
            Ask(f"echo:v={value}", typed="echo:v={{ v }}"),
            Ask("echo:and?"),
        ]
        return [session.run(ask, Quiet()) for ask in asks]

    run(mode(monkeypatch, "record"), "1.0")
    no_service(monkeypatch)
    session = mode(monkeypatch, "replay")
    with pytest.raises(NotRecordedError) as caught:
        run(session, "2.0")
    assert "asked “echo:v=2.0”, recorded “echo:v=1.0”" in (caught.value.hint or "")
    choice = CassetteConfig(Path(FILE), "replay", by_order=True)
    session.environment = GivenEnvironment(cassette=lambda: CassetteSetup(choice))
    answers = run(session, "2.0")
    assert [answer.reply.text for answer in answers] == ["v=1.0", "and?"]
    assert [answer.record.by_order for answer in answers] == [True, True]
    assert len(emulator.requests) == 2


class Quiet:
    """A view that keeps the notes."""

    def __init__(self) -> None:
        """Begin without any."""
        self.notes: list[str] = []

    def waiting(self, holder: str) -> None:
        """Nobody waits."""

    def began(self, notes: Any) -> None:
        """Keep the notes."""
        self.notes += notes

    def fragment(self, text: str) -> None:
        """Show nothing."""

    def ended(self, answer: Any) -> None:
        """Show nothing."""

    def failed(self) -> None:
        """Show nothing."""


def test_what_will_not_run_again_is_named(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stale, interrupted, cut-off and panel turns, cells below, and addresses."""
    session = mode(monkeypatch, "record")

    def notes(text: str, owner: str | None = None, **known: Any) -> str:
        view = Quiet()
        with contextlib.suppress(ChatError):
            session.run(Ask(text, owner=owner, entry=known.pop("entry", "cell"), **known), view)
        return " / ".join(view.notes)

    assert "not run again" not in notes("echo:one", "a")
    assert "not run again" not in notes("echo:two", "b")
    assert "1 turn below it came first" in notes("echo:uno", "a", execution="2")
    said = notes("echo:three", "c")
    assert "it carries 1 stale turn" in said
    emulator.settings = replace(FIXED, fault="cut", fault_after=1)
    notes("echo:cut off here", "d")
    emulator.settings = FIXED
    notes("echo:panel", entry="panel")
    said = notes("echo:<object at 0x7f00aa11bb22>", entry="python")
    assert "1 cut-off turn" in said
    assert "1 panel turn" in said
    assert "“at 0x7f00aa11bb22” is an address" in said
    assert "address" not in notes("echo:<object at 0x7f00aa11bb22>", "e", history=False)
    emulator.settings = replace(FIXED, fault="hold", fault_after=1)

    class Stop(Quiet):
        def fragment(self, text: str) -> None:
            raise KeyboardInterrupt(text)

    with pytest.raises(ChatInterrupted):
        session.run(Ask("echo:one two three", owner="f"), Stop())
    emulator.settings = FIXED
    assert "1 interrupted turn" in notes("echo:last", "g")


# In a notebook.


@pytest.fixture
def shell(emulator: Emulator) -> Shell:
    """Give a shell connected to the service."""
    del emulator
    return Shell()


CELLS = {
    "one": "%%chat\necho:one",
    "two": "%chat echo:two",
    "loop": "for i in range(2):\n    %chat --no-history echo:same",
    "quiet": "%chat -q echo:three",
}


def run_all(shell: Shell, *, how: str = "page") -> list[Ran]:
    """Run the notebook from top to bottom."""
    if how == "page":
        return [shell.do(code, cell=cell) for cell, code in CELLS.items()]
    return [shell.machine(code) for code in CELLS.values()]


def bodies(emulator: Emulator) -> list[Any]:
    """Give the bodies that were sent."""
    return [received.body for received in emulator.requests]


@pytest.mark.parametrize("how", ["page", "machine"])
def test_run_all_twice_and_replayed_twice(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Equal bodies without a cassette; with one, the second is not sent, nor any replay."""
    live = Shell()
    run_all(live, how=how)
    count = len(emulator.requests)
    if how == "page":
        run_all(live, how=how)
        assert bodies(emulator)[:count] == bodies(emulator)[count:]
    monkeypatch.setattr(chatmagic.session.current, "_current", None)
    emulator.requests.clear()
    recording = Shell()
    recording.do(f"%chat_cassette {FILE} --record")
    first = run_all(recording, how=how)
    assert len(bodies(emulator)) == count
    if how == "page":
        second = run_all(recording, how=how)
        assert len(bodies(emulator)) == count
        assert texts(second) == texts(first)
    no_service(monkeypatch)
    for person in ("page", "machine"):
        monkeypatch.setattr(chatmagic.session.current, "_current", None)
        replaying = Shell()
        replaying.do(f"%chat_cassette {FILE} --replay")
        assert texts(run_all(replaying, how=person)) == texts(first)
        if person == "page":
            assert texts(run_all(replaying, how=person)) == texts(first)
    assert len(bodies(emulator)) == count


def texts(ran: list[Ran]) -> list[Any]:
    """Give all that is left to see, as it is saved, without the metadata."""
    return [[output["data"] for output in one.outputs] for one in ran]


def test_a_prompt_that_was_changed_three_times(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cassette has what was liked in the end in force, in its place; and replays it."""
    shell.do(f"%chat_cassette {FILE}", cell="c")
    for cell, prompt in (("a", "echo:one"), ("b", "echo:x"), ("c", "echo:three")):
        shell.page(f"%chat {prompt}", cell)
    for prompt in ("echo:y", "echo:z", "echo:two"):
        shell.page(f"%chat {prompt}", "b")
    shell.page("%chat echo:three", "c")
    standing = [one.prompt for one in held() if not one.superseded]
    assert standing == ["echo:one", "echo:two", "echo:three"]
    no_service(monkeypatch)
    monkeypatch.setattr(chatmagic.session.current, "_current", None)
    other = Shell()
    other.do(NOTEBOOK)
    for prompt in ("one", "two", "three"):
        assert other.machine(f"%chat echo:{prompt}").texts == [prompt]


def test_a_loop_without_history_is_recorded_three_times(shell: Shell) -> None:
    """And nothing is asked when it runs again."""
    shell.do(f"%chat_cassette {FILE} --record")
    loop = "for i in range(3):\n    %chat --no-history echo:same"
    for _ in range(2):
        shell.page(loop, "a")
        assert prompts() == ["echo:same"] * 3
    shell.page("%chat --no-history echo:other", "a")
    assert prompts() == ["echo:other", *["echo:same"] * 3]
    shell.page(loop, "a")
    assert [one.superseded for one in held()] == [True, False, False, False]


def test_a_loop_that_changes_at_its_beginning_keeps_its_end(
    shell: Shell, emulator: Emulator
) -> None:
    """What is asked unchanged after it is not asked again, and stays in force."""
    shell.do(f"%chat_cassette {FILE} --record")
    loop = "for word in {words}:\n    %chat --no-history -o got echo:{{{{ word }}}}"
    shell.page(loop.format(words=["a", "b", "c"]), "a")
    shell.page(loop.format(words=["x", "b", "c"]), "a")
    assert [(one.prompt, one.superseded) for one in held()] == [
        ("echo:x", False),
        ("echo:a", True),
        ("echo:b", False),
        ("echo:c", False),
    ]
    assert asked(emulator) == ["echo:a", "echo:b", "echo:c", "echo:x"]


def test_the_state_is_seen_and_not_saved(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a cell is live, in %chat and in the credits; the outputs are those of a live run."""
    live = shell.page("%chat echo:one", "a")
    shell.do("%chat_reset")
    put_in = shell.page(f"%chat_cassette {FILE}", "in")
    ran = shell.page("%chat echo:one", "a")
    assert "recording talk.jsonl" in repr(ran.messages) or "recording into talk.jsonl" in repr(
        ran.messages
    )
    assert "record (a person asks)" in shell.do("%chat").printed
    assert "Cassette" not in shell.do("%chat_credits").everything
    again = shell.page("%chat echo:one", "a")
    assert "not sent: answered from talk.jsonl" in repr(again.messages)
    assert "1 exchange" in shell.do("%chat_cassette", cell="s").printed
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    assert shell.page(f"%chat_cassette {FILE}", "in").printed == put_in.printed
    replayed = shell.page("%chat echo:one", "a")
    assert "replayed from talk.jsonl: nothing is sent" in repr(replayed.messages)
    state = shell.do("%chat").printed
    assert "Cassette talk.jsonl (%chat_cassette), replay (CHATMAGIC_MODE): nothing is sent" in state
    assert "Connected" not in state
    shown = shell.do("%chat_credits")
    assert "Replayed from a cassette" in shown.texts[0]
    assert "As of 2026-01-01 12:00:00 UTC.\n" in shown.texts[0]
    assert "replay; of the emulator" in shell.do("%chat_history").texts[0]
    last = [one.outputs[0]["data"]["text/plain"] for one in (live, ran, again, replayed)]
    assert last == ["one"] * 4
    for one in (ran, again, replayed):
        assert "talk.jsonl" not in repr(one.outputs)
    assert replayed.outputs[0]["data"] == ran.outputs[0]["data"]
    assert replayed.records[0]["origin"] == "replay"
    assert len(emulator.requests) == 2


def test_a_miss_fails_its_cell_and_shows_the_difference(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message's number and its words, and never a call."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.machine("%chat echo:What is the mean of this?")
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    shell.do("%chat_reset")
    failed = shell.fails("%chat echo:What is the median of this?", person=False)
    assert failed.traceback[0] == (
        "NotRecordedError: This request is not in talk.jsonl, which is replayed. Nothing was sent."
    )
    assert failed.traceback[1].startswith(
        "Message 1 (the prompt) differs: asked “echo:What is the median"
    )
    assert len(emulator.requests) == 1


def test_the_emulator_answers_what_is_not_recorded(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hand-out: labelled, and nothing else is sent to anybody."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.page("%chat echo:one", "a")
    no_service(monkeypatch)
    shell.do(f"%chat_cassette {FILE} --else emulator")
    assert shell.page("%chat echo:one", "a").records[0]["origin"] == "replay"
    own = shell.page("%chat echo:mine", "b")
    assert own.records[0]["origin"] == "emulator"
    assert "not in talk.jsonl: the emulator answers" in repr(own.messages)
    assert "answered by the emulator" in shell.do("%chat_cassette", cell="s").printed
    assert prompts() == ["echo:one"]
    assert len(emulator.requests) == 1


def test_by_order_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the cell is live, in its record, and in the history."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("value = 1")
    shell.page("%chat echo:v={{ value }}", "a")
    shell.page("%chat echo:next", "b")
    no_service(monkeypatch)
    shell.do(f"%chat_cassette {FILE} --by-order")
    shell.do("%chat_reset")
    shell.do("value = 2")
    for cell, line, text in (("a", "echo:v={{ value }}", "v=1"), ("b", "echo:next", "next")):
        ran = shell.page(f"%chat {line}", cell)
        assert ran.texts == [text]
        assert "replayed from talk.jsonl by order" in repr(ran.messages)
        assert "asked “echo:v=2”, recorded “echo:v=1”" in repr(ran.messages)
        assert ran.records[0]["by_order"] is True
    assert shell.do("%chat_history").texts[0].count("by order") == 2
    assert "by its place" in shell.do("%chat_cassette", cell="s").printed


def test_off_goes_back(shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the service, unless the environment says otherwise; and live beats the notebook."""
    shell.do(f"%chat_cassette {FILE} --record")
    said = "No cassette is chosen here. %chat_cassette shows what is in force.\n"
    assert shell.do("%chat_cassette --off").printed == said
    shell.do("%chat echo:one")
    assert not Path(FILE).exists()
    assert "No cassette is in" in shell.do("%chat_cassette").printed
    assert "assette" not in shell.do("%chat").printed
    monkeypatch.setenv("CHATMAGIC_MODE", "live")
    shell.do(f"%chat_cassette {FILE} --replay")
    shell.do("%chat echo:two")
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "other.jsonl")
    assert shell.do("%chat_cassette --off").printed == said
    shell.do("%chat echo:three")
    assert prompts("other.jsonl") == ["echo:three"]
    assert len(emulator.requests) == 3


def test_off_does_not_fail_where_the_environment_says_the_mode(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last cell of a notebook that is replayed; what is asked after it is not sent."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat echo:one")
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    shell.do("%chat_reset")
    assert "one" in shell.do("%chat echo:one").printed
    assert shell.do("%chat_cassette --off").printed.startswith("No cassette is chosen here.")
    after = shell.fails("%chat echo:two")
    assert isinstance(after.error, InputError)
    assert "replay, but no cassette is set" in str(after.error)
    assert asked(emulator) == ["echo:one"]


def test_connecting_and_logging_in_need_no_key_in_replay(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is printed where there is a key is printed where there is none; nobody is asked."""
    connect = f"%chat_connect {emulator.url}"
    shell.do(f"%chat_cassette {FILE} --record")
    recorded = shell.machine(connect).printed
    shell.do("%chat echo:one")
    no_service(monkeypatch)
    shell.do("%chat_reset")
    assert shell.machine(connect).printed == recorded
    assert "%chat_login" in shell.do(connect).printed
    shell.do(f"%chat_cassette {FILE} --replay")
    assert shell.do(connect).printed == recorded
    assert "no key is needed" in shell.machine("%chat_login").printed
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    shell.do("%chat_cassette --off")
    assert "no key is needed" in shell.machine("%chat_login").printed


def test_the_configuration_puts_one_in(shell: Shell, emulator: Emulator) -> None:
    """By a setting; what does not go together fails in one line, and %chat shows it."""
    shell.do("%config ChatMagics.mode = 'replay'")
    failed = shell.fails("%chat echo:one")
    assert "ChatMagics.mode says replay, but no cassette is set" in failed.traceback[0]
    assert "no cassette is set" in shell.do("%chat").printed
    shell.do(f"%config ChatMagics.cassette = '{FILE}'")
    shell.do("%config ChatMagics.mode = 'record'")
    shell.do("%chat echo:one")
    assert prompts() == ["echo:one"]
    assert len(emulator.requests) == 1


def test_replay_never_sends(shell: Shell, emulator: Emulator) -> None:
    """Not after --off, not when it is said again, and not without a cassette."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat --no-history echo:one")
    shell.do("%chat_cassette --off")
    shell.do("%config ChatMagics.mode = 'replay'")
    for code in ("%chat echo:two", "chatmagic.ask('echo:two')"):
        failed = shell.fails(f"import chatmagic\n{code}")
        assert "ChatMagics.mode says replay, but no cassette is set" in failed.traceback[0]
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat echo:three")
    # The same word as before, said later than the magic's.
    shell.do("%config ChatMagics.mode = 'replay'")
    assert "NotRecorded" in shell.fails("%chat echo:four").traceback[0]
    assert "one" in shell.do("%chat --no-history echo:one").printed
    shell.do("%config ChatMagics.temperature = 0.5")
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%config ChatMagics.temperature = 0.7")
    shell.do("%chat --no-history echo:five")
    shell.do("%chat_cassette --off")
    assert "replay, but no cassette is set" in shell.fails("%chat echo:six").traceback[0]
    shell.do("%config ChatMagics.mode = 'live'")
    shell.do("%chat echo:seven")
    assert asked(emulator) == ["echo:one", "echo:three", "echo:five", "echo:seven"]


def test_a_client_in_a_kernel_that_replays_sends_nothing(shell: Shell, emulator: Emulator) -> None:
    """A session of one's own neither, whoever says replay; what is recorded goes on being given."""
    ask = "chatmagic.Client().complete([chatmagic.Message('user', 'hello')])"
    own = "chatmagic.Session(chatmagic.Client()).ask('hello')"
    shell.do(f"import chatmagic\n%chat_cassette {FILE} --record")
    shell.do("chatmagic.ask('echo:one')\n%chat_reset")
    shell.do(f"%chat_cassette {FILE} --replay")
    for code in (ask, own):
        failed = shell.fails(code)
        assert "talk.jsonl is replayed here (%chat_cassette)" in failed.traceback[0]
    shell.do("chatmagic.ask('echo:one')")
    shell.do("%chat_cassette --off\n%config ChatMagics.mode = 'replay'")
    assert "ChatMagics.mode says replay" in shell.fails(ask).traceback[0]
    assert asked(emulator) == ["echo:one"]
    shell.do("%config ChatMagics.mode = 'live'")
    shell.do(f"{ask}\n{own}")
    shell.do("%config ChatMagics.mode = 'replay'\n%unload_ext chatmagic")
    shell.do(ask)
    assert asked(emulator) == ["echo:one", "hello", "hello", "hello"]


def test_a_reload_sends_nothing_in_replay(shell: Shell, emulator: Emulator) -> None:
    """What the magic and ``%config`` said of a cassette, and in which order, still counts."""
    shell.do(f"%chat_cassette {FILE} --record\n%chat_reset")
    shell.do("%chat echo:a")
    shell.do(f"%chat_cassette {FILE} --replay\n%chat_reset\n%reload_ext chatmagic")
    shell.fails("%chat echo:b")
    shell.do("%chat echo:a")
    shell.do(f"%chat_cassette {FILE} --record\n%config ChatMagics.mode = 'replay'")
    shell.do("%reload_ext chatmagic")
    shell.fails("%chat echo:c")
    assert asked(emulator) == ["echo:a"]


def test_a_damaged_cassette_is_refused_and_left(shell: Shell, emulator: Emulator) -> None:
    """The magic says so, and so does every question after it: none goes out unrecorded."""
    Path(FILE).write_text("no", encoding="utf-8")
    for code in (f"%chat_cassette {FILE}", "%chat echo:one"):
        failed = shell.fails(code)
        assert failed.traceback[0] == "InputError: talk.jsonl, line 1: it is no JSON."
    assert Path(FILE).read_text(encoding="utf-8") == "no"
    assert not emulator.requests


def test_a_refresh_in_a_notebook_tells_at_its_end(shell: Shell, emulator: Emulator) -> None:
    """%chat_cassette tells what is not asked, and --off what it came to."""
    shell.do(f"%chat_cassette {FILE} --record")
    for cell, prompt in (("a", "echo:one"), ("b", "echo:two"), ("c", "echo:three")):
        shell.page(f"%chat --no-history {prompt}", cell)
    shell.do(f"%chat_cassette {FILE} --refresh")
    assert "refreshing talk.jsonl" in repr(shell.page("%chat --no-history echo:one", "a").messages)
    shell.page("%chat --no-history echo:zwei", "b")
    assert "2 not asked" in shell.do("%chat_cassette", cell="s").printed
    assert (
        "1 kept word for word, 0 changed, 1 new, 2 not asked, which stay."
        in shell.do("%chat_cassette --off").printed
    )
    assert prompts() == ["echo:one", "echo:zwei", "echo:two", "echo:three"]
    assert len(emulator.requests) == 5


def test_the_status_names_what_will_not_run_again(shell: Shell) -> None:
    """For the whole conversation."""
    shell.do(f"%chat_cassette {FILE} --record", cell="c")
    shell.page("%chat echo:one", "a")
    shell.page("%chat echo:two", "b")
    shell.page("%chat echo:uno", "a")
    assert (
        "Will not run again as it is: 1 stale turn." in shell.do("%chat_cassette", cell="s").printed
    )
    # Where no person watches, no cell could say so while it was live.
    shell.machine("%chat echo:{{ object() }}")
    said = shell.machine("%chat_cassette").printed
    assert re.search("Will not run again as it is: “at 0x[0-9a-f]+” is an address", said)


def test_a_notebook_is_its_own_cassette(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Replayed from the records and replies in its outputs; a changed reply is refused."""
    ran = [shell.page(f"%chat echo:{word}", word) for word in ("one", "two", "four")]
    shell.page("%chat -q echo:three", "c")
    cells = [
        {
            "cell_type": "code",
            "id": "c",
            "metadata": {},
            "source": "x",
            "execution_count": 1,
            "outputs": [
                {"output_type": "display_data", "data": out["data"], "metadata": out["metadata"]}
                for out in one.outputs
            ],
        }
        for one in ran
    ]
    paper = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (folder / "paper.ipynb").write_text(json.dumps(paper), encoding="utf-8")
    no_service(monkeypatch)
    shell.do("%chat_reset")
    shell.do("%chat_cassette paper.ipynb", cell="in")
    again = [shell.page("%chat echo:one", "x"), shell.page("%chat echo:two", "y")]
    assert texts(again) == texts(ran[:2])
    failed = shell.fails("%chat -q echo:three", cell="z")
    assert "A notebook holds no turn that left no reply in an output" in failed.traceback[1]
    # The last record lists the newest of the turns it carried; the others are found out.
    last = str(shell.fails("%chat echo:3", cell="z").error)
    assert "Message 5 (the prompt) differs: asked “echo:3”, recorded “echo:four”" in last
    changed = json.dumps(paper).replace('"text/plain": "two"', '"text/plain": "too"')
    (folder / "paper.ipynb").write_text(changed, encoding="utf-8")
    assert "no longer hold" in shell.fails("%chat_cassette paper.ipynb", cell="in").traceback[0]
    assert len(emulator.requests) == 4


def test_unloading_lets_go_of_the_cassette(shell: Shell, emulator: Emulator) -> None:
    """A session that stays asks as the environment says."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat echo:one")
    shell.do("%unload_ext chatmagic")
    current_session().ask("echo:two")
    assert prompts() == ["echo:one"]
    assert len(emulator.requests) == 2


HEADLESS = "import chatmagic\n%load_ext chatmagic"


def test_headless_a_cassette_without_a_mode_is_replayed(emulator: Emulator, folder: Path) -> None:
    """In a real kernel: recorded where that was said, then strictly replayed, no key, no net."""
    service = {
        "CHATMAGIC_BASE_URL": emulator.url,
        "CHATMAGIC_API_KEY": KEY,
        "CHATMAGIC_CASSETTE": str(folder / FILE),
    }
    with kernel({**service, "CHATMAGIC_MODE": "record"}) as running:
        running.run(HEADLESS, person=False)
        live = [running.run(code, person=False) for code in CELLS.values()]
    count = len(emulator.requests)
    with kernel({"CHATMAGIC_CASSETTE": str(folder / FILE)}) as running:
        running.run(HEADLESS, person=False)
        again = [running.run(code, person=False) for code in CELLS.values()]
        assert "NotRecordedError" in running.run("%chat echo:new", person=False).text
    assert [ran.text for ran in again] == [ran.text for ran in live]
    assert [[r["data"] for r in ran.replies] for ran in again] == [
        [r["data"] for r in ran.replies] for ran in live
    ]
    with kernel({**service, "CHATMAGIC_MODE": "refresh"}) as running:
        running.run(HEADLESS, person=False)
        running.run(CELLS["one"], person=False)
        running.manager.shutdown_kernel()
    assert len(prompts(str(folder / FILE))) == count
    assert len(emulator.requests) == count + 1
