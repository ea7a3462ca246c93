"""``chatmagic demo``: the lessons copied to a folder and opened in JupyterLab, with the emulator.

It needs no account, key or network, and ends every process that it starts.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Final

from chatmagic._files import PRIVATE, replace_content
from chatmagic.errors import ChatError, InputError

Handler = Callable[[int, FrameType | None], object]

FOLDER: Final = "chatmagic-notebooks"
FIRST: Final = "01-quickstart.ipynb"
REFERENCE: Final = "reference"
LABEXTENSIONS: Final = Path(__file__).parent / "jupyter" / "labextensions"
"""The folder of the page's half, as the option ``extra_labextensions_path`` takes it."""
_HOST: Final = "127.0.0.1"
_PATH: Final = f"lab/tree/{FIRST}"
_TICK: Final = 0.1
SECONDS_TO_END: Final = 10.0
"""Seconds that JupyterLab may take to end before it is killed."""
_LAST_LINES: Final = 15
# This JupyterLab extension asks to fetch news in spite of the server's settings.
_NEWS: Final = "@jupyterlab/apputils-extension:announcements"


def run_demo(folder: Path, *, port: int, browser: bool) -> int:
    """Copy the lessons that a folder lacks, and run JupyterLab there until it is ended.

    Args:
        folder: the notebooks' folder; made if it does not exist.
        port: JupyterLab's port; 0 takes any free one.
        browser: whether to open a browser.

    Returns:
        The exit code.

    Raises:
        ChatError: JupyterLab or the lessons are not installed.
        InputError: the folder cannot be written to, or the port is taken.
    """
    if find_spec("jupyterlab") is None:
        raise ChatError("JupyterLab is not installed here.", hint="pip install 'chatmagic[lab]'")
    folder = folder.absolute()
    copied, kept = copy_lessons(find_lessons(lesson_places()), folder)
    print(f"Lessons in {folder}")
    for state, names in (("copied", copied), ("kept as they are", kept)):
        if names:
            print(f"  {state}: {', '.join(names)}")
    try:
        with socket.create_server((_HOST, port)) as listener:
            port = listener.getsockname()[1]
    except OSError as error:
        raise InputError(
            f"JupyterLab cannot listen on port {port} ({error.strerror}).",
            hint="Leave --port out for any that is free.",
        ) from None
    token = secrets.token_hex(24)
    command = lab_command(folder, port=port, browser=browser)
    address = f"http://{_HOST}:{port}/{_PATH}?token={token}"
    message = f"JupyterLab is starting. In a moment the demo is at\n  {address}\nCtrl-C ends it."
    print(message, flush=True)
    with tempfile.TemporaryDirectory(prefix="chatmagic-", ignore_cleanup_errors=True) as name:
        return _run_lab(command, Path(name), token)


def lesson_places() -> list[Path]:
    """Return the folders where the lessons may be, the preferred one first.

    The lessons beside the package's source come first: an editable install has an old copy.
    """
    installed = Path("share", "chatmagic", "notebooks")
    bases = (sys.prefix, sysconfig.get_path("data"), site.getuserbase())
    return [
        Path(__file__).resolve().parent.parent / "notebooks",
        *(Path(base) / installed for base in bases),
    ]


def find_lessons(places: Iterable[Path]) -> Path:
    """Return the first folder that holds the first lesson.

    Args:
        places: folders to search, in order.

    Raises:
        ChatError: none holds it.
    """
    for place in places:
        if (place / FIRST).is_file():
            return place
    raise ChatError(
        f"The lesson notebooks are not installed: there is no {FIRST}.",
        hint="pip install --force-reinstall chatmagic",
    )


