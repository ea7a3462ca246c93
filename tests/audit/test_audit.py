"""The audit of notebooks, as a function and as a command."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from audits import FIGURES, changed, exchange, page, run, tape
from pages import cell, output, save, text_cell
from project import files

from chatmagic.archive import notebook
from chatmagic.archive import output as turn_output
from chatmagic.audit import audit
from chatmagic.conversation.record import sealed
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, Usage

if TYPE_CHECKING:
    from pathlib import Path


def test_a_notebook_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line a turn, and what it all took."""
    second = Turn(prompt="p", reply=Reply("r")).digest
    cells = [text_cell("x"), page(), page("q", "s", carried=(second,), took=None, origin="replay")]
    path = save(tmp_path / "n.ipynb", cells)
    code, told = run(capsys, [path])
    assert code == 0
    assert told.splitlines() == [
        str(path),
        "cell  prompt  model  tokens  credits    took  ended  origin  agrees  order",
        "2     p       m      1 + 2   99 of 100  1     stop   live    yes     yes",
        "3     q       m      1 + 2   99 of 100  ?     stop   replay  yes     yes",
        "2 turns, 6 tokens, reported for 2, about 1 credit, known for 1.",
    ]


def test_a_quiet_cell_above_is_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its turn is in no output, so nobody can tell whether it is the one that was carried."""
    first, quiet = Turn(prompt="p", reply=Reply("r")).digest, "0" * 64
    asks = cell("%chat -q between")
    carrying = page("q", "s", carried=(first, quiet))
    latest = page("v", "w", carried=(quiet,), parameters={"last": 1})
    code, told = run(capsys, [save(tmp_path / "n.ipynb", [page(), asks, carrying])])
    assert code == 0
    assert told.splitlines()[3].split()[-2:] == ["yes", "-"]
    assert "cell 3 carried a turn that no output here holds" in told
    assert run(capsys, [save(tmp_path / "n.ipynb", [page(), asks, latest])])[0] == 0
    others = {
        "below": [page(), carrying, asks],
        "before": [asks, page(), carrying],
        "gone": [page(), carrying],
        "changed": [page("new"), asks, carrying],
        "more": [page(), asks, page("new"), carrying],
        "swapped": [page(), asks, page("q", "s", carried=(quiet, first))],
    }
    for name, cells in others.items():
        code, told = run(capsys, [save(tmp_path / f"{name}.ipynb", cells)])
        assert code == 1, name
        assert "it was asked after other turns" in told


def test_what_is_not_in_order_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed reply, a stale turn, a malformed record, each with its cell and the exit code."""
    bad = page()
    bad["outputs"][0]["metadata"]["chatmagic"]["state"] = 1
    faults = {
        "changed": ([changed(page())], f"! cell 1: {notebook.CHANGED}."),
        "stale": ([page(carried=("0" * 64,))], "! cell 1: it was asked after other turns"),
        "bad": ([bad], "! cell 1: a malformed record was left out: its 'state'"),
        "none": (None, "is not there."),
    }
    for name, (cells, said) in faults.items():
        path = tmp_path / f"{name}.ipynb"
        if cells is not None:
            save(path, cells)
        code, told = run(capsys, [path])
        assert code == 1
        assert said in told
    code, told = run(capsys, [*tmp_path.glob("*.ipynb"), save(tmp_path / "ok.ipynb", [page()])])
    assert code == 1
    assert told.endswith("\n\n4 files, 3 of them not in order.\n")
    assert run(capsys, [tmp_path / "ok.ipynb"] * 2)[1].endswith("2 files, all in order.\n")


def test_what_is_unknown_or_early_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    code, told = run(capsys, [save(tmp_path / "n.ipynb", cells)])
    rows = [line.split() for line in told.splitlines()[2:5]]
    assert rows == [
        ["1", "p", "?", "?", "?", "?", "?", "live", "yes", "yes"],
        ["2", "b", "m", "1,234", "99", "of", "100", "1", "interrupted", "live", "yes", "-"],
        ["3", "c", "m", "?", "99", "1", "cut", "off", "live", "yes", "NO"],
    ]
    assert "3 turns, 1 interrupted, 1 cut off, 1,234 tokens, reported for 1, about 2" in told
    assert "cell 4 asks and has no output" in told
    assert code == 1
    assert "No turn of a conversation." in run(capsys, [save(tmp_path / "e.ipynb", [])])[1]


