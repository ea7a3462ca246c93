"""What must not be lost in real pages: drafts, words for who listens, turns of odd cells."""

from __future__ import annotations

from collections.abc import Callable

from chat import LOAD, PANEL, Chat
from logged import Emulator
from rig import Book, wait
from test_bridge_in_page import ask, bodies, bridged, turns

SPEAK = ".chatmagic-panel [role=status], #chatmagic-status"


def test_the_first_reply_is_said_once(lab: Callable[..., Book]) -> None:
    """By the bridge, and by neither of the panels that show it."""
    book = lab([LOAD, PANEL, PANEL, ask("one two"), ask("three")])
    for index in range(3):
        book.run(index)
    Chat(book, 1)
    said = book.listen(SPEAK)
    book.run(3)
    book.run(4)
    wait(book.page, "said => said.length >= 4", arg=said)
    assert said.json_value() == [
        "Reply started.",
        "Complete, 2 words.",
        "Reply started.",
        "Complete, 1 word.",
    ]


def test_cells_that_are_split_and_merged(lab: Callable[..., Book], service: Emulator) -> None:
    """The part that keeps the cell's identity keeps its turn; undone, all is as before."""
    book = lab([LOAD, ask("a"), ask("b"), "1"])
    book.run_all()
    bridged(book)
    book.js("notebook.model.sharedModel.clearUndoHistory()")
    book.select(1)
    book.js(
        """notebook.mode = 'edit';
        notebook.activeCell.editor.setCursorPosition({line: 1, column: 5})"""
    )
    book.command("notebook:split-cell-at-cursor")
    assert turns(book, 4) == ["a", "b"]
    book.js(
        """notebook.mode = 'command'; notebook.deselectAll(); notebook.activeCellIndex = 1;
        notebook.extendContiguousSelectionTo(2)"""
    )
    book.command("notebook:merge-cells")
    book.write(1, ask("merged"))
    bodies(service)
    book.run(1)
    assert bodies(service) == [["echo:merged"]]
    assert turns(book, 3) == ["merged", "b"]
    # Two of one source, of which one is new.
    book.select(2)
    book.command("notebook:copy-cell")
    book.command("notebook:paste-cell-below")
    assert turns(book, 4) == ["merged", "b"]
    book.run(3)
    assert bodies(service) == [["echo:merged", "merged", "echo:b", "b", "echo:b"]]
    assert turns(book, 4) == ["merged", "b", "b"]
