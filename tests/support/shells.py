"""A fresh IPython shell in this process, run as front ends run it; and what it showed."""

from __future__ import annotations

import atexit
import contextlib
import io
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from logged import Emulator, Settings
from traitlets.config import Config

from chatmagic import _initial_environ
from chatmagic.client import config as client_config
from chatmagic.client import config as settings
from chatmagic.client import key_store
from chatmagic.emulator import server
from chatmagic.jupyter.cells.running_cell import HOSTS
from chatmagic.jupyter.kernel import Kernel
from chatmagic.session import current

KEY = "sk-test-4f9c1e77-do-not-show"
"""The throw-away key that no output, record, log or repr may hold."""
FIXED = Settings(now=datetime(2026, 1, 1, 12, tzinfo=UTC))
"""An emulator whose clock stands still."""


def bodies(emulator: Emulator) -> list[Any]:
    """Give the bodies of the requests."""
    return [received.body for received in emulator.requests]


def asked(emulator: Emulator) -> list[list[str]]:
    """Give the contents of the messages of each request."""
    return [[message["content"] for message in body["messages"]] for body in bodies(emulator)]


def models(emulator: Emulator) -> list[Any]:
    """Return the model of each request, ``None`` where it names none."""
    return [body.get("model") for body in bodies(emulator)]


class Page(DisplayPublisher):
    """Keeps what was displayed, and what is left to see of it."""

    def __init__(self, **given: Any) -> None:
        """Begin with an empty page."""
        super().__init__(**given)  # type: ignore[no-untyped-call]
        self.messages: list[dict[str, Any]] = []
        self.news = threading.Event()

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        source: object = None,  # noqa: ARG002 - IPython's signature
        *,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **_: Any,
    ) -> None:
        """Keep a display, or an update of one."""
        self.messages.append(
            {
                "kind": "update" if update else "display",
                "data": data,
                "metadata": metadata or {},
                "id": (transient or {}).get("display_id"),
            }
        )
        self.news.set()

    def clear_output(self, wait: bool = False) -> None:
        """Keep that the output was cleared."""
        self.messages.append({"kind": "clear", "wait": wait})