def test_what_is_not_as_it_was_sealed_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A forged prompt, a record without a seal, and seals made again over another look."""
    forged, bare = page(), page("q", parameters={"history": False})
    drawn, written = page("x"), page("x")
    forged["outputs"][0]["metadata"]["chatmagic"]["prompt"] = "p!"
    forged["source"] = "%%chat\np!"
    del bare["outputs"][0]["metadata"]["chatmagic"]["seal"]
    for made, kind in ((drawn, "text/html"), (written, "text/markdown")):
        shown = made["outputs"][0]
        shown["data"][kind] = ["<b>hostile</b>"]
        shown["metadata"]["chatmagic"] = sealed(
            {name: item for name, item in shown["metadata"]["chatmagic"].items() if name != "seal"},
            {kind: "".join(lines) for kind, lines in shown["data"].items()},
        )
    for made, said in (
        (forged, f"! cell 1: {notebook.CHANGED}."),
        (bare, f"! cell 1: {notebook.NOT_SEALED}."),
        (drawn, "! cell 1: its HTML or Markdown differs from what its reply is rendered as."),
        (written, "! cell 1: its HTML or Markdown differs from what its reply is rendered as."),
    ):
        code, told = run(capsys, [save(tmp_path / "n.ipynb", [made])])
        assert (code, [line for line in told.splitlines() if line[0] == "!"]) == (1, [said])


def test_what_other_versions_rendered_is_not_rendered_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is said, and is no fault."""
    path = save(tmp_path / "n.ipynb", [page()])
    assert "rendered again" not in run(capsys, [path])[1]
    monkeypatch.setattr(turn_output, "versions", lambda: {"chatmagic": "9"})
    code, told = run(capsys, [path])
    assert code == 0
    assert told.endswith("cell 1: HTML not checked: other versions rendered it.\n")


@pytest.mark.parametrize(
    ("source", "is_edited"),
    [
        ("%%chat\nwhy?", False),
        ("%%chat -t 0.5 --raw\nwhy?\n", False),
        ("%%chat why?", False),
        ("\n%chat --last 2 why?  ", False),
        ("r = %chat why?", False),
        ("%%chat\nwhy not?", True),
        ("%%chat\nWhy?", True),
        ("%chat why", True),
        ("%chat_fix why?", True),
        ("print(1)\n%chat why not?", True),
        ("for why in ['why?']:\n    %chat {why}", True),
        ("%chat why?\nif more:\n    r = %chat and now?", False),
        ("%chat -q why not?\nshown()", False),
        ("%chat why not?\nask('why?')", False),
        ("get_ipython().run_line_magic('chat', 'why?')", False),
        ("%chat why not\\\n?", False),
        ("%%chat --no-such\nwhy not?", False),
    ],
)
def test_a_question_that_was_edited_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, *, is_edited: bool
) -> None:
    """The cell no longer holds what was asked; where nobody can tell, nothing is said."""
    asked = {**page("why?"), "source": source.splitlines(keepends=True)}
    code, told = run(capsys, [save(tmp_path / "n.ipynb", [asked])])
    assert code == is_edited
    assert ("! cell 1: its question was edited after it was asked." in told) == is_edited


def test_a_notebook_that_was_never_run_or_was_stripped_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing in it tells of an answer; quiet cells alone, and no cells at all, are no fault."""
    load = cell("%load_ext chatmagic")
    for cells in ([load, cell("%%chat\nx")], [cell("%chat -q x"), cell("r = %chat y")]):
        code, told = run(capsys, [save(tmp_path / "n.ipynb", cells)])
        assert code == 1
        assert "! no cell that asks has an output: the notebook was never run, or" in told
    for cells in ([load, cell("%chat -q x")], [load], []):
        assert run(capsys, [save(tmp_path / "n.ipynb", cells)])[0] == 0


def test_a_reply_whose_record_is_gone_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a forger does not get by with taking it out; a reply that Python shows has none."""
    gone = page()
    gone["outputs"][0]["metadata"] = {}
    code, told = run(capsys, [save(tmp_path / "n.ipynb", [page("a"), gone])])
    assert code == 1
    assert "! cell 2: its reply has no record" in told
    for asking in ("r = %chat -q a\nr", "r = %chat a\ndisplay(r)"):
        shown = {**gone, "source": asking}
        assert run(capsys, [save(tmp_path / "n.ipynb", [page("a"), shown])])[0] == 0
    value = {**gone["outputs"][0], "output_type": "execute_result"}
    shown = {**gone, "source": "r = %chat a\nr", "outputs": [*page("a")["outputs"], value]}
    assert run(capsys, [save(tmp_path / "n.ipynb", [shown])])[0] == 0
    for asking in ("%%chat\np", "for n in (1, 2):\n    %chat p"):
        beside = {**page(), "source": asking}
        beside["outputs"].append(gone["outputs"][0])
        code, told = run(capsys, [save(tmp_path / "n.ipynb", [page("a"), beside])])
        assert code == 1
        assert "! cell 2: its reply has no record" in told