def copy_lessons(lessons: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Copy the files that a folder lacks, with their subfolders; none is overwritten.

    Args:
        lessons: the folder of the lessons. Hidden files are left out, and so are the reference
            pages, which only a checkout has.
        folder: the target; made if it does not exist.

    Returns:
        The names of the files that were copied, and of those that existed already.

    Raises:
        InputError: the folder cannot be written to.
    """
    copied: list[str] = []
    kept: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(lessons.rglob("*")):
            name = source.relative_to(lessons)
            is_hidden = any(part.startswith(".") for part in name.parts)
            if not source.is_file() or is_hidden or name.parts[0] == REFERENCE:
                continue
            target = folder / name
            if target.exists():
                kept.append(name.as_posix())
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_content(target, source.read_bytes())  # whole or not at all
            copied.append(name.as_posix())
    except OSError as error:
        raise InputError(
            f"The lessons cannot be copied to {folder} ({error.strerror or error}).",
            hint="Name another folder: chatmagic demo FOLDER",
        ) from None
    return copied, kept


def lab_command(folder: Path, *, port: int, browser: bool) -> list[str]:
    """Return the command that starts JupyterLab.

    Args:
        folder: the notebooks' folder, absolute.
        port: JupyterLab's port.
        browser: whether JupyterLab opens a browser.
    """
    return [
        sys.executable,
        "-P",  # a notebook's neighbour called json.py is no module of JupyterLab's
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--ServerApp.ip={_HOST}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--ServerApp.base_url=/",
        "--ServerApp.certfile=",
        f"--ServerApp.open_browser={browser}",
        "--ServerApp.allow_root=True",  # as in many containers; only this machine gets in
        "--PasswordIdentityProvider.hashed_password=",  # so that the address is enough
        f"--LabApp.default_url=/{_PATH}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        # An editable install has a copy of it, which is stale after an edit.
        f"--LabApp.extra_labextensions_path={LABEXTENSIONS}",
        "--log-level=WARN",
    ]


def lab_environment(environment: Mapping[str, str], private: Path) -> dict[str, str]:
    """Return the environment of JupyterLab and its kernels.

    It has no configuration of chatmagic, hence no real key; each kernel starts an emulator.

    Args:
        environment: the environment of this process.
        private: a temporary folder for JupyterLab's configuration and state.
    """
    own = {name: text for name, text in environment.items() if not name.startswith("CHATMAGIC_")}
    settings = [str(private / "config"), environment.get("JUPYTER_CONFIG_PATH", "")]
    return own | {
        "CHATMAGIC_BASE_URL": "emulator",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, settings)),
        "JUPYTER_RUNTIME_DIR": str(private / "runtime"),
        "JUPYTERLAB_WORKSPACES_DIR": str(private / "workspaces"),
    }


def _run_lab(command: list[str], private: Path, token: str) -> int:
    """Run JupyterLab until it ends or a signal asks to end, and return the exit code."""
    # In files, which precede a user's own. Arguments would be visible to all users of the machine.
    for name, content in {
        "labconfig/page_config.json": {"disabledExtensions": {_NEWS: True}},
        "jupyter_server_config.json": {"IdentityProvider": {"token": token}},
    }.items():
        file = private / "config" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_content(file, json.dumps(content).encode(), PRIVATE)
    caught = list[int]()
    with tempfile.TemporaryFile() as log:
        with on_signals(lambda number, _: caught.append(number)):
            # In its own process session JupyterLab gets no Ctrl-C, and ends when terminated here.
            server = subprocess.Popen(  # noqa: S603 - no shell, and no word of a user
                command,
                env=lab_environment(os.environ, private),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            while server.poll() is None and not caught:
                time.sleep(_TICK)
            ended = server.poll()
            end(server, caught)
        if not ended:
            return 0
        log.seek(0)
        last = log.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
    print(*last, sep="\n", end="\n" if last else "", file=sys.stderr)
    raise ChatError(f"JupyterLab ended with exit code {ended}.")


def end(
    server: subprocess.Popen[bytes], caught: list[int], seconds: float = SECONDS_TO_END
) -> None:
    """End the server, which ends its kernels; a second signal kills it at once.

    Args:
        server: the server's process.
        caught: the signals that ask to end, as they arrive.
        seconds: time for the server to end by itself.
    """
    until = time.monotonic() + seconds
    signals = len(caught)
    server.terminate()
    while server.poll() is None and time.monotonic() < until and len(caught) == signals:
        time.sleep(_TICK)
    # Kernels end by themselves when their server is gone.
    server.kill()
    server.wait()


@contextmanager
def on_signals(handler: Handler) -> Iterator[None]:
    """Return a context in which ``handler`` handles the signals that ask to end.

    Args:
        handler: called with the signal's number and frame.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    # Under nohup a closing terminal is ignored.
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
