"""The extension and a real server over llama.cpp, where it is installed.

``pip install 'llama-cpp-python[server]' gguf`` builds it for minutes, so no extra names it.
A model of random weights says characters without a sense.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
import tiny_model
from loopback import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shells import Shell


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Give the address of a server that runs, and that the user's file knows by name."""
    if find_spec("llama_cpp") is None or find_spec("gguf") is None:
        pytest.skip("llama-cpp-python or gguf is not installed")
    model = tmp_path / "tiny.gguf"
    tiny_model.write(model, import_module("gguf"), import_module("numpy"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    folder = tmp_path / "config" / "chatmagic"
    folder.mkdir(parents=True)
    (folder / "servers.toml").write_text(
        f'["llama.cpp"]\nbase_url = "http://127.0.0.1:{port}"\nstream_usage = true\n'
    )
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model), "--n_ctx", "512"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=log)
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
    """Wait until it listens."""
    until = time.monotonic() + 6 * PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended by itself"
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the server did not begin to listen")


def test_llama_cpp_by_name(bare: Shell, server: str) -> None:
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
    # llama.cpp's own server tells a stream's tokens where it is asked to; this one does not.
    assert "usage" not in streamed.records[0]
