"""``binder/`` gives JupyterLab on the lessons: its steps are done here, without Docker.

What the requirements take with them, and what builds the package, is linked from this
environment where it is of their ranges, so that pip has no more to install than the package.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.request import ProxyHandler, build_opener

import pytest
from commands import SPARED
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from project import PYPROJECT, ROOT, files

BINDER: Final = ROOT / "binder"
NOTEBOOKS: Final = ROOT / "notebooks"
FIRST: Final = "notebooks/01-quickstart.ipynb"
SECONDS_TO_START: Final = 120.0
DEPTH: Final = 4
"""A package's data are linked from ``share/jupyter/labextensions/name`` on, not file by file."""
NO_INDEX: Final = re.compile(r"No matching distribution|Could not find a version|ConnectionError")

if sys.platform == "win32":
    pytest.skip("Binder's steps are for Linux", allow_module_level=True)


def lacking(what: str) -> None:
    """Skip what cannot be done here, but not where `CI` is set."""
    assert not os.environ.get("CI"), what
    pytest.skip(what)


def test_repo2docker_accepts_it() -> None:
    """It makes a Dockerfile of it, with each of our steps."""
    if find_spec("repo2docker") is None:
        lacking("repo2docker is not installed")
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    for step in (
        'pip install --no-cache-dir -r "binder/requirements.txt"',
        "RUN ./binder/postBuild",
        'ENV R2D_ENTRYPOINT="${REPO_DIR}/binder/start"',
    ):
        assert step in said


def test_python_is_stated_and_packages_have_ranges() -> None:
    """What starts there in a year is what was meant."""
    [name, version] = (BINDER / "runtime.txt").read_text("utf-8").strip().split("-")
    project = PYPROJECT["project"]
    assert name == "python"
    assert version in SpecifierSet(project["requires-python"])
    lines = (BINDER / "requirements.txt").read_text("utf-8").splitlines()
    words = {line for line in lines if not line.startswith("#")}
    assert {"."} < words
    for word in words - {"."}:
        assert {each.operator for each in Requirement(word).specifier} == {">=", "<"}


def required() -> list[Distribution] | None:
    """Give what the requirements and the build take; ``None`` where one is not here as wanted."""
    lines = (BINDER / "requirements.txt").read_text("utf-8").splitlines()
    words = [line for line in lines if not line.startswith(("#", "."))]
    words += [*PYPROJECT["project"]["dependencies"], *PYPROJECT["build-system"]["requires"]]
    left = [Requirement(word) for word in words]
    found: dict[str, Distribution] = {}
    known: set[str] = set()
    while left:
        wanted = left.pop()
        if str(wanted) in known:
            continue
        known.add(str(wanted))
        try:
            found[wanted.name] = here = distribution(wanted.name)
        except PackageNotFoundError:
            return None
        if not wanted.specifier.contains(here.version, prereleases=True):
            return None
        for each in map(Requirement, here.requires or []):
            extras = ("", *wanted.extras)
            if each.marker is None or any(each.marker.evaluate({"extra": it}) for it in extras):
                left.append(each)
    return list(found.values())


def library(environment: Path) -> Path:
    """Give the folder of an environment's packages."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))


def link(packages: list[Distribution], environment: Path, python: Path) -> None:
    """Link what this environment has installed of packages into another, with its commands."""
    below = len(library(environment).relative_to(environment).parts)
    for package in packages:
        tops = {
            file.parts[: below + DEPTH] if file.parts[0] == ".." else file.parts[:1]
            for file in package.files or []
            if file.parts[below : below + 1] != ("bin",)
        }
        for path in (Path(*parts) for parts in tops):
            there = library(environment) / path
            if not os.path.lexists(there):
                there.parent.mkdir(parents=True, exist_ok=True)
                there.symlink_to(Path(str(package.locate_file(path))).resolve())
        for command in package.entry_points.select(group="console_scripts"):
            script = python.with_name(command.name)
            script.write_text(
                f"#!{python}\nimport sys\nimport {command.module}\n"
                f"sys.exit({command.module}.{command.attr}())\n"
            )
            script.chmod(0o755)


def run(*words: str, cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command, and give what it said."""
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Do in a bare environment what the Dockerfile would; give the repository and variables."""
    folder = tmp_path_factory.mktemp("binder")
    repository, bare = folder / "repository", folder / "bare"
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CHATMAGIC_", "JUPYTER", "PYTHON", "VIRTUAL_ENV"))
    }
    listed = run("git", "ls-files", cwd=ROOT, environment=own)
    for name in listed.stdout.splitlines():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, repository / name)
    venv = (sys.executable, "-m", "venv", "--without-pip", str(bare))
    made = run(*venv, cwd=folder, environment=own)
    assert made.returncode == 0, made.stderr
    (library(bare) / "sitecustomize.py").write_text(SPARED, encoding="utf-8")
    # Most of what is installed is never imported here, so nothing is compiled ahead.
    pip = (sys.executable, "-m", "pip", "--python", str(bare / "bin" / "python"))
    install = [*pip, "install", "--retries", "1", "--no-compile"]
    packages = required()
    if packages is not None:
        link(packages, bare, bare / "bin" / "python")
        install += ["--no-build-isolation", "--no-deps"]
    done = run(*install, "-r", "binder/requirements.txt", cwd=repository, environment=own)
    if done.returncode and NO_INDEX.search(done.stdout + done.stderr):
        lacking("there is no package index")
    assert done.returncode == 0, done.stdout + done.stderr
    home = folder / "home"
    home.mkdir()
    path = os.pathsep.join([str(bare / "bin"), own.get("PATH", "")])
    own |= {"PATH": path, "HOME": str(home), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    built = run("binder/postBuild", cwd=repository, environment=own)
    assert built.returncode == 0, built.stdout + built.stderr
    return repository, own


def test_it_opens_the_first_lesson(image: tuple[Path, dict[str, str]]) -> None:
    """JupyterLab starts, the first page is the first lesson, and what it holds is trusted."""
    repository, environment = image
    words = ["jupyter", "lab", "--ip=127.0.0.1", "--port=0", "--no-browser", "--allow-root"]
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


def test_the_lessons_run_there_without_a_key(image: tuple[Path, dict[str, str]]) -> None:
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
    lesson = "notebooks/05-reproduce.ipynb"
    done = run(start, "jupyter", "execute", lesson, cwd=repository, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_installed_lessons_have_their_cassettes(image: tuple[Path, dict[str, str]]) -> None:
    """What the demo finds where the package is installed is all that there is."""
    repository, environment = image
    say = "from chatmagic import demo\nprint(demo.find_lessons(demo.lesson_places()[1:]))"
    said = run("python", "-P", "-c", say, cwd=repository.parent, environment=environment)
    installed = Path(said.stdout.strip())
    assert repository not in installed.parents
    shipped = [*files("*.ipynb", NOTEBOOKS), *files("cassettes/*.jsonl", NOTEBOOKS)]
    assert {path.relative_to(installed) for path in files("**/*.*", installed)} == {
        path.relative_to(NOTEBOOKS) for path in shipped
    }
