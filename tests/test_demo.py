"""The demo: what it copies, what it starts and ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from commands import SPARED, asked, command, printed_address, until, with_signals

from chatmagic import cli, demo
from chatmagic.errors import ChatError

RUN_WITH_LESSONS = """
import sys
from pathlib import Path
from chatmagic import cli, demo
demo.lesson_places = lambda: [Path(sys.argv[1])]
sys.exit(cli.main(sys.argv[2:]))
"""


TELL = """
import json, os
with open({file!r} + ".new", "w") as file:
    json.dump({{"pid": os.getpid(), "server": os.getppid(), "env": dict(os.environ)}}, file)
os.replace({file!r} + ".new", {file!r})
"""


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    """Make a folder of lessons, with a cassette and a hidden file."""
    folder = tmp_path / "lessons"
    (folder / "cassettes").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "01-quickstart.ipynb").write_text(json.dumps(notebook))
    (folder / "02-more.ipynb").write_text("the lesson's\n")
    (folder / "cassettes" / "02.json").write_text("{}\n")
    (folder / ".hidden" / "03.ipynb").write_text("{}\n")
    return folder


@pytest.fixture
def lab() -> None:
    """Ask for JupyterLab; the project's own checks must have it."""
    if find_spec("jupyterlab") is None:
        if os.environ.get("CI"):
            pytest.fail("JupyterLab is not installed")
        pytest.skip("JupyterLab is not installed")


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch, lessons: Path) -> Callable[..., None]:
    """Let a small program stand for JupyterLab."""

    def pretend(code: str, *words: str) -> None:
        command = [sys.executable, "-c", code, *words]
        monkeypatch.setattr(demo, "lab_command", lambda *_, **__: command)

    monkeypatch.setattr(demo, "find_spec", lambda _: True)
    monkeypatch.setattr(demo, "lesson_places", lambda: [lessons])
    return pretend


def answered(address: str, path: str) -> tuple[int, bytes] | None:
    """Give what a server answers; ``None`` while it does not listen."""
    try:
        return asked(address, "GET", path)
    except ConnectionError:
        return None


def is_gone(pid: int) -> bool:
    """Tell whether there is no such process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_what_is_there_is_never_overwritten(lessons: Path, tmp_path: Path) -> None:
    """A new folder gets all but what is hidden; later only what is missing is copied."""
    folder = tmp_path / "new" / "mine"
    names = ["01-quickstart.ipynb", "02-more.ipynb", "cassettes/02.json"]
    assert demo.copy_lessons(lessons, folder) == (names, [])
    assert (folder / "cassettes" / "02.json").read_text() == "{}\n"
    assert not (folder / ".hidden").exists()
    (folder / "02-more.ipynb").write_text("mine\n")
    (folder / "01-quickstart.ipynb").unlink()
    assert demo.copy_lessons(lessons, folder) == (names[:1], names[1:])
    assert (folder / "02-more.ipynb").read_text() == "mine\n"
    # Copied onto themselves, lessons stay whole.
    assert demo.copy_lessons(lessons, lessons) == ([], names)
    assert (lessons / "02-more.ipynb").read_text() == "the lesson's\n"


@pytest.mark.skipif(os.name != "posix", reason="no such links there")
def test_a_lesson_is_not_written_through_a_link(lessons: Path, tmp_path: Path) -> None:
    """A link to nothing becomes the lesson; one to a file stays, as a file of the user's does."""
    folder, profile = tmp_path / "cloned", tmp_path / "profile"
    folder.mkdir()
    profile.write_text("mine")
    (folder / "01-quickstart.ipynb").symlink_to(tmp_path / "none")
    (folder / "02-more.ipynb").symlink_to(profile)
    (folder / ".01-quickstart.ipynb.new").symlink_to(profile)
    copied, kept = demo.copy_lessons(lessons, folder)
    assert (copied, kept) == (["01-quickstart.ipynb", "cassettes/02.json"], ["02-more.ipynb"])
    assert not (tmp_path / "none").exists()
    assert not (folder / "01-quickstart.ipynb").is_symlink()
    assert profile.read_text() == "mine"


