"""The doctor's lines: each of many things is looked at, with one thing to do where it is wrong."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from logged import Emulator
from loopback import (
    DONE,
    Server,
    answer,
    event,
    playing,
    stream,
)
from served import left
from shells import KEY, alone

from chatmagic import _startup
from chatmagic._log import log_swallowed
from chatmagic.client.client import Client
from chatmagic.client.keys import open_store
from chatmagic.doctor import doctor
from chatmagic.doctor.doctor import MOST_TOKENS, QUESTION, Answered, Examination, Line
from chatmagic.errors import NotRecordedError, ServiceError
from chatmagic.protocol.auth import Secret
from chatmagic.session.session import Session
from chatmagic.shell.commands import ShellEnvironment

WELL = Line("ok", "front end", "a shell: prints")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ShellEnvironment]:
    """Give a place where nothing is set."""
    with alone(monkeypatch, tmp_path):
        for name in (*PROXIES, *map(str.upper, PROXIES)):
            monkeypatch.delenv(name, raising=False)
        made = ShellEnvironment()
        yield made
        made.close()


def block(place: ShellEnvironment, front_end: Line = WELL, *, ask: bool = False) -> list[str]:
    """Return the lines of text that are shown."""
    shown: list[str] = []
    doctor.examine(place, Session(environment=place), front_end, shown.append, ask=ask)
    return shown


def look(name: str, place: ShellEnvironment, **known: Any) -> list[Line]:
    """Return the lines of one look."""
    examination = Examination(place, Session(environment=place), WELL, print, **known)
    if name in {"key", "network"}:
        list(doctor.address(examination))
    lines: list[Line] = list(getattr(doctor, name)(examination))
    return lines


def test_what_is_not_installed_is_said(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be what is missing."""
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package-of-ours",))
    assert "no-such-package-of-ours is not installed" in block(place)[0]


