"""The emulator as a server: real sockets on loopback."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import pytest
from logged import Emulator, LoggedRequest, Settings

from chatmagic.emulator.server import FRESH, HOST, serve
from chatmagic.errors import InputError

PATH = "/v1/chat/completions"
KEY = {"X-API-Key": "test-key"}


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """Give a running emulator whose clock stands still, with nothing between fragments."""
    with Emulator(Settings(now=datetime(2026, 1, 1, 12, tzinfo=UTC))) as running:
        yield running


@pytest.fixture
def connection(emulator: Emulator) -> Iterator[http.client.HTTPConnection]:
    """Give a connection to the emulator."""
    with contextlib.closing(connect(emulator)) as made:
        yield made


def connect(emulator: Emulator) -> http.client.HTTPConnection:
    """Make a connection to an emulator."""
    return http.client.HTTPConnection(emulator.url.removeprefix("http://"), timeout=60)


def send(
    connection: http.client.HTTPConnection,
    content: str = "echo:one two three",
    *,
    headers: dict[str, str] | None = None,
    path: str = PATH,
    **fields: Any,
) -> http.client.HTTPResponse:
    """Send one request, and give the response when its headers are there."""
    body = {"messages": [{"role": "user", "content": content}], **fields}
    chosen = KEY if headers is None else headers
    connection.request(
        "POST", path, json.dumps(body), {"Content-Type": "application/json", **chosen}
    )
    return connection.getresponse()


def ended(received: LoggedRequest) -> str:
    """Wait until a request is no longer open, and say how it ended."""
    deadline = time.monotonic() + 60
    while received.outcome == "open" and time.monotonic() < deadline:
        time.sleep(0.002)
    return received.outcome


def test_json(emulator: Emulator, connection: http.client.HTTPConnection) -> None:
    """A reply in one piece comes with its length, the date, and the credits left."""
    response = send(connection)
    body = response.read()
    assert response.status == 200
    assert json.loads(body)["choices"][0]["message"]["content"] == "one two three"
    assert {name: response.getheader(name) for name in ("Server", "Date", "Content-Length")} == {
        "Server": "chatmagic-emulator",
        "Date": "Thu, 01 Jan 2026 12:00:00 GMT",
        "Content-Length": str(len(body)),
    }
    assert response.getheader("X-RateLimit-Remaining") == "99"
    assert response.getheader("X-RateLimit-Reset") == "2026-01-02T00:00:00Z"
    assert len([name for name, _ in response.getheaders() if name == "Date"]) == 1
    assert ended(emulator.requests[0]) == "complete"


def test_each_fragment_goes_out_by_itself(emulator: Emulator) -> None:
    """The first fragment comes straight away, long before the reply is over."""
    emulator.settings = Settings(delay=60)
    with contextlib.closing(connect(emulator)) as connection:
        started = time.monotonic()
        response = send(connection, stream=True)
        assert b'"one "' in response.readline()
        assert time.monotonic() - started < 60
        assert emulator.requests[0].outcome == "open"


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PROPFIND"])
def test_other_methods(connection: http.client.HTTPConnection, method: str) -> None:
    """A method that the interface does not have is refused, whether it is known or not."""
    connection.request(method, PATH, headers=KEY)
    response = connection.getresponse()
    body = response.read()
    assert response.status == 405
    assert response.getheader("Server") == "chatmagic-emulator"
    assert not body if method == "HEAD" else json.loads(body)["error"] == "method_not_allowed"


def test_a_client_that_hangs_up_is_sent_no_more(emulator: Emulator) -> None:
    """When the client closes, the stream stops, however long it would have been."""
    emulator.settings = Settings(delay=0.01)
    connection = connect(emulator)
    response = send(connection, "count to 10000", stream=True)
    response.readline()
    response.close()
    connection.close()
    assert ended(emulator.requests[0]) == "hung up"
    assert emulator.requests[0].sent < 1000


def test_a_client_that_does_not_read_holds_up_nobody(emulator: Emulator) -> None:
    """A full pipe stops its own stream alone, and its end is noticed."""
    slow = connect(emulator)
    response = send(slow, "count to 10000", stream=True)
    with contextlib.closing(connect(emulator)) as other:
        assert send(other).read()
    assert emulator.requests[0].outcome == "open"
    response.close()
    slow.close()
    assert ended(emulator.requests[0]) == "hung up"


def test_stop_ends_open_streams() -> None:
    """Stopping closes every connection at once, and leaves no thread."""
    before = set(threading.enumerate())
    with Emulator(Settings(fault="hold")) as emulator:
        started = set(threading.enumerate()) - before
        (thread,) = (each for each in started if each.name == "chatmagic-emulator")
        connection = connect(emulator)
        response = send(connection, stream=True)
        assert emulator.start() == emulator.url
    with pytest.raises(http.client.IncompleteRead):
        response.read()
    connection.close()
    emulator.stop()
    thread.join(60)
    assert not thread.is_alive()
    with contextlib.closing(connect(emulator)) as refused, pytest.raises(ConnectionRefusedError):
        send(refused)


def test_a_port_in_use_is_told_in_one_line() -> None:
    """A port that cannot be had says so, and what to do."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}"):
            Emulator(port=port).start()


def test_serve_says_how_to_connect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line says what this is and how to connect, and Ctrl-C ends it quietly."""
    monkeypatch.setattr(time, "sleep", Mock(side_effect=KeyboardInterrupt))
    serve(FRESH)
    said = capsys.readouterr().out
    assert said.startswith("chatmagic emulator (not a real service) at http://127.0.0.1:")
    assert "CHATMAGIC_BASE_URL=http://127.0.0.1:" in said
    assert "CHATMAGIC_API_KEY=" in said


def python(code: str) -> subprocess.Popen[str]:
    """Start an interpreter of its own."""
    return subprocess.Popen(
        [sys.executable, "-W", "error::ResourceWarning", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_interpreter_ends_without_stop() -> None:
    """A program that forgets to stop its emulator, with a stream open, still ends at once."""
    code = """
import http.client
from chatmagic.emulator.server import *
connection = http.client.HTTPConnection(Emulator(Settings(delay=60)).start()[7:])
body = '{"messages": [{"role": "user", "content": "x"}], "stream": true}'
connection.request("POST", "/v1/chat/completions?api_key=k", body,
                   {"Content-Type": "application/json"})
print(connection.getresponse().status)
connection.close()
"""
    with python(code) as process:
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out.strip(), errors) == (0, "200", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_leaves_the_emulator_to_its_parent() -> None:
    """A forked child ends by itself and stops nothing; the parent's emulator goes on."""
    code = """
import os, sys, urllib.request, urllib.error
from chatmagic.emulator.server import *
emulator = Emulator()
emulator.start()
child = os.fork()
if child == 0:
    emulator.stop()
    sys.exit(7)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
try:
    urllib.request.urlopen(emulator.url)
except urllib.error.HTTPError as error:
    print(status, error.code)
    error.close()
"""
    with python(code) as process:
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.split()) == (0, ["7", "401"])
