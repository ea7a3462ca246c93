"""The extension and real servers of llama.cpp, where they are installed; run by hand.

``llama-server`` is llama.cpp's own; ``pip install 'llama-cpp-python[server]' gguf`` builds one in
Python over the same library. Both take minutes to build, so no extra names them, and the tests play
what the latter answered (``tests/samples/llama_cpp.toml``). With one installed::

    pytest tests/interop/llama_cpp_server.py

A model of random weights says characters without a sense.
"""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
import tiny_model
from loopback import PATIENCE
from shells import Shell

OWN: Final = "llama-server"
"""The one that tells a stream's tokens; the other does so of a reply in one piece alone."""
COMMANDS: Final = {
    OWN: f"{OWN} --no-warmup --chat-template chatml --ctx-size 512".split(),
    "llama-cpp-python": [sys.executable, "-m", "llama_cpp.server", "--n_ctx", "512"],
}


@pytest.fixture(params=COMMANDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Give the kind of a server that is installed."""
    kind: str = request.param
    is_there = shutil.which(kind) if kind == OWN else find_spec("llama_cpp")
    if not is_there or find_spec("gguf") is None:
        pytest.skip(f"{kind} or gguf is not installed")
    return kind


@pytest.fixture
def server(kind: str, tmp_path: Path) -> Iterator[str]:
    """Give the address of a server that runs, and that the user's file knows by name."""
    model = tmp_path / "tiny.gguf"
    tiny_model.write(model, import_module("gguf"), import_module("numpy"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    folder = tmp_path / "config" / "chatmagic"
    folder.mkdir(parents=True)
    (folder / "servers.toml").write_text(
        f'["llama.cpp"]\nbase_url = "http://127.0.0.1:{port}"\nstream_usage = true\n'
    )
    command = [*COMMANDS[kind], "--model", str(model), "--host", "127.0.0.1", "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _await(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until it has loaded its model."""
    until = time.monotonic() + 6 * PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended by itself"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with suppress(OSError), closing(connection):
            connection.request("GET", "/v1/models")
            if connection.getresponse().status == HTTPStatus.OK:
                return
        time.sleep(0.05)
    pytest.fail("the server did not begin to answer")


def test_llama_cpp_by_name(bare: Shell, kind: str, server: str) -> None:
    """Connected without an address or a key, it lists its model, answers, and tells its tokens."""
    said = bare.do("%chat_connect llama.cpp --models").printed
    assert f"Connected to llama.cpp at {server} (%chat_connect), without a key." in said
    assert f"1 model at {server}:" in said
    assert "tiny" in said
    streamed = bare.machine("%chat -t 0 -n 8 hello")
    whole = bare.machine("%chat -t 0 -n 8 --no-stream again")
    for ran in (streamed, whole):
        assert ran.texts[0].strip()
        assert ran.records[0]["state"] == "complete"
        assert ran.records[0]["finish_reason"] == "length"
    assert whole.records[0]["usage"]["completion_tokens"] == 8
    assert ("usage" in streamed.records[0]) == (kind == OWN)
