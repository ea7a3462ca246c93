"""How the page's modules are joined for anywidget."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from node import node

from chatmagic.jupyter import assets

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = ("panel.js", "gauge_widget.js", "bridge.js")


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
