"""``%chat_retry --stale`` where no page runs cells; ``test_bridge.py`` has those that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shells import asked

from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply
from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from logged import Emulator
    from shells import Shell

NAMES = (
    "2 turns are stale: about 2 credits, by what requests took lately; others may share the quota. "
    "Run these cells, in this order: cell [3], cell [4]. Nothing was sent."
)


def test_without_a_page_that_lists_them_the_cells_are_named(
    shell: Shell, emulator: Emulator
) -> None:
    """And nothing is sent, nor asked; where none is stale, that is said."""
    for name in "abc":
        shell.page(f"%chat echo:{name}", name)
    assert shell.page("%chat_retry --stale", "r").texts == ["No cell is stale. Nothing was sent."]
    shell.page("%chat echo:A", "a")
    sent = len(asked(emulator))
    assert shell.page("%chat_retry --stale", "r").texts == [NAMES]
    assert shell.machine("%chat_retry --stale").texts == [NAMES]
    assert len(asked(emulator)) == sent


def test_where_no_cell_is_named_the_numbers_of_those_that_asked_are_told(shell: Shell) -> None:
    """As in a notebook that a program runs: the turns are stale all the same."""
    for name in "abc":
        shell.machine(f"%chat echo:{name}")
    shell.machine("%chat_retry 2")
    assert shell.machine("%chat_retry --stale").texts == [
        "1 turn is stale: ask again in cell [4]. Nothing was sent."
    ]


def test_cells_that_have_not_run_in_this_kernel_go_by_their_questions(shell: Shell) -> None:
    """As those of a conversation that was loaded."""
    turns = [("one", "a", ()), ("two", "b", (1,)), ("three", "c", (1, 2)), ("ONE", "a", ())]
    for prompt, owner, carried in turns:
        turn = Turn(prompt=prompt, reply=Reply("r"), owner=owner, entry="cell", carried=carried)
        current_session().conversation.add(turn)
    assert shell.page("%chat_retry --stale", "r").texts == [
        (
            "2 turns are stale: what that takes is not known yet. Run these cells, in this order: "
            "the cell of “two”, the cell of “three”. Nothing was sent."
        )
    ]
