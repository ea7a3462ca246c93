"""The audience of an execution, as the execute requests of the front ends tell it.

Hosts of notebooks, each with its request as recorded or documented, through the real magic.
"""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cases import each_case
from comms import Widgets
from IPython.core.interactiveshell import InteractiveShell
from logged import Emulator
from project import ROOT
from shells import Ran, Shell

from chatmagic.conversation.record import is_sealed
from chatmagic.jupyter.cells.running_cell import (
    HOSTS,
    Execution,
    _cell_named,
    cell_source,
    host_of,
    running,
)
from chatmagic.session.current import current_session

CELL = "0f1d6a2e-1c5b-4d51-9d62-4a4a9f0f2b11"


def shell(parent: object = None, *, kernel: bool = True) -> InteractiveShell:
    """Give as much of a shell as is looked at."""
    made = SimpleNamespace(execution_count=7, history_manager=None)
    if kernel:
        made.get_parent = lambda: parent
    return cast("InteractiveShell", made)


def request(metadata: object, *, person: bool, msg_id: str = "m1") -> dict[str, Any]:
    """Give an execute request."""
    return {
        "header": {"msg_id": msg_id, "msg_type": "execute_request"},
        "metadata": metadata,
        "content": {"code": "x", "allow_stdin": person},
    }


def test_a_page() -> None:
    """JupyterLab and Notebook 7 name the cell; only its hash is kept, always the same."""
    metadata = {"cellId": CELL, "deletedCells": [], "recordTiming": False}
    found = running(shell(request(metadata, person=True)))
    assert (found.id, found.audience, found.label) == ("m1", "page", "cell [7]")
    assert found.cell is not None
    assert CELL not in repr(found)
    again = running(shell(request(metadata, person=True, msg_id="m2")))
    assert (again.cell, again.id) == (found.cell, "m2")
    other = running(shell(request({"cellId": "/home/me/a.ipynb#X1"}, person=True)))
    assert other.cell not in {None, found.cell}
    assert "home" not in repr(other)


@each_case(
    ("metadata", "person", "audience"),
    [
        ({}, False, "machine"),  # nbclient, nbval, nbconvert, papermill
        ({"cellId": CELL}, False, "machine"),
        ({}, True, "text"),  # jupyter console, qtconsole
        (None, True, "text"),
        ({"cellId": ""}, True, "text"),
        ({"cellId": 7}, True, "text"),
        ({"colab": 1}, True, "text"),
        ({"colab": {"cell_id": 2}}, True, "text"),
    ],
)
def test_others(metadata: object, person: bool, audience: str) -> None:
    """Whether a person sees updates is told by the input that is allowed and the cell."""
    found = running(shell(request(metadata, person=person)))
    assert (found.audience, found.id) == (audience, "m1")
    assert (found.cell is None) == (
        not isinstance(metadata, dict) or metadata.get("cellId") != CELL
    )


