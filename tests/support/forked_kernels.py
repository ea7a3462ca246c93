"""Kernels that are forked from one process, which has imported what each would import.

Most of a kernel's start is imports. :func:`forking` starts a process that does them once, and makes
a kernel spec. Its command is a small program that stands for the kernel where it was started: it
has one forked, passes signals on to it, and ends with it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final, cast

MOST: Final = 1 << 20
"""The bytes of a command with its environment."""
STREAMS: Final = 3
IMPORTED: Final = (
    "chatmagic.client.client",
    "chatmagic.client.transport",
    "chatmagic.emulator.server",
    "chatmagic.jupyter.commands.ask",
    "chatmagic.jupyter.page.bridge",
    "chatmagic.jupyter.page.drawing_loop",
    "chatmagic.jupyter.kernel",
    "chatmagic.jupyter.magics",
    "chatmagic.render.live_markdown",
    "chatmagic.render.markdown",
    "chatmagic.session.session",
    "chatmagic.session.session",
    "ipykernel.debugger",
    "ipykernel.ipkernel",
    "ipykernel.zmqshell",
    "IPython.core.completerlib",
    "IPython.core.magics.extension",
    "IPython.extensions.storemagic",
    "markdown_it",
    "nbformat",
    "nh3",
    "pdb",
    "psutil",
    "pygments.formatters.html",
    "pygments.styles.default",
    "requests",
    "sqlite3",
    "tornado.platform.asyncio",
)
"""What a kernel has imported when its first ``%%chat`` ends, of the emulator or of a service.

Without ``reply_forms``: a reply's first words are shown as they come where that is not there yet.
"""


@contextmanager
def forking(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Run the process that forks, and end it and its kernels.

    Args:
        folder: a new one, where Jupyter finds their kernel spec if ``JUPYTER_PATH`` names it;
            there is none where processes cannot be forked so, which is everywhere but on Linux.
        environment: what is imported in.
    """
    if sys.platform != "linux":
        yield
        return
    spec, place = folder / "kernels" / "python3" / "kernel.json", str(folder / "socket")
    spec.parent.mkdir(parents=True)
    # Neither `site` nor the environment is needed to pass signals on.
    stands = [sys.executable, "-I", "-S", __file__, "stand", place, "-f", "{connection_file}"]
    own = {"argv": stands, "display_name": "Python 3", "language": "python"}
    spec.write_text(json.dumps({**own, "metadata": {"debugger": True}}), encoding="utf-8")
    forks = [sys.executable, __file__, "fork", place]
    # The debugger would warn that Python's own modules are frozen, as they are in every kernel.
    known = {**environment, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    with subprocess.Popen(forks, env=known, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            child.terminate()


def fork(place: str) -> None:
    """Import what a kernel imports, and fork one for each connection."""
    # jsonschema, which comes with nbformat, does without it; it takes more than a second to load.
    sys.modules["rfc3987_syntax"] = cast("ModuleType", None)
    for name in IMPORTED:
        importlib.import_module(name)
    from ipykernel import kernelapp  # noqa: PLC0415 - as these

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(place)
        listener.listen()
        print("ready", flush=True)  # noqa: T201 - `forking` waits for it
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            connection, _ = listener.accept()
            if not os.fork():
                break
            connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _become(connection)
    # This file's folder is in no kernel's path.
    del sys.path[0]
    kernelapp.launch_new_instance()


def _become(connection: socket.socket) -> None:
    """Take over the streams, folder, environment and arguments of who stands for this kernel."""
    words, streams, _, _ = socket.recv_fds(connection, MOST, STREAMS)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    own, folder, environment = json.loads(words)
    sys.argv[1:] = [*own, f"--IPKernelApp.parent_handle={os.getppid()}"]
    os.environ.clear()
    os.environ.update(environment)
    # This process has another parent than the one that stands for it, whose emulators it knows.
    started = importlib.import_module("chatmagic._started_emulators")
    for origin in environment.get(started.VARIABLE, "").split()[1:]:
        started.note(origin)
    time.tzset()
    os.chdir(folder)
    os.setsid()
    connection.send(str(os.getpid()).encode())

    def end_with_it() -> None:
        connection.recv(1)
        os._exit(1)

    threading.Thread(target=end_with_it, daemon=True).start()


def stand(place: str, words: list[str]) -> None:
    """Have a kernel forked, and stand for it: pass signals on, and end when it ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(place)
        given = json.dumps([words, str(Path.cwd()), dict(os.environ)]).encode()
        socket.send_fds(connection, [given], range(STREAMS))
        kernel = int(connection.recv(100))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(kernel, number))
        connection.recv(1)


if __name__ == "__main__":
    if sys.argv[1] == "fork":
        fork(sys.argv[2])
    else:
        stand(sys.argv[2], sys.argv[3:])
