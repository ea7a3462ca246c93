"""Where a kernel asks, and with which key: what is connected, configured and typed.

``%chat_connect --check``: the doctor's block in a kernel, with what its front end can do.
"""

from __future__ import annotations

import getpass
import logging
import re
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from logged import Emulator
from loopback import Server, document, playing
from served import closed
from shells import FIXED, KEY, Shell

from chatmagic._version import __version__
from chatmagic.client import servers
from chatmagic.client.endpoint import Server as Known
from chatmagic.doctor.doctor import Examination
from chatmagic.errors import AuthenticationError, ConnectError, InputError
from chatmagic.jupyter.page.messages import PROTOCOL
from chatmagic.session import local_servers
from chatmagic.session.current import current_session


def test_unconnected(bare: Shell) -> None:
    """The first ask without an address says how to connect, in two lines."""
    ran = bare.fails("%%chat\nhello")
    assert isinstance(ran.error, ConnectError)
    assert len(ran.traceback) == 2
    state = bare.do("%chat").texts[0]
    assert "Not connected yet. Run %chat_connect URL and %chat_login, or set CHATMAGIC_" in state
    assert "Credits" not in state


def test_the_kernels_own_emulator(bare: Shell) -> None:
    """It needs no account, says what it is, and says today's date."""
    said = bare.do("%chat_connect emulator").texts[0]
    assert "emulator" in said
    assert "no key" in said
    ran = bare.machine("%chat echo:hi")
    assert ran.texts == ["hi"]
    assert ran.records[0]["origin"] == "emulator"
    asked_at = datetime.fromisoformat(ran.records[0]["date"])
    assert abs(datetime.now(UTC) - asked_at) < timedelta(hours=1)
    assert "ago" not in bare.do("%chat_credits").texts[0]
    assert "emulator" in bare.do("%chat").texts[0]
    assert "emulator" in bare.fails("%chat_login").traceback[0]


def test_the_emulators_clock(bare: Shell) -> None:
    """It stands still where the line says so, also after a reload, until it is connected again."""
    ran = bare.do("%chat_connect emulator --clock 2026-01-01")
    assert ran.texts[0].endswith("Clock: the emulator's stands still at 2026-01-01 12:00 UTC.")
    assert bare.machine("%chat echo:a").records[0]["date"] == "2026-01-01T12:00:00Z"
    bare.do("%reload_ext chatmagic")
    assert bare.machine("%chat echo:a").records[0]["date"] == "2026-01-01T12:00:00Z"
    assert "stands still" in bare.do("%chat").texts[0]
    bare.do("%chat_connect emulator --clock=2030-06-01T09:30")
    assert bare.machine("%chat echo:a").records[0]["date"] == "2030-06-01T09:30:00Z"
    bare.do("%chat_connect emulator")
    assert bare.machine("%chat echo:a").records[0]["date"] > "2026-06"
    assert "stands still" not in bare.do("%chat").texts[0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("emulator --clock noon", "takes a date or a time in UTC"),
        ("ollama --clock 2026-01-01", "Only the emulator's clock"),
        ("--clock 2026-01-01", "takes URL"),
    ],
)
def test_a_clock_that_cannot_be_set(bare: Shell, line: str, why: str) -> None:
    """It is refused, and nothing is connected."""
    assert why in bare.fails(f"%chat_connect {line}").traceback[0]
    assert "Not connected yet" in bare.do("%chat").texts[0]


def test_a_budget_says_that_the_emulator_does_not_count(bare: Shell) -> None:
    """Where nothing of it is used; at a service nothing is said."""
    bare.do("%config ChatMagics.budget = '2 turns'\n%chat_connect emulator")
    for _ in range(3):
        bare.machine("%chat echo:a")
    line = "0 used. The emulator's replies do not count."
    assert line in bare.do("%chat").texts[0]
    assert line in bare.do("%chat_credits --usage").texts[0]
    bare.do("%chat_connect https://chat.example.org")
    assert "do not count" not in bare.do("%chat").texts[0]


@pytest.mark.parametrize(
    "words",
    ["a b", "chat.example.org", "ftp://example.org", "https://example.org?u:p", "http://"],
)
def test_a_wrong_address(bare: Shell, words: str) -> None:
    """What is no address is refused in a line that repeats none of it."""
    ran = bare.fails(f"%chat_connect {words}")
    assert isinstance(ran.error, InputError)
    assert "u:p" not in "\n".join(ran.traceback)