def test_a_second_reply_of_a_cell_that_asks_once_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever it was, it was put there by hand; a loop may have many."""
    told_once = {"history": False}
    doubled = page(parameters=told_once)
    doubled["outputs"] *= 2
    code, told = run(capsys, [save(tmp_path / "n.ipynb", [doubled])])
    assert code == 1
    assert "! cell 1: it asks once, and shows 2 replies." in told
    looped = {**doubled, "source": "for n in (1, 2):\n    %chat --no-history p"}
    assert run(capsys, [save(tmp_path / "n.ipynb", [looped])])[0] == 0


def test_a_cell_that_lost_its_output_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named where the file says that it was run; else by what was asked after it."""
    first = Turn(prompt="p", reply=Reply("r")).digest
    after = page("c", carried=(first, "0" * 64))
    for asking in ("%chat_fix", "%%chat_fix\nb", "%chat_retry 2", "%chat_continue", "%chat b"):
        stripped = {**cell(asking), "execution_count": 2}
        code, told = run(capsys, [save(tmp_path / "n.ipynb", [page(), stripped])])
        assert code == 1
        assert "! cell 2: it was run, and its output is gone: stripped, or cleared." in told
    code, told = run(capsys, [save(tmp_path / "n.ipynb", [page(), cell("%chat b"), after])])
    assert code == 1
    assert "! cell 3: it was asked after other turns than those above it now." in told
    # A cell that was not run yet, and one that was told to show nothing, are no fault.
    assert run(capsys, [save(tmp_path / "n.ipynb", [page(), cell("%chat b")])])[0] == 0
    quiet = cell("%config ChatMagics.quiet = True")
    for one in ([{**stripped, "source": "%chat -q b"}], [quiet, stripped]):
        assert run(capsys, [save(tmp_path / "n.ipynb", [page(), *one, after])])[0] == 0


def test_an_undo_that_its_cell_does_not_ask_for_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would take back another turn when the notebook is loaded; a loop may have many."""
    undo = output({"text/plain": "x"}, {"chatmagic": {"version": 1, "kind": "undo"}})
    for source, count, code in (
        ("%chat_undo", 1, 0),
        ("%chat_undo\n%chat_undo", 2, 0),
        ("for n in 'ab':\n    %chat_undo", 2, 0),
        ("%chat_undo", 2, 1),
        ("%chat_redo", 1, 1),
    ):
        path = save(tmp_path / "n.ipynb", [page(), cell(source, [undo] * count)])
        found, told = run(capsys, [path])
        assert found == code
        assert ("! cell 2: it shows undo more often than it asks for it." in told) == code


def test_what_a_cell_loaded_is_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The turns below carried what was loaded, and not what stands above the load."""
    load, unknown = cell("%chat_load talk.json", [{"output_type": "stream", "text": []}]), "0" * 64
    first = Turn(prompt="p", reply=Reply("r")).digest
    for carried in ((unknown,), (first, unknown)):
        cells = [page(), load, page("c", carried=carried)]
        code, told = run(capsys, [save(tmp_path / "n.ipynb", cells)])
        assert code == 0
        assert told.splitlines()[3].split()[-1] == "-"
    cells = [page(), page("c", carried=(unknown,)), load]
    assert run(capsys, [save(tmp_path / "n.ipynb", cells)])[0] == 1


@pytest.mark.parametrize(
    "between",
    ["r = %chat -q b\nprint(r)", "chatmagic.ask('b')", "%chat --quiet -t 0.5 b"],
)
def test_a_quiet_cell_that_prints_is_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], between: str
) -> None:
    """It has an output, which tells nothing of what it asked."""
    first, quiet = Turn(prompt="p", reply=Reply("r")).digest, "0" * 64
    printed = cell(between, [{"output_type": "stream", "name": "stdout", "text": ["b"]}])
    cells = [page(), printed, page("c", carried=(first, quiet))]
    code, told = run(capsys, [save(tmp_path / "n.ipynb", cells)])
    assert code == 0
    assert told.splitlines()[3].split()[-1] == "-"
    cells = [page(), cell("print('b')", printed["outputs"]), page("c", carried=(first, quiet))]
    assert run(capsys, [save(tmp_path / "n.ipynb", cells)])[0] == 1


