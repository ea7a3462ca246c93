"""What an audit found, as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from pages import cell, output, save

from chatmagic.conversation.request_facts import Value

if TYPE_CHECKING:
    from pathlib import Path

from audits import page, run


def test_json_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything by name; what would be given away only where asked for."""
    paths = [save(tmp_path / "a.ipynb", [page()]), tmp_path / "none.ipynb"]
    code, told = run(capsys, [*paths, "--json"])
    first, second = json.loads(told)
    assert code == 1
    assert (first["in_order"], second["in_order"]) == (True, False)
    assert "values" not in first
    assert first["turns"] == [
        {
            "cell": 1, "prompt": "p", "model_asked": None, "model": "m",
            "prompt_tokens": 1, "completion_tokens": 2,
            "total_tokens": 3, "credits_left": 99, "credits_limit": 100, "took": 1,
            "finish_reason": "stop", "state": "complete", "origin": "live", "date": None,
            "sealed": True, "rendered": True, "in_order": True,
        }
    ]  # fmt: skip
    assert json.loads(run(capsys, [paths[0], "--json", "--values"])[1])[0]["values"] == []


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1"])
def test_csv_holds_no_formula(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """A row a turn; what a spreadsheet would work out is text."""
    path = save(tmp_path / "a.ipynb", [page(text, model=text), page("q", 'a, "b"\nc')])
    _, told = run(capsys, [path, tmp_path / "none.ipynb", "--csv"])
    head, first, second, third = csv.reader(io.StringIO(told))
    row = dict(zip(head, first, strict=True))
    assert row["prompt"] == row["model"] == "'" + text.replace("\r", "")
    assert (row["cell"], row["sealed"], row["credits_left"]) == ("1", "True", "99")
    assert second[head.index("in_order")] == "False"
    assert third[-1].endswith("is not there.")


def test_hostile_text_does_not_act_in_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No escape, no line of its own, no bidirectional trick, in any form."""
    evil = "\x1b]0;x\x07\u202e\r\nall in order\x9b"
    value = Value.of("f('\x1b[2J')", evil)
    cells = [
        page(f"{evil} {{{{ f('\x1b[2J') }}}}", model=evil, finish_reason=evil, values=(value,)),
        cell(f"http://{evil}", [output({"text/plain": "x"}, {"chatmagic": {"version": evil}})]),
    ]
    path = save(tmp_path / "a.ipynb", cells)
    for words in ([], ["--values"], ["--json", "--values"], ["--csv"]):
        _, told = run(capsys, [path, tmp_path / "\x1b[2J\nno.ipynb", *words])
        assert not set("\x1b\x07\u202e\x9b") & set(told)
        assert "\nall in order" not in told or words == ["--csv"]