def test_no_key_and_no_home_is_shown(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a part of one where a line is cut, nor what acts in a terminal."""
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    monkeypatch.setenv("CHATMAGIC_CASSETTE", f"{KEY}.jsonl")
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    place.typed["https://chat.example.org"] = Secret("typed-here")
    shown = block(place, Line("ok", "front end", f"\x1b[2J{KEY}\ntyped-here", f"Look {KEY}"))
    assert shown[1:3] == [
        "[ok] front end: ␛[2J[key removed] [key removed]",
        "     -> Look [key removed]",
    ]
    assert "[ok] cassette: [key removed]" in "\n".join(shown)
    for words in (KEY, "/home/ada/secret"):
        cut = Line("!!", "front end", "x" * (400 - len(words)) + "y" + words)
        assert words[:4] not in "\n".join(block(place, cut))


@pytest.mark.parametrize(
    ("auth", "mark", "words"),
    [("none", "ok", "none is needed"), ("bearer", "!!", "none for this address")],
)
def test_without_a_key(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch, auth: str, mark: str, words: str
) -> None:
    """It hinders a question where one is needed."""
    monkeypatch.setenv("CHATMAGIC_AUTH", auth)
    with Server(playing(answer(b"", "500 No"))) as server:
        place.chosen = server.origin
        [line] = look("key", place)
        assert (line.mark, words in line.seen) == (mark, True)
        shown = "\n".join(block(place, ask=True))
        assert len(server.asked) == (mark == "ok")
    assert ("not asked: what is wrong above comes first" in shown) is (mark == "!!")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_keys_and_files(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the key is, and which private files others can read."""
    assert look("files", place)[0].seen == "0 private files, for you alone"
    key_file = tmp_path / "key"
    key_file.write_text(KEY)
    key_file.chmod(0o600)
    open_store().save("http://127.0.0.1:9", Secret(KEY), "private file")
    kept = tmp_path / "state" / "chatmagic" / "shell" / "a.json"
    kept.parent.mkdir(parents=True)
    kept.touch(0o600)
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CHATMAGIC_API_KEY_FILE", str(key_file))
    [line] = look("key", place)
    assert line.seen == "found in CHATMAGIC_API_KEY_FILE, sent as bearer"
    assert look("files", place)[0].seen == "3 private files, for you alone"
    kept.chmod(0o644)
    assert look("files", place)[0].seen == f"others can read {kept} (644)"
    monkeypatch.setenv("CHATMAGIC_API_KEY_FILE", str(tmp_path / "none"))
    [line] = look("key", place)
    assert (line.mark, "cannot be read" in line.seen) == ("!!", True)


def test_the_last_errors(place: ShellEnvironment) -> None:
    """By type and place, without a message; those of the doctor itself are not among them."""
    log_swallowed(LookupError(KEY))
    place.chosen = "http://127.0.0.1:9"
    [line] = [line for line in block(place) if "set aside" in line]
    assert line.endswith("builtins.LookupError")


def test_the_way_to_the_emulator(place: ShellEnvironment) -> None:
    """It is not started to be looked at, and its clock stands still."""
    place.chosen = "emulator"
    examination = Examination(place, Session(environment=place), WELL, print)
    found = [line for each in doctor.LOOKS for line in each(examination)]
    lines = {line.name: line for line in found}
    assert lines["address"].seen.startswith("the emulator of this process")
    assert (lines["network"].mark, lines["key"].mark) == ("ok", "ok")
    assert "clock" not in lines


def test_the_way_to_a_service(place: ShellEnvironment, tls: ssl.SSLContext) -> None:
    """It is tried up to TLS, and nothing is sent."""
    with Server(playing(b""), tls, handshakes_fail=None) as server:  # it closes without a word
        place.chosen = server.origin
        lines = look("network", place)
        assert server.asked == []
        assert server.accepted == 1
    assert [line.mark + line.name for line in lines] == ["okproxy", "okconnection"]
    assert lines[1].seen == "made, and closed again"


REPLY = {"fragments": 9, "first": 0.1, "last": 0.9}


@pytest.mark.parametrize(
    ("seen", "name", "words"),
    [
        ({}, "answer", "[ok] a whole reply came; what it took is not told"),
        ({"took": 1, "remaining": 98}, "answer", "[ok] a whole reply came; it took 1 credit, 98"),
        ({"error": ServiceError("no")}, "answer", "[!!] no"),
        ({}, "streaming", "[ok] 9 fragments as they are made, up to 0.90 s"),
        ({"fragments": 4}, "streaming", "[?] 4 fragments: too few to tell"),
        ({"first": 1.0, "last": 1.005}, "streaming", "[!] 9 fragments all at once, after 1.00 s"),
        ({"first": 0.9}, "streaming", "[?] 9 fragments at once, too soon to tell: 0.90 s"),
        ({}, "clock", "[?] not compared: no answer told the service's time"),
        ({"off": timedelta(seconds=60)}, "clock", "[ok] right within a minute"),
        ({"off": timedelta(seconds=61)}, "clock", "[!] about 1 minute ahead of the service's"),
        (
            {"off": -timedelta(minutes=2)},
            "clock",
            "[!] about 2 minutes behind the service's",
        ),
    ],
)
def test_what_became_of_the_question(
    place: ShellEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    seen: dict[str, Any],
    name: str,
    words: str,
) -> None:
    """What is wrong says one thing to do; what is well, none."""
    answered = Answered(**{**REPLY, **seen})
    monkeypatch.setattr(doctor, "ask_one_question", lambda _: answered)
    examination = Examination(place, Session(environment=place), WELL, print, is_asking=True)
    lines = [*doctor.answer(examination), *doctor.clock(examination)]
    [line] = [line for line in lines if line.name == name]
    assert f"[{line.mark}] {line.seen}".startswith(words)
    assert (line.todo != "") is line.mark.startswith("!")


@pytest.mark.parametrize(
    ("seconds", "off"),
    [(0, 0), (10, 0), (-60, 60), (70, -60), (-7200, 7200)],
)
def test_a_clock_is_wrong_as_far_as_no_delay_explains_it(seconds: int, off: int) -> None:
    """Between the sending and ten seconds later the answer was written."""
    asked = datetime(2026, 3, 1, 12, tzinfo=UTC)
    written, arrived = asked + timedelta(seconds=seconds), asked + timedelta(seconds=10)
    assert doctor.clock_off(written, asked, arrived) == timedelta(seconds=off)


def test_without_a_question_the_clock_is_not_compared(place: ShellEnvironment) -> None:
    """The line says how to have it compared."""
    [line] = doctor.clock(Examination(place, Session(environment=place), WELL, print))
    assert (line.mark, line.todo[:5]) == ("?", "--ask")


COUNTED = [event(f"{number} ") for number in range(9)] + [event("", finish_reason="stop"), DONE]


def asked_by(session: Session) -> Answered:
    """Have a session ask the one question."""
    place = Mock(known_keys=lambda: ())
    return doctor.ask_one_question(Examination(place, session, WELL, print))


def test_one_request_beside_the_conversation() -> None:
    """The ledger has it, budgets count it, and the conversation does not."""
    told = [stream(*COUNTED, headers=left(count)) for count in (9, 7)]
    with Server(playing(*told)) as server, Client(server.origin, "k", model="small") as client:
        session = Session(client)
        asked_by(session)
        seen = asked_by(session)
        body = server.asked[0].body
    assert body["messages"] == [{"role": "user", "content": QUESTION}]
    assert (body["max_tokens"], body["model"], body["stream"]) == (MOST_TOKENS, "small", True)
    assert (seen.error, seen.fragments) == (None, 9)
    assert (seen.took, seen.remaining) == (2, 7)
    assert seen.off is not None
    assert seen.off > timedelta(days=1)
    assert [row.entry for row in session.ledger] == ["doctor", "doctor"]
    assert len(session.conversation) == 0


def test_a_budget_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is sent."""
    monkeypatch.setattr(_startup, "BUDGET", "1 turn")
    with Server(playing(stream(*COUNTED))) as server, Client(server.origin, "k") as client:
        session = Session(client)
        asked_by(session)
        seen = asked_by(session)
        assert len(server.asked) == 1
    assert not seen.is_sent
    assert "budget of 1 turn" in str(seen.error)


def test_a_replay_never_sends(
    session: Session, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cassette in replay refuses."""
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tmp_path / "tape.jsonl"))
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    with pytest.raises(NotRecordedError, match="Nothing was sent"):
        asked_by(session)
    assert emulator.requests == []
