"""``chatmagic doctor``: each of many faults is named in its line, and no key is in the block."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from logged import Emulator
from loopback import DONE, Server, answer, event, playing, serving, stream
from shells import FIXED, KEY, alone

from chatmagic import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import trustme

    Doctor = Callable[..., tuple[int, str]]

REPLY = [event(f"{number} ") for number in range(9)] + [event("", finish_reason="stop"), DONE]
LATE = {"Date": "Sun, 01 Mar 2026 12:00:00 GMT"}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def doctor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Doctor]:
    """Give what runs the command; it looks for the key in the block."""
    with alone(monkeypatch, tmp_path):
        for name in (*PROXIES, *map(str.upper, PROXIES), "REQUESTS_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)

        def run(*words: str) -> tuple[int, str]:
            code = cli.main(["doctor", *words])
            wrote = capsys.readouterr()
            assert KEY not in wrote.out + wrote.err
            return code, wrote.out

        yield run


def marks(text: str) -> dict[str, str]:
    """Return the marks of a block by what was looked at."""
    lines = [line for line in text.splitlines() if line.startswith("[")]
    return {line[5:].split(":")[0]: line[1:3].strip() for line in lines}


def closed() -> str:
    """Return an address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_nothing_wrong(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is 0; without ``--ask`` nothing was requested, with it one question was."""
    with Emulator(FIXED) as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        code, text = doctor()
        assert (code, emulator.requests) == (0, [])
        assert text.endswith("Nothing wrong. No request was sent.\n")
        assert "key: found in CHATMAGIC_API_KEY, sent as bearer" in text
        assert set(marks(text).values()) == {"ok", "?"}
        _, text = doctor("--ask")
        assert len(emulator.requests) == 1
    found = marks(text)
    # How fragments come is as a loaded machine has it.
    assert (found["answer"], found["connection kept"]) == ("ok", "ok")
    assert "99 are left" in text
    assert text.endswith("One question was sent.\n")


def test_a_key_for_another_place(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address that the environment's key belongs to is named."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "https://chat.example.org")
    code, text = doctor("--connect", closed())
    assert code == 1
    assert marks(text)["key"] == "!!"
    assert "the environment's key belongs to https://chat.example.org:443" in text
    assert "run %chat_login in a notebook." in text
    assert "(--connect)" in text


def test_a_port_that_is_closed(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a question is told, and no question is sent."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", closed())
    code, text = doctor("--ask")
    assert code == 1
    found = marks(text)
    assert (found["connection"], found["answer"]) == ("!!", "?")
    assert "refused the connection" in text
    assert "this block shows what is set" in text
    assert text.endswith("1 thing wrong. No request was sent.\n")


def test_a_name_that_is_not_known(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host is named."""

    def unknown(*_: object) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "https://chat.exmple.org")
    _, text = doctor()
    assert marks(text)["connection"] == "!!"
    assert "The host name of https://chat.exmple.org:443 was not found" in text


def test_tls_that_is_not_trusted(
    doctor: Doctor,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The variable that names an authority is told."""
    tls = serving(authority.issue_cert("127.0.0.1"))
    with Server(playing(b""), tls, handshakes_fail=True) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        _, text = doctor()
    assert marks(text)["connection"] == "!!"
    assert "For a certificate authority of your own, set REQUESTS_CA_BUNDLE." in text


def test_a_clock_that_is_off(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The date of the answer tells."""
    with Server(playing(stream(*REPLY, headers=LATE))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        _, text = doctor("--ask")
    assert marks(text)["clock"] == "!!"
    assert "ahead of the service's" in text


def test_a_cassette_that_is_damaged(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file is named, and in a replay nothing is asked."""
    tape = tmp_path / "tape.jsonl"
    tape.write_text('{"chatmagic": "cassette"')
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tape))
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    with Emulator(FIXED) as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        _, text = doctor("--ask")
        assert emulator.requests == []
    found = marks(text)
    assert (found["cassette"], found["answer"]) == ("!!", "?")
    assert "tape.jsonl" in text
    assert text.endswith("1 thing wrong. No request was sent.\n")


def test_what_answers_is_a_web_page(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTML is no answer of the chat service."""
    page = answer(f"<html>Sign in {KEY}</html>".encode(), headers={"Content-Type": "text/html"})
    with Server(playing(page)) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        _, text = doctor("--ask")
    assert marks(text)["answer"] == "!!"
    assert "What answered is not the chat service" in text


def test_a_key_that_was_refused(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said by the service alone, which may say the key back."""
    refusal = answer(f'{{"error": "bad {KEY}"}}'.encode(), "401 No")
    with Server(playing(refusal)) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", f"{server.origin}/{KEY}/v1")
        _, text = doctor("--ask")
    assert marks(text)["answer"] == "!!"
    assert "did not accept the key" in text or "holds your API key" in text