def test_another_origin_gets_no_key(shell: Shell, emulator: Emulator) -> None:
    """The environment's key goes to the environment's address alone."""
    with Emulator(FIXED) as other:
        said = shell.do(f"%chat_connect {other.url}").texts[0]
        assert "without a key" in said
        ran = shell.fails("%chat echo:a")
        assert isinstance(ran.error, AuthenticationError)
        assert "requires a key, and none was sent" in ran.traceback[0]
        assert ran.traceback[1] == "%chat_login asks for one."
        assert [request.ways for request in other.requests] == [()]
        away = shell.do("%chat_connect https://other.example.org").texts[0]
        assert "%chat_login" in away
        assert emulator.url in shell.fails("%chat echo:a").traceback[0]
        shell.do(f"%chat_connect {emulator.url}")
        shell.machine("%chat echo:b")
        assert len(emulator.requests) == 1
        shell.do("%unload_ext chatmagic\n%load_ext chatmagic")
        shell.do(f"%config ChatMagics.base_url = {other.url!r}")
        shell.machine("%chat echo:c")
        assert (len(emulator.requests), len(other.requests)) == (2, 1)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[str]]:
    """Let a person type a key into the hidden prompt, and an answer after it."""
    questions: list[str] = []

    def answering(words: str) -> Callable[..., str]:
        def answer(question: object = "") -> str:
            questions.append(str(question))
            return words

        return answer

    def typing(key: str, place: str) -> list[str]:
        monkeypatch.setattr(getpass, "getpass", answering(key))
        monkeypatch.setattr("builtins.input", answering(place))
        return questions

    return typing


def test_login_for_this_kernel(
    bare: Shell, emulator: Emulator, answers: Callable[[str, str], list[str]], tmp_path: Path
) -> None:
    """A typed key goes to the address it was typed for, and nowhere else."""
    questions = answers(KEY, "")
    bare.do(f"%chat_connect {emulator.url}")
    said = bare.do("%chat_login").printed
    assert emulator.url in questions[0]
    assert "this kernel only" in said
    bare.machine("%chat echo:a")
    assert emulator.requests[0].ways == ("bearer",)
    assert "key from %chat_login" in bare.do("%chat").texts[0]
    with Emulator(FIXED) as other:
        bare.do(f"%chat_connect {other.url}")
        bare.fails("%chat echo:b")
        assert [request.ways for request in other.requests] == [()]
    assert not (tmp_path / "config").exists()
    bare.do(f"%chat_connect {emulator.url}")
    assert "this kernel" in bare.do("%chat_login --forget").printed
    bare.fails("%chat echo:c")
    assert [request.ways for request in emulator.requests] == [("bearer",), ()]


def test_login_that_is_kept(
    bare: Shell, emulator: Emulator, answers: Callable[[str, str], list[str]], tmp_path: Path
) -> None:
    """A kept key is in a private file, is found by the next kernel, and can be forgotten."""
    answers(KEY, "f")
    bare.do(f"%chat_connect {emulator.url}")
    assert "private file" in bare.do("%chat_login").printed
    (file,) = (tmp_path / "config").rglob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    bare.do("%unload_ext chatmagic")
    made = Shell()
    made.do(f"%chat_connect {emulator.url}")
    assert "key from private file" in made.do("%chat").texts[0]
    made.machine("%chat echo:a")
    assert "private file" in made.do("%chat_login --forget").printed
    assert KEY not in file.read_text()
    made.fails("%chat echo:b")
    assert [request.ways for request in emulator.requests] == [("bearer",), ()]


