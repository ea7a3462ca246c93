"""The audit of one notebook: damage, order, and what no file can show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audits import FIGURES, NO_SOURCE, Audited, Ran, exchange, page, tape
from pages import Paper, cell, output, save, text_cell
from shells import Shell

from chatmagic.archive import notebook, restore
from chatmagic.archive import output as turn_output
from chatmagic.audit import audit
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, Usage
from chatmagic.render.sanitize import frame, live_box, live_mark


def test_a_quiet_cell_above_is_no_fault(audited: Audited) -> None:
    """Its turn is in no output, so nobody can tell what was carried below it."""
    first, quiet = Turn(prompt="p", reply=Reply("r")).digest, "0" * 64
    carrying = page("q", "s", carried=(first, quiet))
    latest = page("v", "w", carried=(quiet,), parameters={"last": 1})
    shown = [{"output_type": "stream", "name": "stdout", "text": ["b"]}]
    for asks in (
        cell("r = %chat -q b\nprint(r)", shown),
        cell("chatmagic.ask('b')", shown),
        cell("with widgets.Output() as box:\n    %chat b\nbox"),
        cell("%%capture\n%chat b"),
        cell("%config ChatMagics.quiet = True\n%chat b"),
        cell("%chat --quiet -t 0.5 b\nprint()", shown),
        cell("%chat -q between"),
    ):
        code, told = audited([page(), asks, carrying])
        assert (code, told.splitlines()[3].split()[-2:]) == (0, ["yes", "-"])
    assert "cell 3 carried a turn that no output here holds" in told
    assert audited([page(), asks, latest])[0] == 0
    assert audited([page(), cell("print('b')", shown), carrying])[0] == 1
    for cells in ([page(), carrying, asks], [page(), carrying]):
        code, told = audited(cells)
        assert (code, "it was asked after other turns" in told) == (1, True)


def test_what_is_unknown_or_early_is_told(audited: Audited) -> None:
    """Neither 0 nor a normal end; a cell without output is no fault."""
    unknown: dict[str, Any] = {
        "usage": None, "credits": None, "took": None, "model": None, "finish_reason": None,
    }  # fmt: skip
    cells = [
        page(**unknown),
        page(
            "b", state="interrupted", usage=Usage(total_tokens=1234), parameters={"history": False}
        ),
        page("c", state="cut off", credits=replace(FIGURES, limit=None), usage=None, carried=()),
        cell("%chat d"),
    ]
    code, told = audited(cells)
    rows = [line.split() for line in told.splitlines()[2:5]]
    assert rows == [
        ["1", "p", "?", "?", "?", "?", "?", "live", "yes", "yes"],
        ["2", "b", "m", "1,234", "99", "of", "100", "1", "interrupted", "live", "yes", "-"],
        ["3", "c", "m", "?", "99", "1", "cut", "off", "live", "yes", "NO"],
    ]
    assert "cell 4 asks and has no output" in told
    assert code == 1
    assert "No turn of a conversation." in audited([])[1]


def test_what_other_versions_rendered_is_not_rendered_again(
    tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is said, and is no fault."""
    path = save(tmp_path / "n.ipynb", [page()])
    assert "rendered again" not in ran(path)[1]
    monkeypatch.setattr(turn_output, "renderer_versions", lambda: {"chatmagic": "9"})
    code, told = ran(path)
    assert code == 0
    assert told.endswith("cell 1: HTML not checked: other versions rendered it.\n")


@pytest.mark.parametrize(
    "source",
    [
        "await chatmagic.aask('x')",
        "from chatmagic import ask as question\nquestion('x')",
        "import chatmagic as cm\ncm.current_session().ask('x')",
        "import helpers\nhelpers.ask_all()",
    ],
)
def test_a_question_of_python_hides_turns_below_it(source: str, audited: Audited) -> None:
    """By whatever name: what was carried below it is not checked; a definition hides nothing."""
    below = page("q", carried=(Turn(prompt="p", reply=Reply("r")).digest, "0" * 64))
    code, told = audited([page(), cell(source), below])
    assert (code, told.splitlines()[3].split()[-1]) == (0, "-"), told
    assert "not checked: cell 3: " in told
    code, told = audited([page(), cell("r = chatmagic.ask"), below])
    assert code == 1


