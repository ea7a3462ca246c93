"""``%chat_hide`` and ``--hide``: what they leave out, what the history says, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shells import asked

from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from logged import Emulator
    from shells import Shell


def test_hidden_turns_do_not_go_along(shell: Shell, emulator: Emulator) -> None:
    """The history marks them, and says what a question would carry; undo takes it back."""
    for name in "abc":
        shell.page(f"%chat echo:{name}", name)
    assert "would carry" not in shell.page("%chat_history", "l").texts[0]
    words = "Turn 2 is hidden: it does not go along with the questions below."
    assert shell.page("%chat_hide 2", "h").texts == [words]
    shell.page("%%chat --hide\necho:d", "d")
    current_session().ask("echo:e", hide=True)
    listed = shell.page("%chat_history", "l").texts[0]
    assert [n[0] for n in listed.split("\n") if "hidden: it does" in n] == [" ", " ", " "]
    assert listed.endswith("A question in this cell would carry turns 1, 3.")
    shell.page("%chat --dry x", "x")
    dry = shell.page("%chat --dry x", "x").texts[0]
    assert "3 hidden turns left out" in dry
    assert "turn 3" in dry
    assert shell.page("%chat_hide --show 4", "s").texts[0].startswith("Turn 4 goes along again")
    listed = shell.page("%chat_history", "l").texts[0]
    assert listed.endswith("would carry turns 1, 3-4.")
    shell.page("%chat echo:f", "f")
    assert asked(emulator)[-1] == ["echo:a", "a", "echo:c", "c", "echo:d", "d", "echo:f"]
    assert [shell.page("%chat_undo", "u").texts[0] for _ in range(2)] == [
        "Took back the question “echo:f”.",
        "Took back the hiding.",
    ]
    shell.shell.run_line_magic("config", "ChatMagics.last = 0")
    assert shell.page("%chat_history", "l").texts[0].endswith("would carry no turn.")


def test_a_cell_asked_again_has_a_turn_that_is_not_hidden(shell: Shell, emulator: Emulator) -> None:
    """It belongs to the turn; and what the cell saved stays as it was."""
    shell.page("%chat echo:a", "a")
    shell.page("%chat_hide 1", "h")
    shell.page("%chat echo:a", "a")
    shell.page("%chat echo:b", "b")
    assert asked(emulator)[-1] == ["echo:a", "a", "echo:b"]


@pytest.mark.parametrize("line", ["", "x", "0", "2", "-1", "1 2", "--show", "--fork 1"])
def test_what_is_refused(shell: Shell, line: str) -> None:
    """In one line, and the conversation is as before."""
    shell.page("%chat echo:a", "a")
    depth = current_session().conversation.undo_depth
    said = shell.run(f"%chat_hide {line}", cell="x").traceback[0]
    takes = (
        "no other option here than --show"
        if "fork" in line
        else ("the number of a turn above this cell. The thread main has 1 turn there")
    )
    assert f"%chat_hide takes {takes}. Nothing was changed." in said
    assert current_session().conversation.undo_depth == depth
