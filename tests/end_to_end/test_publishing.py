"""Ready to publish: the wheel that is built, the page that an index makes of it, conda's recipe."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_string
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from libraries import library
from project import ROOT, files

import chatmagic

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = ROOT / ".github" / "workflows"
README = (ROOT / "README.md").read_text("utf-8")
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Build the wheel, without an environment of its own."""
    build_wheel = library("hatchling.build").build_wheel
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = build_wheel(str(folder))
    with zipfile.ZipFile(folder / name) as opened:
        yield opened


def test_an_environment_of_the_build_alone_is_enough() -> None:
    """Beside what Python brings, the hook imports what the build requires, and nothing else."""
    tree = ast.parse((ROOT / ".github" / "hatch_build.py").read_text("utf-8"))
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} - sys.stdlib_module_names == {"hatchling"}


def test_the_wheel_has_what_it_needs(wheel: zipfile.ZipFile) -> None:
    """The package's files, the lessons with their cassettes, the page's half, and nothing else."""
    top = f"chatmagic-{chatmagic.__version__}"
    names = [path.relative_to(ROOT).as_posix() for path in files("chatmagic/**/*")]
    own = {name for name in names if "." in name and "__pycache__" not in name}
    notebooks = [*files("notebooks/*.ipynb"), *files("notebooks/cassettes/*.jsonl")]
    notebooks += files("notebooks/reviews/*.*")
    share = f"{top}.data/data/share/chatmagic"
    lessons = {f"{share}/{path.relative_to(ROOT).as_posix()}" for path in notebooks}
    page = files("**/*.*", ROOT / "chatmagic" / "jupyter" / "labextensions")
    half = {path.relative_to(ROOT / "chatmagic" / "jupyter").as_posix() for path in page}
    lessons |= {f"{top}.data/data/share/jupyter/{name}" for name in half}
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert shipped == own | lessons | {"chatmagic/LICENSE"}


