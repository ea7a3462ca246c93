"""Commands run as processes of their own: their output, their address, their end."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

from chatmagic import cli

HERE = Path(cli.__file__).parent.parent
SPARED = 'import sys\nsys.modules["rfc3987_syntax"] = None\n'
"""A ``sitecustomize`` for who starts a Jupyter server: jsonschema does without that package, which
takes more than a second to load."""


def borrowing_environment(folder: Path) -> Path:
    """Make a virtual environment that sees what this one has installed; return its interpreter."""
    venv.EnvBuilder(symlinks=os.name == "posix").create(folder)
    places = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", places))
    packages.joinpath("all.pth").write_text(
        f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    )
    packages.joinpath("sitecustomize.py").write_text(SPARED)
    return Path(sysconfig.get_path("scripts", "venv", places), Path(sys.executable).name)


with_signals = pytest.mark.skipif(
    sys.platform == "win32", reason="no signal can be sent to one process there"
)


T = TypeVar("T")


def until(look: Callable[[], T | None], seconds: float = 60.0) -> T:
    """Look again and again for something, and give it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    pytest.fail(f"waited {seconds} s in vain")


@contextmanager
def command(
    said: Path, *words: str, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run Python with these words; all it says goes into a file."""
    paths = filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | (environment or {})
    with said.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *words], env=env, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            yield process
        finally:
            # Killed, a demo could not end what it started.
            process.terminate()
            try:
                process.wait(60)
            finally:
                process.kill()


def printed_address(said: Path) -> Callable[[], str | None]:
    """Look for an address in what a command says."""

    def look() -> str | None:
        found = re.search(r"http://127\.0\.0\.1:\d+\S*", said.read_text())
        return found[0] if found else None

    return look


def asked(address: str, method: str, path: str, **more: Any) -> tuple[int, bytes]:
    """Send a request; give the status and the body."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    try:
        connection.request(method, path, **more)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
