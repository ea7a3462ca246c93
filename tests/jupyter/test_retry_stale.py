"""``%chat_retry --stale`` where no page runs cells; ``test_bridge.py`` has those that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shells import asked

if TYPE_CHECKING:
    from logged import Emulator
    from shells import Shell

NAMES = (
    "2 turns are stale: about 2 credits, by what requests took lately. "
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