def test_an_index_shows_no_link_into_nothing(wheel: zipfile.ZipFile) -> None:
    """Its page has no files beside it; what needs a checkout is not there, or done otherwise."""
    (name,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    metadata = message_from_string(wheel.read(name).decode())
    shown = metadata.get_payload()
    assert isinstance(shown, str)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert [link for link in LINK.findall(shown) if "://" not in link] == []
    assert "[" not in "".join(re.findall(r"^\| \[.*$", shown, re.MULTILINE))
    assert "pip install 'chatmagic[lab]' && .venv/bin/chatmagic demo" in shown
    assert "pip install -e" not in shown
    assert "I want to … leads to every page" in shown


def test_links_lead_to_the_repository_where_there_is_one() -> None:
    """At the tag of the version, and images to the files themselves."""
    library("hatchling")
    spec = spec_from_file_location("hatch_build", ROOT / ".github" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    shown = module.for_index(README, "https://code.example/us/chatmagic", "v1.2.3")
    at = "https://code.example/us/chatmagic/{}/v1.2.3/{}"
    expected = [
        link if "://" in link else at.format("raw" if link.endswith(".gif") else "blob", link)
        for link in LINK.findall(README)
    ]
    assert LINK.findall(shown) == expected
    assert sum("/raw/" in link for link in expected) == 1


def test_condas_recipe_is_that_of_the_package() -> None:
    """The version, the requirements and the command are the same."""
    text = (ROOT / ".github" / "conda" / "recipe.yaml").read_text("utf-8")
    recipe = library("yaml").safe_load(text)
    assert recipe["context"]["version"] == chatmagic.__version__
    assert recipe["about"]["summary"] == PROJECT["description"]
    python, *others = recipe["requirements"]["run"]
    assert python.replace(" ", "") == f"python{PROJECT['requires-python']}"
    assert [other.replace(" ", "") for other in others] == PROJECT["dependencies"]
    commands = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands


def release_jobs() -> dict[str, list[dict[str, Any]]]:
    """Return the steps of each job of the workflow that publishes."""
    workflow = library("yaml").safe_load((WORKFLOWS / "release.yml").read_text("utf-8"))
    return {name: job["steps"] for name, job in workflow["jobs"].items()}


def commands_of(steps: list[dict[str, Any]]) -> str:
    """Return the commands of a job's steps."""
    return "\n".join(step.get("run", "") for step in steps)


def uses(steps: list[dict[str, Any]], action: str) -> dict[str, Any]:
    """Return what the step of an action is given."""
    (given,) = [step["with"] for step in steps if step.get("uses", "").startswith(f"{action}@")]
    return dict(given)


def test_what_was_tried_is_what_is_published() -> None:
    """One job builds; the jobs behind it take its files, and build nothing."""
    build, tried, publish, attach = release_jobs().values()
    assert "python -m build" in commands_of(build)
    name = uses(build, "actions/upload-artifact")["name"]
    for job, command in (
        (tried, "pip install release/dist/*.whl"),
        (publish, "twine upload release/dist/*"),
        (attach, "release/sbom/*"),
    ):
        assert uses(job, "actions/download-artifact") == {"name": name, "path": "release"}
        assert command in commands_of(job)
        assert "-m build" not in commands_of(job)


def test_it_is_published_only_when_it_was_tried_on_three_systems() -> None:
    """Where it is tried there is no checkout, and nothing else at first."""
    workflow = library("yaml").safe_load((WORKFLOWS / "release.yml").read_text("utf-8"))
    jobs = workflow["jobs"]
    assert jobs["publish"]["needs"] == ["build", "try"]
    assert jobs["try"]["strategy"]["matrix"]["os"] == ["ubuntu", "macos", "windows"]
    assert "checkout" not in str(jobs["try"])


def test_a_release_lists_what_it_brings_along() -> None:
    """Its SBOM is made of an environment with the wheel alone."""
    commands = commands_of(release_jobs()["build"])
    assert "bare/bin/pip install dist/*.whl\nmkdir sbom\ncyclonedx-py" in commands
    assert "sbom" in uses(release_jobs()["build"], "actions/upload-artifact")["path"].split()


def test_a_release_brings_its_recipe(tmp_path: Path) -> None:
    """It is that of the checkout, but for its source: the release's own archive."""
    folder = ROOT / ".github" / "conda"
    archive = tmp_path / "chatmagic-1.2.3.tar.gz"
    archive.write_bytes(b"source")
    made = subprocess.run(
        [sys.executable, folder / "of_sdist.py", archive, "https://code.example/v1.2.3"],
        capture_output=True,
        check=True,
    )
    load = library("yaml").safe_load
    recipe = load(made.stdout)
    assert recipe.pop("source") == {
        "url": "https://code.example/v1.2.3/chatmagic-1.2.3.tar.gz",
        "sha256": sha256(b"source").hexdigest(),
    }
    of_checkout = load((folder / "recipe.yaml").read_text("utf-8"))
    assert of_checkout.pop("source") == {"path": "../.."}
    assert recipe == of_checkout


def test_it_can_be_cited() -> None:
    """A citation and an archive's entry say what the package's own metadata say."""
    citation = library("yaml").safe_load((ROOT / ".github" / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == chatmagic.__version__
    entry = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    assert citation["authors"] == entry["creators"] == PROJECT["authors"]
    assert citation["title"] == entry["title"] == PROJECT["name"]
    assert citation["abstract"] == entry["description"] == PROJECT["description"]
    assert citation["keywords"] == entry["keywords"] == PROJECT["keywords"]
    assert citation["license"] == entry["license"] == PROJECT["license"]


def test_a_release_is_built_by_pinned_tools() -> None:
    """Each by its hash; and each action of each workflow by its commit."""
    jobs = release_jobs()
    del jobs["try"]  # as a user does it
    for steps in jobs.values():
        installs = re.findall(r"^python -m pip install .*$", commands_of(steps), re.MULTILINE)
        assert {line.split("install ")[1] for line in installs} <= {
            "--require-hashes -r .github/release-requirements.txt"
        }
    pinned = (ROOT / ".github" / "release-requirements.txt").read_text("utf-8")
    blocks = re.split(r"(?m)^(?=[a-z])", pinned)[1:]
    assert [block for block in blocks if "==" not in block or "--hash=sha256:" not in block] == []
    names = {block.split("==")[0] for block in blocks}
    asked = (ROOT / ".github" / "release-requirements.in").read_text("utf-8")
    assert set(re.findall(r"(?m)^[a-z-]+", asked)) <= names
    for path in WORKFLOWS.glob("*.yml"):
        actions = re.findall(r"uses: (\S+)", path.read_text("utf-8"))
        assert [action for action in actions if not re.search(r"@[0-9a-f]{40}$", action)] == []
