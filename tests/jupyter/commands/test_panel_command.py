"""``%chat_panel`` for a page, a terminal and a machine."""

from __future__ import annotations

from shells import Shell

from chatmagic.jupyter.page.panel_saved import NEEDS_A_PAGE


def test_in_a_console_one_line_says_that_it_needs_a_page(shell: Shell) -> None:
    """And asking goes on."""
    ran = shell.do("%chat_panel")
    assert ran.printed.strip() == NEEDS_A_PAGE
    assert ran.messages == []
    shell.do("%chat hello")


def test_a_machine_shows_what_a_page_saves(shell: Shell) -> None:
    """Whatever of it nbval compares is the same, so that either can save the notebook."""
    shell.machine("%chat hello")
    machines = [one["data"] for one in shell.machine("%chat_panel").outputs]
    pages = [one["data"] for one in shell.page("%chat_panel", "P").outputs]
    assert pages[0].pop("application/vnd.jupyter.widget-view+json")
    assert machines == pages
    assert "hello" in machines[1]["text/plain"]


def test_words_behind_it_are_refused(shell: Shell) -> None:
    """It has no options."""
    assert "takes nothing after" in str(shell.run("%chat_panel all").error)