def test_what_is_damaged_or_pasted_is_told(audited: Audited) -> None:
    """A source that is no text, outputs that are no list, a reply in a cell of text."""
    reply = page()["outputs"][0]
    for kind in ("text/html", "text/markdown"):
        pasted = text_cell("# A\n" + "".join(reply["data"][kind]))
        code, told = audited([page("a"), pasted])
        assert (code, "! cell 2: it shows a reply, and is a cell of text." in told) == (1, True)
    assert audited([page("a"), text_cell("# `chatmagic`, <b class='x'>")])[0] == 0
    for made in (
        {**text_cell("x"), "source": ["x", 1]},
        {**page("b"), "source": ["%chat b", 1]},
        {**page("b"), "outputs": {}},
        {**page("b"), "cell_type": "raw"},
        "cell",
    ):
        code, told = audited([page("a"), made])
        assert (code, "! cell 2: " in told) == (1, True), made


def test_a_notebook_that_another_program_saved_is_the_same(tmp_path: Path, ran: Ran) -> None:
    """Whole numbers as others write them, the ends of lines, the order of names."""
    asked = page("a\nb", parameters={"max_tokens": 200, "temperature": 1.0, "last": 2})
    path = save(tmp_path / "n.ipynb", [asked])
    assert ran(path)[0] == 0
    text = path.read_text()
    for old, new in (
        ('"max_tokens": 200', '"max_tokens": 200.0'),
        ('"max_tokens": 200', '"max_tokens": 2e2'),
        ('"version": 1', '"version": 1.0'),
        ('"temperature": 1.0', '"temperature": 1'),
        ('"a\\n"', '"a\\r\\n"'),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1 if "a" in old else -1), newline="")
        code, told = ran(path)
        assert code == 0, (old, told)
    path.write_text(json.dumps(json.loads(text), indent=3, sort_keys=True), newline="\r\n")
    assert ran(path)[0] == 0


def test_a_reply_under_way_is_not_complete(tmp_path: Path, ran: Ran) -> None:
    """It was saved while it came, and its kernel is gone; a load says so, too."""
    box = frame(live_box("<p>r</p>", "auto", live_mark("1")))
    made = cell("%chat p", [output({"text/html": box, "text/plain": "r"}, {})])
    path = save(tmp_path / "n.ipynb", [page("a"), made])
    said = "cell 2: its reply is not complete: it was saved while it still arrived."
    code, told = ran(path)
    assert (code, [line for line in told.splitlines() if line[0] == "!"]) == (1, [f"! {said}"])
    read = notebook.read_notebook(path)
    assert said in restore.summary(restore.restore(read), read)


def test_a_notebook_that_was_never_run_or_was_stripped_is_told(audited: Audited) -> None:
    """Nothing in it tells of an answer; quiet cells alone, and no cells at all, are no fault."""
    load = cell("%load_ext chatmagic")
    for cells in ([load, cell("%%chat\nx")], [cell("%chat -q x"), cell("r = %chat y")]):
        code, told = audited(cells)
        assert code == 1
        assert "the output of its question is missing: not run, stripped, or cleared" in told
    for cells in ([load, cell("%chat -q x")], [load], []):
        assert audited(cells)[0] == 0


def test_a_hand_out_is_in_order(tmp_path: Path, ran: Ran) -> None:
    """What the emulator answered is in no cassette; it is named."""
    first = Turn(prompt="p", reply=Reply("r")).digest
    own = page("own", origin="emulator", carried=(first,))
    whole = tape(tmp_path / "whole.jsonl", exchange("p", "r", usage=Usage(1, 2, 3)))
    path = save(tmp_path / "n.ipynb", [page(origin="replay"), own])
    code, told = ran(path, whole)
    assert (code, "cell 2: the emulator answered, practice only." in told) == (0, True), told


