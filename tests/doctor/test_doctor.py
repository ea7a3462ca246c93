"""The doctor's lines: each of many things is looked at, with one thing to do where it is wrong."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Server, answer, playing, unanswering
from shells import KEY, alone

from chatmagic._log import log_swallowed
from chatmagic.client.credit_tracker import CreditState
from chatmagic.client.keys import open_store
from chatmagic.doctor import doctor
from chatmagic.doctor.doctor import Examination, Line
from chatmagic.doctor.one_question import Answered
from chatmagic.errors import ServiceError
from chatmagic.protocol.auth import Secret
from chatmagic.session.session import Session
from chatmagic.shell.shell_environment import ShellEnvironment

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from pathlib import Path

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
    examination = Examination(place, Session(environment=place), WELL, **known)
    if name in {"key", "network"}:
        list(doctor.address(examination))
    lines: list[Line] = list(getattr(doctor, name)(examination))
    return lines


def test_each_line_is_shown_as_soon_as_it_is_known(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a connection is tried, what is above it can be read."""
    shown: list[str] = []

    def connect(*_: object) -> None:
        raise ServiceError(f"{len(shown)} lines were shown.")

    monkeypatch.setattr("chatmagic.client.transport.HttpTransport.connect", connect)
    place.chosen = "http://127.0.0.1:9"
    doctor.examine(place, Session(environment=place), WELL, shown.append)
    assert "[!!] connection: 6 lines were shown." in shown


def test_where_nothing_is_set(place: ShellEnvironment) -> None:
    """There is no address, so no key and no way to it, and no question."""
    shown = block(place, ask=True)
    assert [line[:4] + line[5:].split(":")[0] for line in shown if line.startswith("[")] == [
        "[ok]versions",
        "[ok]front end",
        "[!!]address",
        "[ ?]key",
        "[ ?]network",
        "[ok]files",
        "[ok]cassette",
        "[ok]set aside lately",
        "[ ?]answer",
        "[ ?]clock",
    ]
    assert shown[-1] == "1 thing wrong. No request was sent."


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


