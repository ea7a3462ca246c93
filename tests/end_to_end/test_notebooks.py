"""The lessons run again, strictly, offline, and fail when a word of a reply changes.

Each is run as a page runs it, twice, or by nbval; and by one of the tools that run notebooks,
which rest on the same library. That a changed word fails is shown by nbval itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest
from comparison import code, run, strict
from forked_kernels import forking
from kernels import kernel
from lessons import CASSETTES, NOTEBOOKS, ROOT, environment, fresh, read, write
from nbformat import NotebookNode
from project import files
from shells import Shell

from chatmagic import cli
from chatmagic.archive.cassette_format import cassette_text, from_text
from chatmagic.archive.interaction import instructions_name
from chatmagic.conversation.cell_magics import plan_of
from chatmagic.conversation.steering import Instructions, instructed
from chatmagic.emulator import replies as practice
from chatmagic.models import Message

LESSONS: Final = files("*.ipynb", NOTEBOOKS)
TAPES: Final = files("*.jsonl", CASSETTES)
WIDGET: Final = "application/vnd.jupyter.widget-view+json"
"""A reference to a widget, which only its kernel can follow; nbval leaves it aside, too."""
LONG: Final = {"03-label-and-report", "05-tests-in-ci"}
"""Lessons that nbval alone runs: they ask beside the cells, by a map and by pytest."""

FAILING: Final = {
    "01-quickstart": {"BudgetError"},
    "02-analysis": {"ZeroDivisionError"},
    "04-reviewer": {"NotRecordedError"},
    "06-homework": {"RateLimitError"},
}
"""The errors that the lessons show."""

OFFLINE: Final = """\
import socket, sys
sys.modules["rfc3987_syntax"] = None
known = socket.socket.connect, socket.socket.connect_ex
def near(give):
    def connect(self, address):
        if isinstance(address, tuple) and not str(address[0]).startswith(("127.", "::1", "local")):
            raise OSError(101, "The network is cut.")
        return give(self, address)
    return connect
socket.socket.connect, socket.socket.connect_ex = map(near, known)
"""
"""Cuts the network in every Python process that finds it as its ``sitecustomize``.

And spares it a package by which nbformat's validator would check addresses, which takes more
than a second to load, and which it does without.
"""

PLACES: Final = "|".join(map(re.escape, (str(Path.home()), tempfile.gettempdir(), str(ROOT))))
"""Paths of the machine that a lesson was saved on."""

AT_ONCE: Final = """\
from dataclasses import replace
from chatmagic.emulator import server
server.FRESH = replace(server.FRESH, delay=0.0)
"""
"""Lets a kernel's emulator reply without a pause; Binder's test runs a lesson with its own."""

DEAD: Final = "http://127.0.0.1:9"
ABROAD: Final = {
    "TZ": "Pacific/Kiritimati",
    "HTTP_PROXY": DEAD,
    "HTTPS_PROXY": DEAD,
    "ALL_PROXY": DEAD,
    "NO_PROXY": "",
}

NBCLIENT: Final = """\
import sys, nbformat
from pathlib import Path
from nbclient import NotebookClient
for path in map(Path, sys.argv[1:]):
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, resources=resources).execute()
    nbformat.write(notebook, path)
"""
PAPERMILL: Final = """\
import os, sys, papermill
from pathlib import Path
for path in map(Path, sys.argv[1:]):
    try:
        papermill.execute_notebook(
            path, path, cwd=path.parent, progress_bar=False, log_output=False
        )
    except papermill.PapermillExecutionError:
        pass  # it runs a tagged cell, goes on, and tells of it at its end
