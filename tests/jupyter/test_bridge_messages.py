"""The bridge's report by its example; ``panel/test_messages.py`` holds all types of messages."""

from __future__ import annotations

import json
from pathlib import Path

from chatmagic.conversation.cell_order import report_from

SAMPLES = Path(__file__).parents[1] / "samples" / "messages.json"


def test_the_bridge_reads_its_example() -> None:
    """The code cells, from top to bottom."""
    sample, *_ = json.loads(SAMPLES.read_text(encoding="utf-8"))["of the bridge"]
    word = report_from(sample)
    assert word is not None
    assert [cell.id for cell in word.cells.values()] == ["a", "c"]