def test_the_model_asked_and_the_model_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both are named where they differ."""
    cells = [page("a", asked_model="m"), page("b", asked_model="big", parameters={"last": 0})]
    code, told = run(capsys, [save(tmp_path / "n.ipynb", cells)])
    assert code == 0
    assert [line.split()[2:5] for line in told.splitlines()[2:4]] == [
        ["m", "1", "+"], ["big", "->", "m"],
    ]  # fmt: skip


# --- cassettes ------------------------------------------------------------------------------


def test_it_needs_no_ipython_and_no_kernel(tmp_path: Path) -> None:
    """The command is quick and works where nothing of Jupyter does."""
    path = save(tmp_path / "a.ipynb", [page()])
    code = (
        "import sys\nfrom chatmagic import cli\ncode = cli.main(['audit', sys.argv[1]])\n"
        "heavy = {'IPython', 'requests', 'tornado', 'nbformat', 'jupyter_client'}\n"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_the_lessons_are_in_order() -> None:
    """What ships agrees with itself."""
    for path in files("notebooks/*.ipynb"):
        (found,) = audit.audit_all([path])
        assert found.in_order, found
        assert found.turns


def test_a_turn_is_judged_by_what_stood_above_it_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cell below that asked again changes nothing for those between; a pick is no turn."""
    first, second = (Turn(prompt="p", reply=Reply(text)).digest for text in "rs")
    retry = page("p", "s", in_place_of=(first,))
    pick = page("p", "r", in_place_of=(first, second), picked=True)
    retry["source"], pick["source"] = "%chat_retry 1", "%chat_retry --pick 1 1"
    between, below = (page(name, carried=(by,)) for name, by in (("q", first), ("x", second)))
    below["outputs"] = page("x", carried=(second, Turn(prompt="q", reply=Reply("r")).digest))[
        "outputs"
    ]
    path = save(tmp_path / "a.ipynb", [page("p", "r"), between, retry, below, pick])
    code, told = run(capsys, [path])
    assert (code, "4 turns" in told) == (0, True), told
    below["outputs"] = page("x", carried=(first,))["outputs"]
    code, told = run(capsys, [save(path, [page("p", "r"), between, retry, below])])
    assert "cell 4: it was asked after other turns than those above it now" in told
    twice = {**pick, "outputs": pick["outputs"] * 2}
    code, told = run(capsys, [save(path, [page("p", "r"), twice])])
    assert "cell 2: it shows pick more often than it asks for it." in told


def test_a_cassette_is_tabulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line an exchange; what it carried and does not hold is no fault."""
    headers = (("Date", "Thu, 01 Jan 2026 12:00:00 GMT"), ("X-RateLimit-Remaining", "9"))
    path = tape(
        tmp_path / "c.jsonl",
        exchange("a", "1", took=2, headers=headers, usage=Usage(1, 2, 3)),
        exchange("b", "2", "a", "1", origin="emulator"),
        exchange("c", "3", "not", "held"),
        exchange("d", None, status=429, error={"error": "x"}, model=None, finish_reason=None),
        exchange("c", "three", "not", "held"),
    )
    code, told = run(capsys, [path])
    assert code == 0
    assert told.splitlines() == [
        str(path),
        "exchange  prompt  model  tokens  credits  took  ended  origin    agrees  order",
        "1         a       m      1 + 2   9        2     stop   live      yes     yes",
        "2         b       m      ?       ?        ?     stop   emulator  yes     yes",
        "3         c       m      ?       ?        ?     stop   live      yes     -",
        "4         d       ?      ?       ?        ?     error  live      yes     yes",
        "5         c       m      ?       ?        ?     stop   live      yes     -",
        "5 turns, 1 error, 3 tokens, reported for 1, about 2 credits, known for 1.",
        "exchanges 3 and 5 answer the same request, in this order.",
    ]


def test_a_cassette_that_is_not_in_order_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Order, what stands twice, a changed word, and none at all; each by its exchange or line."""
    left = (("X-RateLimit-Remaining", "9"),)
    a, b = exchange("a", "1", headers=left), exchange("b", "2", "a", "1")
    damaged = tape(tmp_path / "damaged.jsonl", a)
    damaged.write_text(damaged.read_text().replace('"reply": "1"', '"reply": "2"'))
    for path, said in (
        (tape(tmp_path / "order.jsonl", b, a), "! exchange 1: it carried a turn that is recorded"),
        (tape(tmp_path / "twice.jsonl", a, b, a), "! exchange 3: it is exchange 1 once more."),
        (damaged, "the exchange is not the one that was recorded"),
        (tmp_path / "none.jsonl", "is not there."),
    ):
        code, told = run(capsys, [path])
        assert code == 1
        assert said in told
        assert json.loads(run(capsys, [path, "--json"])[1])[0]["kind"] == "cassette"


