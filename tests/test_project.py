"""The project keeps to its own rules: its layers, its style, its coverage."""

from __future__ import annotations

import ast
import graphlib
import inspect
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path, PurePosixPath

import pytest
from cases import each_case
from project import PURE, PYPROJECT, ROOT, files, syntax_tree

import chatmagic

PACKAGE = ROOT / "chatmagic"
IMPORTED_AS = {"markdown-it-py": "markdown_it", "ipython": "IPython"}
TOP = frozenset(
    {
        "_cached",
        "_files",
        "_fork",
        "_initial_environ",
        "_json",
        "_json_reply",
        "_standard_output",
        "_log",
        "_started_emulators",
    }
    | {"_version"}
    | {"advice", "errors", "models", "other_tools", "safe_text"}
)
MIDDLE = ("client", "conversation", "render")
BELOW_SESSION = ("top", "protocol", "emulator", *MIDDLE, "archive", "cassette")
MAY_IMPORT = {
    "top": (),
    "protocol": ("top",),
    "emulator": ("top", "protocol"),
    **dict.fromkeys(MIDDLE, ("top", "protocol", "emulator")),
    "archive": ("top", "protocol", "emulator", *MIDDLE),
    "cassette": ("top", "protocol", "emulator", *MIDDLE, "archive"),
    "audit": BELOW_SESSION,
    "session": BELOW_SESSION,
    "study": (*BELOW_SESSION, "audit", "session"),
    "doctor": (*BELOW_SESSION, "session"),
    "jupyter": (*BELOW_SESSION, "audit", "session", "study", "doctor"),
    "shell": (*BELOW_SESSION, "audit", "session", "study", "doctor", "jupyter"),
    "cli": (*BELOW_SESSION, "audit", "session", "study", "doctor", "jupyter", "shell"),
    "pytest_plugin": (*BELOW_SESSION, "session"),
}
"""Which folders each folder imports from, besides itself."""
PACKAGES = {
    "client": {"platformdirs", "requests", "socks", "urllib3"},
    "render": {"markdown_it", "nh3", "pygments"},
    "archive": {"nbformat"},
    "session": {"jsonschema", "pydantic", "referencing"},
    "study": {"krippendorff", "matplotlib", "numpy", "pandas", "scipy", "statsmodels"},
    "doctor": {"platformdirs"},
    "jupyter": {"IPython", "anywidget", "comm", "ipywidgets", "traitlets"},
    "shell": {"platformdirs"},
    "pytest_plugin": {"pytest"},
}
"""The third-party packages of each folder."""
TEXTS = (
    ROOT / "README.md",
    ROOT / "pyproject.toml",
    *files("binder/*"),
    *files(".github/**/*.md"),
    *files(".github/**/*.y*ml"),
    *files("notebooks/reference/*.md"),
)
"""What no tool reads as code, so that none would stumble over it."""

STUMBLING = re.compile(
    r"(?i)\d \+ \d+ tokens|took about|in force\b|set aside|setting aside|no person watches"
    r"|whole interface|not used here|requires more credits|does? not know them|has loaded it"
    r"|NOT in order:|all in order\b|took back|told by the service|as the service told"
)
"""Words over which a stranger stumbles; each has a plain one in the glossary or in the house."""
WORDED = (
    ROOT / "README.md",
    *files("chatmagic/**/*.py"),
    *files("chatmagic/**/*.js"),
    *files(".github/**/*.md"),
    *files("notebooks/**/*.md"),
    *files("notebooks/*.ipynb"),
)
"""What users and contributors read: messages, help, pages, lessons with their outputs."""

ENDS = {"commands": "_command"}
"""What the names of a folder's test files end in."""

TOOLS = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    # To keep what it found takes a seventh of its time: only where somebody will use it.
    "mypy": ["mypy", *(() if (ROOT / ".mypy_cache").is_dir() else ("--cache-dir", os.devnull))],
}


def is_module(name: str) -> bool:
    """Tell whether a dotted name is a module or a folder of the package."""
    path = PACKAGE.parent / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


@cache
def imports(path: Path) -> set[str]:
    """Give every module that a file imports, lazily and for typing too; nobody changes the set."""
    found: set[str] = set()
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            files = {name for name in named if is_module(name)}
            found |= files | ({str(node.module)} if files != named else set())
    return found


