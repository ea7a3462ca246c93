"""What an audit found, as a table and as JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING

from audits import FIGURES, NOON, page, run
from pages import cell, output, save

from chatmagic.audit.findings import Audit, Row
from chatmagic.conversation.record import note
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.steering import ThreadStart
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, ReplyFacts, Usage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
            "sealed": True, "rendered": True, "in_order": True, "thread": None,
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
    twice = [
        cell("%chat_thread a", starts[:1] * 2),
        cell("%chat_thread --delete a", starts[1:] * 2),
    ]
    code, told = run(capsys, [save(tmp_path / "b.ipynb", [page(), *twice])])
    assert "cell 2: it shows thread more often than it asks for it." in told
    assert "cell 3: it shows deletion more often than it asks for it." in told


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
    for words in ([], ["--values"], ["--json", "--values"]):
        _, told = run(capsys, [path, tmp_path / "\x1b[2J\nno.ipynb", *words])
        assert not set("\x1b\x07\u202e\x9b") & set(told)
        assert "\nall in order" not in told


CHECKED = {
    "cell": 2,
    "prompt": "p",
    "model_asked": None,
    "sealed": True,
    "rendered": None,
    "in_order": True,
}


def test_a_row_tells_the_facts_of_a_reply() -> None:
    """Those of the same name, and the figures of its usage and credits one by one."""
    facts = ReplyFacts(
        model="m", finish_reason="stop", usage=Usage(1, 2, 3), credits=FIGURES, took=1, date=NOON
    )
    row = Row.of(facts, **CHECKED)
    assert (row.model, row.finish_reason, row.state, row.origin) == (
        "m",
        "stop",
        "complete",
        "live",
    )
    assert (row.prompt_tokens, row.completion_tokens, row.total_tokens) == (1, 2, 3)
    assert (row.credits_left, row.credits_limit, row.took) == (99, 100, 1)
    assert row.date == "2026-01-01T12:00:00Z"
    assert Row.of(facts, **{**CHECKED, "state": "error"}).state == "error"


def test_what_is_not_known_is_none() -> None:
    """Nothing is made up."""
    row = Row.of(ReplyFacts(), **CHECKED)
    known = {item.name for item in fields(Row) if getattr(row, item.name) is not None}
    assert known == {"cell", "prompt", "state", "origin", "sealed", "in_order"}


def test_one_fault_is_enough() -> None:
    """A problem, or an order that cannot be; what is not known is none."""
    row = Row.of(ReplyFacts(), **CHECKED)
    unknown = Row.of(ReplyFacts(), **{**CHECKED, "in_order": None})
    assert Audit("f", (row, unknown), (), (), ()).in_order
    assert not Audit("f", (row,), ("problem",), (), ()).in_order
    fault = Row.of(ReplyFacts(), **{**CHECKED, "in_order": False})
    assert not Audit("f", (row, fault), (), (), ()).in_order
