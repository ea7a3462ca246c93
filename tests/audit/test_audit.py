"""The audit of notebooks, as a function and as a command."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from audits import FIGURES, changed, exchange, page, run, tape
from pages import Paper, cell, output, save, text_cell
from project import files
from shells import Shell

from chatmagic.archive import notebook, restore
from chatmagic.archive import output as turn_output
from chatmagic.audit import audit
from chatmagic.conversation.question import Value
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, Usage
from chatmagic.render.sanitize import frame, live_box, live_mark

Audited = Callable[[Sequence[Any]], tuple[int, str]]
Ran = Callable[..., tuple[int, str]]


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    """Give the command: its exit code and what it printed."""
    return lambda *words: run(capsys, words)


@pytest.fixture
def audited(tmp_path: Path, ran: Ran) -> Audited:
    """Give the command on a notebook of these cells: its exit code and what it printed."""
    return lambda cells: ran(save(tmp_path / "n.ipynb", cells))


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


def test_a_form_that_another_option_or_cell_implies_is_no_fault(
    shell: Shell, tmp_path: Path, ran: Ran
) -> None:
    """A schema implies JSON, and a question for JSON takes the schema above; others are faults."""
    paper = Paper(tmp_path / "n.ipynb")
    for number, options in enumerate(
        ("--schema dict", "--format json", "--format json --schema dict")
    ):
        source = f"%%chat {options}\necho:{{}}"
        paper.ran(f"c{number}", source, shell.page(source, f"c{number}").outputs)
    assert ran(paper.save())[0] == 0
    paper.cells["c2"]["source"] = ["%%chat --format code\n", "echo:{}"]
    code, told = ran(paper.save())
    assert code == 1
    assert "cell 3: its options were edited after it was asked." in told


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


NOT_KEPT = {"history": False}
QUESTION = "its question was edited after it was asked."
OPTIONS = "its options were edited after it was asked."
NONE = "its source does not ask for the reply below it: edited, moved, or pasted."


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("%%chat\nwhy?", ""),
        ("%%chat --raw\nwhy?\n", ""),
        ("\n%chat why?  ", ""),
        ("chat why?", ""),
        ("r = %chat why?", ""),
        ('x = """\n%chat why not?\n"""\n%chat why?', ""),
        ("def asked():\n    %chat why?\nasked()", ""),
        ("%chat \\\nwhy?", ""),
        ("get_ipython().run_line_magic('chat', 'why?')", "-"),
        ("%%chat\nwhy not?", QUESTION),
        ("%chat why", QUESTION),
        ("%chat_fix why?", QUESTION),
        ("print(1)\n%chat why not?", QUESTION),
        ("%chat why not?\nchatmagic.ask('why?')", QUESTION),
        ("%%chat -t 0.5\nwhy?", OPTIONS),
        ("%chat --last 2 why?", OPTIONS),
        ("%%chat --thread other\nwhy?", OPTIONS),
        ("%%chat --no-such\nwhy?", NONE),
        ("for why in ['why?']:\n    %chat {why}", NONE),
        ("%chat -q why?", NONE),
        ("%%chat --dry\nwhy?", NONE),
        ("# %chat why?", NONE),
        ("", NONE),
    ],
)
def test_a_source_that_does_not_ask_what_stands_below_it_is_told(
    source: str, said: str, audited: Audited
) -> None:
    """Edited, emptied, made a comment; where nobody can tell, that is said."""
    asked = {**page("why?"), "source": source.splitlines(keepends=True)}
    code, told = audited([asked])
    lines = [line for line in told.splitlines() if line[0] == "!"]
    assert lines == ([f"! cell 1: {said}"] if len(said) > 1 else [])
    assert code == bool(lines)
    assert told.splitlines()[2].split()[-2] == ("NO" if lines else said or "yes")


@pytest.mark.parametrize(
    "source",
    [
        "x = '%chat'",
        "x = '%chat why?'",
        "exec('')",
        "%%bash\n%%chat\nwhy?",
        "x = '''\n%%chat\nwhy?\n'''",
        "print('%%chat')",
        "%%html\n%chat why?",
        "import chatmagic",
        "def asked():\n    %chat why?",
        "# get_ipython()",
        "r = 'get_ipython().run_line_magic(1, 2)'",
    ],
)
def test_what_asks_nothing_has_no_reply(source: str, audited: Audited) -> None:
    """A string, another language, a definition, in a notebook whose text names the settings."""
    named = text_cell("ChatMagics, `%chat`, get_ipython()")
    code, told = audited([named, {**page("why?"), "source": source}])
    assert (code, f"! cell 2: {NONE}" in told) == (1, True)


def test_a_cell_whose_code_may_ask_is_not_checked(tmp_path: Path, ran: Ran) -> None:
    """It is neither a pass nor a problem, and is counted in the summary."""
    body = "    get_ipython().run_cell_magic('chat', line, '')"
    define = cell(f"@register_line_magic\ndef q(line):\n{body}")
    asked = {**page("why?"), "source": "%q why?"}
    other = {**page("b", parameters={"history": False}), "source": "run_all()"}
    path = save(tmp_path / "n.ipynb", [define, asked, other])
    code, told = ran(path)
    assert code == 0
    assert told.splitlines()[0] == f"{path}  2 cells not checked  2 turns (2 live)"
    assert [line.split()[-2] for line in told.splitlines()[2:4]] == ["-", "-"]
    words = "their code may ask, and nothing in the file shows what."
    assert f"not checked: cells 2 and 3: {words}" in told.splitlines()
    (found,) = json.loads(ran("--json", path)[1])
    assert (found["in_order"], found["unchecked"], found["problems"]) == (None, [2, 3], [])
    fine = save(tmp_path / "fine.ipynb", [page("a")])
    bad = save(tmp_path / "bad.ipynb", [changed(page("c")), other])
    code, told = ran("--summary", path, fine, bad)
    assert (code, [" ".join(line.split()) for line in told.splitlines()]) == (
        1,
        [
            f"{path} 2 cells not checked 2 turns (2 live)",
            f"{fine} no problem 1 turn (1 live)",
            f"{bad} 1 PROBLEM, 1 cell not checked 2 turns (2 live)",
            "3 files, 1 of them with problems, 1 not checked in every cell.",
        ],
    )


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


@pytest.mark.parametrize(
    ("source", "parameters"),
    [
        ("%chat -m $m p", {"model": "x"}),
        ("%chat --thread {t} p", {"thread": "a"}),
        ("%chat --tag=$t p", {"tag": "a"}),
        ("%chat -t $t -n$n p", {"temperature": 0.5, "max_tokens": 5}),
    ],
)
def test_an_option_of_a_variable_is_that_of_the_record(
    source: str, parameters: dict[str, Any], audited: Audited
) -> None:
    """Whether or not a setting gives its default; the other options are compared all the same."""
    assert audited([{**page(parameters=parameters), "source": source}])[0] == 0
    other = {**page(parameters={**parameters, "hide": True}), "source": source}
    assert audited([other])[0] == 1


def test_the_shown_instructions_leave_no_record(audited: Audited) -> None:
    """The line prints them; the cell sets them."""
    assert audited([page(), cell("%chat_instructions", [PRINTED])])[0] == 0


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


def test_options_that_no_source_says(audited: Audited) -> None:
    """A setting holds for all cells; an option was taken out of one."""
    warm = {"temperature": 0.5, "history": False}
    bare = [
        {**page(name, parameters=warm), "source": f"%chat --no-history {name}"} for name in "ab"
    ]
    code, told = audited(bare)
    assert code == 0
    assert "cells 1 and 2: asked with temperature 0.5, which no source says" in told
    other = page("c", parameters={"history": False})
    code, told = audited([*bare[:1], other])
    assert code == 1
    assert "! cell 1: it was asked with temperature 0.5, which its source does not say." in told
    # A variable gives it; one in the prompt, or of another option, does not.
    for source, is_told in (
        ("%chat -t $t --no-history a", True),
        ("%chat --no-history a {t}", False),
        ("%chat -o $t --no-history a", False),
    ):
        prompt = source.rpartition("--no-history ")[2]
        asked = {**page(prompt, parameters=warm), "source": source}
        code, told = audited([asked, other])
        assert (code, "was asked with temperature 0.5" in told) == (not is_told, not is_told)
    setting = cell("%config ChatMagics.temperature = 0.5")
    code, told = audited([other, setting, *bare])
    assert (code, "temperature" in told) == (0, False)


PRINTED = {"output_type": "stream", "name": "stdout", "text": ["r"]}
SHOWN = {"output_type": "display_data", "data": {"text/plain": "r"}, "metadata": {}}


@pytest.mark.parametrize(
    ("other", "source", "said"),
    [
        (SHOWN, "", "! cell 1: it shows something that chatmagic did not write."),
        ({**PRINTED, "name": "stderr"}, "", "cell 1: it shows a warning, which nothing seals."),
        (PRINTED, "%chat p\nprint(1)", ""),
        (PRINTED, "%chat p\n%chat", ""),
    ],
)
def test_what_stands_beside_a_sealed_reply_is_told(
    other: dict[str, Any], source: str, said: str, audited: Audited
) -> None:
    """Above it or below it; where the source has other lines, nobody can tell."""
    for place in (0, 1):
        made = page()
        made["outputs"].insert(place, other)
        made["source"] = source or made["source"]
        code, told = audited([made])
        assert code == said.startswith("!")
        assert said in told
    made["outputs"] = [other]
    asking = {**made, "source": "%chat p"}
    code, told = audited([page("q"), asking])
    assert (code, "! cell 2: " in told) == (1, True)


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


def test_a_reply_whose_record_is_gone_is_told(audited: Audited) -> None:
    """So that a forger does not get by with taking it out; a reply that Python shows has none."""
    gone = page()
    gone["outputs"][0]["metadata"] = {}
    for asking in ("r = %chat -q a\nshow(r)", "r = chatmagic.ask('a')\ndisplay(r)"):
        shown = {**gone, "source": asking}
        assert audited([page("a"), shown])[0] == 0
    value = {**gone["outputs"][0], "output_type": "execute_result"}
    shown = {**gone, "source": "r = %chat a\nr", "outputs": [*page("a")["outputs"], value]}
    assert audited([shown])[0] == 0
    for asking in ("%%chat\np", "for n in (1, 2):\n    %chat p"):
        beside = {**page(), "source": asking}
        beside["outputs"].append(gone["outputs"][0])
        code, told = audited([page("a"), beside])
        assert (code, "! cell 2: its reply has no record" in told) == (1, True)


def test_a_cell_that_shows_nothing_of_what_it_asks_is_told(audited: Audited) -> None:
    """Whatever took the output; one that was told to show nothing, or failed, is no fault."""
    said = "! cell 2: the output of its question is missing: not run, stripped, or cleared."
    asking = (
        *("%chat_fix", "%%chat_fix\nb", "%chat_retry 2", "%chat_continue", "%chat b"),
        *("%chat_undo", "%%chat_instructions\nx", "%chat_thread a", "%chat_hide 1"),
    )
    for source in asking:
        code, told = audited([page(), cell(source)])
        assert (code, said in told) == (1, True), source
    failed = {**cell("%chat b"), "outputs": [{"output_type": "error", "ename": "E"}]}
    code, told = audited([page(), failed])
    assert (code, "cell 2: it ended in an error, without a reply." in told) == (0, True)
    first = Turn(prompt="p", reply=Reply("r")).digest
    after = page("c", carried=(first, "0" * 64))
    quiet = cell("%config ChatMagics.quiet = True")
    for one in ([cell("%chat -q b")], [quiet, cell("%chat b"), cell("%chat -q d")]):
        code, told = audited([page(), *one, after])
        assert code == 0, told


def steered(kind: str, **facts: Any) -> dict[str, Any]:
    """Give the output of something that was done to the conversation, or steers it."""
    return output({"text/plain": "x"}, {"chatmagic": {"version": 1, "kind": kind, **facts}})


def test_what_steers_is_compared_with_its_source(audited: Audited) -> None:
    """Undos, threads, instructions and hidden turns, each as often as it is asked for."""
    undo, thread = steered("undo"), steered("thread", thread={"name": "a"})
    fork = steered("thread", thread={"name": "a", "fork": 1})
    deleted = steered("deletion", thread={"name": "a"})
    first = Turn(prompt="p", reply=Reply("r")).digest
    hidden = steered("hiding", hiding={"number": 1, "digest": first})
    instructed = output(*turn_output.of_steering(Instructions.of_text("Be brief.")))
    for source, shown, is_told in (
        ("for n in 'ab':\n    %chat_undo", [undo, undo], False),
        ("%chat_undo", [undo, undo], True),
        ("%chat_redo", [undo], True),
        ("%chat_thread a", [thread], False),
        ("%chat_thread b", [thread], True),
        ("%chat_thread --fork=1 a", [fork], False),
        ("%chat_thread --fork 2 a", [fork], True),
        ("%chat_thread --delete a", [deleted], False),
        ("%chat_thread $name", [thread], False),
        ("%chat_thread --fork={n} a", [fork], False),
        ("%chat_hide $n", [hidden], False),
        ("%chat_undo $n", [thread], True),
        ("%chat_thread a", [deleted], True),
        ("%chat_thread", [thread], True),
        ("%chat_hide --show 1", [hidden], True),
        ("%%chat_instructions\nBe brief.\n", [instructed], False),
        ("%%chat_instructions\nBe long.\n", [instructed], True),
        ("%%chat_instructions\n", [instructed], True),
    ):
        code, told = audited([page(), cell(source, shown)])
        assert (code, "! cell 2: its source does not" in told) == (is_told, is_told), source


def test_a_pair_is_named_at_both_files_and_in_the_summary(tmp_path: Path, ran: Ran) -> None:
    """The same request, reply and date, of a service; a replay and the emulator repeat them."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    first = page("p", date=noon, parameters=NOT_KEPT)
    own = page("own", date=noon, parameters=NOT_KEPT)
    other = page("other", date=noon, parameters={"history": False})
    a, b, c = (tmp_path / f"{name}.ipynb" for name in "abc")
    code, told = ran(save(a, [first, own]), save(b, [other, first]), save(c, [other]))
    words = "has the same replies of a service, of the same requests and dates."
    assert code == 1
    assert [line for line in told.splitlines() if line.startswith("!")] == [
        f"! cell 1: {b} {words}",
        f"! cell 2: {a} {words}",
        f"! cell 1: {c} {words}",
        f"! cell 1: {b} {words}",
    ]
    code, told = ran("--summary", a, b, c)
    assert (code, told.splitlines()[3:]) == (
        1,
        [
            "3 files, 3 of them with problems.",
            f"{a} and {b} have the same reply of a service.",
            f"{b} and {c} have the same reply of a service.",
        ],
    )
    save(b, [first, own])
    told = ran("--summary", a, b)[1]
    assert told.endswith(f"{a} and {b} have the same 2 replies of a service.\n")
    # Two answers in one second differ in their credits.
    two = [
        page("p", date=noon, credits=replace(FIGURES, remaining=left), parameters=NOT_KEPT)
        for left in (98, 99)
    ]
    assert ran(save(c, two))[0] == 0
    # A file that is given twice is no pair.
    code, told = ran(a, a, tmp_path / "." / "a.ipynb")
    assert (code, "the same" in told) == (0, False)
    code, told = ran(save(a, [first, first]))
    assert (code, "! cell 2: its reply is that of cell 1." in told) == (1, True)
    replayed = page("p", date=noon, origin="replay", parameters={"history": False})
    code, told = ran(*[save(path, [replayed]) for path in (a, b)])
    assert (code, "the same" in told) == (0, False)


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