def modules() -> list[str]:
    """Return the package's modules as paths without their ending, but for the face."""
    found = (path.relative_to(PACKAGE).with_suffix("") for path in files("**/*.py", PACKAGE))
    return sorted(name.as_posix() for name in found if str(name) not in {"__init__", "__main__"})


def folder_of(module: str) -> str:
    """Return the folder of a module, or of an import's dotted name within the package."""
    first = module.replace(".", "/").split("/")[0]
    return {"demo": "cli", "install": "cli"}.get(first, "top" if first in TOP else first)


def test_a_module_imports_from_below() -> None:
    """The direction of the house holds, for lazy imports and those for typing too."""
    for name in modules():
        imports_from_below(name)


def imports_from_below(name: str) -> None:
    """Fail if a module imports from a folder or a package that its own folder must not know."""
    folder = folder_of(name)
    for module in imports(PACKAGE / f"{name}.py") - {"chatmagic"}:
        top, _, inner = module.partition(".")
        if top == "chatmagic":
            assert folder_of(inner) in (folder, *MAY_IMPORT[folder]), f"{name} imports {module}"
        elif top not in {*sys.stdlib_module_names, "typing_extensions"}:  # type checkers have it
            assert top in PACKAGES.get(folder, ()), f"{name} imports {top}"


def loaded(name: str) -> set[str]:
    """Return the modules that a module loads: its imports, and the ``__init__`` of their folders.

    A folder's own modules are loaded after its ``__init__`` has begun, so that one does not count.
    """
    found = set()
    for module in imports(PACKAGE / f"{name}.py"):
        path = PurePosixPath(module.removeprefix("chatmagic.").replace(".", "/"))
        folders = [path, *(each for each in path.parents if not name.startswith(f"{each}/"))]
        found |= {str(path), *(f"{folder}/__init__" for folder in folders)}
    return found


def test_a_lock_is_free_in_a_forked_child() -> None:
    """Locks are those of ``_fork``, or of objects in its list; cached properties have none."""
    for name in {*modules()} - {"_fork"}:
        source = (PACKAGE / f"{name}.py").read_text(encoding="utf-8")
        if "belongs_to_process(self)" not in source:
            assert not re.search(r"\bthreading\.(?:R?Lock|Condition|Semaphore)\(", source), name
        assert not re.search(r"(?m)^from functools import .*\bcached_property\b", source), name


@each_case("folder", MAY_IMPORT)
def test_a_folder_has_no_circle(folder: str) -> None:
    """Inside a folder no module loads itself through others, so each can be imported first."""
    inside = {name for name in modules() if folder_of(name) == folder}
    below = {name: loaded(name) & inside for name in inside}
    assert {*graphlib.TopologicalSorter(below).static_order()} == inside


def test_a_pure_module_touches_nothing() -> None:
    """No clock, disk, environment, network or thread: only what they are given."""
    touching = {"os", "pathlib", "socket", "subprocess", "threading", "time", "tempfile", "io"}
    assert [path for path in PURE if imports(path) & touching] == []


def test_the_pure_folders_are_measured() -> None:
    """What coverage measures holds each module of the pure folders."""
    for folder in ("protocol", "conversation", "render"):
        assert set(files(f"{folder}/**/*.py", PACKAGE)) <= set(PURE)


def test_each_module_has_the_test_file_of_its_name() -> None:
    """In the folder of its name, below ``tests``; a folder's own sentence needs none.

    Those of commands end in ``_command``: no two test files have one name.
    """
    tests = {path.relative_to(ROOT / "tests").as_posix() for path in files("tests/**/test_*.py")}
    paths = [PurePosixPath(name) for name in modules()]
    own = {
        str(path.with_name(f"test_{path.name.lstrip('_')}{ENDS.get(path.parent.name, '')}.py"))
        for path in paths
        if path.name not in {"__init__", "_version"}
    }
    assert sorted(own - tests) == []