def test_equal_exchanges_that_may_both_have_been_are_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same error twice, or the same words where no credits are told."""
    error: dict[str, Any] = {"status": 429, "error": {"error": "x"}}
    refused = exchange("a", None, headers=(("X-RateLimit-Remaining", "0"),), **error)
    for one in (refused, exchange("a", "1")):
        code, told = run(capsys, [tape(tmp_path / "c.jsonl", one, one)])
        assert code == 0
        assert told.endswith("\nexchange 2: it is exchange 1 once more.\n")


def test_a_notebook_is_compared_with_a_cassette(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each whole reply that is shown is held, for the same request and with the same words."""
    early = page("c", state="interrupted", parameters={"last": 0})
    other = page("d", by_order=True, parameters={"last": 0})
    book = save(tmp_path / "n.ipynb", [page("p"), early, other])
    whole = tape(tmp_path / "whole.jsonl", exchange("p", "r", usage=Usage(1, 2, 3)))
    empty = tape(tmp_path / "empty.jsonl", exchange("q", "r"))
    changed = tape(tmp_path / "changed.jsonl", exchange("p", "another"), exchange("e", "r"))
    assert run(capsys, [book, whole])[0] == 0
    assert run(capsys, [book, empty, whole])[0] == 0
    code, told = run(capsys, [book, empty])
    assert code == 1
    said = "does not hold its reply with this text, model, end and tokens."
    assert f"! cell 1: empty.jsonl {said}" in told
    code, told = run(capsys, [changed, book])
    assert code == 1
    assert f"! cell 1: changed.jsonl {said}" in told
    for altered in ({"usage": Usage(1, 2, 4)}, {"model": "n"}, {"finish_reason": "length"}):
        held = exchange("p", "r", **{"usage": Usage(1, 2, 3), **altered})
        code, told = run(capsys, [tape(tmp_path / "x.jsonl", held), book])
        assert code == 1
        assert f"! cell 1: x.jsonl {said}" in told


def test_values_list_what_the_file_gives_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kept values, paths, hosts, when cells ran, words that set a key; and no key itself."""
    key = "sk-1234567890abcdef"
    kept, bare = Value.of("rows", "4711"), Value.of("n", "2").bare
    timed = page("{{ rows }} {{ n }}", values=(kept, bare))
    timed["metadata"]["execution"] = {"iopub.execute_input": "2026-01-01T12:00:00Z"}
    printed = {
        "output_type": "stream",
        "name": "stdout",
        "text": ["at https://ann:pass@chat.example.org/v1?at=@x"],
    }
    broken = {"output_type": "error", "traceback": ["in /home/ann/paper/x.py:3"], "evalue": "e"}
    cells = [timed, cell(f"%env CHATMAGIC_API_KEY={key}", [printed, broken, {}]),
             text_cell("See https://[x/ and http://…")]  # fmt: skip
    path = save(tmp_path / "n.ipynb", cells)
    assert "4711" not in run(capsys, [path])[1]
    _, told = run(capsys, [path, "--values"])
    assert key not in told
    assert "pass" not in told
    assert told.split("give away:\n")[1].splitlines() == [
        "  cell 1: value of {{ rows }} (4 characters): all of it",
        "  cell 1: value of {{ n }} (1 character): its size and digest",
        "  cell 2: path /home/ann/paper/x.py",
        "  cell 2: host chat.example.org",
        "  cell 2: perhaps an API key: the text sets one",
        "  cell 1: when the cell ran, in its metadata",
    ]
    token = "ghp_" + "aB3dE6gH9kL2nP5rS8tU" * 2
    _, told = run(capsys, [save(tmp_path / "k.ipynb", [text_cell(f"{token} {token}")]), "--values"])
    assert "cell 1: what looks like a GitHub token" in told
    assert token not in told
    assert "No values" in run(capsys, [save(tmp_path / "m.ipynb", [page()]), "--values"])[1]
