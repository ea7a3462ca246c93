"""``%chat_connect --check``: the doctor's block in a kernel, with what its front end can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatmagic.jupyter.execution import Execution
from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from logged import Emulator
    from shells import Shell


def line(text: str, name: str) -> str:
    """Return the line on something."""
    return next(line for line in text.splitlines() if f"] {name}: " in line)


def test_a_kernel(shell: Shell, emulator: Emulator) -> None:
    """Nothing is sent but the one question, where it is asked for; it is no turn."""
    said = shell.do("%chat_connect --check").printed
    assert line(said, "front end") == (
        "[ok] front end: a console or a terminal: a reply is printed as it comes"
    )
    assert "CHATMAGIC_API_KEY" in line(said, "key")
    assert emulator.requests == []
    said = shell.do("%chat_connect --check --ask").printed
    assert line(said, "answer").startswith("[ok]")
    assert len(emulator.requests) == 1
    assert len(current_session().conversation) == 0
    said = shell.do(f"%chat_connect {emulator.url}/v1 --check").printed
    assert said.startswith("Connected to ")
    assert "(%chat_connect)" in line(said, "address")


@pytest.mark.parametrize("variable", ["", "VSCODE_PID"])
def test_a_page_without_widgets(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Fault 9: no page has answered the bridge; elsewhere than in Jupyter's none is expected to."""
    if variable:
        monkeypatch.setenv(variable, "1")
    said = line(shell.do("%chat_connect --check", cell="a").printed, "front end")
    assert said.startswith("[ok]")
    assert said.endswith("a reply is a display of its cell, updated as it comes")
    shell.do("%%chat\necho:a", cell="a")
    said = line(shell.do("%chat_connect --check", cell="b").printed, "front end")
    assert ("no page has answered a widget" in said) == (not variable)
    assert ("VS Code" in said) == bool(variable)


def test_a_terminal_of_a_host(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a terminal, whatever its environment tells."""
    monkeypatch.setenv("VSCODE_PID", "1")
    monkeypatch.setattr("chatmagic.jupyter.check_command.running", lambda _: Execution())
    said = shell.do("%chat_connect --check").printed
    assert line(said, "front end").startswith("[ok] front end: a console or a terminal: ")


def test_an_interrupt(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the command with one line, and no page of frames."""

    def interrupted(*_: object, **_given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("chatmagic.jupyter.check_command.check", interrupted)
    ran = shell.fails("%chat_connect --check")
    assert ran.traceback == ["ChatInterrupted: Interrupted; what was asked may have been sent."]


def test_a_question_goes_with_a_check(shell: Shell, emulator: Emulator) -> None:
    """By itself it would be no word on what it costs."""
    ran = shell.fails("%chat_connect --ask")
    assert "--ask goes with --check" in ran.traceback[0]
    assert emulator.requests == []
