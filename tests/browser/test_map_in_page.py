"""A map in a real page: its bar while it runs, while it stops, and in the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from logged import Emulator, Settings
from rig import Book

LOAD = "%load_ext chatmagic\nimport chatmagic"
MAP = "chatmagic.map('echo:{{ it }}', ['a', 'b', 'c'], file='bar.jsonl', yes=True, workers=2)"
SHOWS = "notebook.widgets[1].outputArea.node.innerText.includes(given)"
HEIGHTS = """return [...notebook.widgets[1].outputArea.node.children]
  .map(output => output.getBoundingClientRect().height)"""


@pytest.mark.release
def test_a_bar_is_there_while_a_map_runs(lab: Callable[..., Book], service: Emulator) -> None:
    """It says that it stops, and leaves no trace, also not in the file; nothing is an error."""
    book = lab([LOAD, MAP])
    book.run(0)
    service.settings = Settings(credits=1000, fault="hold")
    book.start(1)
    book.until(SHOWS, "0/3 rows")
    book.screenshot("map-bar", 1)
    book.command("notebook:interrupt-kernel")
    book.until(SHOWS, "stopping: 2 requests under way (interrupt again to cut off)")
    book.command("notebook:interrupt-kernel")
    book.ended(1)
    assert "0 rows answered by this run, 2 failed" in book.shown(1)
    assert "/3 rows" not in book.shown(1)
    service.settings = Settings(credits=1000)
    book.run(1)
    assert book.js(HEIGHTS)[0] == 0
    assert [output["output_type"] for output in book.outputs(1)] == [
        "display_data",
        "execute_result",
    ]
    assert "rows" not in str(book.save()["cells"][1]["outputs"])
    book.reopen()
    assert book.js(HEIGHTS)[0] == 0
    assert book.front.heard.errors == []
