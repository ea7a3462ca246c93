"""The page's code: its own tests, run by node."""

from __future__ import annotations

import re
from pathlib import Path

import project
from cases import each_case
from node import node

HERE = Path(__file__).parent
TESTS = [path.name for path in project.files("*.test.js", HERE)]


def test_there_are_tests() -> None:
    """A folder that was moved would be tested by nothing."""
    assert "view.test.js" in TESTS


@each_case("name", TESTS)
def test_the_page_passes_its_tests(name: str) -> None:
    """As node runs a file of tests by itself; what it says is shown where it fails."""
    ran = node("--test-reporter=tap", name, cwd=HERE)
    assert ran.code == 0, ran.printed
    assert re.search("^# pass [1-9]", ran.printed, re.MULTILINE), ran.printed
