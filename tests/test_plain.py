"""Text of strangers: what would act is shown, the rest is as it was."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.text import one_line, to_terminal, visible

# Written out here, so that a slip in the module's own list is seen.
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def test_visible_shows_what_would_act() -> None:
    """Each kind of character has its own sign; ordinary text is as it was."""
    assert visible("\x00\x07\x1b\x0b\x0c\x7f") == "\u2400\u2407\u241b\u240b\u240c\u2421"
    assert visible("\x80\x9b\u202e\u2066\u2069\U000e0041\ud800") == "\ufffd" * 7
    assert visible("\ud83d\ude00") == "\U0001f600"
    plain = "a\tb\r\nc é 你好 \u200d\u200f שלום \U0001f469\u200d\U0001f4bb"
    assert visible(plain) == plain


def test_a_terminal_is_told_nothing_but_text() -> None:
    """No escape and no carriage return gets through; CRLF is a line end."""
    assert to_terminal("a\r\nb\rc\x1b[2J\x08\x9b\t") == "a\nbc\u241b[2J\u2408\ufffd\t"


@given(st.lists(st.text(st.characters(exclude_categories=()))))
def test_a_terminal_may_be_given_fragments(parts: list[str]) -> None:
    """Fragment by fragment is the same as all at once, and prints in UTF-8."""
    whole = to_terminal("".join(parts))
    assert "".join(map(to_terminal, parts)) == whole
    assert not UNSEEN.search(whole)
    assert "\r" not in whole
    whole.encode()


@pytest.mark.parametrize(
    ("limit", "line"),
    [(99, "a b \u241b c"), (7, "a b \u241b c"), (6, "a b \u241b…"), (5, "a b…"), (1, "…"), (0, "")],
)
def test_one_line_folds_and_cuts(limit: int, line: str) -> None:
    """An excerpt is one line of at most so many characters."""
    assert one_line(" a\n\n b\t\x1b\u2028c\n", limit) == line