def test_login_is_careful(
    bare: Shell,
    emulator: Emulator,
    answers: Callable[[str, str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A key on the line is refused unrepeated; one that is empty, broken or unasked is not kept."""
    bare.do(f"%chat_connect {emulator.url}")
    for word in ("sk-typed-on-the-line", "--keep", "--forget now"):
        questions = answers(KEY, "")
        ran = bare.fails(f"%chat_login {word}")
        assert questions == []
        assert "sk-typed" not in "\n".join(ran.traceback)
    for wrong in ("", "  ", "two words", "na\u00efve"):
        answers(wrong, "")
        assert isinstance(bare.fails("%chat_login").error, InputError)
    words = "raw_input was called, but this frontend does not support input"
    monkeypatch.setattr(getpass, "getpass", Mock(side_effect=RuntimeError(words)))
    assert "CHATMAGIC_API_KEY" in bare.fails("%chat_login", person=False).traceback[1]
    bare.fails("%chat echo:a")
    assert [request.ways for request in emulator.requests] == [()]


def test_extra_headers(shell: Shell, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They go to the address that they were set for, and are kept nowhere; %chat names them."""
    caplog.set_level(logging.DEBUG)
    reply = document({"choices": [{"message": {"role": "assistant", "content": "Hello"}}]})
    tape = tmp_path / "tape.jsonl"
    with Server(playing(reply, reply, reply, reply)) as here, Server(playing(reply)) as other:
        shell.do("%config ChatMagics.auth = 'none'")
        shell.do(f"%chat_connect {here.origin}")
        shell.do("%config ChatMagics.extra_headers = {'X-Team': 'blue-team'}")
        shell.do(f"%chat_cassette {tape} --record")
        ran = shell.machine("%chat hello")
        assert "blue-team" not in ran.everything
        assert "blue-team" not in tape.read_text()
        shell.do("%chat_cassette --off")
        state = shell.do("%chat").texts[0]
        assert "extra_headers = X-Team" in state
        assert "blue-team" not in state
        assert "blue-team" not in repr(current_session().clients.__dict__)
        said = shell.do(f"%chat_connect {other.origin}").texts[0]
        assert "Not used: extra_headers, which was set for another address." in said
        assert "extra_headers =" not in shell.do("%chat").texts[0]
        shell.machine("%chat hello")
        shell.do(f"%chat_connect {here.origin}")
        shell.machine("%chat hello")
        shell.do("%config ChatMagics.extra_headers = {'X-Team': 'red'}")
        shell.machine("%chat hello")
        shell.do("%config ChatMagics.extra_headers = {}")
        shell.machine("%chat hello")
    assert "blue-team" not in caplog.text
    teams = ["blue-team", "blue-team", "red", None]
    assert [asked.headers.get("x-team") for asked in here.asked] == teams
    assert [asked.headers.get("x-team") for asked in other.asked] == [None]


def test_a_missing_key_is_told_with_what_to_do(
    bare: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also that the environment has a key which belongs to another address."""
    lines = bare.do("%chat_connect https://one.example").texts[0].splitlines()
    assert lines == [
        "Service: Connected to https://one.example:443 (%chat_connect).",
        "No key for this address yet: %chat_login asks for one.",
        'For a server without keys: %config ChatMagics.auth = "none"',
        "Posted to: https://one.example/v1/chat/completions. Nothing was sent.",
    ]
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    lines = bare.do("%chat_connect https://two.example").texts[0].splitlines()
    assert lines[1] == (
        "No key for this address yet (the environment's belongs to no address, as "
        "CHATMAGIC_BASE_URL gives none): CHATMAGIC_BASE_URL=https://two.example/v1/chat/"
        "completions beside the key sends it there, or %chat_login asks for one."
    )


def line(text: str, name: str) -> str:
    """Return the line on something."""
    return next(line for line in text.splitlines() if f"] {name}: " in line)


def test_a_kernel(shell: Shell, emulator: Emulator) -> None:
    """Nothing is sent but the one question, where it is asked for; it is no turn."""
    said = shell.do("%chat_connect --check").printed
    assert line(said, "front end") == (
        "[ok] front end: a console or a terminal: a reply is printed as it arrives"
    )
    assert "CHATMAGIC_API_KEY" in line(said, "key")
    assert emulator.requests == []
    said = shell.do("%chat_connect --check --ask").printed
    assert line(said, "answer").startswith("[ok]")
    assert len(emulator.requests) == 1
    assert len(current_session().conversation) == 0
    ran = shell.do(f"%chat_connect {emulator.url}/v1 --check")
    said = ran.printed
    assert ran.texts[0].startswith("Service: Connected to ")
    assert "(%chat_connect)" in line(said, "address")


@pytest.mark.parametrize("cell", ["a", "vscode-notebook-cell:/a.ipynb#1"])
def test_a_page_that_does_not_answer(shell: Shell, cell: str) -> None:
    """Fault 9: no page has answered the bridge; elsewhere than in Jupyter's none is expected to."""
    said = line(shell.do("%chat_connect --check", cell=cell).texts[0], "front end")
    assert said.startswith("[ok]")
    assert said.endswith("a reply is a display of its cell, updated as it arrives")
    shell.do("%%chat\necho:a", cell=cell)
    said = line(shell.do("%chat_connect --check", cell=cell).texts[0], "front end")
    assert ("no page has answered" in said) == (cell == "a")


@pytest.mark.parametrize(("protocol", "words"), [(PROTOCOL, "[ok]"), (PROTOCOL + 1, "[!!]")])
def test_a_page_of_another_version(shell: Shell, protocol: int, words: str) -> None:
    """It has answered, with its version; what to do says which one is to be installed there."""
    shell.do("%%chat\necho:a", cell="a")
    bridge = shell.kernel.page.bridge
    assert bridge is not None
    hello = {"kind": "hello", "protocol": protocol, "version": "7.8"}
    bridge._link._comm.handle_msg({"content": {"data": hello}})
    ran = shell.do("%chat_connect --check", cell="a")
    said, mark = ran.texts[-1], {"[ok]": "✓ ", "[!!]": "✗ wrong: "}[words]
    assert re.search(f'<th scope="row"[^>]*>Front end</th><td [^>]*>{mark}a page ', ran.html)
    assert line(said, "front end").startswith(f"{words} front end: ")
    assert "the page has chatmagic 7.8" in line(said, "front end")
    for shown in (said, ran.html):
        assert (f"pip install chatmagic=={__version__}" in shown) == (words == "[!!]")
    assert "thing wrong. No" in ran.html.partition(">All of it</th>")[2] or words == "[ok]"


def test_an_interrupt(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the command with one line, and no page of frames."""
    monkeypatch.setattr(Examination, "run", Mock(side_effect=KeyboardInterrupt))
    ran = shell.fails("%chat_connect --check")
    assert ran.traceback == ["ChatInterrupted: Interrupted; the request may have been sent."]


SERVICE = """[lab]
base_url = "{}"
auth = "bearer"
key_variable = "LAB_KEY"
models_page = "https://lab.example.org/models"
needs_model = true
"""
ANSWER = document({"choices": [{"message": {"content": "Hello"}}]})


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Serve a service that is known by name, and is taken for one elsewhere."""
    monkeypatch.setattr("chatmagic.client.endpoint.is_loopback", lambda _url: False)
    with Server(playing(ANSWER, ANSWER)) as server:
        folder = tmp_path / "config" / "chatmagic"
        folder.mkdir(parents=True)
        (folder / "servers.toml").write_text(SERVICE.format(server.origin))
        yield server


def keys_sent(server: Server) -> list[str | None]:
    """Return the key of each request."""
    return [asked.headers.get("authorization") for asked in server.asked]


def test_a_service_by_name_asks_for_its_key(
    bare: Shell, lab: Server, answers: Callable[[str, str], list[str]]
) -> None:
    """By the hidden prompt of ``%chat_login``; connected again, nothing is asked."""
    questions = answers(KEY, "")
    ran = bare.do("%chat_connect lab --model small")
    assert questions[0] == f"API key for {lab.origin} (hidden; Enter: later): "
    assert "this kernel only" in ran.printed
    assert "Connected to lab" in ran.texts[0]
    bare.machine("%chat hello")
    assert keys_sent(lab) == [f"Bearer {KEY}"]
    asked = len(questions)
    bare.do("%chat_connect lab --model small")
    assert len(questions) == asked


def test_a_service_by_name_offers_the_variable_of_its_tools(
    bare: Shell,
    lab: Server,
    answers: Callable[[str, str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its key goes nowhere before a person says yes, then to that service alone."""
    monkeypatch.setenv("LAB_KEY", KEY)
    questions = answers("", "n")
    ran = bare.do("%chat_connect lab")
    assert questions[0].startswith(f"LAB_KEY is set. Send its key to {lab.origin}, and nowhere")
    assert questions[1].startswith("API key for ")
    assert "No key for this address yet: %chat_connect lab asks for one" in ran.texts[0]
    assert "https://lab.example.org/models lists them." in ran.texts[0]
    assert isinstance(bare.fails("%chat hello").error, AuthenticationError)
    assert lab.asked == []
    answers("", "y")
    ran = bare.do("%chat_connect lab --model small")
    assert KEY not in ran.everything
    bare.machine("%chat hello")
    assert keys_sent(lab) == [f"Bearer {KEY}"]
    assert "key from LAB_KEY, sent as bearer" in bare.do("%chat").texts[0]
    bare.shell.user_ns["value"] = KEY
    assert "API key" in bare.fails("%chat what is {{ value }}?").traceback[0]
    bare.do("%chat_connect https://other.example.org")
    assert "No key for this address yet" in bare.do("%chat").texts[0]
    bare.do("%chat_connect lab --model small")
    assert "the use of LAB_KEY" in bare.do("%chat_login --forget").printed
    assert isinstance(bare.fails("%chat hello").error, AuthenticationError)
    assert len(lab.asked) == 1


def test_without_a_person_nothing_is_asked(
    bare: Shell,
    lab: Server,
    answers: Callable[[str, str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No key is taken from the variable; nor is one asked for where a replay answers."""
    monkeypatch.setenv("LAB_KEY", KEY)
    questions = answers(KEY, "y")
    bare.machine("%chat_connect lab --model small")
    assert isinstance(bare.fails("%chat hello").error, AuthenticationError)
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "none.jsonl")
    bare.do("%chat_connect lab")
    assert (questions, lab.asked) == ([], [])


@pytest.mark.parametrize("error", [EOFError, NotImplementedError])
def test_a_front_end_that_cannot_ask(
    bare: Shell, lab: Server, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """It is connected all the same, and the line says how to give a key."""
    monkeypatch.setenv("LAB_KEY", KEY)
    monkeypatch.setattr(getpass, "getpass", Mock(side_effect=error))
    monkeypatch.setattr("builtins.input", Mock(side_effect=error))
    assert "No key for this address yet" in bare.do("%chat_connect lab").texts[0]
    assert lab.asked == []


def test_a_prompt_that_is_interrupted(
    bare: Shell, lab: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says what is connected, and that nothing was sent."""
    monkeypatch.setattr(getpass, "getpass", Mock(side_effect=KeyboardInterrupt))
    (line,) = bare.fails("%chat_connect lab").traceback
    assert line.endswith("Interrupted: connected without a key. Nothing was sent.")
    assert lab.asked == []


def test_models_that_a_page_lists(bare: Shell, lab: Server) -> None:
    """No request is sent to an address that lists none."""
    said = bare.do("%chat_connect lab --models").printed
    assert said.endswith("on a page: https://lab.example.org/models. Nothing was sent.\n")
    assert lab.asked == []


def test_an_address_of_another_protocol(bare: Shell) -> None:
    """It is not connected; the second line has the compatible address."""
    ran = bare.fails("%chat_connect https://api.anthropic.com/v1/messages")
    assert "Anthropic's Messages API, which chatmagic does not speak" in ran.traceback[0]
    assert ran.traceback[1].endswith(": https://api.anthropic.com/v1")
    assert "Not connected yet" in bare.do("%chat").texts[0]


def test_alone_it_finds_the_servers_that_run_here(
    bare: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While nothing is connected; then it shows the connection, and sends nothing."""
    models = document({"data": [{"id": "m1"}, {"id": "m\x1b[2J2"}]})
    with Server(playing(models)) as server:
        known = {
            "lab": Known("lab", server.origin, needs_model=True),
            "gone": Known("gone", closed()),
        }
        for module in (servers, local_servers):
            monkeypatch.setattr(module, "known_servers", lambda: known)
        first, found = bare.do("%chat_connect").printed.splitlines()
        asking = "Not connected yet. Asking lab, gone on this machine for models, one request each."
        assert first == asking
        assert found.startswith("  lab: m1, m")
        assert "\x1b" not in found
        assert found.endswith(". %chat_connect lab --model m1")
        bare.do("%chat_connect lab --model m1")
        shown = bare.do("%chat_connect").texts[0]
        assert "Connected to lab" in shown
        assert "m1" in shown
        assert len(server.asked) == 1


def test_nothing_that_runs_here_is_said(bare: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do; and in a replay nothing is sent."""
    monkeypatch.setattr(local_servers, "known_servers", lambda: {"gone": Known("gone", closed())})
    assert "None of them answers. %chat_connect URL" in bare.do("%chat_connect").printed
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "none.jsonl")
    assert "nothing is sent" in bare.do("%chat_connect").printed


def test_another_model_at_this_address(bare: Shell) -> None:
    """``--model`` alone changes it; without a connection it says so."""
    whole = document({"choices": [{"message": {"content": "Hello"}}]})
    assert "Not connected" in bare.fails("%chat_connect --model small").traceback[0]
    with Server(playing(whole, whole)) as server:
        port = server.origin.rpartition(":")[2]
        bare.do(f"%chat_connect localhost:{port} --model large")
        bare.machine("%chat hello")
        assert "small" in bare.do("%chat_connect --model small").texts[0]
        bare.machine("%chat hello again")
        assert [asked.body["model"] for asked in server.asked] == ["large", "small"]