def test_an_address_that_is_unwise(place: ShellEnvironment) -> None:
    """It is said, and hinders nothing."""
    place.chosen = "http://chat.example.org"
    [line] = look("address", place)
    assert line.mark == "!!"
    assert "https address" in line.todo


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_keys_and_files(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the key is, and which private files others can read."""
    assert look("files", place)[0].seen == "no private file of yours is there"
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


def test_a_folder_that_takes_nothing(place: ShellEnvironment, tmp_path: Path) -> None:
    """It is named, with the system's reason; where it can be written nothing is left behind."""
    state = tmp_path / "state"
    assert look("files", place)[0].mark == "ok"
    assert not state.exists()
    state.touch()
    [line] = look("files", place)
    assert (line.mark, str(state / "chatmagic") in line.seen) == ("!!", True)
    assert "XDG_STATE_HOME" in line.todo


def test_a_cassette(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that is damaged is named; one that is to be recorded need not be there."""
    tape = tmp_path / "tape.jsonl"
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tape))
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    [line] = look("cassette", place)
    assert line.seen == "tape.jsonl, record (CHATMAGIC_MODE), 0 exchanges"
    tape.write_text("{")
    [line] = look("cassette", place)
    assert (line.mark, "tape.jsonl" in line.seen, line.todo != "") == ("!!", True, True)


def test_the_last_errors(place: ShellEnvironment) -> None:
    """By type and place, without a message; those of the doctor itself are not among them."""
    log_swallowed(LookupError(KEY))
    place.chosen = "http://127.0.0.1:9"
    [line] = [line for line in block(place) if "set aside" in line]
    assert line.endswith("builtins.LookupError")


def test_the_way_to_the_emulator(place: ShellEnvironment) -> None:
    """It is not started to be looked at, and its clock stands still."""
    place.chosen = "emulator"
    examination = Examination(place, Session(environment=place), WELL)
    found = [line for each in doctor.LOOKS for line in each(examination)]
    lines = {line.name: line for line in found}
    assert lines["address"].seen.startswith("the emulator of this process")
    assert (lines["network"].mark, lines["key"].mark) == ("ok", "ok")
    assert "clock" not in lines


def test_the_way_to_a_service(place: ShellEnvironment, tls: ssl.SSLContext) -> None:
    """TLS: its version, its end, and whose authority it is; nothing is sent."""
    with Server(playing(b""), tls, handshakes_fail=None) as server:  # it closes without a word
        place.chosen = server.origin
        lines = look("network", place)
        assert server.asked == []
    assert [line.mark + line.name for line in lines] == ["okproxy", "okconnection", "okTLS"]
    assert lines[1].seen == "made to 127.0.0.1, and closed again"
    assert lines[2].seen.startswith("TLSv1.")
    assert lines[2].seen.endswith(", authorities of REQUESTS_CA_BUNDLE")


def test_one_that_does_not_answer(place: ShellEnvironment) -> None:
    """It is waited for as long as for a question."""
    place.settings.timeout = {"connect": 0.05}
    with unanswering() as origin:
        place.chosen = origin
        line = look("network", place)[-1]
    assert (line.mark, line.name) == ("!!", "connection")
    assert "within the connect time-out of 0.05 s" in line.seen


@pytest.mark.parametrize(
    ("proxy", "words", "problem"),
    [
        (
            "http://ada:secret-word@127.0.0.1:9",
            "http://127.0.0.1:9, by the environment",
            "The proxy did not connect to https://chat.example.org:443",
        ),
        ("127.0.0.1:9", "http://127.0.0.1:9, by the environment", "The proxy did not connect"),
        ("gopher://a:9", "one without a URL, by the environment", "The proxy that the environment"),
    ],
)
def test_a_proxy_that_is_set_wrongly(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch, proxy: str, words: str, problem: str
) -> None:
    """It is named without its password."""
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    place.chosen = "https://chat.example.org"
    first, last = look("network", place)
    assert (first.seen, last.mark, last.name) == (words, "!!", "connection")
    assert last.seen.startswith(problem)
    assert "HTTPS_PROXY" in last.todo
    assert "secret-word" not in repr([first, last])


REPLY = {"status": 200, "fragments": 9, "first": 0.1, "last": 0.9, "connection": "kept"}


@pytest.mark.parametrize(
    ("seen", "name", "words"),
    [
        ({}, "answer", "[ok] a whole reply came; what it took is not told"),
        ({"took": 1, "remaining": 98}, "answer", "[ok] a whole reply came; it took 1 credit, 98"),
        ({"error": ServiceError("no")}, "answer", "[!!] no (HTTP 200)"),
        ({"error": ServiceError("no (HTTP 500)")}, "answer", "[!!] no (HTTP 500)"),
        ({}, "first word", "[ok] after 0.10 s"),
        ({}, "streaming", "[ok] 9 fragments as they are made, up to 0.90 s"),
        ({"fragments": 4}, "streaming", "[?] 4 fragments: too few to tell"),
        ({"first": 1.0, "last": 1.005}, "streaming", "[!!] 9 fragments all at once, after 1.00 s"),
        ({"first": 0.9}, "streaming", "[?] 9 fragments at once, too soon to tell: 0.90 s"),
        ({}, "connection kept", "[ok] the next question can use it"),
        ({"connection": "ended"}, "connection kept", "[ok] no: each question connects anew"),
        ({"connection": "dropped"}, "connection kept", "[!!] the server, or a proxy, closes it"),
        ({"connection": None}, "connection kept", "[?] not told"),
        ({}, "clock", "[?] not compared: no answer told the service's time"),
        ({"has_date": True}, "clock", "[ok] right within a minute"),
        (
            {"has_date": True, "clock_off": timedelta(minutes=5)},
            "clock",
            "[!!] about 5 minutes ahead of the service's",
        ),
        (
            {"has_date": True, "clock_off": -timedelta(minutes=1)},
            "clock",
            "[!!] about 1 minute behind the service's",
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
    monkeypatch.setattr("chatmagic.doctor.one_question.ask", lambda _: answered)
    examination = Examination(place, Session(environment=place), WELL, is_asking=True)
    lines = [*doctor.answer(examination), *doctor.clock(examination)]
    [line] = [line for line in lines if line.name == name]
    assert f"[{line.mark}] {line.seen}".startswith(words)
    assert (line.todo != "") is (line.mark == "!!")


def test_an_earlier_answer_told_the_time(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the clock is compared without a question; else what to do is said."""
    session = Session(environment=place)
    examination = Examination(place, session, WELL)
    [line] = doctor.clock(examination)
    assert (line.mark, line.todo[:5]) == ("?", "--ask")
    told = CreditState(clock_off=timedelta(minutes=5))
    monkeypatch.setattr(Session, "credit_state", told)
    [line] = doctor.clock(examination)
    assert (line.mark, line.seen) == ("!!", "about 5 minutes ahead of the service's")
