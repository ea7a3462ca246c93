"""The plugin's fixtures, here and in a project of another author."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from project import PYPROJECT, ROOT

import chatmagic
from chatmagic.emulator.server import Emulator
from chatmagic.errors import AuthenticationError, NotRecordedError, ServiceError
from chatmagic.pytest_plugin import ChatCassette, ChatEmulator
from chatmagic.session.session import Session

KEY = "sk-throwaway-key-of-a-project"


def test_it_is_declared() -> None:
    """As pytest finds it; the name is the one that -p no:chatmagic takes."""
    entry = PYPROJECT["project"]["entry-points"]["pytest11"]
    assert entry == {"chatmagic": "chatmagic.pytest_plugin"}


def test_the_emulator_answers_as_the_test_says(chat_emulator: ChatEmulator) -> None:
    """In order, and then as before; what was asked is known, and the credits do not end."""
    chat_emulator.reply_with("echo:one", "two")
    texts = [chatmagic.ask(f"echo:{word}").text for word in ("a", "b", "c")]
    assert texts == ["echo:one", "two", "c"]
    assert [messages[-1].content for messages in chat_emulator.asked] == [
        "echo:a",
        "echo:b",
        "echo:c",
    ]
    assert os.environ["CHATMAGIC_BASE_URL"] == chat_emulator.url
    assert os.environ["CHATMAGIC_API_KEY"] == chat_emulator.key


def test_the_emulator_fails_as_the_test_says(chat_emulator: ChatEmulator) -> None:
    """In its place among the replies; what was set is known of each request."""
    chat_emulator.reply_with("first")
    chat_emulator.fail_with(503, 401)
    session = Session()
    assert session.ask("a", temperature=0.5, max_tokens=9).text == "first"
    with pytest.raises(ServiceError, match="503"):
        session.ask("b")
    with pytest.raises(AuthenticationError):
        session.ask("c")
    assert session.ask("echo:d").text == "d"
    first = chat_emulator.requests[0]
    assert (first.temperature, first.max_tokens, len(chat_emulator.asked)) == (0.5, 9, 4)
    with pytest.raises(ValueError, match="from 400 to 599"):
        chat_emulator.fail_with(503, 200)


def test_instructions_stand_in_front_of_the_first_message(chat_emulator: ChatEmulator) -> None:
    """As the manual says for an assertion on what was asked, in place of a system message."""
    chat_emulator.reply_with("ok", "4")
    for prompt in ("My number is 2.", "Plus 2?"):
        chatmagic.ask(prompt, instructions="Be brief.")
    assert [(message.role, message.content) for message in chat_emulator.asked[1]] == [
        ("user", "Be brief.\n\nMy number is 2."),
        ("assistant", "ok"),
        ("user", "Plus 2?"),
    ]


def test_each_test_has_a_conversation_of_its_own(chat_emulator: ChatEmulator) -> None:
    """Nothing of the test above goes along."""
    chatmagic.ask("echo:a")
    assert len(chat_emulator.asked[0]) == 1


@pytest.fixture
def _keyless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what a server without a key needs."""
    monkeypatch.setenv("CHATMAGIC_AUTH", "none")


@pytest.mark.usefixtures("_keyless")
def test_the_emulator_is_given_its_key(chat_emulator: ChatEmulator) -> None:
    """In the usual way, whatever way the environment has for another address."""
    assert chatmagic.ask("echo:a").text == "a"
    assert len(chat_emulator.asked) == 1


@pytest.mark.chat_cassette("replayed")
def test_a_cassette_is_replayed_strictly(chat_cassette: ChatCassette) -> None:
    """Nothing is sent, not by a client of the test's own either."""
    assert chat_cassette.mode == "replay"
    assert chat_cassette.path == Path(__file__).parent.joinpath(
        "cassettes", "test_pytest_plugin", "replayed.jsonl"
    )
    assert chatmagic.ask("echo:recorded").text == "recorded"
    assert [exchange.text for exchange in chat_cassette.exchanges] == ["recorded"]
    with pytest.raises(NotRecordedError):
        chatmagic.ask("echo:other")
    with (
        chatmagic.Client("http://127.0.0.1:9", "a-key") as client,
        pytest.raises(NotRecordedError, match="Nothing was sent"),
    ):
        client.complete([{"role": "user", "content": "a"}])


@pytest.mark.parametrize(
    ("ending", "has_digest"),
    [
        pytest.param("-a.b", False, id="a.b"),
        pytest.param("-A-b-", True, id="A/b"),
        pytest.param("-", True, id=".." * 60),
    ],
)
def test_its_name(ending: str, *, has_digest: bool, chat_cassette: ChatCassette) -> None:
    """A cassette has the name of its test; a digest stands for what no file's name has."""
    name = f"test_its_name{ending}"
    assert len(chat_cassette.path.stem) == len(name) + 9 * has_digest
    assert chat_cassette.path.stem.startswith(name)


def ran(folder: Path, environ: Mapping[str, str], *words: str) -> str:
    """Run pytest in a folder, and return what it printed."""
    plugin = ("-p", "no:chatmagic", "-p", "chatmagic.pytest_plugin", "-p", "no:cacheprovider")
    others = {name: value for name, value in os.environ.items() if "CHATMAGIC" not in name}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *words],
        check=False,
        cwd=folder,
        env={**others, **environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    ).stdout


@pytest.mark.release  # its fixtures are tested above; four pytests load here
def test_a_project_records_once_and_replays_in_two_workers(tmp_path: Path) -> None:
    """Without an address, a key or a network; no cassette holds the key."""
    project = ROOT / "tests" / "support" / "pytest_project.txt"
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (tmp_path / "test_app.py").write_text(project.read_text("utf-8"), "utf-8")
    with Emulator() as emulator:
        environ = {"CHATMAGIC_BASE_URL": emulator.url, "CHATMAGIC_API_KEY": KEY}
        assert "10 passed" in ran(tmp_path, environ, "--chat-record")
    cassettes = sorted((tmp_path / "cassettes" / "test_app").glob("*.jsonl"))
    assert len(cassettes) == 6
    assert all(KEY not in file.read_text("utf-8") for file in cassettes)
    cassettes[-1].unlink()
    output = ran(tmp_path, {}, "-n", "2", "-k", "not heavy")
    assert "1 failed, 8 passed" in output
    assert "is replayed. pytest --chat-record asks the service, and records it." in output