def test_a_public_name_stands_in_one_module() -> None:
    """So that a search for a class or a function finds the one that is meant."""
    places: dict[str, list[str]] = {}
    for path in files("**/*.py", PACKAGE):
        for node in syntax_tree(path).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
                places.setdefault(node.name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_what_tests_share_is_listed() -> None:
    """By the page beside it, which says for which kind of test."""
    support = ROOT / "tests" / "support"
    page = (support / "README.md").read_text("utf-8")
    modules = [*files("tests/support/*.py"), *files("tests/browser/[!t]*.py")]
    names = {path.stem for path in modules} - {"conftest"}
    assert names == names & {*re.findall(r"`(\w+)`", page)}


def test_a_test_of_many_cases_names_those_that_fail() -> None:
    """Each of them, with its error; the ones behind it are tried, too."""
    tried: list[int] = []

    @each_case(("number", "text"), [(1, "one"), (2, "two"), (3, "three"), (4, "four")])
    def is_small(number: int, text: str, most: int) -> None:
        tried.append(number)
        assert len(text) > most
        if number == 4:
            pytest.fail("four")

    assert [*inspect.signature(is_small).parameters] == ["most"]
    with pytest.raises(BaseExceptionGroup, match="3 of 4 cases failed") as failed:
        is_small(most=3)
    assert tried == [1, 2, 3, 4]
    notes = [error.__notes__ for error in failed.value.exceptions]
    assert notes == [["The case: (1, 'one')"], ["The case: (2, 'two')"], ["The case: (4, 'four')"]]


def test_the_top_level_holds_what_it_should() -> None:
    """Nothing lies about, and no dependency is listed that nothing imports."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = {name.split("/")[0] for name in listed.stdout.splitlines()}
    visible = {name for name in names if not name.startswith(".")}
    files = {"pyproject.toml", "README.md"}
    assert visible <= files | {"chatmagic", "notebooks", "tests", "binder"}


def test_no_merge_is_left_open() -> None:
    """No line is one of those that git writes between two versions of a text."""
    written = ("<" * 7 + " ", ">" * 7 + " ")
    for path in TEXTS:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.startswith(written)], path


def test_nobody_stumbles_over_a_word() -> None:
    """One word for one thing, and none that only the authors know."""
    words = {path.name: STUMBLING.findall(path.read_text("utf-8")) for path in WORDED}
    assert {name: found for name, found in words.items() if found} == {}


def test_every_runtime_package_is_used_or_promised() -> None:
    """What is required is imported somewhere; ipywidgets is the panel's, promised to users."""
    required = {re.split(r"[<>=]", item)[0] for item in PYPROJECT["project"]["dependencies"]}
    used = {module.split(".")[0] for path in files("**/*.py", PACKAGE) for module in imports(path)}
    used |= {"ipywidgets"}
    assert {IMPORTED_AS.get(name, name) for name in required} <= used


@pytest.mark.parametrize(
    "tool",
    [pytest.param(tool, marks=pytest.mark.release if tool == "mypy" else ()) for tool in TOOLS],
)
def test_the_style_holds(tool: str) -> None:
    """Lint, format and types are clean."""
    done = subprocess.run(
        [sys.executable, "-m", *TOOLS[tool]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_contributors_are_led_to_is_there() -> None:
    """Each path that CONTRIBUTING and the workflow name exists, but for what is to be added."""
    paths = [*files(".github/**/*.md"), *files(".github/**/*.y*ml")]
    texts = [path.read_text("utf-8") for path in paths]
    named = re.findall(r"(?<![\w/])(?:chatmagic|tests|notebooks)/[\w./-]*", "\n".join(texts))
    names = {name.rstrip(".") for name in named if not re.search("NN-name|NAME", name)}
    assert len(names) > 10
    assert not [name for name in sorted(names) if not (ROOT / name).exists()]


def test_every_public_name_has_its_types_held() -> None:
    """``typing_api`` uses each public name and each error, so that mypy sees it from outside."""
    tree = ast.parse((ROOT / "tests" / "typing_api.py").read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    kinds = {name for name, value in vars(chatmagic.errors).items() if is_error(value)}
    assert kinds > {"ChatError", "ChatInterrupted"}
    assert {*chatmagic.__all__, *kinds} <= used


def is_error(value: object) -> bool:
    """Tell whether a value is an error of ours that may be raised."""
    return isinstance(value, type) and issubclass(value, BaseException) and value.__name__[0] != "_"
