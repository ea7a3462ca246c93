"""What is noted of the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shells import Shell, asked

from chatmagic.errors import ChatInterrupted

if TYPE_CHECKING:
    import pytest
    from logged import Emulator

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

    def stopped(_source: str) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("chatmagic.jupyter.cell_run.is_ours", stopped)
        assert isinstance(shell.run("%%chat\necho:hi").error, ChatInterrupted)
    assert emulator.requests == []
    shell.machine("%%chat\necho:hi")
    assert len(emulator.requests) == 1
