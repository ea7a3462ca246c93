"""A comparison as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from audits import exchange, tape
from pages import text_cell

from chatmagic import cli
from chatmagic.study import compare
from chatmagic.study.comparison_output import comparison_json, comparison_text
from chatmagic.study.sources import read_source


def test_untrusted_text_cannot_act(tmp_path: Path) -> None:
    """Neither in the table nor in the JSON."""
    bad = "\x1b[2J\u202e https://evil.example \ud800"
    old = tape(tmp_path / "old.jsonl", exchange("q\x1b[2J", bad, model="\x1b[31m"))
    new = tape(tmp_path / "new.jsonl", exchange("q\x1b[2J", f"{bad} more\x07", model="m\x1b]0;x"))
    found = compare.of_files([old, new])
    assert not set("\x1b\x07\u202e") & set(comparison_text(found, every=True))
    json.dumps(comparison_json(found)).encode("ascii")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its exit code says whether a question differs; what cannot be read is told in one line."""
    one = tape(tmp_path / "one.jsonl", exchange("q", "a red house"))
    two = tape(tmp_path / "two.jsonl", exchange("q", "a blue house"))
    assert cli.main(["compare", str(one), str(one)]) == 0
    assert "1 question; the same answer: 1." in capsys.readouterr().out
    assert cli.main(["compare", str(one), str(two)]) == 1
    text = capsys.readouterr().out
    assert "a [-red-] house" in text
    assert "a {+blue+} house" in text
    assert cli.main(["compare", "--json", str(one), str(two)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["questions"][0]["causes"] == [{"cause": "asked again", "detail": ""}]
    assert told["questions"][0]["words"][1:3] == [["old", "red"], ["new", "blue"]]
    for wrong in ([one], [one, two, one], [one, tmp_path / "none.jsonl"]):
        assert cli.main(["compare", *map(str, wrong)]) == 2
        assert capsys.readouterr().err.count("\n") <= 2


def test_a_problem_of_a_file_is_told(tmp_path: Path) -> None:
    """A cassette that holds an exchange twice, and a notebook whose cell was edited."""
    (tmp_path / "bad.ipynb").write_text(
        json.dumps({"cells": [text_cell("hi")], "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    )
    source = replace_problem(tmp_path / "bad.ipynb")
    assert "1 problem: edited" in comparison_text(compare.compare(source, source))


def replace_problem(path: Path) -> Any:
    """Return a file with a problem."""
    source = read_source(path)
    source.problems.append("edited")
    return source
