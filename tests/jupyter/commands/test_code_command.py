"""``%chat_code``: what becomes cells, where they go, and what is said where none are made."""

from __future__ import annotations

from typing import Any

import pytest
from comms import page_comms
from shells import Shell, left

from chatmagic.jupyter.commands import code as module

REPLY = "One:\n```python\nx = 1\n```\nthen\n```bash\nls\n```\n"
ASK = f"%%chat\necho:{REPLY}"


class Page:
    """A shell in a page whose bridge keeps what it is sent."""

    def __init__(self, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        """Listen to what the bridge sends."""
        self.shell = shell
        self.sent: list[dict[str, Any]] = []
        self.comms = page_comms(monkeypatch, self.sent.append)

    def say(self, content: dict[str, Any]) -> None:
        """Send the bridge a message of the page."""
        self.comms[-1].say(content)

    def cells(self, ids: str) -> None:
        """List the page's cells."""
        listed = [[id, True, None] for id in ids]
        named = {"page": "p", "notebook": "n", "name": "", "opened": False}
        self.say({"kind": "cells", **named, "cells": listed})

    def code(self) -> dict[str, Any]:
        """Return the last cells that were sent."""
        return [message for message in self.sent if message["kind"] == "code"][-1]

    def shown(self) -> str:
        """Return the text of the last output, as it is by now."""
        messages: list[dict[str, Any]] = self.shell.shell.display_pub.messages  # type: ignore[attr-defined]
        return str(left(messages)[-1]["data"]["text/plain"])

    def answer(self, outcome: str, made: int = 0, removed: int = 0, left: int = 0) -> None:
        """Answer to the last cells."""
        counts = {"made": made, "removed": removed, "left": left}
        self.say({"kind": "coded", "key": self.code()["key"], "outcome": outcome, **counts})


@pytest.fixture
def page(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page in which cell "a" has asked, and whose bridge is open."""
    page = Page(shell, monkeypatch)
    page.shell.page(ASK, "a")
    page.cells("abc")
    return page


def test_the_page_gets_the_cells(page: Page) -> None:
    """In order, below the cell that asks for them; the output says what became of them."""
    ran = page.shell.page("%chat_code", "b")
    assert ran.texts == ["2 cells for this page."]
    code = page.code()
    assert (code["page"], code["cell"]) == ("p", "b")
    assert [(cell["cell_type"], cell["source"]) for cell in code["cells"]] == [
        ("code", "x = 1"),
        ("markdown", "```\nls\n```"),
    ]
    page.answer("made", made=2, removed=1, left=3)
    assert page.shown() == (
        "2 cells put below; nothing of it was run. 1 cell of before removed. "
        "3 cells of before left, as edited or run since."
    )
    assert "x" not in page.shell.shell.user_ns
    digest, first = code["digest"], code["cells"][0]["id"]
    page.shell.page("%chat_code 1", "b")
    assert page.code()["digest"] == digest
    assert page.code()["cells"][0]["id"] != first
    page.shell.page("%chat_code --prose", "b")
    assert page.code()["digest"] != digest
    assert [cell["source"] for cell in page.code()["cells"]] == [
        "One:",
        "x = 1",
        "then",
        "```\nls\n```",
    ]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ("same", module.SAME),
        ("queued", module.QUEUED),
        ("refused", f"{module.REFUSED}\n\nx = 1\n\nls"),
    ],
)
def test_where_no_cells_were_put_it_is_said(page: Page, outcome: str, text: str) -> None:
    """In the output of the cell, with the code where the page makes none."""
    page.shell.page("%chat_code", "b")
    page.answer(outcome)
    assert page.shown() == text


def test_without_a_reply_in_the_page_it_opens_the_bridge(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after ``%chat_load``: the first run shows the code, the next one has cells made."""
    page = Page(shell, monkeypatch)
    page.shell.machine(ASK)
    assert page.shell.page("%chat_code", "b").texts == [f"{module.WITHOUT_PAGE}\n\nx = 1\n\nls"]
    page.cells("ab")
    assert page.shell.page("%chat_code 1", "b").texts == ["2 cells for this page."]
    assert len(page.code()["cells"]) == 2


def test_a_machine_and_a_terminal_get_no_cells(shell: Shell) -> None:
    """They have the code to copy, in which nothing acts."""
    shell.do("%%chat\necho:```\n1 \x1b[2J\n```")
    assert shell.machine("%chat_code").texts == [f"{module.WITHOUT_PAGE}\n\n1 \u241b[2J"]
    assert shell.do("%chat_code").texts == [f"{module.WITHOUT_PAGE}\n\n1 \u241b[2J"]


def test_code_that_came_without_a_fence_becomes_a_cell(page: Page) -> None:
    """Where code alone was asked for."""
    page.shell.machine("%%chat --format code\necho:x = '`'")
    page.shell.page("%chat_code 2", "b")
    assert [cell["source"] for cell in page.code()["cells"]] == ["x = '`'"]
    page.shell.machine("%%chat\necho:x = 1")
    assert "no block of code" in page.shell.page("%chat_code 3", "b").texts[0]


def test_a_reply_of_very_many_blocks_makes_no_cells(page: Page) -> None:
    """A page with thousands of cells stands still."""
    page.shell.machine("%%chat\necho:" + "```\n1\n```\n" * (module.MOST + 1))
    ran = page.shell.page("%chat_code 2", "b")
    assert ran.texts == ["No cells were made: they would be 201, more than 200. Copy the code."]


def test_which_turn_is_meant(page: Page) -> None:
    """The last one above the cell in its page, or the one of the number."""
    page.cells("abcd")
    page.shell.page("%%chat\necho:```\ny\n```", "c")
    page.shell.page("%chat_code", "b")
    assert page.code()["cells"][0]["source"] == "x = 1"
    page.shell.page("%chat_code", "d")
    assert page.code()["cells"][0]["source"] == "y"
    page.shell.page("%chat_code 2", "b")
    assert page.code()["cells"][0]["source"] == "y"
