"""The doctor's lines: each of many things is looked at, with one thing to do where it is wrong."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from unittest.mock import Mock

import pytest
from logged import Emulator
from loopback import DONE, Server, answer, event, playing, stream
from served import left
from shells import KEY, alone

from chatmagic import _initial_environ
from chatmagic.archive.cassette_format import cassette_text
from chatmagic.client.client import Client
from chatmagic.client.key_store import open_store
from chatmagic.doctor import doctor
from chatmagic.doctor.doctor import MOST_TOKENS, QUESTION, Examination
from chatmagic.jupyter.settings import FileSettings
from chatmagic.protocol.api_key import Secret
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.feature import DoctorLine
from chatmagic.session.session import Session

WELL = DoctorLine("ok", "front end", "a shell: prints")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ConfiguredEnvironment]:
    """Give a place where nothing is set."""
    with alone(monkeypatch, tmp_path):
        for name in (*PROXIES, *map(str.upper, PROXIES)):
            monkeypatch.delenv(name, raising=False)
        made = ConfiguredEnvironment(FileSettings())
        yield made
        made.close()


def examination(place: ConfiguredEnvironment, **known: Any) -> Examination:
    """Return an examination of a place, and of its session."""
    given = {"front_end": WELL, "show": str, **known}
    return Examination(place, Session(environment=place), **given)


def block(place: ConfiguredEnvironment, front_end: DoctorLine = WELL, **known: Any) -> list[str]:
    """Return the lines of text that are shown."""
    shown: list[DoctorLine | str] = []
    examination(place, front_end=front_end, show=shown.append, **known).run()
    return "\n".join(map(str, shown)).splitlines()


def line_of(name: str, place: ConfiguredEnvironment, **known: Any) -> str:
    """Return the line of a block on one thing."""
    [line] = [line for line in block(place, **known) if line[5:].startswith(f"{name}: ")]
    return line


def test_what_is_not_installed_is_said(
    place: ConfiguredEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be what is missing."""
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package-of-ours",))
    assert "no-such-package-of-ours is not installed" in block(place)[0]


