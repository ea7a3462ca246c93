"""``%chat_credits`` for a page, a terminal and a machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shells import FIXED, Shell

if TYPE_CHECKING:
    from logged import Emulator


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


def test_without_a_page_live_shows_them_once(shell: Shell) -> None:
    """Neither a console nor a machine has a gauge that follows."""
    assert "credits" in shell.do("%chat_credits --live").texts[0].lower()
    assert "credits" in shell.machine("%chat_credits --live").texts[0].lower()


def test_words_after_the_name_are_refused(shell: Shell) -> None:
    """It takes its two options alone, and says so."""
    assert "%chat_credits takes nothing" in shell.fails("%chat_credits everything").traceback[0]
    shell.fails("%chat_credits --live now", cell="P")