# --- cassettes ------------------------------------------------------------------------------


def test_the_lessons_are_in_order() -> None:
    """What ships agrees with itself, and so does a cassette in which replies were asked anew."""
    for path in (*files("notebooks/*.ipynb"), *files("tests/samples/saved_cassette.jsonl")):
        (found,) = audit.audit_all([path])
        assert found.in_order, found
        assert found.turns


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
    assert f"cell 2: {NONE}" in told


def test_a_cassette_is_tabulated(tmp_path: Path, ran: Ran) -> None:
    """A line an exchange; what it carried and does not hold is no fault."""
    headers = (("Date", "Thu, 01 Jan 2026 12:00:00 GMT"), ("X-RateLimit-Remaining", "9"))
    path = tape(
        tmp_path / "c.jsonl",
        exchange("a", "1", took=2, headers=headers, usage=Usage(1, 2, 3)),
        exchange("b", "2", "a", "1", origin="emulator"),
        exchange("c", "3", "not", "held"),
        exchange("d", None, status=429, error={"error": "x"}, model=None, finish_reason=None),
    )
    code, told = ran(path)
    assert code == 0
    assert told.splitlines() == [
        f"{path}  no problem  4 turns (3 live, 1 emulator)",
        (
            "exchange  prompt  model  tokens              credits  cost  ended  origin    "
            "as asked  order"
        ),
        "1         a       m      1 sent, 2 received  9        2     stop   live      yes       -",
        "2         b       m      ?                   ?        ?     stop   emulator  yes       -",
        "3         c       m      ?                   ?        ?     stop   live      yes       -",
        "4         d       ?      ?                   ?        ?     error  live      yes       -",
    ]


