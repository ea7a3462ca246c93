"""``binder/`` gives JupyterLab on the lessons: its steps are done here, without Docker.

They are done in an environment that sees what this one has installed, in place of what pip would
install; the versions here are of the ranges that are required.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, Final
from urllib.request import ProxyHandler, build_opener

import pytest
from commands import borrowing_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from project import PYPROJECT, ROOT

BINDER: Final = ROOT / "binder"
NOTEBOOKS: Final = ROOT / "notebooks"
FIRST: Final = "notebooks/01-quickstart.ipynb"
SECONDS_TO_START: Final = 120.0

if sys.platform == "win32":
    pytest.skip("Binder's steps are for Linux", allow_module_level=True)


def test_python_is_stated_and_packages_have_ranges() -> None:
    """What starts there in a year is what was meant."""
    [name, version] = (BINDER / "runtime.txt").read_text("utf-8").strip().split("-")
    project = PYPROJECT["project"]
    assert name == "python"
    assert version in SpecifierSet(project["requires-python"])
    lines = (BINDER / "requirements.txt").read_text("utf-8").splitlines()
    words = {line for line in lines if not line.startswith("#")}
    assert {"."} < words
    for required in map(Requirement, words - {"."}):
        assert {each.operator for each in required.specifier} == {">=", "<"}
        assert required.specifier.contains(version_of(required.name))


def test_a_dev_container_takes_the_same_steps() -> None:
    """Its lessons are set up and started by the files of ``binder/``."""
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert container["postCreateCommand"] == "pip install -e '.[lab]' && binder/postBuild"
    assert container["postAttachCommand"].startswith("binder/start jupyter lab ")
    _, version = container["image"].split("python:")
    assert version in SpecifierSet(PYPROJECT["project"]["requires-python"])


def run(*words: str, cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command, and give what it said."""
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Do in an environment what the Dockerfile would; give the repository and variables."""
    folder = tmp_path_factory.mktemp("binder")
    repository, home = folder / "repository", folder / "home"
    for name in ("binder", "notebooks"):
        shutil.copytree(ROOT / name, repository / name)
    home.mkdir()
    python = borrowing_environment(folder / "bare")
    python.parents[1].joinpath("share").symlink_to(Path(sys.prefix, "share"))
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CHATMAGIC_", "JUPYTER", "PYTHON", "VIRTUAL_ENV"))
    }
    path = os.pathsep.join(map(str, (python.parent, Path(sys.executable).parent, own["PATH"])))
    own |= {"PATH": path, "HOME": str(home), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    built = run("binder/postBuild", cwd=repository, environment=own)
    assert built.returncode == 0, built.stdout + built.stderr
    return repository, own


@pytest.mark.release
def test_the_environment_stays_as_it_is(image: tuple[Path, dict[str, str]]) -> None:
    """What is set up stands in the home folder: a container's Python may belong to root."""
    _, environment = image
    bare = Path(environment["PATH"].split(os.pathsep)[0]).parent
    assert (Path(environment["HOME"]) / ".jupyter" / "jupyter_server_config.json").is_file()
    assert not (bare / "etc").exists()


@pytest.mark.release
def test_it_opens_the_first_lesson(image: tuple[Path, dict[str, str]]) -> None:
    """JupyterLab starts, the first page is the first lesson, and what it holds is trusted."""
    repository, environment = image
    words = [
        "python",
        "-m",
        "jupyterlab",
        "--ip=127.0.0.1",
        "--port=0",
        "--no-browser",
        "--allow-root",
    ]
    said = repository / "said"
    with said.open("wb") as out:
        server = subprocess.Popen(
            [str(repository / "binder" / "start"), *words],
            cwd=repository,
            env=environment,
            stdout=out,
            stderr=out,
        )
    try:
        notes = Path(environment["JUPYTER_RUNTIME_DIR"])
        until = time.monotonic() + SECONDS_TO_START
        page = None
        while page is None:
            assert server.poll() is None, said.read_text("utf-8")
            assert time.monotonic() < until, said.read_text("utf-8")
            time.sleep(0.05)
            page = next((opened(note) for note in notes.glob("jpserver-*.json")), None)
        address, lesson = page
        assert address.endswith(f"/lab/tree/{FIRST}"), address
        code = [cell for cell in lesson["cells"] if cell["cell_type"] == "code"]
        assert all(cell["metadata"]["trusted"] for cell in code)
    finally:
        server.terminate()
        server.wait(60)


def opened(note: Path) -> tuple[str, Any] | None:
    """Open a server's first page; give where it leads and the first lesson, once it answers."""
    try:
        known = json.loads(note.read_text("utf-8"))
        opener = build_opener(ProxyHandler({}))
        opener.addheaders = [("Authorization", f"token {known['token']}")]
        with opener.open(known["url"], timeout=60) as page:
            address = page.geturl()
        with opener.open(f"{known['url']}api/contents/{FIRST}", timeout=60) as answer:
            return address, json.load(answer)["content"]
    except (OSError, ValueError):
        return None


@pytest.mark.release  # the environment alone takes seconds
def test_a_question_is_asked_there_without_a_key(image: tuple[Path, dict[str, str]]) -> None:
    """With nothing but what was installed; a fresh notebook asks the emulator at once."""
    repository, environment = image
    fresh = repository / "fresh.py"
    fresh.write_text(
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_line_magic('load_ext', 'chatmagic')\n"
        "print(shell.run_line_magic('chat', 'echo:good morning').text)\n",
        encoding="utf-8",
    )
    start = str(repository / "binder" / "start")
    said = run(start, "python", str(fresh), cwd=repository, environment=environment)
    assert said.stdout.endswith("good morning\n"), said.stdout + said.stderr
