"""The extension in a real kernel, and a real server that is not this project's: LitServe."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from kernels import PLAIN_ENVIRONMENT, Kernel, Ran, kernel

if sys.platform == "win32":
    pytest.skip("Windows sends no SIGINT to one process", allow_module_level=True)

GOOD = "sk-interop-good-51f0"
BAD = "sk-interop-wrong-9c2e"
PATIENCE = 120.0
SERVER = Path(__file__).with_name("words_server.py")


class Served:
    """A server in a process of its own, and how often it was asked."""

    def __init__(self, port: int, log: Path) -> None:
        """Know where it listens and what it writes."""
        self.url = f"http://127.0.0.1:{port}"
        self._log = log

    @property
    def asked(self) -> list[str]:
        """The status of every answer that it gave, in order."""
        lines = self._log.read_text(encoding="utf-8").splitlines()
        asked = [line for line in lines if "POST /v1/chat/completions" in line]
        return [line.split("HTTP/1.1")[1].strip(' "').split()[0] for line in asked]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give a running server, and end it."""
    if find_spec("litserve") is None:
        if os.environ.get("CI"):
            pytest.fail("LitServe is not installed")
        pytest.skip("LitServe is not installed")
    folder = tmp_path_factory.mktemp("litserve")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(SERVER), str(port)],
            cwd=folder,
            env={**PLAIN_ENVIRONMENT, "LIT_SERVER_API_KEY": GOOD},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _await(process, port)
        yield Served(port, folder / "log")
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until it listens; it does so when its model is there."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended by itself"
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the server did not begin to listen")


@pytest.fixture(scope="module")
def started(server: Served) -> Iterator[Kernel]:
    """Give a kernel that the environment connects to the server."""
    environment = {
        "CHATMAGIC_BASE_URL": server.url,
        "CHATMAGIC_API_KEY": GOOD,
        "CHATMAGIC_AUTH": "x-api-key",
    }
    with kernel(environment) as running:
        assert running.run("%load_ext chatmagic").outputs == []
        running.run('%config ChatMagics.extra_body = {"model": "any"}')
        yield running


@pytest.fixture
def fresh(started: Kernel) -> Kernel:
    """Give the kernel with an empty conversation and the good key."""
    started.run("%chat_reset")
    started.run(f"import os\nos.environ['CHATMAGIC_API_KEY'] = {GOOD!r}")
    return started


def written(ran: Ran) -> str:
    """Give everything that a cell wrote anywhere, but for its own source."""
    kinds = {"execute_input"}
    found = [message for _, message in ran.messages if message["msg_type"] not in kinds]
    return json.dumps([message["content"] for message in found], default=str)


@pytest.mark.parametrize("option", ["", " --no-stream"])
def test_a_conversation(fresh: Kernel, server: Served, option: str) -> None:
    """Streamed or in one piece: the words as they were said, each turn asked for once."""
    before = len(server.asked)
    first = fresh.run(f"%%chat{option}\none  two\nthree é", cell="a")
    second = fresh.run(f"%chat{option} and four?", cell="b")
    assert [ran.status for ran in (first, second)] == ["ok", "ok"]
    shown = [ran.outputs[0]["data"]["text/plain"] for ran in (first, second)]
    assert shown == ["Message 1 is: one  two\nthree é", "Message 3 is: and four?"]
    for ran in (first, second):
        record = ran.outputs[0]["metadata"]["chatmagic"]
        assert (record["state"], record["finish_reason"]) == ("complete", "stop")
        assert record["model"] == "any"
        assert GOOD not in written(ran)
    assert server.asked[before:] == ["200", "200"]


@pytest.mark.parametrize("option", ["", " --no-stream"])
def test_a_wrong_key(fresh: Kernel, server: Served, option: str) -> None:
    """One request, one line that says so, the key nowhere; then the right key works."""
    before = len(server.asked)
    fresh.run(f"os.environ['CHATMAGIC_API_KEY'] = {BAD!r}")
    ran = fresh.run(f"%%chat{option}\nhello", cell="a")
    assert ran.status == "error"
    assert [output["type"] for output in ran.outputs] == ["error"]
    error = ran.outputs[0]
    assert error["ename"] == "AuthenticationError"
    assert "did not accept the key" in error["traceback"][0]
    assert "(HTTP 401)" in error["traceback"][0]
    assert len(error["traceback"]) == 2
    assert BAD not in written(ran)
    assert server.asked[before:] == ["401"]
    fresh.run(f"os.environ['CHATMAGIC_API_KEY'] = {GOOD!r}")
    again = fresh.run(f"%%chat{option}\nhello", cell="a")
    assert again.outputs[0]["data"]["text/plain"] == "Message 1 is: hello"
    assert server.asked[before:] == ["401", "200"]


def test_a_model_that_breaks_down(fresh: Kernel, server: Served) -> None:
    """Its last event has no line end and nothing follows it; what was said is kept, marked."""
    before = len(server.asked)
    ran = fresh.run("%%chat\none two FAIL three", cell="a")
    assert [output["type"] for output in ran.outputs] == ["display_data", "error"]
    assert ran.outputs[0]["data"]["text/plain"].strip() == "Message 1 is: one two"
    assert ran.outputs[0]["metadata"]["chatmagic"]["state"] == "cut off"
    assert ran.outputs[1]["ename"] == "CutOffError"
    assert len(server.asked[before:]) == 1


def test_a_model_that_breaks_down_before_its_reply(fresh: Kernel, server: Served) -> None:
    """In one piece the failure is a status; the conversation is as it was."""
    before = len(server.asked)
    ran = fresh.run("%%chat --no-stream\none FAIL", cell="a")
    assert [output["type"] for output in ran.outputs] == ["error"]
    assert ran.outputs[0]["ename"] == "ServiceError"
    assert server.asked[before:] == ["500"]
