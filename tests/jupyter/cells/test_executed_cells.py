"""Notes on the cells: one run of a cell, its output, and its error as plain text."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from asking import stop
from cases import each_case
from logged import Emulator
from shells import Shell, asked

from chatmagic.conversation.template import MOST
from chatmagic.errors import ChatInterrupted
from chatmagic.jupyter.cells.executed_cells import (
    CellRun,
    KeptOutput,
    displayed_text,
    is_ours,
)

NO_ERROR = "No cell has raised an error since chatmagic was loaded. Nothing was sent."


def test_without_an_error_nothing_is_sent(shell: Shell, emulator: Emulator) -> None:
    """Errors of ours, of what is not kept in the history, and interrupts are none."""
    for code in ("%chat_fix", "%%chat --error\nWhy?"):
        assert shell.fails(code).traceback == [f"InputError: {NO_ERROR}"]
    shell.fails("%chat --nonsense")
    shell.run("x = 1\n%chat --nonsense")
    shell.run("raise KeyboardInterrupt")
    shell.shell.run_cell("1 / 0", store_history=False)
    shell.fails("%chat_fix")
    assert emulator.requests == []
    # What the user's own code raises is theirs, an error of ours too.
    shell.run("import chatmagic\nchatmagic.ask('')")
    shell.machine("%chat_fix")
    assert "chatmagic.errors.InputError: The prompt is empty." in asked(emulator)[-1][0]


def test_without_numbers_another_cell_is_known(shell: Shell, emulator: Emulator) -> None:
    """As under nbval, which runs cells without history, so that all have the same number."""
    shell.machine("pass")
    shell.shell.run_cell("def half(x):\n    return x / 0", store_history=False)
    shell.shell.run_cell("half(1)", store_history=False)
    shell.machine("%chat_fix")
    (prompt,) = asked(emulator)[-1]
    assert "  this cell, line 1\n    half(1)\n  another cell, line 2, in half\n" in prompt


def test_an_error_before_the_load_is_not_known(bare: Shell) -> None:
    """Nor after the extension was unloaded and loaded again; nothing is left behind."""
    bare.run("1 / 0")
    fresh = Shell(extension=False)
    callbacks = len(fresh.shell.events.callbacks["post_run_cell"])
    fresh.do("%load_ext chatmagic\n%chat_connect emulator")
    fresh.run("1 / 0")
    fresh.do("%unload_ext chatmagic")
    assert len(fresh.shell.events.callbacks["post_run_cell"]) == callbacks
    fresh.do("%load_ext chatmagic\n%chat_connect emulator")
    assert fresh.fails("%chat_fix").traceback == [f"InputError: {NO_ERROR}"]
    # The cell that loads may raise, too.
    fresh.run("%reload_ext chatmagic\n%chat_connect emulator\n1 / 0")
    fresh.do("%chat_fix")


def test_an_interrupt_before_the_cell_sends_nothing(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IPython keeps an interrupt of a hook from the cell, which asks nothing all the same."""
    with monkeypatch.context() as patch:
        patch.setattr("chatmagic.jupyter.cells.executed_cells.is_ours", stop)
        assert isinstance(shell.run("%%chat\necho:hi").error, ChatInterrupted)
    assert emulator.requests == []
    shell.machine("%%chat\necho:hi")
    assert len(emulator.requests) == 1


@each_case(
    ("source", "ours"),
    [
        ("%%chat\nx", True),
        ("\n#| label: l\n%%chat_fix -t 0\nx", True),
        ("%chat a", True),
        ("# c\n\n%load_ext chatmagic\n%chat_connect emulator\n%config ChatMagics.last = 2", True),
        ("r = %chat why?", True),
        ("import x\n%chat a", False),
        ("%%chatter\nx", False),
        ("%chatter on", False),
        ("x = 1", False),
        ("# only words", False),
        ("", False),
        ("\n" * 100_000 + "x", False),
    ],
)
def test_which_cells_are_ours(source: str, ours: bool) -> None:
    """Those that only ask, or set up what asks."""
    assert is_ours(source) is ours


def last(shell: Shell) -> CellRun:
    """Return the last run that was noted."""
    notes = shell.shell.magics_manager.registry["ChatMagics"].notes
    run: CellRun = list(notes.runs.values())[-1]
    return run


PRINTS = "import sys\nfrom IPython.display import display, Markdown\n"
IMPORTS = "import contextlib, io\n"


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize(
    ("code", "noted"),
    [
        ("print('a', 1)", "a 1"),
        ("sys.stderr.write('b\\n')\nprint('c')", "b\nc"),
        ("6 * 7", "42"),
        ("print('x')\n'y'", "x\n'y'"),
        ("print('10%', end='\\r')\nprint('99%', end='\\r')\nprint('done')", "done"),
        ("print('\\033[31mred\\033[0m')", "red"),
        (f"{IMPORTS}with contextlib.redirect_stdout(io.StringIO()):\n    print(1)", ""),
    ],
)
def test_what_a_cell_shows_is_noted(shell: Shell, code: str, noted: str, *, numbered: bool) -> None:
    """What it printed, as it is left to see, and its result; of another cell nothing.

    Without history, as under nbval, all cells have one number.
    """
    shell.do(PRINTS)
    for source in ("print('before')", code, "print('then')"):
        shell.run(source, person=numbered, history=numbered)
        if source == code:
            assert last(shell).output == noted
    assert last(shell).output == "then"


def test_before_ipython_9_1_the_result_alone_is_noted() -> None:
    """What was printed is not kept there."""
    history = SimpleNamespace(output_hist_reprs={2: "41", 3: "42"})
    shell: Any = SimpleNamespace(history_manager=history, execution_count=3)
    ended: Any = SimpleNamespace(result=42, error_before_exec=None, error_in_exec=None)
    assert KeptOutput(shell).text(ended) == "42"
    ended.result = None
    assert KeptOutput(shell).text(ended) == ""


def test_nothing_is_wrapped(shell: Shell) -> None:
    """The streams and the publishing of a cell are IPython's own."""
    seen = "import sys\npub = get_ipython().display_pub\n"
    shell.do(f"{seen}wrapped = repr(sys.stdout.write), repr(pub.publish), [*vars(pub)]")
    assert "chatmagic" not in repr(shell.shell.user_ns["wrapped"])
    assert not {"publish", "clear_output"} & set(vars(shell.shell.display_pub))
    assert "log_output" not in vars(shell.shell.displayhook)
    assert "chatmagic" not in repr(sys.stdout.write)


def test_no_more_goes_along_than_there_is_room_for(shell: Shell) -> None:
    """And how much was left out is known; what a progress bar writes over takes no room."""
    shell.do("for n in range(300):\n    print('x' * 999)")
    run = last(shell)
    assert (len(run.output), run.lost) == (MOST, 199_999)
    assert f"the first {MOST:,} of 299,999 characters" in run.text
    shell.do("for n in range(300):\n    print('x' * 999, end='\\r')\nprint('done')")
    assert (last(shell).output, last(shell).lost) == ("done", 0)


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
    assert displayed_text(data) == text
