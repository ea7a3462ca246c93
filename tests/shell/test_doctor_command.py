"""``chatmagic doctor``: each of many faults is named in its line, and no key is in the block."""

from __future__ import annotations

import re
import socket
import threading
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from logged import Emulator
from loopback import (
    DONE,
    EVENTS,
    Peer,
    Server,
    answer,
    event,
    head,
    once,
    playing,
    serving,
    stream,
    wait_for,
)
from project import ROOT
from served import closed
from shells import FIXED, KEY, alone

from chatmagic import _initial_environ, cli

Doctor = Callable[..., tuple[int, str]]

SAMPLES = ROOT / "tests" / "samples"
REPLY = [event(f"{number} ") for number in range(9)] + [event("", finish_reason="stop"), DONE]
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
        monkeypatch.setattr(socket, "getaddrinfo", no_names)

        def run(*words: str) -> tuple[int, str]:
            code = cli.main(["doctor", *words])
            wrote = capsys.readouterr()
            assert KEY not in wrote.out + wrote.err
            return code, wrote.out

        yield run


ADDRESSES = socket.getaddrinfo


def no_names(host: str, *rest: Any, **more: Any) -> Any:
    """Find no host but this machine, and ask no network."""
    if host == "127.0.0.1":
        return ADDRESSES(host, *rest, **more)
    raise socket.gaierror(-2, "Name or service not known")


def marks(text: str) -> dict[str, str]:
    """Return the marks of a block by what was looked at."""
    lines = [line for line in text.splitlines() if line.startswith("[")]
    return {line[5:].split(":")[0]: line[1:3].strip() for line in lines}