@pytest.mark.parametrize("made", [shell(kernel=False), shell(None), shell({}), shell("odd")])
def test_a_terminal(made: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a request each prompt is an execution of its own; its output may be piped."""
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    assert running(made) == Execution(None, "terminal-7", "text", "cell [7]")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert running(made).piped
    monkeypatch.setattr(sys, "stdout", None)
    assert running(made).piped


def test_a_request_that_lacks_everything() -> None:
    """A strange kernel's request is no reason to fail; nobody is taken for a person."""
    assert running(shell({"metadata": {}})) == Execution(None, None, "machine", "cell [7]")


def test_source_and_number_of_the_running_cell() -> None:
    """They are those of the newest input as typed: the count may be the next cell's already."""
    made = shell()
    assert cell_source(made) == ""
    made.history_manager = SimpleNamespace(input_hist_raw=["", "a", "%chat b"])
    assert cell_source(made) == "%chat b"
    assert running(made).label == "cell [2]"


SAMPLES = ROOT / "tests" / "samples" / "requests.json"
REQUESTS = json.loads(SAMPLES.read_text(encoding="utf-8"))
"""Execute requests of front ends; ``source`` says where each was read."""
ASKS = "%%chat\necho:one two"
PAGE = ROOT / "notebooks" / "reference" / "connect.md"


@pytest.fixture(params=REQUESTS, ids=lambda sample: sample["host"])
def sample(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Give a host's request, in the host's environment."""
    given: dict[str, Any] = request.param
    for name, value in given["environment"].items():
        monkeypatch.setenv(name, value)
    return given


def ask(shell: Shell, sample: dict[str, Any]) -> Ran:
    """Run the same cell as the host would."""
    return shell.do(ASKS, request=sample)


def test_a_host_is_shown_what_it_saves(
    shell: Shell, emulator: Emulator, sample: dict[str, Any]
) -> None:
    """A page gets its reply as a display with a record, live where it names the cell."""
    ran = ask(shell, sample)
    assert running(shell.shell).audience == sample["audience"]
    assert any(message["kind"] == "update" for message in ran.messages) == sample["live"]
    if sample["audience"] == "text":
        assert (ran.printed.count("one two"), ran.messages) == (1, [])
    else:
        (output,) = ran.outputs
        assert (ran.printed, ran.texts, len(ran.records)) == ("", ["one two"], 1)
        assert is_sealed(ran.records[0], output["data"])
    assert (shell.kernel.page.bridge is not None) == sample["live"]
    again = ask(shell, sample)
    names_cell = _cell_named(sample["metadata"]) is not None
    assert len(current_session().conversation) == (1 if names_cell else 2)
    assert ("owner" in (again.records or [{}])[0]) == names_cell
    assert len(emulator.requests) == 2


@pytest.mark.usefixtures("emulator")
def test_a_cell_ends_first_where_its_page_updates_it_later(
    shell: Shell, sample: dict[str, Any]
) -> None:
    """In the foreground elsewhere, as in Databricks, which updates the running cell alone."""
    shell.do("%%chat --background\necho:one two", request=sample)
    background = shell.kernel.background
    assert bool(background._tasks) == (sample["host"] in {"JupyterLab 4", "VS Code"})
    background.wait()
    assert [turn.state for turn in current_session().conversation] == ["complete"]


@pytest.mark.parametrize("has_anywidget", [True, False])
def test_a_page_without_labextensions_has_the_panel_by_anywidget(
    shell: Shell, sample: dict[str, Any], monkeypatch: pytest.MonkeyPatch, *, has_anywidget: bool
) -> None:
    """It would look for our own module in a public registry; without anywidget it is told so."""
    widgets = Widgets(monkeypatch)
    if not has_anywidget:
        monkeypatch.setattr("chatmagic.jupyter.commands.panel.find_spec", lambda _: None)
    ran = shell.do("%chat_panel", request=sample)
    is_jupyter = sample["host"] in {"JupyterLab 4", "Notebook 7"}
    modules = [widget.state["_model_module"] for widget in widgets.having("draft")]
    if not sample["live"] or not (is_jupyter or has_anywidget):
        assert modules == []
    else:
        assert modules == ["_chatmagic" if is_jupyter else "anywidget"]
    told = sample["live"] and not is_jupyter and not has_anywidget
    assert ("Here the chat panel needs anywidget" in ran.printed) == told
    assert ("needs a live page" in ran.printed) == (sample["audience"] == "text")
    assert ("chatmagic-saved" in repr(ran)) == (sample["audience"] != "text")


def test_the_table_of_hosts_is_the_manuals() -> None:
    """Each host's variable stands on the reference page; a request's cell is looked for first."""
    page = PAGE.read_text(encoding="utf-8")
    assert {each.variable for each in HOSTS} <= set(page.replace("`", " ").split())
    assert [host_of({each.variable: each.value or "x"}) for each in HOSTS] == list(HOSTS)
    assert host_of({}) is host_of({"VSCODE_PID": ""}) is None


REDIRECTED = {
    "captured by a magic": "%%capture shown\n%chat echo:one two",
    "captured by IPython": (
        "from IPython.utils.capture import capture_output\n"
        "with capture_output() as shown:\n    %chat echo:one two"
    ),
    "taken by a hook": (
        "publisher = get_ipython().display_pub\n"
        "publisher._hooks = [str]\n%chat echo:one two\ndel publisher._hooks"
    ),
    "in a widget": (
        "import ipywidgets\nout = ipywidgets.Output()\n"
        "out.msg_id = get_ipython().get_parent()['header']['msg_id']\n"
        "%chat echo:one two\nout.msg_id = ''"
    ),
}


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("code", REDIRECTED.values(), ids=REDIRECTED)
def test_a_redirected_reply_is_one_display_at_the_end(
    shell: Shell, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page would update it there; the next cell's own reply is shown while it arrives."""
    Widgets(monkeypatch)
    ran = shell.page(code, "a")
    captured = shell.shell.user_ns.pop("shown", None)
    if captured is None:
        assert [message["kind"] for message in ran.messages] == ["display"]
        assert ran.texts == ["one two"]
    else:
        assert ran.messages == []
        assert [each.data["text/plain"] for each in captured.outputs] == ["one two"]
    after = shell.page("%chat echo:three", "b")
    assert [message["kind"] for message in after.messages][:2] == ["display", "update"]


@pytest.mark.usefixtures("emulator")
def test_a_capture_takes_no_update_of_another_cell(shell: Shell) -> None:
    """The display of a question in the background stays its own cell's."""
    shell.page("%%chat --background\necho:one two", "a")
    shell.page("%%capture shown\n%chat echo:three", "b")
    assert [each.data["text/plain"] for each in shell["shown"].outputs] == ["three"]