def test_a_folder_that_cannot_be_written_to_is_one_line(
    pretended: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file in the way is said in one line, and nothing is started."""
    pretended("raise SystemExit(9)")
    folder = tmp_path / "mine"
    folder.touch()
    assert cli.main(["demo", str(folder)]) == 2
    said = capsys.readouterr().err
    assert str(folder) in said
    assert "chatmagic demo FOLDER" in said
    assert said.count("\n") == 1


def test_the_first_place_with_lessons_counts(lessons: Path, tmp_path: Path) -> None:
    """Somebody else's folder called notebooks is passed over."""
    other = tmp_path / "notebooks"
    other.mkdir()
    assert demo.find_lessons([tmp_path / "none", other, lessons]) == lessons
    with pytest.raises(ChatError, match="01-quickstart"):
        demo.find_lessons([other])


def test_a_missing_jupyterlab_is_one_line(
    pretended: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without JupyterLab the line says what to install, and nothing is copied."""
    pretended("")
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    assert cli.main(["demo", str(tmp_path / "mine")]) == 1
    said = capsys.readouterr().err
    assert "pip install 'chatmagic[lab]'" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "mine").exists()


def test_no_key_comes_into_the_demo(tmp_path: Path) -> None:
    """What configures chatmagic stays outside; the rest of the environment comes along."""
    given = {"PATH": "/bin", "CHATMAGIC_API_KEY": "real", "JUPYTER_CONFIG_PATH": "/etc/mine"}
    found = demo.lab_environment(given | {"CHATMAGIC_API_KEY_FILE": "/key"}, tmp_path)
    ours = {name: text for name, text in found.items() if name.startswith("CHATMAGIC_")}
    assert (ours, found["PATH"]) == ({"CHATMAGIC_BASE_URL": "emulator"}, "/bin")
    assert found["JUPYTER_CONFIG_PATH"].split(os.pathsep) == [str(tmp_path / "config"), "/etc/mine"]


def test_a_port_in_use_is_one_line(
    pretended: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A port that somebody else has is said before anything is started."""
    pretended("raise SystemExit(9)")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert cli.main(["demo", str(tmp_path / "mine"), "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert f"port {port}" in said
    assert said.count("\n") == 1


def test_a_jupyterlab_that_fails_has_the_word(
    pretended: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it said last is shown, and the exit code is 1; shut down from its menu it ends well."""
    pretended("import sys; print('no luck'); sys.exit(3)")
    assert cli.main(["demo", str(tmp_path / "mine")]) == 1
    said = capsys.readouterr()
    assert said.err == "no luck\nchatmagic: JupyterLab ended with exit code 3.\n"
    assert "copied: 01-quickstart.ipynb, 02-more.ipynb, cassettes/02.json" in said.out
    assert "kept" not in said.out
    assert "/lab/tree/01-quickstart.ipynb?token=" in said.out
    pretended("raise SystemExit(0)")
    assert cli.main(["demo", str(tmp_path / "mine")]) == 0


@with_signals
@pytest.mark.parametrize("patience", [0.1, 600.0])
def test_a_server_that_will_not_end_is_killed(patience: float) -> None:
    """It is killed when its time is over, or at once when asked to end a second time."""
    caught: list[int] = []
    with (
        subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as server,
        demo.on_signals(lambda number, _: caught.append(number)),
    ):
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        caught.append(signal.SIGINT)
        if patience > 1:
            signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGINT))
            signal.setitimer(signal.ITIMER_REAL, 0.2)
        start = time.monotonic()
        demo.end(server, caught, patience)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        assert time.monotonic() - start < 300
        assert server.returncode == -signal.SIGKILL


@pytest.mark.release  # what it starts is tested above, and JupyterLab in tests/browser
@with_signals
@pytest.mark.usefixtures("lab")
def test_the_demo_starts_and_ends_everything(
    lessons: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real thing: the address opens, a kernel has no key, and Ctrl-C leaves nothing."""
    (tmp_path / "sitecustomize.py").write_text(SPARED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    told = tmp_path / "told.json"
    (startup / "00-tell.py").write_text(TELL.format(file=str(told)))
    private = tmp_path / "temporary"
    private.mkdir()
    environment = {
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
        "TMPDIR": str(private),
        "CHATMAGIC_API_KEY": "a-real-key",
    }
    said = tmp_path / "said"
    words = ["-c", RUN_WITH_LESSONS, str(lessons), "demo", str(tmp_path / "mine"), "--no-browser"]
    with command(said, *words, environment=environment) as demo:
        address = until(printed_address(said))
        opened, query = urlsplit(address).path, urlsplit(address).query
        assert opened == "/lab/tree/01-quickstart.ipynb"
        status, page = until(lambda: answered(address, f"{opened}?{query}"))
        assert status == 200
        assert b"@jupyterlab/apputils-extension:announcements" in page
        assert asked(address, "GET", "/api/kernels")[0] == 403
        key = {"Authorization": f"token {query.removeprefix('token=')}"}
        status, _ = asked(address, "POST", "/api/kernels", body="{}", headers=key)
        assert status == 201
        kernel = json.loads(until(lambda: told.read_text() if told.exists() else None))
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 0
        until(lambda: is_gone(kernel["server"]) and is_gone(kernel["pid"]))
    ours = {name: text for name, text in kernel["env"].items() if name.startswith("CHATMAGIC_")}
    assert ours == {"CHATMAGIC_BASE_URL": "emulator"}
    assert said.read_text().endswith("Ctrl-C ends it.\n")
    assert list(private.iterdir()) == []