def test_a_cassette_that_is_not_in_order_is_told(tmp_path: Path, ran: Ran) -> None:
    """What stands twice, a changed word, none at all; no order, and no two that may be equal."""
    left = (("X-RateLimit-Remaining", "9"),)
    a, b = exchange("a", "1", headers=left), exchange("b", "2", "a", "1")
    refused = exchange("a", None, headers=left, status=429, error={"error": "x"})
    damaged = tape(tmp_path / "damaged.jsonl", a)
    damaged.write_text(damaged.read_text().replace('"reply": "1"', '"reply": "2"'))
    for path, said in (
        # A refresh puts the new reply in the old one's place.
        (tape(tmp_path / "order.jsonl", b, a), ""),
        (tape(tmp_path / "errors.jsonl", refused, refused), ""),
        (tape(tmp_path / "equal.jsonl", b, b), ""),
        (tape(tmp_path / "twice.jsonl", a, b, a), "! exchange 3: it stands above once more."),
        (damaged, "the exchange is not the one that was recorded"),
        (tmp_path / "none.jsonl", "is not there."),
    ):
        code, told = ran(path)
        assert (code, said in told, "once more" in told) == (bool(said), True, "once more" in said)
        assert json.loads(ran(path, "--json")[1])[0]["kind"] == "cassette"


