"""The audience of an execution, as the execute requests of the front ends tell it."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from chatmagic.jupyter.execution import Execution, cell_source, running

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

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


@pytest.mark.parametrize(
    ("metadata", "person", "audience"),
    [
        ({}, False, "machine"),  # nbclient, nbval, nbconvert, papermill
        ({"cellId": CELL}, False, "machine"),
        ({}, True, "text"),  # jupyter console, qtconsole
        (None, True, "text"),
        ({"cellId": ""}, True, "text"),
        ({"cellId": 7}, True, "text"),
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


def test_the_source_of_the_running_cell() -> None:
    """It is the newest of the inputs as typed, where there are any."""
    made = shell()
    assert cell_source(made) == ""
    made.history_manager = SimpleNamespace(input_hist_raw=["", "a", "%chat b"])
    assert cell_source(made) == "%chat b"


def test_the_number_of_the_running_cell() -> None:
    """It is that of its input: the count may be the next cell's already."""
    made = shell()
    made.history_manager = SimpleNamespace(input_hist_raw=["", "a", "%chat b"])
    assert running(made).label == "cell [2]"
