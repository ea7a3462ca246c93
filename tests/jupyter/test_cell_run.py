"""One run of a cell."""

from __future__ import annotations

import pytest

from chatmagic.jupyter.cell_run import is_ours


@pytest.mark.parametrize(
    ("source", "ours"),
    [
        ("%%chat\nx", True),
        ("\n# a comment\n%%chat_fix -t 0\nx", True),
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
