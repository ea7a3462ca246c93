"""``%chat_credits`` and ``%chat_panel`` for a page, a terminal and a machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shells import FIXED, Shell

from chatmagic.session.current import current_session

if TYPE_CHECKING:
    import pytest
    from logged import Emulator

import pytest

from chatmagic.jupyter.transcript import NEEDS_A_PAGE


def test_credits(shell: Shell, emulator: Emulator) -> None:
    """Unknown is unknown; then what is left, what the last turn took, as of when."""
    unknown = shell.do("%chat_credits")
    assert unknown.texts == ["Credits: unknown. No answer has told them yet."]
    emulator.settings = replace(FIXED, credits=10, cost=3)
    shell.machine("%chat echo:a")
    known = shell.do("%chat_credits")
    assert "7 of 10 credits left" in known.texts[0]
    assert "took" not in known.texts[0]
    assert "As of 2026-01-01 12:00:00 UTC" in known.texts[0]
    assert "2026-01-02 00:00 UTC" in known.html
    shell.machine("%chat echo:b")
    assert "took about 3" in shell.do("%chat_credits").texts[0]
    low = shell.machine("%chat echo:c")
    assert "credits low: 1 of 10 left" in low.html
    assert "credits low: 1 of 10 left" in shell.do("%chat_credits").texts[0]


@pytest.mark.parametrize("name", ["undo", "redo", "reset", "credits"])
def test_commands_without_words(shell: Shell, name: str) -> None:
    """A command that takes nothing says so, and does nothing."""
    shell.machine("%chat echo:a")
    ran = shell.fails(f"%chat_{name} everything")
    assert f"%chat_{name} takes nothing" in ran.traceback[0]
    assert len(current_session().conversation) == 1


def test_in_a_console_one_line_says_that_it_needs_a_page(shell: Shell) -> None:
    """And asking goes on."""
    ran = shell.do("%chat_panel")
    assert ran.printed.strip() == NEEDS_A_PAGE
    assert ran.messages == []
    assert "credits" in shell.do("%chat_credits --live").texts[0].lower()
    shell.do("%chat hello")


def test_a_machine_shows_what_a_page_saves(shell: Shell) -> None:
    """Whatever of it nbval compares is the same, so that either can save the notebook."""
    shell.machine("%chat hello")
    machines = [one["data"] for one in shell.machine("%chat_panel").outputs]
    pages = [one["data"] for one in shell.page("%chat_panel", "P").outputs]
    assert pages[0].pop("application/vnd.jupyter.widget-view+json")
    assert machines == pages
    assert "hello" in machines[1]["text/plain"]
    assert "credits" in shell.machine("%chat_credits --live").texts[0].lower()


@pytest.mark.parametrize("line", ["%chat_panel now", "%chat_credits --live now"])
def test_words_after_the_name_are_refused(shell: Shell, line: str) -> None:
    """Neither takes any."""
    shell.fails(line, cell="P")
