"""What an audit found, as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from pages import cell, output, save

from chatmagic.conversation.record import note
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.threads import ThreadStart
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply

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


def test_threads_have_a_column_where_there_are_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A turn is in order in its thread; what a cell did with one is not done twice."""
    begun, ended = ThreadStart("sql").to_json(), ThreadStart("sql").to_json("deletion")
    starts = [output({"text/plain": "x"}, {"chatmagic": record}) for record in (begun, ended)]
    first = Turn(prompt="p", reply=Reply("r")).digest
    other = page("r", carried=(first,), parameters={"thread": "main"})
    cells = [page(), cell("%chat_thread sql", starts[:1]), page("q"), other]
    edited = [page(), cell("%chat_thread --fork 1 sql", starts[:1])]
    said = "cell 2: its thread was edited after it ran."
    assert said in run(capsys, [save(tmp_path / "c.ipynb", edited)])[1]
    path = save(tmp_path / "a.ipynb", cells)
    code, told = run(capsys, [path])
    assert code == 0, told
    assert [line.split()[-2:] for line in told.splitlines()[1:5]] == [
        ["order", "thread"], ["yes", "main"], ["yes", "sql"], ["yes", "main"],
    ]  # fmt: skip
    back = [output({"text/plain": "x"}, {"chatmagic": note("undo")})]
    undone = save(tmp_path / "u.ipynb", [*cells[:3], cell("%chat_undo", back)])
    assert run(capsys, [undone])[1].splitlines()[3].split()[-1] == "sql"
    turns = json.loads(run(capsys, [path, "--json"])[1])[0]["turns"]
    assert [turn.get("thread") for turn in turns] == [None, "sql", None]
    rows = list(csv.DictReader(io.StringIO(run(capsys, [path, "--csv"])[1])))
    assert [row["thread"] for row in rows] == ["", "sql", ""]
    twice = [
        cell("%chat_thread a", starts[:1] * 2),
        cell("%chat_thread --delete a", starts[1:] * 2),
    ]
    code, told = run(capsys, [save(tmp_path / "b.ipynb", [page(), *twice])])
    assert "cell 2: it shows thread more often than it asks for it." in told
    assert "cell 3: it shows deletion more often than it asks for it." in told


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
