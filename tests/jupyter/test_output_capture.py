"""The text of what a cell shows, noted without a change of what it shows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from shells import Shell

from chatmagic.conversation.attachments import MOST
from chatmagic.jupyter.output_capture import text_of

if TYPE_CHECKING:
    from chatmagic.jupyter.cell_run import CellRun


def last(shell: Shell) -> CellRun:
    """Return the last run that was noted."""
    notes = shell.shell.magics_manager.registry["ChatMagics"].notes
    run: CellRun = list(notes.runs.values())[-1]
    return run


UPDATES = "h = display({'text/plain': 'one'}, raw=True, display_id='d')"
PRINTS = "import sys\nfrom IPython.display import display, Markdown, clear_output\n"


@pytest.mark.parametrize(
    ("code", "noted"),
    [
        ("print('a', 1)", "a 1"),
        ("sys.stderr.write('b\\n')\nprint('c')", "b\nc"),
        ("6 * 7", "42"),
        ("print('x')\n'y'", "x\n'y'"),
        ("6 * 7;", ""),
        ("display({'text/plain': 'shown'}, raw=True)\nprint('then')", "shown\nthen"),
        ("display(Markdown('**bold**'))", "**bold**"),
        ("print('10%', end='\\r')\nprint('99%', end='\\r')\nprint('done')", "done"),
        ("print('\\033[31mred\\033[0m')", "red"),
        ("print('old')\nclear_output()\nprint('new')", "new"),
        ("print('old')\nclear_output(wait=True)\nprint('new')", "new"),
        ("print('old')\nclear_output(wait=True)", "old"),
        (f"{UPDATES}\nprint('x')\nh.update({{'text/plain': 'two'}}, raw=True)", "two\nx"),
        ("from IPython.utils import capture as c\nwith c.capture_output():\n    print(1)", ""),
        (
            "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    print(1)",
            "",
        ),
        ("r = get_ipython().run_cell('print(5)', store_history=True)", "5"),
    ],
)
def test_what_a_cell_shows_is_noted(shell: Shell, code: str, noted: str) -> None:
    """What is printed, displayed and resulted, as it is left to see."""
    shell.do(PRINTS)
    shell.do(code)
    assert last(shell).output == noted


def test_what_a_cell_shows_is_not_changed(bare: Shell) -> None:
    """With the extension and without, it prints and displays the same; nothing stays behind."""
    code = (
        f"{PRINTS}print('a')\nsys.stderr.write('b')\ndisplay(Markdown('c'), display_id='x')\n"
        "def f(): return sys.stdout.write\nclear_output(wait=True)\n[1, 2]"
    )
    plain = bare.do(code)
    fresh = Shell()
    noted = fresh.do(code)
    assert (plain.printed.replace("Out[1]", "Out[2]"), plain.warned) == (
        noted.printed,
        noted.warned,
    )
    assert plain.messages == noted.messages
    pub: Any = fresh.shell.display_pub
    assert not {"publish", "clear_output"} & set(vars(pub))
    assert "log_output" not in vars(fresh.shell.displayhook)
    fresh.do("%unload_ext chatmagic")
    assert "OutputCapture" not in repr(sys.stdout.write)


def test_no_more_is_kept_than_there_is_room_for(shell: Shell) -> None:
    """And how much was left out is known; what a progress bar writes over takes no room."""
    shell.do("for n in range(300):\n    print('x' * 999)")
    run = last(shell)
    assert len(run.output) <= MOST
    assert len(run.output) + run.lost >= 299_000
    assert f"the first {len(run.output):,} of" in run.text
    shell.do("for n in range(300):\n    print('x' * 999, end='\\r')\nprint('done')")
    assert (last(shell).output, last(shell).lost) == ("done", 0)
    shell.do("h = display({'text/plain': 'x' * 99_999}, raw=True, display_id='d')\n"
             "h.update({'text/plain': 'y' * 200_000}, raw=True)")  # fmt: skip
    assert (len(last(shell).output), last(shell).lost) == (MOST, 100_000)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"text/plain": "x", "text/html": "<b>x</b>"}, "x"),
        ({"text/html": "<b>x</b>"}, ""),
        ({"text/plain": "<IPython.core.display.Latex object>", "text/latex": "$x$"}, "$x$"),
        (
            {"text/plain": "<IPython.core.display.HTML object>"},
            "<IPython.core.display.HTML object>",
        ),
        (
            {"text/plain": "<Figure size 640x480 with 1 Axes>", "image/png": "iVBOR"},
            "[picture, image/png, which is not sent: <Figure size 640x480 with 1 Axes>]",
        ),
    ],
)
def test_a_display_as_text(data: dict[str, Any], text: str) -> None:
    """Its own text, Markdown or LaTeX; a picture is named."""
    assert text_of(data) == text


def test_hostile_displays_and_streams(shell: Shell) -> None:
    """What cannot be noted, or has wrapped the same since, is left alone."""
    shell.do(
        "class Odd(dict):\n    def get(self, *_): raise ValueError\n"
        "get_ipython().display_pub.publish(Odd())\nprint('on')"
    )
    assert last(shell).output == "on"
    shell.do(
        "pub = get_ipython().display_pub\nbefore = pub.publish\n"
        "pub.publish = lambda *a, **k: before(*a, **k)"
    )
    shell.do("pub.publish({'text/plain': 'x'})")
    assert last(shell).output == "x"
    shell.do("del pub.publish")


def test_an_interrupt_while_it_begins_leaves_nothing_behind(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was wrapped by then is taken back after the cell, which has run."""
    kind = type(shell.shell.display_pub)
    put = kind.__setattr__

    def interrupted(self: Any, name: str, value: object) -> None:
        put(self, name, value)
        if name == "publish":
            raise KeyboardInterrupt

    monkeypatch.setattr(kind, "__setattr__", interrupted)
    shell.run("x = 1")
    monkeypatch.undo()
    assert "publish" not in vars(shell.shell.display_pub)
    shell.do("print(x)")
    assert last(shell).output == "1"