def test_a_cassette_with_a_merge_conflict_is_checked_as_both(tmp_path: Path, ran: Ran) -> None:
    """A remark says so, and both of its halves are in the table."""
    path = tape(tmp_path / "talk.jsonl", exchange("a", "1"), exchange("b", "2"))
    head, *lines = path.read_text().splitlines(keepends=True)
    ours, theirs = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    text = [head, "<<<<<<< a\n", *ours, "=======\n", *theirs, ">>>>>>> b\n"]
    path.write_text("".join(text))
    code, told = ran(path)
    assert code == 0
    assert "it has the marks of a merge conflict, and both halves were read." in told
    turns = json.loads(ran(path, "--json")[1])[0]["turns"]
    assert [turn["prompt"] for turn in turns] == ["a", "b"]


def test_a_notebook_is_compared_with_a_cassette(tmp_path: Path, ran: Ran) -> None:
    """Each whole reply that is shown is held, for the same request and with the same words."""
    early = page("c", state="interrupted", parameters={"last": 0})
    other = page("d", by_order=True, parameters={"last": 0})
    book = save(tmp_path / "n.ipynb", [page("p"), early, other])
    whole = tape(tmp_path / "whole.jsonl", exchange("p", "r", usage=Usage(1, 2, 3)))
    empty = tape(tmp_path / "empty.jsonl", exchange("q", "r"))
    changed = tape(tmp_path / "changed.jsonl", exchange("p", "another"), exchange("e", "r"))
    assert ran(book, whole)[0] == 0
    assert ran(book, empty, whole)[0] == 0
    rich = exchange("# T p", "r", usage=Usage(1, 2, 3), request=exchange("p", "r").request)
    assert ran(book, tape(tmp_path / "rich.jsonl", rich))[0] == 0
    code, told = ran(book, empty)
    assert code == 1
    said = "its reply, with this text, model, end and tokens, is not in "
    assert f"! cell 1: {said}empty.jsonl." in told
    code, told = ran(changed, book)
    assert (code, f"! cell 1: {said}changed.jsonl." in told) == (1, True)
    # A notebook that names cassettes of its own is compared with those.
    named = {**page("p"), "source": "%chat_cassette 'whole.jsonl'\n%chat p"}
    own = save(tmp_path / "own.ipynb", [named])
    assert ran(own, empty)[0] == 0
    assert ran(own, empty.rename(whole))[0] == 1
    for altered in ({"usage": Usage(1, 2, 4)}, {"model": "n"}, {"finish_reason": "length"}):
        held = exchange("p", "r", **{"usage": Usage(1, 2, 3), **altered})
        code, told = ran(tape(tmp_path / "x.jsonl", held), book)
        assert (code, f"! cell 1: {said}x.jsonl." in told) == (1, True)