def test_nothing_wrong(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is 0; without ``--ask`` nothing was requested, with it one question was."""
    with Emulator(FIXED) as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        code, text = doctor()
        assert (code, emulator.requests) == (0, [])
        assert text.endswith("Nothing wrong. No request was sent.\n")
        assert "key: found in CHATMAGIC_API_KEY, sent as bearer" in text
        assert set(marks(text).values()) == {"ok"}
        _, text = doctor("--ask")
        assert len(emulator.requests) == 1
    found = marks(text)
    # How fragments come is as a loaded machine has it.
    assert found["answer"] == "ok"
    assert "99 are left" in text
    assert text.endswith("One question was sent.\n")


def test_a_key_for_another_place(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address that the environment's key belongs to is named."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "https://chat.example.org")
    monkeypatch.setattr("chatmagic.client.endpoint.is_loopback", lambda _: False)
    code, text = doctor("--connect", closed())
    assert code == 1
    assert marks(text)["key"] == "!!"
    assert ": the environment's belongs to https://chat.example.org:443. Nothing" in text
    assert "-> CHATMAGIC_API_KEY beside CHATMAGIC_BASE_URL gives one; " in text
    assert "-> Is it started, and is the port right? This block shows the settings.\n" in text
    assert "(--connect)" in text


def test_a_key_that_was_refused(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said by the service alone, which may say the key back."""
    refusal = answer(f'{{"error": "bad {KEY}"}}'.encode(), "401 No")
    with Server(playing(refusal)) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", f"{server.origin}/{KEY}/v1")
        _, text = doctor("--ask")
    assert marks(text)["answer"] == "!!"
    assert "did not accept the key" in text or "holds your API key" in text


def silent(peer: Peer) -> None:
    """Take what comes, and say nothing."""
    peer.gone()


def http_port(peer: Peer) -> None:
    """Answer TLS as a port of plain HTTP does."""
    peer.piece()
    peer.send(answer(b"", "400 No"))


def tunnel_to_http(peer: Peer) -> None:
    """Open a tunnel to what speaks no TLS."""
    peer.request()
    peer.send(head())
    http_port(peer)


def tunnel_to_nothing(peer: Peer) -> None:
    """Open a tunnel, and close it."""
    peer.request()
    peer.send(head())


def headers_alone(peer: Peer) -> None:
    """Answer with headers, and nothing more."""
    if peer.request():
        peer.send(head(headers=EVENTS))
        peer.gone()


SCRIPTS: dict[str, Callable[[Peer], object]] = {
    "silent": silent,
    "shut": lambda peer: peer.close(),
    "http_port": http_port,
    "https_port": once(b"\x15\x03\x01\x00\x02\x02\x46"),  # a TLS alert
    "tunnel_to_http": tunnel_to_http,
    "tunnel_to_nothing": tunnel_to_nothing,
    "headers_alone": headers_alone,
    "half_a_reply": once(head(headers={**EVENTS, "Content-Length": "9999"}), *REPLY[:3]),
    "mail_server": once(b"220 mail.example ESMTP\r\n"),
}
WAITED_FOR = ("silent", "headers_alone")
"""The scripts that a timeout ends; the others end by themselves, however busy the machine is."""
QUICK = '{"connect": 0.2, "first_byte": 0.2, "silence": 0.2}'
FAULTS = tomllib.loads((SAMPLES / "doctor_faults.toml").read_text("utf-8"))["fault"]


def answering(fault: dict[str, Any]) -> Callable[[Peer], object]:
    """Return what answers in a fault."""
    if "script" in fault:
        return SCRIPTS[fault["script"]]
    if not {"status", "body"} & fault.keys():
        return playing(stream(*REPLY))
    headers = {"Content-Type": fault.get("type", "application/json")}
    headers |= {"Location": fault["location"]} if "location" in fault else {}
    return playing(answer(fault.get("body", "").encode(), fault.get("status", "200 OK"), headers))


def make(fault: dict[str, Any], patch: pytest.MonkeyPatch, folder: Path, ca: trustme.CA) -> Server:
    """Make a fault, and return the server of the address, or of its proxy."""
    tls = None
    if (told := fault.get("tls")) is not None:
        if told.get("trusted", True):
            ca.cert_pem.write_to_path(str(folder / "ca.pem"))
            patch.setenv("REQUESTS_CA_BUNDLE", str(folder / "ca.pem"))
        now = datetime.now(UTC)
        days = now + timedelta(told["from"]), now + timedelta(told["to"])
        tls = serving(ca.issue_cert(told["name"], not_before=days[0], not_after=days[1]))
    server = Server(answering(fault), tls, handshakes_fail=None)
    if "proxy" in fault:
        patch.setenv("CHATMAGIC_BASE_URL", "https://a.invalid")
        for name in ("HTTPS_PROXY", "HTTP_PROXY"):
            patch.setenv(name, f"http://ada:of-ada@127.0.0.1:{server.port}")
    else:
        https = "https" in fault
        patch.setenv(
            "CHATMAGIC_BASE_URL", server.origin.replace("http:", "https:" if https else "http:")
        )
    for name, content in fault.get("file", {}).items():
        (folder / name).write_text(content)
        (folder / name).chmod(fault.get("mode", 0o600))
    places = {"tmp": str(folder), "closed": closed(), "key": KEY}
    for name, value in fault.get("env", {}).items():
        patch.setenv(name, value.format(**places))
    for name in fault.get("unset", ()):
        patch.delenv(name)
    patch.setitem(_initial_environ.VARIABLES, "CHATMAGIC_BUDGET", fault.get("budget", ""))
    configuration = folder / "ipython" / "profile_default" / "ipython_config.py"
    configuration.parent.mkdir(parents=True)
    waits = f"timeout = {QUICK}" if fault.get("script") in WAITED_FOR else "temperature = None"
    configuration.write_text(f"c.ChatMagics.{fault.get('config', waits)}\n")
    return server


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["name"])
def test_each_fault_is_named(
    doctor: Doctor,
    fault: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    authority: trustme.CA,
) -> None:
    """In its line, with what to do here: nothing of it is for a notebook alone.

    The exit code is 1 for what keeps a question from its answer, and 0 for what is unwise.
    """
    is_remark = "remark" in fault
    with make(fault, monkeypatch, tmp_path, authority):
        code, text = doctor("--ask")
    assert (code, marks(text)[fault["line"]]) == ((0, "!") if is_remark else (1, "!!"))
    assert fault["words"].format(tmp=tmp_path) in text
    assert text.count("[!!]") + text.count("[ !]") == fault.get("faults", 1)
    assert "\n     -> " in text
    assert "of-ada" not in text
    assert "%config" not in text
    assert all("in a notebook" in said for said in re.findall(r"%chat[^.,;]*", text))
    assert text.endswith("Nothing wrong, 1 warning. One question was sent.\n") is is_remark


def test_what_came_so_far_is_shown_while_an_answer_hangs(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the headers came at once is the finding: it is shown before the wait is over."""
    is_shown = threading.Event()

    def show(line: object) -> None:
        if "headers: after" in str(line):
            is_shown.set()

    monkeypatch.setattr("chatmagic.shell.commands._print_line", show)

    def script(peer: Peer) -> None:
        if peer.request():
            peer.send(head(headers=EVENTS))
            wait_for(is_shown)
            peer.send(*REPLY)

    with Server(script) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        code, _ = doctor("--ask")
    assert code == 0


def test_a_configuration_that_is_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named in one line, as for a question."""
    with alone(monkeypatch, tmp_path):
        folder = tmp_path / "ipython" / "profile_default"
        folder.mkdir(parents=True)
        (folder / "ipython_config.py").write_text('c.ChatMagics.budget = "many"\n')
        assert cli.main(["doctor"]) == 2
    assert "budget" in capsys.readouterr().err
