"""The bar of a map in a page, in a console, and where nobody sees it."""

from __future__ import annotations

import sys
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
from shells import Shell

MAP = "chatmagic.map('echo:{{ it }}', ['a', 'b', 'c'], file=FILE, yes=True)"
FILE = TextIOWrapper(BytesIO())


@pytest.fixture
def cells(shell: Shell, tmp_path: Path) -> Shell:
    """Give a shell in which a map has a file of its own."""
    shell.do(f"import chatmagic\nFILE = {str(tmp_path / 'a.jsonl')!r}")
    return shell


def test_a_page_shows_it_in_an_output_that_is_empty_in_the_end(cells: Shell) -> None:
    """Nothing of it is printed; a map that sends nothing shows no bar."""
    ran = cells.page(MAP, "one")
    bars = [message for message in ran.messages if message["data"]]
    assert "0/3 rows</p></div>" in bars[0]["data"]["text/html"]
    assert bars[0]["data"]["text/plain"] == f"[{'.' * 20}] 0/3 rows"
    assert len({message["id"] for message in ran.messages}) == 1
    assert (ran.messages[0]["kind"], ran.messages[-1]["kind"]) == ("display", "update")
    assert [output["data"] for output in ran.outputs] == [{}]
    assert " rows" not in ran.printed + ran.warned
    again = cells.page(MAP, "one")
    assert again.messages == []
    assert "nothing was sent" in again.warned


def test_a_machine_and_a_capture_see_none(cells: Shell) -> None:
    """A capture would keep what is printed over, too."""
    assert cells.machine(MAP).messages == []
    cells.do("FILE += '2'")
    ran = cells.page(f"%%capture shown\n{MAP}", "two")
    assert ran.messages == []
    assert "rows" not in cells["shown"].stderr + str(cells["shown"].outputs)


def test_a_console_sees_it_as_a_line(cells: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernel's stream is no terminal; that of a terminal may go into a file."""
    kernel = cells.kernel
    cells.do("1")
    for stream, is_watched in [(object(), True), (StringIO(), False), (FILE, False)]:
        monkeypatch.setattr(sys, "stderr", stream)
        assert kernel.is_watched() is is_watched
    assert type(kernel.bar_view()).__name__ == "PrintedBar"