def test_a_cassette_with_a_merge_conflict_is_told(
    place: ConfiguredEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is used with both halves, so it is no fault."""
    path = tmp_path / "talk.jsonl"
    lines = [cassette_text([]), "<<<<<<< a\n", "=======\n", ">>>>>>> b\n"]
    path.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(path))
    shown = block(place)
    assert "[ !] cassette: talk.jsonl, replay (by default), 0 exchanges" in shown
    assert any(
        "has the marks of a merge conflict, and both of its halves" in line for line in shown
    )


def test_no_key_and_no_home_is_shown(
    place: ConfiguredEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a part of one where a line is cut, nor what acts in a terminal."""
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    monkeypatch.setenv("CHATMAGIC_CASSETTE", f"{KEY}.jsonl")
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    place.typed["https://chat.example.org"] = Secret("typed-here")
    shown = block(place, DoctorLine("ok", "front end", f"\x1b[2J{KEY}\ntyped-here", f"Look {KEY}"))
    assert shown[1:3] == [
        "[ok] front end: ␛[2J[key removed] [key removed]",
        "     -> Look [key removed]",
    ]
    assert "[ok] cassette: [key removed]" in "\n".join(shown)
    for words in (KEY, "/home/ada/secret"):
        cut = DoctorLine("!!", "front end", "x" * (400 - len(words)) + "y" + words)
        assert words[:4] not in "\n".join(block(place, cut))


@pytest.mark.parametrize(
    ("auth", "words"),
    [("none", "[ok] key: none is sent"), ("bearer", "[!!] key: There is no API key for ")],
)
def test_without_a_key(
    place: ConfiguredEnvironment, monkeypatch: pytest.MonkeyPatch, auth: str, words: str
) -> None:
    """It hinders a question where one is needed, as for an address that is not on this machine."""
    monkeypatch.setenv("CHATMAGIC_AUTH", auth)
    monkeypatch.setattr("chatmagic.client.endpoint.is_loopback", lambda _: False)
    with Server(playing(answer(b"", "500 No"))) as server:
        place.chosen = server.origin
        shown = "\n".join(block(place, is_asking=True))
        assert len(server.asked) == (auth == "none")
    assert words in shown
    assert ("not asked: correct the faults above first" in shown) is (auth == "bearer")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_keys_and_files(
    place: ConfiguredEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the key is, and which private files others can read."""
    assert line_of("files", place) == "[ok] files: 0 private files, for you alone"
    key_file = tmp_path / "key"
    key_file.write_text(KEY)
    key_file.chmod(0o600)
    open_store().save("http://127.0.0.1:9", Secret(KEY), "private file")
    kept = tmp_path / "state" / "chatmagic" / "shell" / "a.json"
    kept.parent.mkdir(parents=True)
    kept.touch(0o600)
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CHATMAGIC_API_KEY_FILE", str(key_file))
    assert line_of("key", place) == "[ok] key: found in CHATMAGIC_API_KEY_FILE, sent as bearer"
    assert line_of("files", place) == "[ok] files: 3 private files, for you alone"
    kept.chmod(0o644)
    assert line_of("files", place) == f"[ !] files: others can read {kept} (644)"


def test_the_way_to_the_emulator(place: ConfiguredEnvironment) -> None:
    """It is not started to be looked at."""
    place.chosen = "emulator"
    shown = "\n".join(block(place))
    assert "[ok] address: the emulator of this process" in shown
    assert "[ok] key: none is sent" in shown
    assert "[ok] connection: the emulator needs none" in shown


def test_the_way_to_a_service(place: ConfiguredEnvironment, tls: ssl.SSLContext) -> None:
    """It is tried up to TLS, and nothing is sent."""
    with Server(playing(b""), tls, handshakes_fail=None) as server:  # it closes without a word
        place.chosen = server.origin
        shown = "\n".join(block(place))
        assert (server.asked, server.accepted) == ([], 1)
    assert "[ok] proxy: none\n[ok] connection: made, and closed again" in shown


@pytest.mark.parametrize(
    ("fragments", "first", "last", "words"),
    [
        (9, 0.1, 0.9, "[ok] 9 fragments as they are made, up to 0.90 s"),
        (4, 0.1, 0.9, "[?] 4 fragments: too few to tell"),
        (9, 1.0, 1.005, "[!] 9 fragments all at once, after 1.00 s"),
        (9, 0.9, 0.9, "[?] 9 fragments at once, too soon to tell: 0.90 s"),
    ],
)
def test_how_fragments_come(fragments: int, first: float, last: float, words: str) -> None:
    """What is wrong says one thing to do; what is well, none."""
    line = doctor.streaming(fragments, first, last)
    assert f"[{line.mark}] {line.seen}" == words
    assert (line.todo != "") is (line.mark == "!")


COUNTED = [event(f"{number} ") for number in range(9)] + [event("", finish_reason="stop"), DONE]


def asked_by(session: Session) -> str:
    """Have a session ask the one question, and return the lines on it."""
    shown: list[DoctorLine | str] = []
    place = Mock(known_keys=lambda: ())
    looked = Examination(place, session, WELL, shown.append, is_asking=True)
    with mock.patch.object(doctor, "CHECKS", (doctor.answer,)):
        looked.run()
    return "\n".join(map(str, shown))


def test_one_request_beside_the_conversation() -> None:
    """The ledger has it, budgets count it, and the conversation does not."""
    told = [stream(*COUNTED, headers=left(count)) for count in (9, 7)]
    with Server(playing(*told)) as server, Client(server.origin, "k", model="small") as client:
        session = Session(client)
        first, second = asked_by(session), asked_by(session)
        body = server.asked[0].body
    assert body["messages"] == [{"role": "user", "content": QUESTION}]
    assert (body["max_tokens"], body["model"], body["stream"]) == (MOST_TOKENS, "small", True)
    assert "answer: a whole reply arrived; its cost is not known, 9 are left" in first
    assert "answer: a whole reply arrived; it cost 2 credits, 7 are left" in second
    assert "streaming: 9 fragments" in second
    assert second.endswith("Nothing wrong. One question was sent.")
    assert [row.entry for row in session.ledger] == ["doctor", "doctor"]
    assert len(session.conversation) == 0


def test_a_budget_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is sent."""
    monkeypatch.setitem(_initial_environ.VARIABLES, "CHATMAGIC_BUDGET", "1 turn")
    with Server(playing(stream(*COUNTED))) as server, Client(server.origin, "k") as client:
        session = Session(client)
        asked_by(session)
        shown = asked_by(session)
        assert len(server.asked) == len(session.ledger) == 1
    assert "[!!] answer: The budget of 1 turn is not enough" in shown
    assert shown.endswith("1 thing wrong. No request was sent.")


def test_a_replay_never_sends(
    session: Session, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cassette in replay refuses."""
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tmp_path / "tape.jsonl"))
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    assert "[!!] answer: CHATMAGIC_MODE says replay" in asked_by(session)
    assert emulator.requests == []


def test_the_known_keys_are_looked_for_once(
    place: ConfiguredEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for each line: a keyring may take its time, or ask its user."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "emulator")
    looked = list[ConfiguredEnvironment]()
    known_keys = ConfiguredEnvironment.known_keys

    def look(self: ConfiguredEnvironment) -> tuple[Secret, ...]:
        looked.append(self)
        return known_keys(self)

    monkeypatch.setattr(ConfiguredEnvironment, "known_keys", look)
    assert len(block(place)) > 5
    assert looked == [place]