"""
TOOLS: Final = {
    "nbclient": ["-c", NBCLIENT],
    "papermill": ["-c", PAPERMILL],
    "jupyter nbconvert --execute": [
        *("-m", "jupyter", "nbconvert", "--to", "notebook", "--execute", "--inplace")
    ],
    "jupyter execute": ["-m", "jupyter", "execute", "--inplace"],
}
RUN_BY: Final = {
    "nbclient": ["01-quickstart"],
    "nbval": ["02-analysis", "03-label-and-report", "05-tests-in-ci"],
    "papermill": ["06-homework"],
    "jupyter nbconvert --execute": ["07-panel"],
    "jupyter execute": ["04-reviewer"],
}
"""Which lessons a tool runs: of nbconvert count widgets, of papermill and ``jupyter execute``
errors that are shown and files that a lesson writes, and of nbval what it compares itself."""


def replies(notebook: NotebookNode) -> list[NotebookNode]:
    """Give the outputs that hold a reply, of which every lesson has some."""
    found = [
        output
        for cell in code(notebook)
        for output in cell.outputs
        if output.get("metadata", {}).get("chatmagic", {}).get("kind") == "turn"
    ]
    assert found
    return found


def longest(text: str) -> str:
    """Give the longest word of a text."""
    words: list[str] = re.findall(r"\w+", text)
    return max(words, key=len)


def with_another(text: str, word: str) -> str:
    """Give a text with one word changed."""
    changed = text.replace(word, "changed", 1)
    assert changed != text
    return changed


def copied(folder: Path) -> list[Path]:
    """Copy the lessons and their cassettes."""
    shutil.copytree(NOTEBOOKS, folder, ignore=shutil.ignore_patterns(".*"))
    return files("*.ipynb", folder)


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Give an environment without a network, where kernels are forked and emulators do not wait."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "sitecustomize.py").write_text(OFFLINE, encoding="utf-8")
    first = folder / "ipython" / "profile_default" / "startup" / "at_once.py"
    first.parent.mkdir(parents=True)
    first.write_text(AT_ONCE, encoding="utf-8")
    known = environment({"IPYTHONDIR": str(folder / "ipython")})
    known["PYTHONPATH"] = os.pathsep.join([str(folder), known["PYTHONPATH"]])
    with forking(folder / "forks", known):
        yield {**known, "JUPYTER_PATH": str(folder / "forks")}


def by_tool(tool: str, folder: Path, known: Mapping[str, str]) -> dict[str, NotebookNode] | None:
    """Run copies of the lessons by a tool; ``None`` where it is not installed."""
    if tool == "papermill" and find_spec("papermill") is None:
        return None
    folder.mkdir()
    paths = [path for path in copied(folder / "notebooks") if path.stem in RUN_BY[tool]]
    for path in paths:
        write(fresh(read(path)), path)
    done = run([*TOOLS[tool], *map(str, paths)], folder, known)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.stem: read(path) for path in paths}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, offline: dict[str, str]) -> dict[str, Any]:
    """Run the lessons by their tools, two at a time: kernels take their time to start."""
    folder = tmp_path_factory.mktemp("ran")
    abroad = {**offline, **ABROAD}
    with ThreadPoolExecutor(2) as pool:
        jobs = {tool: pool.submit(by_tool, tool, folder / tool, abroad) for tool in TOOLS}
        return {tool: job.result() for tool, job in jobs.items()}


def test_each_lesson_is_run_by_a_tool() -> None:
    """A lesson that is added is named above."""
    assert sorted(chain(*RUN_BY.values())) == [path.stem for path in LESSONS]
    assert set(RUN_BY) == {*TOOLS, "nbval"}


@pytest.mark.release
def test_nbval_passes_strictly_in_another_time_zone(
    tmp_path: Path, offline: dict[str, str]
) -> None:
    """Saved outputs come again, offline, from another folder, behind dead proxies."""
    own = [path for path in LESSONS if path.stem in RUN_BY["nbval"]]
    done = strict(own, tmp_path, {**offline, **ABROAD})
    assert done.returncode == 0, done.stdout + done.stderr
    count = sum(len(code(read(NOTEBOOKS / f"{name}.ipynb"))) for name in RUN_BY["nbval"])
    assert f"{count} passed" in done.stdout


@pytest.mark.release
@pytest.mark.parametrize(
    ("tool", "lesson"), [(tool, lesson) for tool in TOOLS for lesson in RUN_BY[tool]]
)
def test_every_tool_gives_what_is_saved(lesson: str, tool: str, ran: dict[str, Any]) -> None:
    """What runs a lesson leaves the same outputs, their records included."""
    if ran[tool] is None:
        assert not os.environ.get("CI"), f"{tool} is not installed"
        pytest.skip(f"{tool} is not installed")
    saved = code(read(NOTEBOOKS / f"{lesson}.ipynb"))
    found = code(ran[tool][lesson])
    if tool == "papermill":
        # What it says of a failed cell, it says in cells of its own.
        found = [cell for cell in found if "papermill-error-cell-tag" not in cell.metadata.tags]
    assert [cell.outputs for cell in found] == [cell.outputs for cell in saved]


@pytest.mark.release
def test_nbval_as_in_ci_fails_at_a_changed_word(tmp_path: Path, offline: dict[str, str]) -> None:
    """By the workflow that 05 and the manual give: older HTML passes, a changed word does not.

    A word of a saved reply is changed, and one of a recorded reply with its digest.
    """
    lesson = read(NOTEBOOKS / "05-tests-in-ci.ipynb")
    [workflow] = [cell.source for cell in lesson.cells if "name: notebooks" in cell.source]
    steps = workflow.split("```yaml\n")[1].split("```")[0]
    assert steps in (NOTEBOOKS / "reference" / "keep.md").read_text("utf-8")
    command = 'pytest --nbval --nbval-sanitize-with="$(chatmagic sanitize-file)" notebooks/'
    assert f"- run: {command}\n" in steps
    first, analysis, *_ = copied(tmp_path / "notebooks")
    saved = read(first)
    for reply in replies(saved):
        reply.data["text/html"] = reply.data["text/html"].replace("<p>", '<p class="older">')
    changed = replies(saved)[1].data
    changed["text/plain"] = with_another(changed["text/plain"], longest(changed["text/plain"]))
    write(saved, first)
    tape = analysis.parent / "cassettes" / f"{analysis.stem}.jsonl"
    recorded = [*from_text(tape.read_text(encoding="utf-8"), tape.name)]
    text = recorded[2].text or ""
    recorded[2] = replace(recorded[2], text=with_another(text, longest(text)))
    tape.write_text(cassette_text(recorded), encoding="utf-8")
    done = strict(
        [first, analysis], tmp_path, offline, "--nbval-sanitize-with", str(cli.SANITIZE_FILE)
    )
    failed = re.findall(r"^FAILED notebooks/(\S+)\.ipynb::(Cell \d+) ", done.stdout, re.MULTILINE)
    assert [cell for name, cell in failed if name == first.stem] == ["Cell 2"], done.stdout
    assert next(cell for name, cell in failed if name == analysis.stem) == "Cell 9", done.stdout


@pytest.mark.parametrize("path", TAPES, ids=lambda path: path.stem)
def test_nothing_in_a_cassette_is_made_up(path: Path) -> None:
    """Each reply is what the emulator says to these messages, and says that it is its."""
    recorded = from_text(path.read_text(encoding="utf-8"), path.name)
    assert {each.origin for each in recorded} == {"emulator"}
    replied = [each for each in recorded if each.is_reply]
    assert replied
    turns = {each.turn: each for each in replied}
    cells = code(read(NOTEBOOKS / f"{path.stem}.ipynb"))
    plans = [command for cell in cells for command in plan_of(cell.source).commands]
    bodies = [plan.body or "" for plan in plans if plan.name == "chat_instructions"]
    standing = {
        instructions_name(each.value): each.value for each in map(Instructions.of_text, bodies)
    }
    for each in replied:
        messages = [
            message
            for turn in map(turns.__getitem__, each.before)
            for message in (Message("user", turn.prompt), Message("assistant", turn.text or ""))
        ]
        asked = (*messages, Message("user", each.prompt))
        if each.instructions is not None:
            asked = instructed(asked, standing[each.instructions])
        reply = practice.complete(asked, each.parameters.get("max_tokens"))
        assert (reply.text, reply.usage, reply.finish_reason) == (
            each.text,
            each.usage,
            each.finish_reason,
        )


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_fails_where_it_says_so(path: Path) -> None:
    """An error has the name that it should have, in a cell that is tagged for it."""
    errors = set()
    for cell in code(read(path)):
        names = [one.ename for one in cell.outputs if one.output_type == "error"]
        assert (cell.metadata.get("tags", []) == ["raises-exception"]) == bool(names)
        errors |= set(names)
    assert errors == FAILING.get(path.stem, set())


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_reads_well_where_nothing_runs(path: Path) -> None:
    """Each reply is there as text and as HTML, beside the record of its turn; no path, no key."""
    notebook = read(path)
    assert notebook.cells[0].source.startswith("# ")
    for output in replies(notebook):
        record = output.metadata.chatmagic
        assert output.data["text/plain"]
        assert 'class="chatmagic ' in output.data["text/html"]
        assert record.origin in {"emulator", "replay"}
        assert "owner" not in record
        assert len(record.reply) == len(record.request) == 64
    assert replies(notebook)
    assert not re.search(rf"{PLACES}|127\.0\.0\.1:\d", json.dumps(notebook))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.release if path.stem in RUN_BY["nbval"] else ())
        for path in LESSONS
        if path.stem not in LONG
    ],
    ids=lambda path: path.stem,
)
def test_a_page_shows_what_is_saved_and_again(path: Path) -> None:
    """Where cells are known, the outputs are the same; run all again, the replies are too."""
    notebook = read(path)
    with kernel(environment()) as running:
        running.run(f"import os\nos.chdir({str(path.parent)!r})\n{AT_ONCE}")
        for again in (False, True):
            for cell in code(notebook):
                done = running.run(cell.source, cell=cell.id)
                assert done.status == ("error" if "tags" in cell.metadata else "ok"), done.text
                wanted = [saved_text(output) for output in cell.outputs]
                if not again:
                    assert [shown_text(output) for output in done.outputs] == wanted
                kept = [one.data["text/plain"] for one in cell.outputs if is_reply(one)]
                assert [one["data"]["text/plain"] for one in done.replies if is_reply(one)] == kept


def is_reply(output: Any) -> bool:
    """Tell whether an output is a turn's."""
    return bool(output.get("metadata", {}).get("chatmagic", {}).get("kind") == "turn")


