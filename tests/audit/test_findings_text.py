"""The findings as text: a line a file, then a table of each."""

from __future__ import annotations

from pathlib import Path

from audits import Ran, changed, page
from pages import save, text_cell

from chatmagic.archive import notebook
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply


def test_a_notebook_in_order(tmp_path: Path, ran: Ran) -> None:
    """A line a turn."""
    second = Turn(prompt="p", reply=Reply("r")).digest
    cells = [text_cell("x"), page(), page("q", "s", carried=(second,), took=None, origin="replay")]
    path = save(tmp_path / "n.ipynb", cells)
    code, told = ran(path)
    assert code == 0
    assert told.splitlines() == [
        f"{path}  no problem  2 turns (1 live, 1 replay)",
        "cell  prompt  model  tokens              credits    cost  ended  origin  as asked  order",
        "2     p       m      1 sent, 2 received  99 of 100  1     stop   live    yes       yes",
        "3     q       m      1 sent, 2 received  99 of 100  ?     stop   replay  yes       yes",
    ]


def test_what_is_not_in_order_is_told(tmp_path: Path, ran: Ran) -> None:
    """Changed replies, stale turns, malformed records: a line a file, and each with its cell."""
    bad = page()
    bad["outputs"][0]["metadata"]["chatmagic"]["state"] = 1
    faults = {
        "bad": (bad, "! cell 1: a malformed record was left out: its 'state'"),
        "changed": (changed(page()), f"! cell 1: {notebook.CHANGED}."),
        "ok": (page(), ""),
        "stale": (page(carried=("0" * 64,)), "! cell 1: it was asked after other turns"),
    }
    for name, (made, _) in faults.items():
        save(tmp_path / f"{name}.ipynb", [made])
    (tmp_path / ".ipynb_checkpoints").mkdir()
    save(tmp_path / ".ipynb_checkpoints" / "ok-checkpoint.ipynb", [])
    (tmp_path / "rows.jsonl").write_text('{"chatmagic": "map"}\n')
    code, told = ran(tmp_path)
    assert (code, [said for _, said in faults.values() if said not in told]) == (1, [])
    heads = told.split("\n\n")[0].splitlines()
    assert heads[-1] == "4 files, 3 of them with problems."
    assert [line.split("  ")[0] for line in heads[:-1]] == [
        str(tmp_path / f"{name}.ipynb") for name in faults
    ]
    assert ran("--summary", tmp_path)[1].splitlines() == heads
    assert ran("--summary", *[tmp_path / "ok.ipynb"] * 2)[1].endswith("2 files, no problem.\n")
    code, told = ran(tmp_path / "none.ipynb")
    assert (code, "is not there." in told) == (1, True)
