"""A real Jupyter server, and what it tells of its kernels."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

import forked_kernels

from chatmagic.demo import LABEXTENSIONS

SECONDS_TO_START: Final = 300.0
"""A bound against hanging: nothing is measured by it."""
DISABLED: Final = (
    "@jupyterlab/apputils-extension:announcements",
    "@jupyterlab/apputils-extension:splash",
    "anywidget",
)
"""What asks the network, what is drawn anew sixty times a second while a page loads, and what is
not there where chatmagic alone is installed: it runs code that a notebook's file holds."""


@dataclass
class Server:
    """A Jupyter server that serves JupyterLab and Notebook 7.

    Args:
        url: where, with a slash at its end.
        token: what lets somebody in.
        folder: the notebooks' folder.
        said: the file with its log.
        numbers: one for every notebook, so that no two have one name.
        ahead: the id of the kernel of a notebook to come, if it is started.
    """

    url: str
    token: str
    folder: Path
    said: Path
    numbers: Iterator[int] = field(default_factory=count)
    ahead: str | None = None
    _next: str | None = None

    @property
    def origin(self) -> str:
        """Where the pages come from."""
        return self.url.rstrip("/")

    def tidy(self) -> None:
        """Have every kernel end but the one that is :attr:`ahead`, while the next test begins."""
        kernels = [kernel["id"] for kernel in self._ask("kernels") if kernel["id"] != self.ahead]
        threading.Thread(target=self._end, args=(kernels,), daemon=True).start()

    def _end(self, kernels: Sequence[str]) -> None:
        """End kernels; one that has ended meanwhile is none to end, nor one of a server."""
        for kernel in kernels:
            with suppress(OSError):
                self._ask(f"kernels/{kernel}", method="DELETE")

    def path(self) -> str:
        """Give the path of a new notebook; if :meth:`prepare` was called, its kernel runs."""
        path = f"{next(self.numbers)}.ipynb" if self._next is None else self._next
        self._next = self.ahead = None
        return path

    def prepare(self) -> None:
        """Start the kernel of the next notebook, so that its page need not wait for it."""
        path = self.path()
        kernel = {"name": "python3"}
        said = {"path": path, "name": path, "type": "notebook", "kernel": kernel}
        self._next, self.ahead = path, self._ask("sessions", said, "POST")["kernel"]["id"]

    def _ask(self, what: str, said: Mapping[str, Any] | None = None, method: str = "GET") -> Any:
        body = None if said is None else json.dumps(said).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        request = Request(f"{self.url}api/{what}", body, headers, method=method)  # noqa: S310 - our own server
        with urlopen(request) as answer:  # noqa: S310 - as above
            return json.loads(answer.read() or b"null")


@contextmanager
def server(folder: Path, environment: Mapping[str, str]) -> Iterator[Server]:
    """Start a server, and end it and its kernels.

    Args:
        folder: an empty folder for all that it reads and writes.
        environment: what its kernels find in theirs beside this process's.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    notebooks, said, runtime = folder / "notebooks", folder / "said", folder / "runtime"
    notebooks.mkdir()
    page = folder / "config" / "labconfig" / "page_config.json"
    page.parent.mkdir(parents=True)
    page.write_text(
        json.dumps({"disabledExtensions": dict.fromkeys(DISABLED, True)}), encoding="utf-8"
    )
    known = {**_environment(folder, environment), "JUPYTER_PATH": str(folder / "forks")}
    with (
        forked_kernels.forking(folder / "forks", known),
        said.open("wb") as out,
        _running(
            _command(notebooks, port, token := secrets.token_hex(16)),
            env=known,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        ) as child,
    ):
        until = time.monotonic() + SECONDS_TO_START
        while not (notes := list(runtime.glob("jpserver-*.json"))) or not _listens(notes[0]):
            assert child.poll() is None, said.read_text("utf-8", errors="replace")
            assert time.monotonic() < until, said.read_text("utf-8", errors="replace")
            time.sleep(0.05)
        yield Server(json.loads(notes[0].read_text("utf-8"))["url"], token, notebooks, said)


@contextmanager
def _running(words: list[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server, and end it; it ends its kernels when it is told to end."""
    child = subprocess.Popen(words, **how)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(60)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _command(notebooks: Path, port: int, token: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={notebooks}",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=50",
        "--ServerApp.open_browser=False",
        "--ServerApp.allow_root=True",
        f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        f"--LabApp.extra_labextensions_path={LABEXTENSIONS}",
        f"--JupyterNotebookApp.extra_labextensions_path={LABEXTENSIONS}",
        "--log-level=WARN",
    ]


def _environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CHATMAGIC_", "JUPYTER"))
    }
    # The kernel spec of an environment may say just "python".
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    root = str(Path(__file__).parents[2])
    own = {
        "PATH": path,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, kept.get("PYTHONPATH", "")])),
        "HOME": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    return {**kept, **own, **more}


def _listens(note: Path) -> bool:
    try:
        known = json.loads(note.read_text("utf-8"))
        socket.create_connection(("127.0.0.1", known["port"]), timeout=1).close()
    except (OSError, ValueError):
        return False
    return True
