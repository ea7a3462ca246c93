"""Sources of cells, compared with the outputs below them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from audits import NO_SOURCE, Audited, Ran, changed, page
from pages import Paper, cell, output, save, text_cell
from shells import Shell

from chatmagic.archive import output as turn_output
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply


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


QUESTION = "its question was edited after it was asked."


OPTIONS = "its options were edited after it was asked."


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
        ("%%chat --no-such\nwhy?", NO_SOURCE),
        ("for why in ['why?']:\n    %chat {why}", NO_SOURCE),
        ("%chat -q why?", NO_SOURCE),
        ("%%chat --dry\nwhy?", NO_SOURCE),
        ("# %chat why?", NO_SOURCE),
        ("", NO_SOURCE),
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
    assert (code, f"! cell 2: {NO_SOURCE}" in told) == (1, True)


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
        ({**PRINTED, "name": "stderr"}, "", "cell 1: it shows a warning, which has no seal."),
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