def left(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fold displays and updates into what is left to see, as a page does."""
    outputs: list[dict[str, Any]] = []
    for message in messages:
        if message["kind"] == "clear":
            outputs.clear()
        elif message["kind"] == "display":
            outputs.append(dict(message))
        else:
            for output in outputs:
                if output["id"] == message["id"]:
                    output.update(data=message["data"], metadata=message["metadata"])
    return outputs


@dataclass
class Ran:
    """What one cell gave."""

    printed: str = ""
    warned: str = ""
    error: BaseException | None = None
    traceback: list[str] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    result: Any = None

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """The displays that are left to see."""
        return left(self.messages)

    @property
    def texts(self) -> list[str]:
        """Their plain texts."""
        return [output["data"].get("text/plain", "") for output in self.outputs]

    @property
    def html(self) -> str:
        """Their HTML, joined."""
        return "\n".join(output["data"].get("text/html", "") for output in self.outputs)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records in their metadata."""
        found = (output["metadata"].get("chatmagic") for output in self.outputs)
        return [record for record in found if record]

    @property
    def everything(self) -> str:
        """All that went out, in one text to search."""
        said = [self.printed, self.warned, *self.traceback, repr(self.messages), repr(self.error)]
        return "\n".join(said)


class Shell:
    """An IPython shell that plays a front end.

    Args:
        extension: whether to load chatmagic.
        config: an IPython configuration file's content.
    """

    def __init__(self, *, extension: bool = True, config: dict[str, Any] | None = None) -> None:
        """Start the shell."""
        InteractiveShell.clear_instance()
        given = Config({"HistoryManager": {"enabled": False}, **(config or {})})
        self.shell = InteractiveShell.instance(config=given, display_pub_class=Page)
        # What it does there collects garbage, once for each shell of all tests, and keeps each.
        atexit.unregister(self.shell.atexit_operations)
        self.ran: list[Ran] = []
        self._count = count(1)
        self._now = Ran()
        assert isinstance(self.shell.display_pub, Page)
        self._page = self.shell.display_pub
        vars(self.shell)["_showtraceback"] = self._traceback
        if extension:
            self.do("%load_ext chatmagic")

    @property
    def kernel(self) -> Kernel:
        """The kernel of the extension's magics."""
        kernel: Kernel = self.shell.magics_manager.registry["ChatMagics"].kernel
        return kernel

    def run(
        self,
        code: str,
        *,
        cell: str | None = None,
        person: bool = True,
        tags: list[Any] | None = None,
        request: dict[str, Any] | None = None,
        history: bool = True,
    ) -> Ran:
        """Run a cell as JupyterLab (with ``cell``), a console, a machine or ``request`` would."""
        request = request or {
            "metadata": {} if cell is None else {"cellId": cell, "deletedCells": []},
            "content": {"allow_stdin": person},
        }
        parent = {**request, "header": {"msg_id": f"execution-{next(self._count)}"}}
        if tags is not None:
            parent["metadata"] = {**parent["metadata"], "tags": tags}
        vars(self.shell)["get_parent"] = lambda: parent
        self._now = ran = Ran()
        before = len(self._page.messages)
        out, warned = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(warned):
            result = self.shell.run_cell(code, store_history=history)
        ran.printed, ran.warned, ran.result = out.getvalue(), warned.getvalue(), result.result
        ran.error = result.error_in_exec or result.error_before_exec
        ran.messages = self._page.messages[before:]
        self.ran.append(ran)
        return ran

    def do(self, code: str, **how: Any) -> Ran:
        """Run a cell that has to succeed."""
        ran = self.run(code, **how)
        assert ran.error is None, ran.everything
        return ran

    def page(self, code: str, cell: str) -> Ran:
        """Run a cell of JupyterLab's that has to succeed."""
        return self.do(code, cell=cell)

    def machine(self, code: str) -> Ran:
        """Run a cell that has to succeed, as nbclient does."""
        return self.do(code, person=False)

    def fails(self, code: str, **how: Any) -> Ran:
        """Run a cell that has to fail as ours do: one line or two, no traceback."""
        ran = self.run(code, **how)
        assert ran.error is not None, ran.everything
        assert type(ran.error).__module__ == "chatmagic.errors", ran.everything
        assert 1 <= len(ran.traceback) <= 2, ran.traceback
        assert all("\n" not in line and "Traceback" not in line for line in ran.traceback)
        return ran

    def __getitem__(self, name: str) -> Any:
        """Give a variable of the user's."""
        return self.shell.user_ns[name]

    def _traceback(self, _kind: type, _error: BaseException, lines: list[str]) -> None:
        self._now.traceback = list(lines)


def forget() -> None:
    """Forget this process's session, as the restart of a kernel does; the next use makes one."""
    current._current = None


@contextlib.contextmanager
def alone(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """Keep what a shell changes in this process, and what it would find, out of the tests."""
    for name in ("CHATMAGIC_BASE_URL", "CHATMAGIC_API_KEY", "CHATMAGIC_API_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CHATMAGIC_AUTH", "CHATMAGIC_CASSETTE", "CHATMAGIC_MODE"):
        monkeypatch.delenv(name, raising=False)
    for host in HOSTS:
        monkeypatch.delenv(host.variable, raising=False)
    monkeypatch.setattr(_initial_environ, "VARIABLES", dict[str, str]())
    # An emulator that a test connects to by name pauses after each piece, as for a reader.
    monkeypatch.setattr(server, "FRESH", replace(server.FRESH, delay=0.0))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setattr(key_store, "find_keyring", lambda: None)
    forget()
    monkeypatch.setattr(client_config, "kernel", None)
    settings.warned.clear()
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    hook = sys.excepthook
    try:
        yield
    finally:
        sys.excepthook = hook
        if current._current is not None:
            current._current.close()
        forget()
        if InteractiveShell.initialized():
            shell = InteractiveShell.instance()
            with contextlib.redirect_stdout(io.StringIO()):
                shell.run_line_magic("unload_ext", "chatmagic")
            InteractiveShell.clear_instance()