def saved_text(output: NotebookNode) -> tuple[Any, ...]:
    """Give what there is to see of a saved output."""
    return shown_text({**output, "type": output.output_type})


def shown_text(output: dict[str, Any]) -> tuple[Any, ...]:
    """Give what there is to see of an output as it was shown."""
    if output["type"] == "stream":
        return "stream", output["name"], output["text"]
    if output["type"] == "error":
        return "error", output["ename"], output["evalue"], output["traceback"]
    return output["type"], {k: text for k, text in output["data"].items() if k != WIDGET}


def test_another_question_is_answered_as_the_lesson_says(
    bare: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the reader is told to try in 01: a question changed in its cell, and a history."""
    monkeypatch.chdir(NOTEBOOKS)
    notebook = read(NOTEBOOKS / "01-quickstart.ipynb")
    told = next(cell.source for cell in notebook.cells if "**Try it.** Change" in cell.source)
    quoted = told.split("```text\n")[1].split("```")[0]
    question = re.findall(r"\*(How .*?\?)\*", told)[0]
    for cell in code(notebook)[:3]:
        bare.page(cell.source, cell.id)
    first = code(notebook)[1]
    assert "Stop button" in bare.page(f"%%chat\n{question}", first.id).texts[0]
    assert quoted in bare.page("%chat_history", "another").texts[0]


@pytest.mark.release
def test_a_lesson_is_its_own_cassette(tmp_path: Path, offline: dict[str, str]) -> None:
    """Alone in a folder, a saved lesson is replayed from itself, as 04 says."""
    [said] = [
        cell.source
        for cell in read(NOTEBOOKS / "04-reviewer.ipynb").cells
        if "the notebook is its own" in cell.source
    ]
    variable, *command = said.split("```sh\n")[2].split("```")[0].split()
    saved = read(NOTEBOOKS / "07-panel.ipynb")
    write(saved, tmp_path / command[-1])
    done = run(["-m", *command], tmp_path, {**offline, **dict([variable.split("=")])})
    assert done.returncode == 0, done.stderr
    found = read(next(tmp_path.glob("*.nbconvert.ipynb")))
    assert [cell.outputs for cell in code(found)] == [cell.outputs for cell in code(saved)]