def test_what_a_cell_loaded_is_no_fault(audited: Audited) -> None:
    """The turns below carried what was loaded, and not what stands above the load."""
    load, unknown = cell("%chat_load talk.json", [{"output_type": "stream", "text": []}]), "0" * 64
    first = Turn(prompt="p", reply=Reply("r")).digest
    for carried in ((unknown,), (first, unknown)):
        cells = [page(), load, page("c", carried=carried)]
        code, told = audited(cells)
        assert code == 0
        assert told.splitlines()[3].split()[-1] == "-"
    cells = [page(), page("c", carried=(unknown,)), load]
    assert audited(cells)[0] == 1


FROM_A_KERNEL = (
    "%load_ext chatmagic",
    "%%chat_instructions\nBe brief.\n",
    "%%chat\necho:one\ntwo\n",
    "%chat -t 0.5 --last 1 echo:x",
    "r = %chat echo:three\nprint(r.text)",
    "%%chat\necho:{{ 1 + 1 }} and {{ 2 }}",
    "%%chat --raw\necho:{{ v }}",
    "for i in range(2):\n    %chat --no-history echo:same {{ i }}",
    "%chat -q echo:quiet",
    "%chat_history",
    "%chat_retry",
    "%chat_retry --list",
    "%chat_retry --pick 1",
    "%chat_thread a",
    "%%chat -o out\necho:in a",
    "%chat_thread --fork 1 b",
    "%chat echo:in b",
    "%chat_thread main",
    "%chat_thread",
    "%chat_hide 1",
    "%chat --hide echo:hidden",
    "%chat_hide --show 1",
    "%%chat --above 1\necho:above",
    "%%chat --format json\necho:{}",
    "def f():\n    %chat echo:in f\nf()",
    "f()",
    "%chat_undo",
    "%chat_redo",
    "%chat_undo\n%chat_undo",
    "%%chat --dry\nhi",
    "%chat",
    "%%chat --thread a --no-credits\necho:elsewhere",
    "%%chat --no-stream\necho:whole",
    "reply = %chat -n 3 echo:one two three four five six",
    "%chat_continue",
    "%config ChatMagics.temperature = 0.3",
    "%chat echo:configured",
    "%%chat_instructions\n",
    "%chat_save t.json\n%chat_reset",
    "%chat_load t.json",
    "%chat echo:after load",
    "%chat_reset",
)


def test_what_a_kernel_leaves_is_in_order(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command and each option, as its cell was typed, with the outputs that it left."""
    monkeypatch.chdir(tmp_path)
    paper = Paper(tmp_path / "paper.ipynb")
    for number, source in enumerate(FROM_A_KERNEL):
        paper.ran(f"c{number}", source, shell.page(source, f"c{number}").outputs)
    (found,) = audit.audit_all([paper.save()])
    assert found.problems == []
    assert {row.agrees for row in found.turns} == {True}
    assert len(found.turns) == 21


def test_a_turn_is_judged_by_what_stood_above_it_then(audited: Audited) -> None:
    """A cell below that asked again changes nothing for those between; a pick is no turn."""
    first, second = (Turn(prompt="p", reply=Reply(text)).digest for text in "rs")
    retry = page("p", "s", in_place_of=(first,))
    pick = page("p", "r", in_place_of=(first, second), picked=True)
    retry["source"], pick["source"] = "%chat_retry 1", "%chat_retry --pick 1 1"
    between, below = (page(name, carried=(by,)) for name, by in (("q", first), ("x", second)))
    below["outputs"] = page("x", carried=(second, Turn(prompt="q", reply=Reply("r")).digest))[
        "outputs"
    ]
    code, told = audited([page("p", "r"), between, retry, below, pick])
    assert (code, "4 turns" in told) == (0, True), told
    below["outputs"] = page("x", carried=(first,))["outputs"]
    code, told = audited([page("p", "r"), between, retry, below])
    assert "cell 4: it was asked after other turns than those above it." in told
    twice = {**pick, "outputs": pick["outputs"] * 2}
    code, told = audited([page("p", "r"), twice])
    assert f"cell 2: {NO_SOURCE}" in told
