"""The project keeps to its own rules: its layers, its README, its style, its coverage."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest
from project import ROOT

from chatmagic.conversation import options

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = ROOT / "chatmagic"
README = (ROOT / "README.md").read_text(encoding="utf-8")
IMPORTED_AS = {"markdown-it-py": "markdown_it", "ipython": "IPython"}
ROW = re.compile(r"^\| (\d+) \| `(\w+)` \| .* \| (.*?) ?\|$", re.MULTILINE)
MODULES = {name: (int(level), packages) for level, name, packages in ROW.findall(README)}
PURE = (
    "autolinks",
    "formulas",
    "links",
    "directions",
    "markdown",
    "tex",
    "secret",
    "digests",
    "seal",
    "scalars",
    "jsontext",
    "accounting",
    "wire",
    "errorbody",
    "errors",
    "record",
    "plain",
    "address",
    "extras",
    "sse",
    "credits",
    "ratelimit",
    "arrival",
    "prompt",
    "safe",
    "options",
    "meant",
    "practice",
    "page",
    "turn",
    "places",
    "changes",
    "conversation",
    "prefixes",
    "tape",
    "script",
    "merging",
    "reel",
    "nearest",
    "archive",
)
TEXTS = (ROOT / "README.md", ROOT / "pyproject.toml", *sorted(ROOT.glob("binder/*")))
"""What no tool reads as code, so that none would stumble over it."""

TOOLS = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
}


def imports(path: Path) -> set[str]:
    """Give every module that a file imports, lazily and for typing too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if node.module == "chatmagic" else {str(node.module)}
    return found


def test_the_table_of_modules_lists_the_files() -> None:
    """Each module has its row, and each row its module."""
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert set(MODULES) == files


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_from_below_and_what_it_lists(name: str) -> None:
    """The layers hold, for lazy imports and those for typing too."""
    level, packages = MODULES[name]
    allowed = {IMPORTED_AS.get(word, word) for word in packages.split(", ") if word}
    for module in imports(PACKAGE / f"{name}.py"):
        top, _, rest = module.partition(".")
        if top == "chatmagic":
            inner = rest.split(".")[0]
            if inner and inner != "__version__":
                assert MODULES[inner][0] < level, f"{name} ({level}) imports {inner}"
        elif top not in sys.stdlib_module_names:
            assert top in allowed, f"{name} imports {top}"


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_touches_nothing(name: str) -> None:
    """No clock, disk, environment, network or thread: only what they are given."""
    touching = {"os", "pathlib", "socket", "subprocess", "threading", "time", "tempfile", "io"}
    assert not imports(PACKAGE / f"{name}.py") & touching


def test_the_readmes_options_are_the_parsers() -> None:
    """The table in the README is the one that the parser is made from."""
    table = README.split("<!-- options -->")[1].split("<!-- /options -->")[0].strip()
    assert table == options.markdown_table()


def test_the_top_level_holds_what_it_should() -> None:
    """Nothing lies about, and no dependency is listed that nothing imports."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = {name.split("/")[0] for name in listed.stdout.splitlines()}
    visible = {name for name in names if not name.startswith(".")}
    assert visible <= {"pyproject.toml", "README.md", "chatmagic", "notebooks", "tests", "binder"}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_merge_is_left_open(path: Path) -> None:
    """No line is one of those that git writes between two versions of a text."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if line.startswith(("<" * 7 + " ", ">" * 7 + " "))]


def test_every_runtime_package_is_used_or_promised() -> None:
    """What is required is imported somewhere; ipywidgets is the panel's, promised to users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {re.split(r"[<>=]", item)[0] for item in project["dependencies"]}
    used = {module.split(".")[0] for path in PACKAGE.glob("*.py") for module in imports(path)}
    used |= {"ipywidgets"}
    assert {IMPORTED_AS.get(name, name) for name in required} <= used


@pytest.mark.parametrize("tool", TOOLS)
def test_the_style_holds(tool: str) -> None:
    """Lint, format and types are clean."""
    done = subprocess.run(
        [sys.executable, "-m", *TOOLS[tool]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pure_modules_are_covered_to_the_last_branch(tmp_path: Path) -> None:
    """Their own tests reach every line and every branch of them."""
    data = tmp_path / "coverage"
    files = ",".join(str(PACKAGE / f"{name}.py") for name in PURE)
    tests = [str(ROOT / "tests" / f"test_{name}.py") for name in PURE]
    command = [sys.executable, "-m", "coverage"]
    environment = {**os.environ, "COVERAGE_FILE": str(data), "COVERAGE_CORE": "ctrace"}
    run = ["run", "--branch", f"--include={files}", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tests += ["--hypothesis-profile=few", "-k", "not take_no_more_than_a_moment"]
    ran = subprocess.run(
        [*command, *run, *tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = subprocess.run(
        [*command, "report", "--show-missing", "--fail-under=100"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.returncode == 0, report.stdout + report.stderr
