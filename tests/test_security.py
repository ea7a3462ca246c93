"""Each sentence of SECURITY.md has its tests."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from project import ROOT, syntax_tree

SECURITY = ROOT / ".github" / "SECURITY.md"
FIRST, LAST = "## What is promised", "What is not ours to promise:"


def sentences() -> Iterator[str]:
    """Give the items of the lists of both parts, each on one line."""
    text = SECURITY.read_text(encoding="utf-8")
    part = text[text.index(FIRST) : text.index(LAST)]
    for item in re.findall(r"^- (.+(?:\n  .+)*)", part, re.MULTILINE):
        yield " ".join(item.split())


def test_each_sentence_has_its_tests() -> None:
    """And no test is named for a sentence that is not there."""
    listed = tomllib.loads((ROOT / "tests" / "security.toml").read_text(encoding="utf-8"))
    found = [*sentences()]
    assert len(found) > 40
    assert [sentence for sentence in found if not listed.get(sentence, {}).get("tests")] == []
    assert [sentence for sentence in listed if sentence not in found] == []


@cache
def functions(path: Path) -> set[str]:
    """Return the names of the functions of a file, methods included; nobody changes the set."""
    nodes = ast.walk(syntax_tree(path))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_each_named_test_is_there() -> None:
    """By its file and name."""
    listed = tomllib.loads((ROOT / "tests" / "security.toml").read_text(encoding="utf-8"))
    missing = []
    for sentence in listed.values():
        for name in sentence["tests"]:
            path, function = name.split("::")
            file = ROOT / "tests" / path
            if not file.exists() or function not in functions(file):
                missing.append(name)
    assert missing == []