def test_values_list_what_the_file_gives_away(tmp_path: Path, ran: Ran) -> None:
    """Kept values, paths, hosts, words that set a key; and no key itself."""
    key = "sk-1234567890abcdef"
    kept, bare = Value.of_text("rows", "4711"), Value.of_text("n", "2").bare
    timed = page("{{ rows }} {{ n }}", values=(kept, bare))
    printed = {
        "output_type": "stream",
        "name": "stdout",
        "text": ["at https://ann:pass@chat.example.org/v1?at=@x"],
    }
    broken = {"output_type": "error", "traceback": ["in /home/ann/paper/x.py:3"], "evalue": "e"}
    cells = [timed, cell(f"%env CHATMAGIC_API_KEY={key}", [printed, broken, {}]),
             text_cell("See https://[x/ and http://…")]  # fmt: skip
    path = save(tmp_path / "n.ipynb", cells)
    assert "4711" not in ran(path)[1]
    _, told = ran(path, "--values")
    assert key not in told
    assert "pass" not in told
    assert told.split("in the file:\n")[1].splitlines() == [
        "  cell 1: value of {{ rows }} (4 characters): all of it",
        "  cell 1: value of {{ n }} (1 character): its size and digest",
        "  cell 2: perhaps an API key: the text sets one",
        "  cell 2: host chat.example.org",
        "  cell 2: path /home/ann/paper/x.py",
    ]
    token = "ghp_" + "aB3dE6gH9kL2nP5rS8tU" * 2
    _, told = ran(save(tmp_path / "k.ipynb", [text_cell(f"{token} {token}")]), "--values")
    assert "cell 1: a text that looks like a GitHub token" in told
    assert token not in told
    assert "No values" in ran(save(tmp_path / "m.ipynb", [page()]), "--values")[1]


def test_secrets_alone(tmp_path: Path, ran: Ran) -> None:
    """A line for each place with one, in a notebook and in a cassette, and never the secret."""
    token = "ghp_" + "aB3dE6gH9kL2nP5rS8tU" * 2
    good = save(tmp_path / "good.ipynb", [page(), changed(page())])
    assert ran(good, "--secrets") == (0, "1 file, no secret.\n")
    bad = save(tmp_path / "bad.ipynb", [text_cell("a"), text_cell(f"{token} {token}")])
    held = tape(tmp_path / "tape.jsonl", exchange(f"use {token}", "r"), exchange("p", "r"))
    code, told = ran(good, bad, held, tmp_path / "none.jsonl", "--secrets")
    assert code == 1
    assert token not in told
    assert told.splitlines() == [
        f"{bad}: cell 2: it holds a text that looks like a GitHub token.",
        f"{held}: exchange 1: it holds a text that looks like a GitHub token.",
        f"{tmp_path / 'none.jsonl'}: {tmp_path / 'none.jsonl'} is not there.",
        "4 files, 3 problems.",
    ]
    (tmp_path / "empty").mkdir()
    assert ran(tmp_path / "empty", "--secrets")[0] == 1
